#include "ofproto/switch.h"

#include <utility>

#include "lib/base/log.h"
#include "lib/base/status.h"
#include "ofproto/commands.h"
#include "ofproto/switch_impl.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

// How long Configure() waits for the flows to follow. With many flows the rest follows afterwards.
constexpr std::chrono::milliseconds kRevalidateTime{100};

void AddDropStatistics(const DropCounters& drops, std::string_view direction, std::map<std::string, int64_t>& values) {
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.frames[i] == 0) continue;
    std::string_view name = DropReasonName(static_cast<DropReason>(i));
    // The reasons of the devices' directions say so themselves.
    if (name.substr(0, 3) == "rx_" || name.substr(0, 3) == "tx_") name.remove_prefix(3);
    values[fmt::format("{}_{}_drops", direction, name)] += static_cast<int64_t>(drops.frames[i].Get());
  }
}

}  // namespace

// Impl
// ------------------------------------------------------------------------------------------------------------------

Switch::Impl::Impl(DatapathManager& the_datapaths) : datapaths(the_datapaths), ports(the_datapaths) {
  state.topology.Replace(std::make_unique<const Topology>());
  if (LinkMonitor* monitor = datapaths.config().link_monitor) links_ = monitor->WatchAll([this] { OnLinkEvents(); });
}

Switch::Impl::~Impl() {
  links_.Cancel();
  ports.Apply({});
  StopForwarding();
}

absl::Status Switch::Impl::StartForwarding() {
  if (forwarding != nullptr) return absl::OkStatus();
  auto datapath = datapaths.Add(kDatapath);
  if (!datapath.ok()) return datapath.status();
  datapaths.SetOwner(**datapath, "bridges: delete those");
  forwarding = std::make_unique<Forwarding>(**datapath, state);
  ports.set_datapath(*datapath);
  return absl::OkStatus();
}

void Switch::Impl::StopForwarding() {
  if (forwarding == nullptr) return;
  ports.set_datapath(nullptr);
  datapaths.SetOwner(forwarding->datapath, "");
  forwarding.reset();
  if (absl::Status removed = datapaths.Remove(kDatapath); !removed.ok()) {
    SLUICE_LOG(log_module, kErr, "{}", Message(removed));
  }
}

void Switch::Impl::ApplyLimits() {
  state.max_idle_ms = static_cast<uint32_t>(config.max_idle.count());
  state.max_revalidator_ms = static_cast<uint32_t>(config.max_revalidator.count());
  if (state.configured_flow_limit.exchange(config.flow_limit) != config.flow_limit)
    state.flow_limit = config.flow_limit;
}

void Switch::Impl::ApplyBridges() {
  Bridges next;
  for (const BridgeConfig& bridge : config.bridges) {
    auto node = bridges.extract(bridge.name);
    auto it = node.empty() ? next.emplace(bridge.name, Bridge(bridge)).first : next.insert(std::move(node)).position;
    it->second.Apply(bridge, next_bundle_id_);
  }
  bridges = std::move(next);
}

void Switch::Impl::Configure(const SwitchConfig& next) {
  config = next;
  ApplyLimits();
  ApplyBridges();
  if (!config.bridges.empty()) {
    if (absl::Status started = StartForwarding(); !started.ok()) {
      SLUICE_LOG(log_module, kErr, "no bridge can forward: {}", Message(started));
      ports.set_datapath(nullptr, Message(started));
    }
  }
  ports.Apply(config);
  FollowDevices();
  Publish();
  if (config.bridges.empty()) {
    StopForwarding();
  } else if (forwarding != nullptr) {
    forwarding->revalidator.Revalidate(kRevalidateTime);
  }
}

void Switch::Impl::FollowDevices() {
  ports.Refresh();
  std::map<std::string, MacAddress> macs;
  for (auto& [name, bridge] : bridges) {
    bridge.ChooseMac(ports);
    macs[name] = bridge.status().mac;
  }
  ports.ConfigureDevices(macs);
}

void Switch::Impl::Publish() {
  state.topology.Replace(BuildTopology(bridges, ports, config.vlan_limit, ++generation_));
  if (forwarding == nullptr) return;
  RcuSynchronize();
  forwarding->revalidator.RemoveFlowsOf(ports.TakeRemoved());
  forwarding->revalidator.Wake();
}

