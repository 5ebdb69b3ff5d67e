// Topology: bridges, ports and interfaces as translation sees them. An immutable snapshot: the main thread publishes a
// new one after each change (RCU), threads that translate read it until they are quiescent.
//
// Pointers point into the same snapshot. What lives longer than a snapshot (MAC tables, counters) is shared.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "ofproto/config.h"
#include "ofproto/xlate/mac_table.h"

namespace sluice {

struct XBridge;
struct XBundle;

// An interface. Traffic counters of patch ports, which have no device.
struct PatchCounters {
  std::atomic<uint64_t> rx_packets{0}, rx_bytes{0}, tx_packets{0}, tx_bytes{0};
};

struct XPort {
  std::string name;
  uint32_t dp_port = 0;  // datapath port number; 0 for patch ports
  uint16_t ofport = 0;
  bool is_patch = false;
  bool up = true;  // administratively and by carrier
  XBundle* bundle = nullptr;
  XPort* peer = nullptr;  // of a patch port that has one
  std::shared_ptr<PatchCounters> patch_counters;
};

using MirrorMask = uint32_t;  // a bit per mirror of the bridge
constexpr size_t kMaxMirrors = 32;

struct XBundle {
  std::string name;
  XBridge* bridge = nullptr;
  std::vector<XPort*> ports;
  uint64_t id = 0;  // the same over snapshots as long as the Port exists: what MAC tables refer to

  VlanMode mode = VlanMode::kTrunk;
  uint16_t tag = 0;
  VlanBitmap trunks;  // all set if the configuration says none
  VlanBitmap cvlans;
  uint16_t qinq_ethtype = 0x88a8;
  PriorityTags priority_tags = PriorityTags::kNever;
  bool is_protected = false;
  bool floodable = true;

  MirrorMask src_mirrors = 0;  // mirror what comes in here / goes out here
  MirrorMask dst_mirrors = 0;
  MirrorMask mirror_out = 0;  // is the output port of these: otherwise carries nothing
};

struct MirrorCounters {
  std::atomic<uint64_t> packets{0}, bytes{0};
};

struct XMirror {
  std::string name;
  VlanBitmap vlans;  // all set if not restricted
  XBundle* output = nullptr;
  std::optional<uint16_t> output_vlan;
  uint32_t snaplen = 0;
  MirrorMask duplicates = 0;  // mirrors with the same output, this one included
  std::shared_ptr<MirrorCounters> counters;
};

struct XBridge {
  std::string name;
  std::vector<XBundle*> bundles;
  std::vector<XMirror> mirrors;
  XPort* local = nullptr;
  bool drops_all = false;  // fail_mode secure without flows. Later: the flow tables
  bool forward_bpdu = false;
  std::shared_ptr<MacTable> macs;
  absl::flat_hash_map<uint16_t, XPort*> by_ofport;
  VlanBitmap flood_vlans;  // no learning in these
  // By XBundle::id. Whoever builds a snapshot of many bundles fills it; when empty, they are searched.
  absl::flat_hash_map<uint64_t, XBundle*> by_bundle_id;

  const XBundle* FindBundle(uint64_t id) const;
};

struct Topology {
  uint64_t generation = 0;
  uint32_t vlan_limit = 1;
  std::deque<XBridge> bridges;  // deques: elements do not move while it is built
  std::deque<XBundle> bundles;
  std::deque<XPort> ports;
  absl::flat_hash_map<uint32_t, XPort*> by_dp_port;

  const XBridge* FindBridge(std::string_view name) const;
  const XPort* FindPort(const XBridge& bridge, std::string_view name) const;
};

}  // namespace sluice
