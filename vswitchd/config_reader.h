// From rows to configuration: what the tables Open_vSwitch, Bridge, Port, Interface and Mirror say, checked and with
// defaults filled in (ovs-vswitchd.conf.db(5)).
//
// A value that cannot be used is logged, naming the row, the column and what would be right, and its default is taken:
// one bad row harms no other.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "datapath/rxq_scheduler.h"
#include "lib/base/cpu_set.h"
#include "lib/io/stream.h"
#include "ofproto/config.h"
#include "vswitchd/row_reader.h"

namespace sluice {

// What holds for the whole process.
struct GlobalConfig {
  bool tso = true;                  // userspace-tso-enable
  bool kernel_forwarding = true;    // kernel-forwarding
  std::optional<CpuSet> pmd_cores;  // pmd-cpu-mask
  RxqAssignment assignment = RxqAssignment::kCycles;
  bool isolate = true;
  std::chrono::milliseconds stats_interval{5000};
  bool enable_statistics = false;
  int64_t next_cfg = 0;
  TlsConfig tls;  // of the SSL table
};

GlobalConfig ReadGlobalConfig(const RowReader& root);
SwitchConfig ReadSwitchConfig(const RowReader& root);

// Parts of the latter.
BridgeConfig ReadBridge(const RowReader& bridge);
PortConfigRow ReadPort(const RowReader& port, const std::string& bridge_name);
InterfaceConfig ReadInterface(const RowReader& interface, bool is_local);

// The VLANs in a column that holds a set of them.
VlanBitmap ReadVlans(const Datum& datum);

}  // namespace sluice
