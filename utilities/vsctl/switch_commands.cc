// init, comment and emer-reset.
#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {

absl::Status PrepareNothing(const Invocation&, const Schema&, Needs&) { return absl::OkStatus(); }

// init: the row is made for every command line. comment: the whole line is in the comment anyway.
absl::Status RunNothing(Context&) { return absl::OkStatus(); }

absl::Status PrepareEmerReset(const Invocation&, const Schema&, Needs& needs) {
  needs.Add("Open_vSwitch", {"manager_options", "ssl"});
  needs.Add("Bridge",
            {"controller", "fail_mode", "mirrors", "netflow", "sflow", "ipfix", "flood_vlans", "other_config"});
  needs.Add("Port", "other_config");
  needs.Add("Interface", {"ingress_policing_rate", "ingress_policing_burst"});
  return absl::OkStatus();
}

absl::Status RunEmerReset(Context& context) {
  Transaction& transaction = context.transaction;
  transaction.Set("Open_vSwitch", context.root, "manager_options", {});
  transaction.Set("Open_vSwitch", context.root, "ssl", {});
  for (const Uuid& bridge : transaction.Rows("Bridge")) {
    for (std::string_view column : {"controller", "fail_mode", "mirrors", "netflow", "sflow", "ipfix", "flood_vlans"}) {
      transaction.Set("Bridge", bridge, column, {});
    }
    // Without its address, what is attached to the bridge would lose its connections.
    Datum kept;
    if (const std::string* address = transaction.Get("Bridge", bridge, "other_config").FindString("hwaddr")) {
      kept = {{std::string("hwaddr")}, {*address}};
    }
    transaction.Set("Bridge", bridge, "other_config", std::move(kept));
  }
  for (const Uuid& port : transaction.Rows("Port")) transaction.Set("Port", port, "other_config", {});
  for (const Uuid& interface : transaction.Rows("Interface")) {
    transaction.Set("Interface", interface, "ingress_policing_rate", Datum::Scalar(int64_t{0}));
    transaction.Set("Interface", interface, "ingress_policing_burst", Datum::Scalar(int64_t{0}));
  }
  context.topology.Invalidate();
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
