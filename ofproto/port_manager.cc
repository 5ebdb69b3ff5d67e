#include "ofproto/port_manager.h"

#include <algorithm>
#include <random>
#include <utility>

#include "lib/base/log.h"
#include "lib/base/status.h"
#include "netdev/link_query.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

constexpr size_t kMaxNameLength = 15;

// The type that is opened. The local interface is the host's own; a dummy one serves tests.
std::string EffectiveType(const std::string& bridge, const InterfaceConfig& config) {
  if (config.name == bridge && config.type != "dummy") return "internal";
  return config.type.empty() ? "system" : config.type;
}

std::string PatchError(const InterfaceConfig& config) {
  if (config.patch_peer.empty()) return fmt::format("{}: patch type requires valid 'peer' argument", config.name);
  if (config.patch_peer == config.name) return fmt::format("{}: patch peer must not be self", config.name);
  if (config.patch_peer.size() > kMaxNameLength) return fmt::format("{}: patch 'peer' name too long", config.name);
  return "";
}

// A local address, for what has none of a device.
MacAddress RandomMac() {
  static std::mt19937_64 random{std::random_device{}()};
  MacAddress mac;
  uint64_t bits = random();
  for (uint8_t& byte : mac) {
    byte = static_cast<uint8_t>(bits);
    bits >>= 8;
  }
  mac[0] = static_cast<uint8_t>((mac[0] & 0xfe) | 0x02);
  return mac;
}

// As scripts know it from Open vSwitch.
std::string OpenError(const std::string& name, const absl::Status& status) {
  if (absl::IsNotFound(status)) return fmt::format("could not open network device {} (No such device)", name);
  return Message(status);
}

bool SameState(const NetdevState& a, const NetdevState& b) {
  return a.present == b.present && a.admin_up == b.admin_up && a.carrier == b.carrier && a.mtu == b.mtu &&
         a.mac == b.mac && a.ifindex == b.ifindex && a.link_resets == b.link_resets;
}

bool IsUp(const InterfaceStatus& status) { return status.device.admin_up && status.device.carrier; }

}  // namespace

// Differences
// ------------------------------------------------------------------------------------------------------------------

PortManager::Wanted PortManager::Flatten(const SwitchConfig& config) {
  Wanted wanted;
  for (const BridgeConfig& bridge : config.bridges) {
    for (const PortConfigRow& port : bridge.ports) {
      for (const InterfaceConfig& interface : port.interfaces) {
        Interface flat{.bridge = bridge.name, .port = port.name, .config = interface};
        flat.config.type = EffectiveType(bridge.name, interface);
        if (wanted.try_emplace(interface.name, std::move(flat)).second) continue;
        SLUICE_LOG(log_module, kWarn, "bridge {}: interface {} is in the configuration already: this one is ignored",
                   bridge.name, interface.name);
      }
    }
  }
  return wanted;
}

void PortManager::Apply(const SwitchConfig& config) {
  Wanted wanted = Flatten(config);
  RemoveAllBut(wanted);
  TakeOver(wanted);
  OpenMissing(/*only_likely=*/false);
  AllocateOfports();
}

void PortManager::RemoveAllBut(const Wanted& wanted) {
  std::vector<uint32_t> leaving;
  for (auto it = interfaces_.begin(); it != interfaces_.end();) {
    Interface& interface = it->second;
    auto stays = wanted.find(it->first);
    const bool same = stays != wanted.end() && stays->second.config.type == interface.config.type;
    if (!same || stays->second.bridge != interface.bridge) {
      ofports_[interface.bridge].Release(it->first);
      interface.ofport = 0;
    }
    if (same) {
      ++it;
      continue;
    }
    if (interface.dp_port != 0) leaving.push_back(interface.dp_port);
    it = interfaces_.erase(it);
  }
  if (datapath_ != nullptr) datapath_->RemovePorts(leaving);
  removed_.insert(leaving.begin(), leaving.end());
}

