// Buckets and properties of groups, which group mods and descriptions share.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

// OpenFlow 1.5's layout, which Nicira's messages for 1.0 use too.
inline bool HasLayout15(OfVersion version) { return version == OfVersion::k15 || version == OfVersion::k10; }

// Reads buckets up to the end. Those of 1.1-1.4, which have no ids, are numbered from 0.
OfResult<std::vector<GroupBucket>> ReadBuckets(WireReader& in, GroupType type, OfVersion version);
// In 1.5's layout buckets without an id get the lowest that is free.
void WriteBuckets(const std::vector<GroupBucket>& buckets, GroupType type, OfVersion version, WireWriter& out);
// The properties behind the buckets, in 1.5's layout.
OfStatus ReadGroupProperties(WireReader& in, GroupType type, GroupSelection& selection);
void WriteGroupProperties(const GroupSelection& selection, WireWriter& out);

}  // namespace sluice::messages
