// What a bridge must know to say whether a flow mod, group mod or packet-out can be carried out: what its codec cannot
// check.
#pragma once

#include "ofproto/connections/requests/request.h"

namespace sluice {

// The groups and meters that actions refer to, nested ones included, exist. `own_group`: whose buckets they are; it may
// not lead to itself.
OfStatus CheckReferences(const OfActions& actions, const OfPipeline& pipeline, uint32_t own_group = kGroupAny);
// `version`: of the message.
OfStatus CheckFlowMod(const FlowMod& mod, OfVersion version, const OfPipeline& pipeline);
OfStatus CheckGroupMod(const GroupMod& mod, const OfPipeline& pipeline);
OfStatus CheckPacketOut(const OfPacketOut& out, OfVersion version, const OfPipeline& pipeline);

}  // namespace sluice
