// ConnectionManager::Impl: the connections of a bridge and what they share.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ofproto/connections/connection_manager.h"
#include "ofproto/connections/core.h"
#include "ofproto/connections/fail_open.h"
#include "ofproto/connections/remote.h"
#include "ofproto/connections/snoopers.h"

namespace sluice {

struct ConnectionManager::Impl : OfConnection::Owner {
  // Connections of one remote that listens.
  static constexpr size_t kMaxPerListener = 256;
  static constexpr std::chrono::seconds kServiceProbe{60};

  Impl(EventLoop& loop, OfSwitch& of_switch);
  ~Impl() override;

  void Configure(const BridgeConnectionsConfig& next);
  void PortsChanged();
  void FlowsChanged(absl::Span<const FlowNotice> notices);
  void PacketIn(const PacketInEvent& event);
  void Tick(OfClock::time_point now);
  void Reconnect();
  ControllerStatus StatusOf(const Remote& remote) const;

  // OfConnection::Owner.
  void OnOpen(OfConnection& connection) override;
  void OnRequest(OfConnection& connection, const std::string& message) override;
  void OnDrained(OfConnection& connection) override;
  void OnClosed(OfConnection& connection, const absl::Status& status) override;
  void OnCopy(OfConnection& connection, std::string_view message) override;

  // What the configuration asks for.
  void OpenServices();
  void OpenControllers(const BridgeConnectionsConfig& next);
  bool has_controllers() const;  // that the switch connects to
  void Accept(Remote& remote, std::unique_ptr<Stream> stream);
  void Snoop(std::unique_ptr<Stream> stream);
  OfConnection::Options OptionsFor(const Remote& remote) const;
  void CloseConnectionsOf(const Remote* remote);
  // Destroys closed connections in a later turn.
  void Bury(OfConnection& connection, const absl::Status& status);

  void Dispatch(OfConnection& connection, const std::string& message);
  void UpdateFailOpen(OfClock::time_point now);
  const OfConnection* ConnectionOf(const Remote& remote) const;
  size_t CountConnections(const Remote& remote) const;

  ConnectionCore core;
  FailOpen fail_open;
  Snoopers snoopers;
  BridgeConnectionsConfig config;
  bool configured = false;
  std::vector<std::unique_ptr<Remote>> controllers;  // in the order of the configuration
  std::unique_ptr<Remote> management;                // BRIDGE.mgmt
  std::unique_ptr<Remote> snoop;                     // BRIDGE.snoop
  std::map<const OfConnection*, Remote*> origins;
  std::vector<std::unique_ptr<OfConnection>> closed;  // to be destroyed
  std::vector<OfPortDesc> ports;                      // as they were told last
  uint32_t next_id = 1;
  // Posted functions outlive the manager: they look here first.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

}  // namespace sluice
