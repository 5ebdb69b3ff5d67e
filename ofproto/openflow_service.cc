#include "ofproto/openflow_service.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "ofproto/of_switch_impl.h"

namespace sluice {

// Takes what the tables notice, in whatever thread, to the connections in the main thread. Tables share it, for they
// may outlive the connections.
class OpenFlowService::Relay : public std::enable_shared_from_this<OpenFlowService::Relay> {
 public:
  Relay(EventLoop& loop, ConnectionManager& manager) : loop_(loop), manager_(&manager) {}

  // Main thread.
  void Disconnect() { manager_ = nullptr; }

  // Any thread. At once in the main thread, so that what a request changed is told before its barrier is answered.
  void Notice(absl::Span<const FlowNotice> notices) {
    if (std::this_thread::get_id() == main_) {
      Deliver(notices);
      return;
    }
    loop_.Post([self = shared_from_this(), kept = std::vector<FlowNotice>(notices.begin(), notices.end())] {
      self->Deliver(kept);
    });
  }

 private:
  void Deliver(absl::Span<const FlowNotice> notices) {
    if (manager_ != nullptr) manager_->FlowsChanged(notices);
  }

  EventLoop& loop_;
  const std::thread::id main_ = std::this_thread::get_id();
  ConnectionManager* manager_;  // the main thread's
};

struct OpenFlowService::Served {
  Served(EventLoop& loop, Switch::Impl& the_switch, const Bridge& bridge)
      : of_switch(the_switch, bridge, [this] { PortsChanged(); }),
        manager(loop, of_switch),
        relay(std::make_shared<Relay>(loop, manager)) {
    of_switch.pipeline().tables.OnChange(
        [shared = relay](absl::Span<const FlowNotice> notices) { shared->Notice(notices); });
  }
  ~Served() { relay->Disconnect(); }

  void PortsChanged() {
    of_switch.FollowPorts();
    manager.PortsChanged();
  }

  OfSwitchImpl of_switch;
  ConnectionManager manager;
  std::shared_ptr<Relay> relay;
};

OpenFlowService::OpenFlowService(EventLoop& loop, std::string run_directory, Switch::Impl& the_switch)
    : loop_(loop),
      run_directory_(std::move(run_directory)),
      switch_(the_switch),
      alive_(std::make_shared<bool>(true)) {
  switch_.state.packet_ins.OnFirst([this, alive = alive_] {
    loop_.Post([this, alive] {
      if (*alive) DeliverPacketIns();
    });
  });
}

OpenFlowService::~OpenFlowService() {
  switch_.state.packet_ins.OnFirst(nullptr);
  *alive_ = false;
}

void OpenFlowService::DeliverPacketIns() {
  for (const PacketInEvent& event : switch_.state.packet_ins.PopAll()) {
    if (ConnectionManager* manager = Find(event.record->bridge)) manager->PacketIn(event);
  }
}

void OpenFlowService::RemoveBridges(const SwitchConfig& config) {
  std::erase_if(bridges_, [&config](const auto& served) {
    return std::none_of(config.bridges.begin(), config.bridges.end(),
                        [&served](const BridgeConfig& bridge) { return bridge.name == served.first; });
  });
}

void OpenFlowService::Apply(const SwitchConfig& config) {
  for (const BridgeConfig& bridge : config.bridges) {
    std::unique_ptr<Served>& served = bridges_[bridge.name];
    if (served == nullptr) served = std::make_unique<Served>(loop_, switch_, switch_.bridges.at(bridge.name));
    served->PortsChanged();
    served->manager.Configure({.versions = bridge.protocols,
                               .secure = bridge.secure,
                               .controllers = bridge.controllers,
                               .tls = config.tls,
                               .run_directory = run_directory_});
  }
}

void OpenFlowService::PortsChanged() {
  for (const auto& [name, served] : bridges_) served->PortsChanged();
}

bool OpenFlowService::Tick() {
  const auto now = OfClock::now();
  for (const auto& [name, served] : bridges_) served->manager.Tick(now);
  std::string roles = Roles();
  return roles != std::exchange(roles_, roles);
}

std::string OpenFlowService::Roles() const {
  std::string roles;
  for (const auto& [name, served] : bridges_) {
    for (const ControllerStatus& status : served->manager.status()) {
      roles += fmt::format("{}, ", status.is_connected ? status.role : "-");
    }
  }
  return roles;
}

ConnectionManager* OpenFlowService::Find(std::string_view bridge) {
  auto it = bridges_.find(bridge);
  return it == bridges_.end() ? nullptr : &it->second->manager;
}

}  // namespace sluice
