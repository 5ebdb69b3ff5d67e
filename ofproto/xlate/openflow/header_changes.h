// Header changes: the set, push_mpls and pop_mpls actions that turn a packet as the datapath has it into one as
// OpenFlow's actions have made it.
#pragma once

#include "lib/flow/actions.h"
#include "lib/flow/flow_key.h"

namespace sluice {

// How many MPLS label stack entries the packet has, as far as the key shows them (three).
size_t MplsDepth(const FlowKey& packet);
bool IsMpls(Be16 eth_type);

// Appends to `actions` what is to be done before the VLAN tags are changed, and follows in `base`; VLAN fields are not
// looked at. Sets are masked: of a field that differs they set the bits that are in `changed`, which has at least those
// that differ. `knows_payload`: false: what `wanted` has above Ethernet and labels is not known, and stays.
void CommitHeaders(const FlowKey& wanted, const FlowMask& changed, bool knows_payload, FlowKey& base,
                   ActionList& actions);

// The priority and the mark; to be done behind the VLAN tags.
void CommitMarks(const FlowKey& wanted, FlowKey& base, ActionList& actions);

}  // namespace sluice
