// What makes a group mod wrong by itself, without the table (OpenFlow 1.5.1, 5.6 and 7.3.4.3).
#pragma once

#include <cstdint>
#include <vector>

#include "lib/openflow/error.h"
#include "lib/openflow/group.h"

namespace sluice {

// The group as it would be, whose buckets all have an id.
OfStatus CheckGroup(const GroupDesc& group);

// Buckets without an id get the lowest that none of `buckets` and `others` has.
void NumberBuckets(std::vector<GroupBucket>& buckets, const std::vector<GroupBucket>& others);

// The groups that the buckets forward to or watch; may repeat.
std::vector<uint32_t> GroupsBehind(const std::vector<GroupBucket>& buckets);

}  // namespace sluice
