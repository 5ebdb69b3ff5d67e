// What the configuration makes of a bridge's connections: services, controllers, fail mode.
#include <algorithm>

#include "ofproto/connections/connection_manager_impl.h"

namespace sluice {

void ConnectionManager::Impl::Configure(const BridgeConnectionsConfig& next) {
  const bool first = !std::exchange(configured, true);
  const bool had_controllers = has_controllers();
  const bool versions_changed = config.versions != next.versions;
  const bool mode_changed = config.secure != next.secure;
  // Whoever agreed on a version that is not allowed any more agrees again.
  if (versions_changed) {
    for (const auto& controller : controllers) CloseConnectionsOf(controller.get());
    if (management != nullptr) CloseConnectionsOf(management.get());
  }
  const std::string old_directory = config.run_directory;
  OpenControllers(next);
  config = next;
  if (first || old_directory != next.run_directory) OpenServices();
  if (first || had_controllers != has_controllers() || (mode_changed && !has_controllers())) {
    if (config.secure || !has_controllers()) fail_open.Recover();
    core.of_switch.ResetFlows();
  } else if (config.secure) {
    fail_open.Recover();
  }
  if (first) ports = core.of_switch.ports();
}

void ConnectionManager::Impl::OpenServices() {
  const std::string base = fmt::format("punix:{}/{}", config.run_directory, core.of_switch.bridge());
  const std::string& bridge = core.of_switch.bridge();
  if (management != nullptr) CloseConnectionsOf(management.get());
  management.reset();  // before the next listens: it may be the same socket
  snoop.reset();
  management = std::make_unique<Remote>(
      core.loop, ControllerConfig{.target = base + ".mgmt", .inactivity_probe = kServiceProbe}, TlsConfig{}, bridge,
      [this](Remote& remote, std::unique_ptr<Stream> stream) { Accept(remote, std::move(stream)); });
  snoop = std::make_unique<Remote>(core.loop, ControllerConfig{.target = base + ".snoop"}, TlsConfig{}, bridge,
                                   [this](Remote&, std::unique_ptr<Stream> stream) { Snoop(std::move(stream)); });
}

// Controllers whose rows say what they said stay connected.
void ConnectionManager::Impl::OpenControllers(const BridgeConnectionsConfig& next) {
  std::vector<std::unique_ptr<Remote>> old = std::move(controllers);
  controllers.clear();
  const bool same_tls = config.tls == next.tls;
  std::vector<const ControllerConfig*> missing;
  for (const ControllerConfig& wanted : next.controllers) {
    auto kept = std::find_if(old.begin(), old.end(), [&wanted, same_tls](const std::unique_ptr<Remote>& remote) {
      return remote != nullptr && same_tls && remote->config() == wanted;
    });
    controllers.push_back(kept != old.end() ? std::move(*kept) : nullptr);
  }
  for (const auto& remote : old) {
    if (remote != nullptr) CloseConnectionsOf(remote.get());
  }
  old.clear();  // before others listen: it may be on the same port
  for (size_t i = 0; i < controllers.size(); ++i) {
    if (controllers[i] != nullptr) continue;
    controllers[i] = std::make_unique<Remote>(
        core.loop, next.controllers[i], next.tls, core.of_switch.bridge(),
        [this](Remote& remote, std::unique_ptr<Stream> stream) { Accept(remote, std::move(stream)); });
  }
}

bool ConnectionManager::Impl::has_controllers() const {
  return std::any_of(controllers.begin(), controllers.end(),
                     [](const std::unique_ptr<Remote>& remote) { return remote != nullptr && !remote->is_passive(); });
}

void ConnectionManager::Impl::Snoop(std::unique_ptr<Stream> stream) {
  OfVersions versions = config.versions;
  for (const auto& controller : controllers) {
    const OfConnection* connection = controller->is_passive() ? nullptr : ConnectionOf(*controller);
    if (connection == nullptr) continue;
    versions = VersionBit(connection->version());
    break;
  }
  snoop->OnClosed(absl::OkStatus());  // it is the snoopers' from here on
  snoopers.Add(std::move(stream), versions);
}

void ConnectionManager::Impl::UpdateFailOpen(OfClock::time_point now) {
  if (config.secure || !has_controllers()) return;
  auto failed = OfClock::duration::max();
  OfClock::duration probe{0};
  for (const auto& controller : controllers) {
    if (controller->is_passive()) continue;
    failed = std::min(failed, controller->FailureTime(now));
    probe = std::max<OfClock::duration>(probe, controller->config().inactivity_probe);
  }
  fail_open.Update(failed, probe);
}

void ConnectionManager::Impl::Tick(OfClock::time_point now) {
  std::vector<OfConnection*> all;
  for (const auto& connection : core.connections) all.push_back(connection.get());
  for (OfConnection* connection : all) connection->Tick(now);
  snoopers.Tick(now);
  UpdateFailOpen(now);
}

void ConnectionManager::Impl::Reconnect() {
  for (const auto& controller : controllers) {
    CloseConnectionsOf(controller.get());
    controller->Reconnect();
  }
}

}  // namespace sluice
