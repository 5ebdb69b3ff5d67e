#include "ofproto/topology_builder.h"

#include <algorithm>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

VlanBitmap AllIfNone(const VlanBitmap& vlans) { return vlans.none() ? ~VlanBitmap{} : vlans; }

class Builder {
 public:
  Builder(const PortManager& ports, Topology& topology) : ports_(ports), topology_(topology) {}

  void AddBridge(Bridge& bridge) {
    const BridgeConfig& config = bridge.config();
    XBridge& x = topology_.bridges.emplace_back();
    x.name = config.name;
    x.drops_all = config.secure;
    x.forward_bpdu = config.forward_bpdu;
    x.flood_vlans = config.flood_vlans;
    x.macs = bridge.macs();
    for (const PortConfigRow& port : config.ports) AddBundle(x, bridge, port);
    AddMirrors(x, bridge);
  }

  // When all bridges are there.
  void ConnectPatches() {
    for (XPort& port : topology_.ports) {
      if (!port.is_patch) continue;
      const Interface* interface = ports_.Find(port.name);
      auto peer = by_name_.find(interface->config.patch_peer);
      if (peer == by_name_.end() || !peer->second->is_patch) continue;
      const Interface* other = ports_.Find(peer->first);
      if (other->config.patch_peer == port.name) port.peer = peer->second;
    }
  }

 private:
  void AddBundle(XBridge& bridge, const Bridge& from, const PortConfigRow& config) {
    XBundle* bundle = nullptr;
    for (const InterfaceConfig& member : config.interfaces) {
      const Interface* interface = ports_.Find(member.name);
      // A name that another port has too belongs to that one.
      const bool here = interface != nullptr && interface->bridge == bridge.name && interface->port == config.name;
      if (!here || !interface->works()) continue;
      if (bundle == nullptr) {
        bundle = &topology_.bundles.emplace_back();
        Fill(*bundle, config);
        bundle->bridge = &bridge;
        bundle->id = from.BundleId(config.name);
        bridge.bundles.push_back(bundle);
        bridge.by_bundle_id[bundle->id] = bundle;
      }
      AddPort(bridge, *bundle, *interface);
    }
  }

  static void Fill(XBundle& bundle, const PortConfigRow& config) {
    bundle.name = config.name;
    bundle.mode = config.mode;
    bundle.tag = config.tag;
    bundle.trunks = AllIfNone(config.trunks);
    bundle.cvlans = AllIfNone(config.cvlans);
    bundle.qinq_ethtype = config.qinq_ethtype;
    bundle.priority_tags = config.priority_tags;
    bundle.is_protected = config.is_protected;
    bundle.floodable = config.floodable;
  }

  void AddPort(XBridge& bridge, XBundle& bundle, const Interface& interface) {
    XPort& port = topology_.ports.emplace_back();
    port.name = interface.config.name;
    port.dp_port = interface.dp_port;
    port.ofport = interface.ofport;
    port.is_patch = interface.is_patch();
    port.up = interface.status.device.admin_up && interface.status.device.carrier;
    port.bundle = &bundle;
    port.patch_counters = interface.patch_counters;
    bundle.ports.push_back(&port);
    by_name_[port.name] = &port;
    bridge.by_ofport[port.ofport] = &port;
    if (interface.is_local()) bridge.local = &port;
    if (!port.is_patch) topology_.by_dp_port[port.dp_port] = &port;
  }

  void AddMirrors(XBridge& bridge, Bridge& from) {
    for (const MirrorConfig& config : from.config().mirrors) {
      if (bridge.mirrors.size() == kMaxMirrors) {
        SLUICE_LOG(log_module, kWarn, "bridge {}: mirror {}: there are {} already, which is the most", bridge.name,
                   config.name, kMaxMirrors);
        break;
      }
      const MirrorMask bit = MirrorMask{1} << bridge.mirrors.size();
      XMirror& mirror = bridge.mirrors.emplace_back();
      mirror.name = config.name;
      mirror.vlans = config.selects_vlans ? config.vlans : ~VlanBitmap{};
      mirror.output = config.output_port.empty() ? nullptr : FindBundle(bridge, config.output_port);
      mirror.output_vlan = config.output_vlan;
      mirror.snaplen = config.snaplen;
      mirror.counters = from.CountersOf(config.name);
      if (mirror.output != nullptr) mirror.output->mirror_out |= bit;
      Select(bridge, config, bit);
    }
    for (XMirror& mirror : bridge.mirrors) {
      for (size_t i = 0; i < bridge.mirrors.size(); ++i) {
        const XMirror& other = bridge.mirrors[i];
        const bool same = other.output == mirror.output && other.output_vlan == mirror.output_vlan;
        if (same) mirror.duplicates |= MirrorMask{1} << i;
      }
    }
  }

  static void Select(XBridge& bridge, const MirrorConfig& config, MirrorMask bit) {
    auto among = [](const std::vector<std::string>& names, const XBundle& bundle) {
      return std::find(names.begin(), names.end(), bundle.name) != names.end();
    };
    for (XBundle* bundle : bridge.bundles) {
      if (config.select_all || among(config.src_ports, *bundle)) bundle->src_mirrors |= bit;
      if (config.select_all || among(config.dst_ports, *bundle)) bundle->dst_mirrors |= bit;
    }
  }

  static XBundle* FindBundle(const XBridge& bridge, const std::string& name) {
    auto it = std::find_if(bridge.bundles.begin(), bridge.bundles.end(),
                           [&name](const XBundle* bundle) { return bundle->name == name; });
    return it == bridge.bundles.end() ? nullptr : *it;
  }

  const PortManager& ports_;
  Topology& topology_;
  std::map<std::string, XPort*, std::less<>> by_name_;
};

}  // namespace

std::unique_ptr<Topology> BuildTopology(Bridges& bridges, const PortManager& ports, uint32_t vlan_limit,
                                        uint64_t generation) {
  auto topology = std::make_unique<Topology>();
  topology->generation = generation;
  topology->vlan_limit = vlan_limit;
  Builder builder(ports, *topology);
  for (auto& [name, bridge] : bridges) builder.AddBridge(bridge);
  builder.ConnectPatches();
  return topology;
}

}  // namespace sluice
