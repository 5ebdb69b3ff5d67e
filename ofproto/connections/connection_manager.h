// ConnectionManager: all OpenFlow connections of one bridge: BRIDGE.mgmt and BRIDGE.snoop in the run directory, and the
// controllers of its Controller rows. Main thread; everything happens in the event loop.
//
// It answers requests, sends asynchronous messages to those who want them, and keeps what the bridge does without
// controllers: secure keeps its flows, standalone forwards by NORMAL while no controller answers (fail open).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "ofproto/connections/of_switch.h"
#include "ofproto/xlate/packet_in.h"

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

struct BridgeConnectionsConfig {
  OfVersions versions = kAllOfVersions;  // Bridge:protocols; default: all
  bool secure = false;                   // fail_mode
  std::vector<ControllerConfig> controllers;
  TlsConfig tls;
  std::string run_directory;
  bool operator==(const BridgeConnectionsConfig&) const = default;
};

// Columns of the Controller row.
struct ControllerStatus {
  bool is_connected = false;
  std::string role;                           // "other", "master", "slave"; "" while not connected
  std::map<std::string, std::string> status;  // state, last_error, sec_since_connect, sec_since_disconnect, ...
};

class ConnectionManager {
 public:
  // All outlive it.
  ConnectionManager(EventLoop& loop, OfSwitch& of_switch);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  void Configure(const BridgeConnectionsConfig& config);
  // Call when ports changed: sends port-status messages by comparing with what was there before.
  void PortsChanged();
  void FlowsChanged(absl::Span<const FlowNotice> notices);  // flow-removed, flow monitors
  void PacketIn(const PacketInEvent& event);
  void Tick(OfClock::time_point now);  // once a second
  void Reconnect();                    // bridge/reconnect

  // By target, in the order of the configuration.
  std::vector<ControllerStatus> status() const;
  // ofproto's commands: how many are connected, for show commands.
  size_t connection_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