void PortManager::TakeOver(Wanted& wanted) {
  for (auto& [name, next] : wanted) {
    auto [it, is_new] = interfaces_.try_emplace(name, std::move(next));
    Interface& interface = it->second;
    if (is_new) {
      interface.open_error = !no_datapath_.empty() ? no_datapath_ : "not opened yet";
      if (interface.is_patch()) {
        interface.patch_counters = std::make_shared<PatchCounters>();
        interface.patch_mac = RandomMac();
      }
    } else {
      const bool options_differ = interface.config.options != next.config.options;
      interface.bridge = std::move(next.bridge);
      interface.port = std::move(next.port);
      interface.config = std::move(next.config);
      if (options_differ || !interface.options_error.empty()) ChangeOptions(interface);
    }
    if (interface.is_patch()) interface.open_error = PatchError(interface.config);
  }
  // The numbers of bridges that are no more.
  std::erase_if(ofports_, [this](const auto& bridge) {
    return std::none_of(interfaces_.begin(), interfaces_.end(),
                        [&bridge](const auto& entry) { return entry.second.bridge == bridge.first; });
  });
}

void PortManager::ChangeOptions(Interface& interface) {
  if (interface.dp_port == 0) return;
  absl::Status status = datapath_->SetPortOptions(interface.dp_port, interface.config.options);
  interface.options_error = status.ok() ? "" : Message(status);
  if (!status.ok()) SLUICE_LOG(log_module, kWarn, "{}", interface.options_error);
}

bool PortManager::OpenMissing(bool only_likely) {
  if (datapath_ == nullptr) return false;
  auto query = LinkQuery::Open();
  std::vector<Datapath::PortRequest> requests;
  std::vector<Interface*> asking;
  for (auto& [name, interface] : interfaces_) {
    if (interface.works() || interface.is_patch()) continue;
    bool absent = only_likely && interface.config.type == "system" && query.ok() && !query->Read(name).ok();
    if (absent) continue;
    requests.push_back({.name = name, .type = interface.config.type, .options = interface.config.options});
    asking.push_back(&interface);
  }
  if (requests.empty()) return false;
  auto answers = datapaths_.AddPorts(*datapath_, requests);
  bool any = false;
  for (size_t i = 0; i < asking.size(); ++i) {
    Interface& interface = *asking[i];
    std::string before = std::exchange(interface.open_error, "");
    if (answers[i].ok()) {
      interface.dp_port = *answers[i];
      interface.options_error.clear();
      any = true;
      continue;
    }
    interface.open_error = OpenError(requests[i].name, answers[i].status());
    if (interface.open_error != before) SLUICE_LOG(log_module, kWarn, "{}", interface.open_error);
  }
  return any;
}

bool PortManager::Retry() {
  if (!OpenMissing(/*only_likely=*/true)) return false;
  AllocateOfports();
  return true;
}

// Those that request a number first, so that no other gets it before.
void PortManager::AllocateOfports() {
  auto allocate = [this](Interface& interface, std::optional<uint16_t> request) {
    OfportAllocator& ofports = ofports_[interface.bridge];
    if (interface.is_local()) {
      interface.ofport = kOfportLocal;
      return ofports.Fix(interface.config.name, kOfportLocal);
    }
    std::optional<std::string> moved;
    interface.ofport = ofports.Allocate(interface.config.name, request, moved);
    if (moved) interfaces_.find(*moved)->second.ofport = ofports.Find(*moved);
    if (interface.ofport == 0) {
      interface.open_error =
          fmt::format("{}: bridge {} has no OpenFlow port number left", interface.config.name, interface.bridge);
    }
  };
  for (auto& [name, interface] : interfaces_) {
    if (interface.works() && interface.config.ofport_request) allocate(interface, interface.config.ofport_request);
  }
  for (auto& [name, interface] : interfaces_) {
    if (interface.works() && !interface.config.ofport_request) allocate(interface, std::nullopt);
  }
}

absl::flat_hash_set<uint32_t> PortManager::TakeRemoved() { return std::exchange(removed_, {}); }

// State
// ------------------------------------------------------------------------------------------------------------------

Interface* PortManager::Find(std::string_view name) {
  auto it = interfaces_.find(name);
  return it == interfaces_.end() ? nullptr : &it->second;
}

const Interface* PortManager::Find(std::string_view name) const {
  auto it = interfaces_.find(name);
  return it == interfaces_.end() ? nullptr : &it->second;
}

Port* PortManager::DatapathPort(const Interface& interface) const {
  if (datapath_ == nullptr || interface.dp_port == 0) return nullptr;
  return datapath_->FindPort(interface.dp_port);
}

