// What the database says about OpenFlow connections: rows of Controller and Flow_Table, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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

}  // namespace sluice
