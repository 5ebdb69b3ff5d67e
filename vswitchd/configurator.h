// Configurator: keeps the switch as the database wants it, and the database told of how the switch is.
//
// A session with the OVSDB server, embedded or not (the same code for both). While it holds the lock "ovs_vswitchd",
// each change of the replica is applied in one step (config_reader.h, Switch::Configure), then one transaction reports
// what became of it and lets cur_cfg follow next_cfg. Without the lock, or while the server is away, the switch goes on
// as it was last told. Main thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datapath/datapath_manager.h"
#include "lib/io/event_loop.h"
#include "lib/ovsdb/client.h"
#include "ofproto/switch.h"
#include "vswitchd/config_reader.h"
#include "vswitchd/status_writer.h"

namespace sluice {

class Configurator {
 public:
  static constexpr const char* kLock = "ovs_vswitchd";

  struct Options {
    std::vector<std::string> remotes;
    TlsConfig tls;
    bool makes_root = false;  // put the row of Open_vSwitch into a database that has none: the embedded one is ours
  };

  // All outlive the configurator.
  Configurator(EventLoop& loop, DatapathManager& datapaths, Switch& the_switch, LinkQuery query, Options options);

  // Called once: when the first configuration was applied, or when that has to wait (kReadyTimeout) because the server
  // cannot be reached or another daemon holds the lock.
  void OnReady(std::function<void()> callback) { on_ready_ = std::move(callback); }
  // Called when the SSL table says something else.
  void OnTlsChange(std::function<void(const TlsConfig&)> callback) { on_tls_change_ = std::move(callback); }

 private:
  static constexpr std::chrono::seconds kReadyTimeout{2};

  void OnStateChange();
  void OnChange();
  void ApplyGlobal(const GlobalConfig& config);
  void MakeRoot();
  // Writes what differs, in one transaction; one at a time.
  void Report(bool statistics);
  void OnReported(const absl::StatusOr<Json>& results);
  void Ready();
  void ArmStatisticsTimer();

  EventLoop& loop_;
  DatapathManager& datapaths_;
  Switch& switch_;
  const Options options_;
  OvsdbClient client_;
  StatusWriter writer_;

  GlobalConfig global_;  // as applied; the defaults are what everything begins with
  std::optional<SwitchConfig> config_;
  bool reporting_ = false;       // a transaction is under way
  bool report_again_ = false;    // and something changed since
  bool waiting_logged_ = false;  // that another daemon has the lock
  std::function<void()> on_ready_;
  std::function<void(const TlsConfig&)> on_tls_change_;
  EventLoop::Handle ready_timer_;
  EventLoop::Handle statistics_timer_;
  EventLoop::Handle switch_timer_;
};

}  // namespace sluice
