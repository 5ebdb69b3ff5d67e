#include "vswitchd/config_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>

#include "lib/base/log.h"
#include "lib/flow/mac_text.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

constexpr std::string_view kOther = "other_config";
constexpr int64_t kFirstReservedOfport = 0xff00;  // OFPP_MAX of OpenFlow 1.0

std::optional<CpuSet> ReadPmdCores(const RowReader& root) {
  const std::string* mask = root.Find(kOther, "pmd-cpu-mask");
  if (mask == nullptr || mask->empty()) return std::nullopt;
  absl::StatusOr<CpuSet> cores = CpuSet::FromMask(*mask);
  if (cores.ok()) return *std::move(cores);
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "other_config:pmd-cpu-mask: {}; using the default",
                          Message(cores.status()));
  return std::nullopt;
}

RxqAssignment ReadAssignment(const RowReader& root) {
  const std::string* text = root.Find(kOther, "pmd-rxq-assign");
  if (text == nullptr) return RxqAssignment::kCycles;
  absl::StatusOr<RxqAssignment> assignment = ParseRxqAssignment(*text);
  if (assignment.ok()) return *assignment;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "other_config:pmd-rxq-assign: {}; using cycles",
                          Message(assignment.status()));
  return RxqAssignment::kCycles;
}

TlsConfig ReadTls(const RowReader& root) {
  std::vector<RowReader> rows = root.References("ssl", "SSL");
  if (rows.empty()) return {};
  const RowReader& ssl = rows.front();
  return {.private_key = ssl.String("private_key"),
          .certificate = ssl.String("certificate"),
          .ca_cert = ssl.String("ca_cert"),
          .bootstrap_ca = ssl.Boolean("bootstrap_ca_cert")};
}

std::optional<uint64_t> ReadDatapathId(const RowReader& bridge, const std::string& name) {
  const std::string* text = bridge.Find(kOther, "datapath-id");
  if (text == nullptr) return std::nullopt;
  std::string_view digits = *text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  uint64_t id = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id, 16);
  bool exact_or_short = digits.size() == 16 || text->starts_with("0x");
  if (error == std::errc() && stop == digits.data() + digits.size() && exact_or_short && id != 0) return id;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60,
                          "bridge {}: other_config:datapath-id is \"{}\": expected 16 hexadecimal digits, not all zero",
                          name, *text);
  return std::nullopt;
}

std::optional<MacAddress> ReadHwaddr(const RowReader& bridge, const std::string& name) {
  const std::string* text = bridge.Find(kOther, "hwaddr");
  if (text == nullptr) return std::nullopt;
  std::optional<MacAddress> mac = ParseMac(*text);
  if (mac.has_value() && ((*mac)[0] & 1) == 0 && *mac != MacAddress{}) return mac;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60,
                          "bridge {}: other_config:hwaddr is \"{}\": expected a unicast address xx:xx:xx:xx:xx:xx",
                          name, *text);
  return std::nullopt;
}

std::vector<std::string> NamesOf(const std::vector<RowReader>& rows) {
  std::vector<std::string> names;
  for (const RowReader& row : rows) names.push_back(row.String("name"));
  return names;
}

MirrorConfig ReadMirror(const RowReader& row) {
  MirrorConfig mirror{.name = row.String("name"),
                      .select_all = row.Boolean("select_all"),
                      .src_ports = NamesOf(row.References("select_src_port", "Port")),
                      .dst_ports = NamesOf(row.References("select_dst_port", "Port"))};
  const Datum& vlans = row.Column("select_vlan");
  mirror.selects_vlans = !vlans.empty();
  mirror.vlans = ReadVlans(vlans);
  std::vector<RowReader> output = row.References("output_port", "Port");
  if (!output.empty()) mirror.output_port = output.front().String("name");
  if (auto vlan = row.Integer("output_vlan"); vlan.has_value() && mirror.output_port.empty()) {
    mirror.output_vlan = static_cast<uint16_t>(*vlan);
  }
  mirror.snaplen = static_cast<uint32_t>(row.Integer("snaplen").value_or(0));
  return mirror;
}

// A port named as its bridge is the local one; a bridge whose rows have none gets it all the same.
PortConfigRow MakeLocalPort(const std::string& bridge_name) {
  PortConfigRow port{.name = bridge_name};
  port.interfaces.push_back({.name = bridge_name, .type = "internal"});
  return port;
}

