// Which flows the kernel programs (netdev/kernel_flows) can forward as the datapath would.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/flow/actions.h"
#include "lib/flow/flow_key.h"
#include "netdev/kernel_flows/abi.h"

namespace sluice {

// The port that `actions` output to, if they do nothing else.
std::optional<uint32_t> OnlyOutput(const ActionList& actions);

// Whether all packets that have the kernel key of `key` fall into a flow with `mask` as `key` does: every bit of the
// mask is part of the kernel key, or the same for all packets that the programs look up. A field that this function
// does not know counts as neither.
bool KernelKeyDecides(const FlowMask& mask, const FlowKey& key);

// The kernel key of packets as `key` describes one, that came in at the port of that index; nothing for packets that
// the programs leave to user space. `key` is of a packet as it was received.
std::optional<sluice_flow_key> MakeKernelKey(const FlowKey& key, uint32_t ingress);

}  // namespace sluice
