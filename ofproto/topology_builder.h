// BuildTopology: the snapshot that translation works with, from the configuration and what became of it. Main thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ofproto/bridge.h"
#include "ofproto/port_manager.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

using Bridges = std::map<std::string, Bridge, std::less<>>;

// Interfaces without a port are left out, and so are ports without interfaces. Statuses have been refreshed.
std::unique_ptr<Topology> BuildTopology(Bridges& bridges, const PortManager& ports, uint32_t vlan_limit,
                                        uint64_t generation);

}  // namespace sluice
