// OfPipeline: what one bridge does with packets by OpenFlow: its tables, groups and meters. Shared by the bridge, the
// topology snapshots and installed flows.
#pragma once

#include "ofproto/flows/flow_tables.h"
#include "ofproto/flows/groups.h"

namespace sluice {

struct OfPipeline {
  explicit OfPipeline(DatapathMeters& datapath_meters) : meters(datapath_meters) {}

  FlowTables tables;
  GroupTable groups;
  MeterTable meters;
  // Fragment handling of OFPT_SET_CONFIG: 0 normal, 1 drop, 3 nx-match.
  std::atomic<uint16_t> fragments{0};
  std::atomic<uint16_t> miss_send_len{128};
  // Ports' OFPPC_* bits (OfPortDesc::config) live in the topology's XPort.

  // Changes with every change to any of them.
  uint64_t version() const { return tables.version() + groups.version() + meters.version() + fragments.load(); }
};

}  // namespace sluice
