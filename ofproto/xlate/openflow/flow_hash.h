// Hashes of packets' fields by which bundle, multipath and select groups choose: the same for all packets of a flow.
#pragma once

#include <cstdint>

#include "lib/openflow/actions.h"
#include "lib/openflow/flow.h"

namespace sluice {

// Over the fields that `fields` names. Sets in `looked_at` what of the packet went into it.
uint32_t HashFlow(const OfFlow& flow, OfHashFields fields, uint16_t basis, OfMask& looked_at);
// Over those bits of the fields that `mask` has.
uint32_t HashFlow(const OfFlow& flow, const OfMask& mask, uint64_t basis, OfMask& looked_at);
// A member's rank for the packets with `hash`: who ranks highest gets them, so that when one goes, only its own packets
// go elsewhere ("highest random weight").
uint32_t MemberRank(uint32_t hash, uint32_t member);
// Which of `links` links gets packets of that hash.
uint32_t ChooseLink(OfMultipath::Algorithm algorithm, uint32_t hash, uint32_t links, uint32_t arg);

}  // namespace sluice
