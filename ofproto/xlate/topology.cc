#include "ofproto/xlate/topology.h"

namespace sluice {

const XBundle* XBridge::FindBundle(uint64_t id) const {
  if (!by_bundle_id.empty()) {
    auto found = by_bundle_id.find(id);
    return found == by_bundle_id.end() ? nullptr : found->second;
  }
  for (const XBundle* bundle : bundles) {
    if (bundle->id == id) return bundle;
  }
  return nullptr;
}

const XBridge* Topology::FindBridge(std::string_view name) const {
  for (const XBridge& bridge : bridges) {
    if (bridge.name == name) return &bridge;
  }
  return nullptr;
}

const XPort* Topology::FindPort(const XBridge& bridge, std::string_view name) const {
  for (const XBundle* bundle : bridge.bundles) {
    for (const XPort* port : bundle->ports) {
      if (port->name == name) return port;
    }
  }
  return nullptr;
}

}  // namespace sluice