bool Switch::Impl::Retry() {
  const bool opened = ports.Retry();
  PortManager::Changes changes = ports.Refresh();
  if (opened || changes.status) FollowDevices();
  if (opened || changes.topology) Publish();
  if ((opened || changes.status) && on_status_change) on_status_change();
  return opened;
}

void Switch::Impl::OnLinkEvents() { Retry(); }

void Switch::Impl::Tick() {
  const auto now = MacTable::Clock::now();
  size_t expired = 0;
  for (auto& [name, bridge] : bridges) expired += bridge.macs()->Expire(now);
  if (expired > 0) MacsChanged();
  Retry();
}

// Switch
// ------------------------------------------------------------------------------------------------------------------

Switch::Switch(DatapathManager& datapaths) : impl_(std::make_unique<Impl>(datapaths)) {}
Switch::~Switch() = default;

void Switch::Configure(const SwitchConfig& config) { impl_->Configure(config); }
bool Switch::Retry() { return impl_->Retry(); }
void Switch::OnStatusChange(std::function<void()> callback) { impl_->on_status_change = std::move(callback); }
void Switch::Tick() { impl_->Tick(); }

const InterfaceStatus* Switch::interface_status(std::string_view name) {
  Interface* interface = impl_->ports.Find(name);
  if (interface == nullptr) return nullptr;
  impl_->ports.Refresh(*interface);
  Port* port = impl_->ports.DatapathPort(*interface);
  if (port != nullptr) interface->status.status = port->netdev().status();
  return &interface->status;
}

InterfaceStatistics Switch::interface_statistics(std::string_view name) const {
  InterfaceStatistics statistics;
  auto& values = statistics.values;
  const Interface* interface = impl_->ports.Find(name);
  if (interface == nullptr || !interface->works()) return statistics;
  auto set = [&values](const char* key, uint64_t value) { values[key] = static_cast<int64_t>(value); };
  if (interface->is_patch()) {
    const PatchCounters& counters = *interface->patch_counters;
    set("rx_packets", counters.rx_packets);
    set("rx_bytes", counters.rx_bytes);
    set("tx_packets", counters.tx_packets);
    set("tx_bytes", counters.tx_bytes);
    return statistics;
  }
  const Port* port = impl_->ports.DatapathPort(*interface);
  if (port == nullptr) return statistics;
  PortStats stats = port->Stats();
  set("rx_packets", stats.rx.frames);
  set("rx_bytes", stats.rx.bytes);
  set("rx_dropped", TotalDrops(stats.rx_drops));
  set("tx_packets", stats.tx.frames);
  set("tx_bytes", stats.tx.bytes);
  set("tx_dropped", TotalDrops(stats.tx_drops));
  for (const char* never : {"rx_errors", "tx_errors", "rx_frame_err", "rx_over_err", "rx_crc_err", "collisions"}) {
    set(never, 0);
  }
  AddDropStatistics(stats.rx_drops, "rx", values);
  AddDropStatistics(stats.tx_drops, "tx", values);
  return statistics;
}

const BridgeStatus* Switch::bridge_status(std::string_view name) const {
  auto it = impl_->bridges.find(name);
  return it == impl_->bridges.end() ? nullptr : &it->second.status();
}

std::map<std::string, int64_t> Switch::mirror_statistics(std::string_view bridge, std::string_view mirror) const {
  auto it = impl_->bridges.find(bridge);
  if (it == impl_->bridges.end()) return {};
  auto counters = it->second.mirror_counters().find(mirror);
  if (counters == it->second.mirror_counters().end()) return {};
  return {{"tx_packets", static_cast<int64_t>(counters->second->packets)},
          {"tx_bytes", static_cast<int64_t>(counters->second->bytes)}};
}

std::vector<std::string> Switch::InterfaceTypes() {
  std::vector<std::string> types = NetdevTypes();
  types.emplace_back("patch");
  return types;
}

void Switch::RegisterCommands(UnixctlServer& server) { RegisterOfprotoCommands(server, *impl_); }

}  // namespace sluice