// An interface that asks for no number asks for the one it had: flows and scripts know it by that, also after a
// restart.
void KeepNumbers(const RowReader& row, BridgeConfig& bridge) {
  std::map<std::string, uint16_t> had;
  for (const RowReader& port : row.References("ports", "Port")) {
    for (const RowReader& interface : port.References("interfaces", "Interface")) {
      int64_t number = interface.Integer("ofport").value_or(-1);
      if (number > 0 && number < kFirstReservedOfport) had[interface.String("name")] = static_cast<uint16_t>(number);
    }
  }
  std::set<uint16_t> taken;
  for (const PortConfigRow& port : bridge.ports) {
    for (const InterfaceConfig& interface : port.interfaces) {
      if (interface.ofport_request.has_value()) taken.insert(*interface.ofport_request);
    }
  }
  for (PortConfigRow& port : bridge.ports) {
    for (InterfaceConfig& interface : port.interfaces) {
      auto number = had.find(interface.name);
      if (interface.ofport_request.has_value() || number == had.end()) continue;
      if (taken.insert(number->second).second) interface.ofport_request = number->second;
    }
  }
}

}  // namespace

GlobalConfig ReadGlobalConfig(const RowReader& root) {
  GlobalConfig config;
  config.tso = root.FindBoolean(kOther, "userspace-tso-enable", true, "Open_vSwitch");
  config.kernel_forwarding = root.FindBoolean(kOther, "kernel-forwarding", true, "Open_vSwitch");
  config.pmd_cores = ReadPmdCores(root);
  config.assignment = ReadAssignment(root);
  config.isolate = root.FindBoolean(kOther, "pmd-rxq-isolate", true, "Open_vSwitch");
  config.stats_interval = std::chrono::milliseconds(
      std::max<int64_t>(5000, root.FindInteger(kOther, "stats-update-interval", 5000, 0, INT32_MAX, "Open_vSwitch")));
  config.enable_statistics = root.FindBoolean(kOther, "enable-statistics", false, "Open_vSwitch");
  config.next_cfg = root.Integer("next_cfg").value_or(0);
  config.tls = ReadTls(root);
  return config;
}

SwitchConfig ReadSwitchConfig(const RowReader& root) {
  SwitchConfig config;
  auto number = [&root](std::string_view key, int64_t fallback, int64_t min, int64_t max) {
    return root.FindInteger(kOther, key, fallback, min, max, "Open_vSwitch");
  };
  config.flow_limit = static_cast<uint32_t>(number("flow-limit", 200000, 0, UINT32_MAX));
  config.max_idle = std::chrono::milliseconds(number("max-idle", 10000, 500, INT32_MAX));
  config.max_revalidator = std::chrono::milliseconds(number("max-revalidator", 500, 100, INT32_MAX));
  config.vlan_limit = static_cast<uint32_t>(number("vlan-limit", 1, 0, INT32_MAX));
  for (const RowReader& bridge : root.References("bridges", "Bridge")) config.bridges.push_back(ReadBridge(bridge));
  return config;
}

BridgeConfig ReadBridge(const RowReader& row) {
  BridgeConfig bridge{.name = row.String("name")};
  const std::string owner = fmt::format("bridge {}", bridge.name);
  std::string type = row.String("datapath_type");
  if (!type.empty() && type != "system" && type != "netdev") {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: datapath_type is \"{}\": expected netdev; using it", owner,
                            type);
  }
  bridge.hwaddr = ReadHwaddr(row, bridge.name);
  bridge.datapath_id = ReadDatapathId(row, bridge.name);
  bridge.secure = row.String("fail_mode") == "secure";
  bridge.mac_aging = std::chrono::seconds(row.FindInteger(kOther, "mac-aging-time", 300, 15, 3600, owner));
  bridge.mac_table_size = static_cast<uint32_t>(row.FindInteger(kOther, "mac-table-size", 8192, 10, 1'000'000, owner));
  bridge.flood_vlans = ReadVlans(row.Column("flood_vlans"));
  bridge.forward_bpdu = row.FindBoolean(kOther, "forward-bpdu", false, owner);
  bool has_local = false;
  for (const RowReader& port : row.References("ports", "Port")) {
    bridge.ports.push_back(ReadPort(port, bridge.name));
    has_local |= bridge.ports.back().name == bridge.name;
  }
  KeepNumbers(row, bridge);
  if (!has_local) bridge.ports.push_back(MakeLocalPort(bridge.name));
  for (const RowReader& mirror : row.References("mirrors", "Mirror")) bridge.mirrors.push_back(ReadMirror(mirror));
  return bridge;
}

VlanBitmap ReadVlans(const Datum& datum) {
  VlanBitmap vlans;
  for (const Atom& atom : datum.keys) {
    const int64_t* vlan = std::get_if<int64_t>(&atom);
    if (vlan != nullptr && *vlan >= 0 && *vlan < 4096) vlans.set(static_cast<size_t>(*vlan));
  }
  return vlans;
}

}  // namespace sluice
