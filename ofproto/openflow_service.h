// OpenFlowService: the OpenFlow connections of all bridges, one ConnectionManager each, and the ways by which what
// other threads notice (packets for controllers, learned flows) gets to them. Main thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/event_loop.h"
#include "ofproto/connections/connection_manager.h"
#include "ofproto/switch.h"

namespace sluice {

class OpenFlowService {
 public:
  // Sockets are made in `run_directory`. Both outlive it.
  OpenFlowService(EventLoop& loop, std::string run_directory, Switch::Impl& the_switch);
  ~OpenFlowService();
  OpenFlowService(const OpenFlowService&) = delete;
  OpenFlowService& operator=(const OpenFlowService&) = delete;

  // Before bridges go: ends the connections of those that are not in the configuration any more.
  void RemoveBridges(const SwitchConfig& config);
  // After bridges and ports are as configured: serves those that are new, and configures all.
  void Apply(const SwitchConfig& config);
  void PortsChanged();
  // Once a second. Whether a controller came, went or has another role since the last time.
  bool Tick();

  // nullptr: there is no such bridge.
  ConnectionManager* Find(std::string_view bridge);

 private:
  struct Served;
  class Relay;

  void DeliverPacketIns();
  // "other, -, master, ...": what Tick() compares.
  std::string Roles() const;

  EventLoop& loop_;
  const std::string run_directory_;
  Switch::Impl& switch_;
  std::map<std::string, std::unique_ptr<Served>, std::less<>> bridges_;
  std::string roles_;
  std::shared_ptr<bool> alive_;
};

}  // namespace sluice
