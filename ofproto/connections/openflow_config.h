// What the database says about OpenFlow, and is told: rows of Controller and Flow_Table, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

// A Controller row, with defaults filled in (ovs-vswitchd.conf.db(5)).
struct ControllerConfig {
  std::string target;
  bool in_band = true;  // connection_mode
  std::chrono::milliseconds max_backoff{8000};
  std::chrono::milliseconds inactivity_probe{5000};  // 0: none
  bool enable_async_messages = true;
  uint32_t rate_limit = 0;   // packet-ins a second; 0: no limit
  uint32_t burst_limit = 0;  // 0: a quarter of the rate
  bool operator==(const ControllerConfig&) const = default;
};

// Columns of a Controller row that the switch writes.
struct ControllerStatus {
  bool is_connected = false;
  std::string role;                           // "other", "master", "slave"; "" while not connected
  std::map<std::string, std::string> status;  // state, last_error, sec_since_connect, sec_since_disconnect, ...
};

// A Flow_Table row. Fields are named as in matches; they have been checked.
struct FlowTableRow {
  std::string name;
  std::optional<uint32_t> flow_limit;
  bool evict = false;                // overflow_policy
  std::vector<std::string> groups;   // subfields: "NXM_OF_IN_PORT[]"
  std::vector<std::string> prefixes;
  bool has_prefixes = false;
  bool operator==(const FlowTableRow&) const = default;
};

}  // namespace sluice
