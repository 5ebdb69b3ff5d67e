// Switch::Impl: the switch's parts and the order in which they live. For switch.cc and the commands.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "netdev/link_monitor.h"
#include "ofproto/bridge.h"
#include "ofproto/forwarding_state.h"
#include "ofproto/port_manager.h"
#include "ofproto/revalidator.h"
#include "ofproto/switch.h"
#include "ofproto/topology_builder.h"
#include "ofproto/upcall_handler.h"

namespace sluice {

// What runs while there is a bridge.
struct Forwarding {
  Forwarding(Datapath& the_datapath, ForwardingState& state)
      : datapath(the_datapath),
        revalidator(the_datapath.flows(), state),
        upcalls(state, datapath.flows(), revalidator) {
    datapath.SetUpcallHandler(&upcalls);
  }
  ~Forwarding() { datapath.SetUpcallHandler(nullptr); }

  Datapath& datapath;
  Revalidator revalidator;
  UpcallTranslator upcalls;
};

struct Switch::Impl {
  static constexpr std::string_view kDatapath = "ovs-netdev";

  explicit Impl(DatapathManager& the_datapaths);
  ~Impl();

  void Configure(const SwitchConfig& config);
  bool Retry();
  void Tick();
  void OnLinkEvents();

  // The topology as it was published last: nobody but the main thread replaces it.
  const Topology& topology() const { return *state.topology.Load(); }
  // Says that a MAC table was changed by the main thread.
  void MacsChanged() {
    if (forwarding != nullptr) forwarding->revalidator.Wake();
  }

  DatapathManager& datapaths;
  SwitchConfig config;
  Bridges bridges;
  PortManager ports;
  ForwardingState state;
  std::unique_ptr<Forwarding> forwarding;
  std::function<void()> on_status_change;
  InterfaceStatus queried;

 private:
  absl::Status StartForwarding();
  void StopForwarding();
  void ApplyLimits();
  void ApplyBridges();
  // Lets everything follow what devices and ports are like now.
  void FollowDevices();
  // Publishes the topology; no thread works with an older one any more, and no flow has to do with a removed port.
  void Publish();

  uint64_t next_bundle_id_ = 1;
  uint64_t generation_ = 0;
  LinkMonitor::Watch links_;
};

}  // namespace sluice
