#include "ofproto/bridge.h"

#include <algorithm>
#include <random>

namespace sluice {
namespace {

// Of the range that Open vSwitch uses for bridges without ports: local, 23:20 behind it.
MacAddress MakeOwnMac() {
  std::random_device random;
  uint32_t bits = random();
  return {
      0x02, 0x23, 0x20, static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8), static_cast<uint8_t>(bits >> 16)};
}

const PortConfigRow* FindPort(const BridgeConfig& config, std::string_view name) {
  auto it = std::find_if(config.ports.begin(), config.ports.end(),
                         [name](const PortConfigRow& port) { return port.name == name; });
  return it == config.ports.end() ? nullptr : &*it;
}

// Whether what was learned behind the port stays true.
bool SameVlans(const PortConfigRow& a, const PortConfigRow& b) {
  return a.mode == b.mode && a.tag == b.tag && a.trunks == b.trunks && a.cvlans == b.cvlans &&
         a.qinq_ethtype == b.qinq_ethtype;
}

uint64_t ToInteger(const MacAddress& mac) {
  uint64_t value = 0;
  for (uint8_t byte : mac) value = value << 8 | byte;
  return value;
}

}  // namespace

Bridge::Bridge(const BridgeConfig& config)
    : macs_(std::make_shared<MacTable>(config.mac_table_size, config.mac_aging)), own_mac_(MakeOwnMac()) {}

void Bridge::Apply(const BridgeConfig& config, uint64_t& next_bundle_id) {
  macs_->SetLimits(config.mac_table_size, config.mac_aging);
  ApplyPorts(config, next_bundle_id);
  ApplyStaticMacs(config);
  std::map<std::string, std::shared_ptr<MirrorCounters>, std::less<>> counters;
  for (const MirrorConfig& mirror : config.mirrors) {
    auto it = mirror_counters_.find(mirror.name);
    counters[mirror.name] = it != mirror_counters_.end() ? it->second : std::make_shared<MirrorCounters>();
  }
  mirror_counters_ = std::move(counters);
  config_ = config;
}

void Bridge::ApplyPorts(const BridgeConfig& config, uint64_t& next_bundle_id) {
  std::map<std::string, uint64_t, std::less<>> ids;
  for (const PortConfigRow& port : config.ports) {
    uint64_t id = BundleId(port.name);
    ids[port.name] = id != 0 ? id : next_bundle_id++;
    const PortConfigRow* before = FindPort(config_, port.name);
    if (before != nullptr && !SameVlans(*before, port)) macs_->RemoveBundle(id);
  }
  for (const auto& [port, id] : bundle_ids_) {
    if (!ids.contains(port)) macs_->RemoveBundle(id);
  }
  bundle_ids_ = std::move(ids);
}

// Those that go, and then all that are to be: RemoveBundle() has taken some away, and adding one again changes nothing.
void Bridge::ApplyStaticMacs(const BridgeConfig& config) {
  for (const StaticMac& entry : config_.static_macs) {
    bool stays = std::any_of(config.static_macs.begin(), config.static_macs.end(), [&entry](const StaticMac& other) {
      return other.vlan == entry.vlan && other.mac == entry.mac;
    });
    if (!stays) macs_->Remove(entry.vlan, entry.mac);
  }
  for (const StaticMac& entry : config.static_macs) {
    if (uint64_t id = BundleId(entry.port); id != 0) macs_->AddStatic(entry.vlan, entry.mac, id);
  }
}

void Bridge::ChooseMac(const PortManager& ports) {
  std::optional<MacAddress> chosen = config_.hwaddr;
  if (!chosen) {
    for (const auto& [name, interface] : ports.interfaces()) {
      const bool counts = interface.bridge == config_.name && interface.config.type == "system";
      const NetdevState& device = interface.status.device;
      if (!counts || !device.present || device.mac == MacAddress{} || (device.mac[0] & 1) != 0) continue;
      if (!chosen || device.mac < *chosen) chosen = device.mac;
    }
  }
  status_.mac = chosen.value_or(own_mac_);
  status_.datapath_id = config_.datapath_id.value_or(ToInteger(status_.mac));
}

uint64_t Bridge::BundleId(std::string_view port) const {
  auto it = bundle_ids_.find(port);
  return it == bundle_ids_.end() ? 0 : it->second;
}

const std::string* Bridge::BundleName(uint64_t id) const {
  for (const auto& [port, bundle] : bundle_ids_) {
    if (bundle == id) return &port;
  }
  return nullptr;
}

}  // namespace sluice
