#include "ofproto/bridge.h"

#include <algorithm>
#include <random>
#include <utility>

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

// Meters take themselves out of the datapath when they go, and installed flows may keep tables for a while.
struct PipelineAndMeters {
  explicit PipelineAndMeters(std::shared_ptr<MetersInDatapath> in_datapath)
      : meters(std::move(in_datapath)), pipeline(*meters) {}

  std::shared_ptr<MetersInDatapath> meters;
  OfPipeline pipeline;
};

// Controllers that the switch connects to decide over flows; those that connect to it are guests.
bool HasControllers(const BridgeConfig& config) {
  return std::any_of(config.controllers.begin(), config.controllers.end(),
                     [](const ControllerConfig& controller) { return !IsPassiveTarget(controller.target); });
}

// Names were checked when the configuration was read.
FlowTableConfig TableConfigOf(const FlowTableRow& row) {
  FlowTableConfig config{
      .name = row.name, .flow_limit = row.flow_limit, .evict = row.evict, .has_prefixes = row.has_prefixes};
  for (const std::string& group : row.groups) {
    if (auto subfield = ParseSubfield(group); subfield.ok()) config.eviction_groups.push_back(*subfield);
  }
  for (const std::string& prefix : row.prefixes) {
    if (const FieldInfo* field = FindField(prefix)) config.prefixes.push_back(field->id);
  }
  return config;
}

uint64_t ToInteger(const MacAddress& mac) {
  uint64_t value = 0;
  for (uint8_t byte : mac) value = value << 8 | byte;
  return value;
}

}  // namespace

Bridge::Bridge(const BridgeConfig& config, std::shared_ptr<MetersInDatapath> meters,
               std::function<void()> on_new_version)
    : macs_(std::make_shared<MacTable>(config.mac_table_size, config.mac_aging)), own_mac_(MakeOwnMac()) {
  auto both = std::make_shared<PipelineAndMeters>(std::move(meters));
  pipeline_ = std::shared_ptr<OfPipeline>(both, &both->pipeline);
  pipeline_->tables.OnNewVersion(std::move(on_new_version));
}

void Bridge::ResetFlows() {
  has_flows_ = true;
  pipeline_->tables.Flush();
  if (config_.secure || HasControllers(config_)) return;
  FlowMod normal{.priority = 0, .table = 0, .actions = {OfAction{OfOutput{.port = kOfpNormal}}}};
  // One flow always fits into a table that was just emptied, unless the table may have none.
  static_cast<void>(pipeline_->tables.Apply(normal, {}));
}

uint32_t Bridge::PortConfig(std::string_view interface) const {
  auto it = port_configs_.find(interface);
  return it == port_configs_.end() ? 0 : it->second;
}

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
  ApplyFlowTables(config);
  const bool changes_mode = std::exchange(config_, config).secure != config.secure;
  if ((changes_mode && !HasControllers(config_)) || !has_flows_) ResetFlows();
}

void Bridge::ApplyFlowTables(const BridgeConfig& config) {
  for (const auto& [table, row] : config_.flow_tables) {
    if (!config.flow_tables.contains(table)) pipeline_->tables.Configure(table, {});
  }
  for (const auto& [table, row] : config.flow_tables) {
    auto before = config_.flow_tables.find(table);
    if (before != config_.flow_tables.end() && before->second == row) continue;
    pipeline_->tables.Configure(table, TableConfigOf(row));
  }
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