void PortManager::Refresh(Interface& interface) {
  InterfaceStatus status{.is_patch = interface.is_patch()};
  Port* port = DatapathPort(interface);
  if (!interface.is_patch() && interface.works() && port == nullptr) {
    // By hand (dpctl/del-if). It is made again at the next occasion.
    removed_.insert(interface.dp_port);
    interface.dp_port = 0;
    interface.open_error = fmt::format("{}: the datapath has lost the port", interface.config.name);
  }
  if (!interface.works()) {
    status.error = interface.open_error;
  } else if (interface.is_patch()) {
    status.ofport = interface.ofport;
    status.device = {.present = true, .admin_up = true, .carrier = true, .mac = interface.patch_mac};
  } else {
    status.dp_port = interface.dp_port;
    status.device = port->netdev().state();
    if (status.device.present) {
      status.ofport = interface.ofport;
      status.error = !interface.options_error.empty() ? interface.options_error : interface.device_error;
    } else {
      status.error = status.device.error;
    }
  }
  status.status = std::move(interface.status.status);
  interface.status = std::move(status);
}

PortManager::Changes PortManager::Refresh() {
  Changes changes;
  for (auto& [name, interface] : interfaces_) {
    InterfaceStatus before = interface.status;
    Refresh(interface);
    const InterfaceStatus& now = interface.status;
    changes.status |= before.ofport != now.ofport || before.error != now.error || !SameState(before.device, now.device);
    changes.topology |= before.ofport != now.ofport || before.dp_port != now.dp_port || IsUp(before) != IsUp(now);
  }
  return changes;
}

// Devices
// ------------------------------------------------------------------------------------------------------------------

void PortManager::ConfigureDevices(const std::map<std::string, MacAddress>& bridge_macs) {
  ApplyPolicing();
  std::map<std::string_view, uint32_t> lowest_mtu;
  for (auto& [name, interface] : interfaces_) {
    if (!interface.works() || interface.is_patch()) continue;
    if (!interface.config.mtu_request && interface.config.type == "internal") continue;
    ConfigureDevice(interface, interface.config.mtu_request, std::nullopt);
    Refresh(interface);
    const NetdevState& state = interface.status.device;
    if (!state.present || state.mtu == 0 || interface.config.type == "internal") continue;
    uint32_t& lowest = lowest_mtu.try_emplace(interface.bridge, state.mtu).first->second;
    lowest = std::min(lowest, state.mtu);
  }
  for (auto& [name, interface] : interfaces_) {
    if (!interface.works() || interface.is_patch()) continue;
    std::optional<MacAddress> mac;
    if (interface.config.type == "internal") mac = interface.config.mac;
    if (auto bridge = bridge_macs.find(interface.bridge); interface.is_local() && bridge != bridge_macs.end()) {
      mac = bridge->second;
    }
    std::optional<uint32_t> mtu = interface.config.mtu_request;
    auto lowest = lowest_mtu.find(interface.bridge);
    if (!mtu && interface.config.type == "internal" && lowest != lowest_mtu.end()) mtu = lowest->second;
    if (mac || mtu) ConfigureDevice(interface, mtu, mac);
  }
}

void PortManager::ApplyPolicing() {
  for (auto& [name, interface] : interfaces_) {
    Port* port = DatapathPort(interface);
    if (port == nullptr) continue;
    const PolicingConfig& config = interface.config.policing;
    const PolicingRates rates{.rate_kbps = config.rate_kbps,
                              .burst_kb = config.burst_kb,
                              .rate_kpkts = config.rate_kpkts,
                              .burst_kpkts = config.burst_kpkts};
    if (rates != port->policing()) port->SetPolicing(rates);
  }
}

// What nobody asked for by name is no error of the interface when it cannot be (a port in another network namespace).
void PortManager::ConfigureDevice(Interface& interface, std::optional<uint32_t> mtu, std::optional<MacAddress> mac) {
  Port* port = DatapathPort(interface);
  if (port == nullptr) return;
  Netdev& netdev = port->netdev();
  const NetdevState state = netdev.state();
  if (!state.present) return;
  absl::Status status = absl::OkStatus();
  if (mtu && state.mtu != *mtu) status = netdev.SetMtu(*mtu);
  if (status.ok() && mac && state.mac != *mac) status = netdev.SetMac(*mac);
  const bool requested = interface.config.mtu_request || (interface.config.mac && !interface.is_local());
  std::string error = status.ok() ? "" : Message(status);
  if (!error.empty() && error != interface.device_error) SLUICE_LOG(log_module, kWarn, "{}", error);
  interface.device_error = requested ? std::move(error) : "";
  Refresh(interface);
}

}  // namespace sluice
