// Rows of Port and Interface.
#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/flow/mac_text.h"
#include "netdev/port_options.h"
#include "vswitchd/config_reader.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

constexpr std::string_view kOther = "other_config";

// Without a vlan_mode, a tag makes an access port and none a trunk.
VlanMode ReadVlanMode(const RowReader& port, const std::string& name) {
  const std::string mode = port.String("vlan_mode");
  const bool has_tag = !port.Column("tag").empty();
  if (mode.empty()) return has_tag ? VlanMode::kAccess : VlanMode::kTrunk;
  if (mode == "trunk") return VlanMode::kTrunk;
  if (!has_tag && mode != "access") {
    // A native or tunnelled VLAN is needed; without a tag it is VLAN 0.
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "port {}: vlan_mode is {} but tag is not set: VLAN 0 is used", name,
                            mode);
  }
  if (mode == "access") return VlanMode::kAccess;
  if (mode == "native-tagged") return VlanMode::kNativeTagged;
  if (mode == "native-untagged") return VlanMode::kNativeUntagged;
  if (mode == "dot1q-tunnel") return VlanMode::kDot1qTunnel;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "port {}: vlan_mode is \"{}\": unknown; using trunk", name, mode);
  return VlanMode::kTrunk;
}

uint16_t ReadQinqEthtype(const RowReader& port, const std::string& name) {
  const std::string* text = port.Find(kOther, "qinq-ethtype");
  if (text == nullptr || *text == "802.1ad") return 0x88a8;
  if (*text == "802.1q") return 0x8100;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60,
                          "port {}: other_config:qinq-ethtype is \"{}\": expected 802.1ad or 802.1q; using 802.1ad",
                          name, *text);
  return 0x88a8;
}

// "true" is what if-nonzero was called before there were three.
PriorityTags ReadPriorityTags(const RowReader& port, const std::string& name) {
  const std::string* text = port.Find(kOther, "priority-tags");
  if (text == nullptr || *text == "no" || *text == "false") return PriorityTags::kNever;
  if (*text == "if-nonzero" || *text == "true") return PriorityTags::kIfNonzero;
  if (*text == "always") return PriorityTags::kAlways;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60,
                          "port {}: other_config:priority-tags is \"{}\": expected no, if-nonzero or always; using no",
                          name, *text);
  return PriorityTags::kNever;
}

uint64_t Rate(const RowReader& interface, std::string_view column) {
  return static_cast<uint64_t>(std::max<int64_t>(0, interface.Integer(column).value_or(0)));
}

}  // namespace

PortConfigRow ReadPort(const RowReader& row, const std::string& bridge_name) {
  PortConfigRow port{.name = row.String("name")};
  port.mode = ReadVlanMode(row, port.name);
  port.tag = static_cast<uint16_t>(row.Integer("tag").value_or(0));
  port.trunks = ReadVlans(row.Column("trunks"));
  port.cvlans = ReadVlans(row.Column("cvlans"));
  port.qinq_ethtype = ReadQinqEthtype(row, port.name);
  port.priority_tags = ReadPriorityTags(row, port.name);
  port.is_protected = row.Boolean("protected");
  for (const RowReader& interface : row.References("interfaces", "Interface")) {
    port.interfaces.push_back(ReadInterface(interface, port.name == bridge_name));
  }
  return port;
}

InterfaceConfig ReadInterface(const RowReader& row, bool is_local) {
  InterfaceConfig interface { .name = row.String("name"), .type = row.String("type") };
  if (is_local) interface.type = "internal";
  const Datum& options = row.Column("options");
  for (size_t i = 0; i < options.values.size(); ++i) {
    const auto* key = std::get_if<std::string>(&options.keys[i]);
    const auto* value = std::get_if<std::string>(&options.values[i]);
    if (key == nullptr || value == nullptr) continue;
    if (*key == "peer") {
      interface.patch_peer = *value;
    } else if (HasPortOption(interface.type, *key)) {
      interface.options[*key] = *value;
    } else if (interface.type != "patch") {
      // Left out, as a row that works with Open vSwitch goes on working.
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10,
                              "interface {}: options:{} is not an option of type \"{}\": ignored", interface.name, *key,
                              interface.type);
    }
  }
  for (std::string_view key : {"pmd-rxq-affinity", "userspace-tso-enable"}) {
    if (const std::string* value = row.Find(kOther, key)) interface.options[std::string(key)] = *value;
  }
  if (auto number = row.Integer("ofport_request")) interface.ofport_request = static_cast<uint16_t>(*number);
  if (auto mtu = row.Integer("mtu_request")) interface.mtu_request = static_cast<uint32_t>(*mtu);
  if (std::string text = row.String("mac"); !text.empty()) {
    interface.mac = ParseMac(text);
    if (!interface.mac.has_value() || ((*interface.mac)[0] & 1) != 0) {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "interface {}: mac is \"{}\": expected a unicast address",
                              interface.name, text);
      interface.mac.reset();
    }
  }
  interface.policing = {.rate_kbps = Rate(row, "ingress_policing_rate"),
                        .burst_kb = Rate(row, "ingress_policing_burst"),
                        .rate_kpkts = Rate(row, "ingress_policing_kpkts_rate"),
                        .burst_kpkts = Rate(row, "ingress_policing_kpkts_burst")};
  return interface;
}

}  // namespace sluice
