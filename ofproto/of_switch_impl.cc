#include "ofproto/of_switch_impl.h"

#include <algorithm>

#include "lib/io/version.h"
#include "ofproto/packet_out.h"

namespace sluice {
namespace {

// OFPPC_* and OFPPS_*, as in OfPortDesc.
constexpr uint32_t kConfigBits = kPortDown | kPortNoRecv | kPortNoFlood | kPortNoFwd | kPortNoPacketIn;
constexpr uint32_t kIgnoredConfigBits = 2 | 8;  // OFPPC_NO_STP, OFPPC_NO_RECV_STP: there is no spanning tree
constexpr uint32_t kStateLinkDown = 1;
constexpr uint32_t kStateLive = 4;

}  // namespace

OfSwitchImpl::OfSwitchImpl(Switch::Impl& the_switch, const Bridge& bridge, std::function<void()> on_ports_change)
    : switch_(the_switch),
      name_(bridge.name()),
      pipeline_(bridge.pipeline()),
      on_ports_change_(std::move(on_ports_change)) {}

OfDesc OfSwitchImpl::description() const {
  return {.manufacturer = "Sluice",
          .hardware = "Sluice",
          .software = std::string(kVersion),
          .serial = "None",
          .datapath = name_};
}

OfNames OfSwitchImpl::names() const {
  return {.port_name =
              [this](OfPort port) {
                for (const Interface* interface : Interfaces()) {
                  if (interface->ofport == port) return interface->config.name;
                }
                return std::string();
              },
          .port_number = [this](std::string_view name) -> std::optional<OfPort> {
            const Interface* interface = switch_.ports.Find(name);
            if (interface == nullptr || interface->bridge != name_ || !interface->works()) return std::nullopt;
            return interface->ofport;
          },
          .table_name = [this](uint8_t table) { return pipeline_->tables.config(table).name; },
          .table_number = [this](std::string_view name) -> std::optional<uint8_t> {
            for (unsigned table = 0; table <= kMaxTable; ++table) {
              if (pipeline_->tables.config(static_cast<uint8_t>(table)).name == name) return table;
            }
            return std::nullopt;
          }};
}

std::vector<const Interface*> OfSwitchImpl::Interfaces() const {
  std::vector<const Interface*> interfaces;
  for (const auto& [name, interface] : switch_.ports.interfaces()) {
    if (interface.bridge == name_ && interface.works() && interface.ofport != 0) interfaces.push_back(&interface);
  }
  std::sort(interfaces.begin(), interfaces.end(),
            [](const Interface* a, const Interface* b) { return a->ofport < b->ofport; });
  return interfaces;
}

OfPortDesc OfSwitchImpl::Describe(const Interface& interface) const {
  const NetdevState& device = interface.status.device;
  const bool patch = interface.is_patch();
  const bool up = patch || device.admin_up;
  const bool link = patch || (device.admin_up && device.carrier);
  OfPortDesc desc{.port = interface.ofport,
                  .mac = patch ? interface.patch_mac : device.mac,
                  .name = interface.config.name,
                  .config = self().PortConfig(interface.config.name)};
  if (!up) desc.config |= kPortDown;
  desc.state = link && (desc.config & kPortDown) == 0 ? kStateLive : kStateLinkDown;
  return desc;
}

std::vector<OfPortDesc> OfSwitchImpl::ports() const {
  std::vector<OfPortDesc> descs;
  for (const Interface* interface : Interfaces()) descs.push_back(Describe(*interface));
  return descs;
}

OfStatus OfSwitchImpl::ModifyPort(const OfPortMod& mod) {
  const std::vector<const Interface*> interfaces = Interfaces();
  const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&mod](const Interface* interface) { return interface->ofport == mod.port; });
  if (found == interfaces.end()) return OfFailure{OfError::kPmfcBadPort, fmt::format("port {} does not exist", mod.port)};
  const Interface& interface = **found;
  if (Describe(interface).mac != mod.mac) {
    return OfFailure{OfError::kPmfcBadHwAddr, fmt::format("port {} has another hardware address", mod.port)};
  }
  if ((mod.mask & ~(kConfigBits | kIgnoredConfigBits)) != 0) {
    return OfFailure{OfError::kPmfcBadConfig, fmt::format("port {}: configuration bits {:#x} are unknown", mod.port,
                                                          mod.mask & ~(kConfigBits | kIgnoredConfigBits))};
  }
  const uint32_t before = self().PortConfig(interface.config.name);
  const uint32_t mask = mod.mask & kConfigBits;
  const uint32_t after = (before & ~mask) | (mod.config & mask);
  if (after == before) return std::nullopt;
  self().SetPortConfig(interface.config.name, after);
  switch_.Publish();
  on_ports_change_();
  return std::nullopt;
}

OfPortStats OfSwitchImpl::StatsOf(const Interface& interface) const {
  OfPortStats stats{.port = interface.ofport};
  if (auto since = since_.find(interface.config.name); since != since_.end()) {
    stats.duration = OfClock::now() - since->second;
  }
  if (interface.is_patch()) {
    stats.rx_packets = interface.patch_counters->rx_packets;
    stats.rx_bytes = interface.patch_counters->rx_bytes;
    stats.tx_packets = interface.patch_counters->tx_packets;
    stats.tx_bytes = interface.patch_counters->tx_bytes;
    return stats;
  }
  const Port* port = switch_.ports.DatapathPort(interface);
  if (port == nullptr) return stats;
  const PortStats counted = port->Stats();
  stats.rx_packets = counted.rx.frames;
  stats.rx_bytes = counted.rx.bytes;
  stats.rx_dropped = TotalDrops(counted.rx_drops);
  stats.tx_packets = counted.tx.frames;
  stats.tx_bytes = counted.tx.bytes;
  stats.tx_dropped = TotalDrops(counted.tx_drops);
  return stats;
}

std::vector<OfPortStats> OfSwitchImpl::port_stats(OfPort port) const {
  std::vector<OfPortStats> stats;
  for (const Interface* interface : Interfaces()) {
    if (port == kOfpNone || port == interface->ofport) stats.push_back(StatsOf(*interface));
  }
  return stats;
}

OfStatus OfSwitchImpl::ExecutePacketOut(const OfPacketOut& out) {
  return sluice::ExecutePacketOut(switch_, name_, out);
}

OfStatus OfSwitchImpl::Resume(const OfPacketIn& packet) { return ResumePacket(switch_, name_, packet); }

void OfSwitchImpl::FollowPorts() {
  std::map<std::string, OfClock::time_point, std::less<>> next;
  const auto now = OfClock::now();
  for (const Interface* interface : Interfaces()) {
    auto known = since_.find(interface->config.name);
    next[interface->config.name] = known != since_.end() ? known->second : now;
  }
  since_ = std::move(next);
}

}  // namespace sluice
