// What the switch is configured to be: plain data, made whole by whoever configures (vswitchd from database rows) and
// handed over in one step. Names are unique per level; order does not matter. Fields hold what the columns of
// ovs-vswitchd.conf.db(5) say, checked and with their defaults filled in.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/flow/flow_key.h"
#include "netdev/netdev.h"

namespace sluice {

using VlanBitmap = std::bitset<4096>;

enum class VlanMode : uint8_t { kAccess, kTrunk, kNativeTagged, kNativeUntagged, kDot1qTunnel };
enum class PriorityTags : uint8_t { kNever, kIfNonzero, kAlways };

// Interface:ingress_policing_*, on any kind of port, counted per wire segment. Zero rates: no policing.
struct PolicingConfig {
  uint64_t rate_kbps = 0;
  uint64_t burst_kb = 0;  // kilobits; 0: the default, 8000
  uint64_t rate_kpkts = 0;
  uint64_t burst_kpkts = 0;  // thousands of packets; 0: the default, 16

  bool operator==(const PolicingConfig&) const = default;
};

struct InterfaceConfig {
  std::string name;
  std::string type;  // "" is "system"; "patch" is the switch's own, all others are netdev types
  NetdevOptions
      options;  // options and those of other_config that are the port's: n_rxq, pmd-rxq-affinity, userspace-tso-enable
  std::string patch_peer;  // options:peer, for "patch"
  std::optional<uint16_t> ofport_request;
  std::optional<uint32_t> mtu_request;
  std::optional<MacAddress> mac;  // Interface:mac; for internal ports
  PolicingConfig policing;

  bool operator==(const InterfaceConfig&) const = default;
};

struct PortConfigRow {  // a Port: what bridging sees; one interface, or several (a bond: the first that is up carries
                        // all)
  std::string name;
  std::vector<InterfaceConfig> interfaces;
  VlanMode mode = VlanMode::kTrunk;
  uint16_t tag = 0;   // of access, native and dot1q-tunnel ports
  VlanBitmap trunks;  // none set: all
  VlanBitmap cvlans;  // dot1q-tunnel; none set: all
  uint16_t qinq_ethtype = 0x88a8;
  PriorityTags priority_tags = PriorityTags::kNever;
  bool is_protected = false;
  bool floodable = true;

  bool operator==(const PortConfigRow&) const = default;
};

struct MirrorConfig {
  std::string name;
  bool select_all = false;
  std::vector<std::string> src_ports;  // by name
  std::vector<std::string> dst_ports;
  VlanBitmap vlans;
  bool selects_vlans = false;  // false: `vlans` does not restrict
  std::string output_port;     // by name, or ""
  std::optional<uint16_t> output_vlan;
  uint32_t snaplen = 0;  // bytes; 0: whole packets

  bool operator==(const MirrorConfig&) const = default;
};

struct StaticMac {
  std::string port;  // by name
  uint16_t vlan = 0;
  MacAddress mac{};

  bool operator==(const StaticMac&) const = default;
};

struct BridgeConfig {
  std::string name;
  std::optional<MacAddress> hwaddr;     // other_config:hwaddr
  std::optional<uint64_t> datapath_id;  // other_config:datapath-id
  bool secure = false;                  // fail_mode; standalone forwards by NORMAL
  std::chrono::seconds mac_aging{300};  // 15..3600
  uint32_t mac_table_size = 8192;       // 10..1,000,000
  bool forward_bpdu = false;
  VlanBitmap flood_vlans;  // no learning in these
  std::vector<PortConfigRow> ports;  // the local port, named as the bridge, included
  std::vector<MirrorConfig> mirrors;
  std::vector<StaticMac> static_macs;

  bool operator==(const BridgeConfig&) const = default;
};

struct SwitchConfig {
  std::vector<BridgeConfig> bridges;
  uint32_t flow_limit = 200000;                    // other_config:flow-limit
  std::chrono::milliseconds max_idle{10000};       // max-idle
  std::chrono::milliseconds max_revalidator{500};  // max-revalidator
  uint32_t vlan_limit = 1;                         // vlan-limit: how many tags are looked at; 0: all that are parsed

  bool operator==(const SwitchConfig&) const = default;
};

}  // namespace sluice
