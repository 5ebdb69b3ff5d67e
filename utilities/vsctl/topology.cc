#include "utilities/vsctl/topology.h"

#include <algorithm>

namespace sluice::vsctl {
namespace {

constexpr int64_t kMaxVlan = 4095;

Atom UuidAtom(const Uuid& uuid) { return uuid; }

}  // namespace

std::string Topology::Name(std::string_view table, const Uuid& row) const {
  return std::string(transaction_.Get(table, row, "name").StringOr(""));
}

Topology& Topology::Built() {
  if (!built_) Build();
  return *this;
}

void Topology::Build() {
  built_ = true;
  bridges_.clear();
  ports_.clear();
  interfaces_.clear();
  std::set<Uuid> seen_ports;
  for (const Atom& atom : transaction_.Get("Open_vSwitch", root_, "bridges").keys) {
    const Uuid row = std::get<Uuid>(atom);
    if (transaction_.Exists("Bridge", row)) ReadBridge(row, seen_ports);
  }
}

void Topology::ReadBridge(const Uuid& row, std::set<Uuid>& seen_ports) {
  auto made = std::make_unique<Bridge>();
  made->name = Name("Bridge", row);
  made->row = row;
  if (bridges_.contains(made->name)) {
    warnings_.push_back(fmt::format("{}: database contains duplicate bridge name", made->name));
    return;
  }
  Bridge& bridge = Remember(std::move(made));
  std::vector<Uuid> ports;
  for (const Atom& atom : transaction_.Get("Bridge", row, "ports").keys) {
    const Uuid port = std::get<Uuid>(atom);
    if (!transaction_.Exists("Port", port)) continue;
    if (!seen_ports.insert(port).second) {
      warnings_.push_back(
          fmt::format("{}: port is in several bridges, {} one of them", Name("Port", port), bridge.name));
      continue;
    }
    ports.push_back(port);
    const Datum& tag = transaction_.Get("Port", port, "tag");
    const int64_t vlan = tag.IntegerOr(-1);
    if (!transaction_.Get("Port", port, "fake_bridge").BooleanOr(false) || vlan < 0 || vlan > kMaxVlan) continue;
    auto fake = std::make_unique<Bridge>();
    fake->name = Name("Port", port);
    fake->row = row;
    fake->parent = &bridge;
    fake->vlan = vlan;
    fake->fake_port = port;
    if (bridges_.contains(fake->name)) {
      warnings_.push_back(fmt::format("{}: database contains duplicate bridge name", fake->name));
    } else if (const auto other = bridge.children.find(vlan); other != bridge.children.end()) {
      warnings_.push_back(
          fmt::format("{}: bridge has multiple VLAN bridges ({} and {}) for VLAN {}, but only one is allowed",
                      bridge.name, other->second->name, fake->name, vlan));
    } else {
      Remember(std::move(fake));
    }
  }
  // Once all fake bridges are known: their ports are those of the parent on their VLAN.
  for (const Uuid& port : ports) ReadPort(bridge, port);
}

void Topology::ReadPort(Bridge& bridge, const Uuid& row) {
  const std::string name = Name("Port", row);
  if (ports_.contains(name)) {
    warnings_.push_back(fmt::format("{}: database contains duplicate port name", name));
    return;
  }
  Port& port = Remember(bridge, row, name);
  for (const Atom& atom : transaction_.Get("Port", row, "interfaces").keys) {
    const Uuid interface = std::get<Uuid>(atom);
    if (!transaction_.Exists("Interface", interface)) continue;
    const std::string interface_name = Name("Interface", interface);
    if (const auto other = interfaces_.find(interface_name); other != interfaces_.end()) {
      warnings_.push_back(fmt::format("{}: interface is in multiple ports ({} and {})", interface_name,
                                      other->second->port->name, name));
      continue;
    }
    Remember(port, interface, interface_name);
  }
}

Bridge& Topology::Remember(std::unique_ptr<Bridge> bridge) {
  Bridge& kept = *bridge;
  if (kept.parent != nullptr) kept.parent->children[kept.vlan] = &kept;
  bridges_[kept.name] = std::move(bridge);
  return kept;
}

Port& Topology::Remember(Bridge& bridge, const Uuid& row, const std::string& name) {
  auto made = std::make_unique<Port>();
  made->name = name;
  made->row = row;
  const auto child = bridge.children.find(transaction_.Get("Port", row, "tag").IntegerOr(-1));
  made->bridge = child == bridge.children.end() ? &bridge : child->second;
  made->bridge->ports[name] = made.get();
  return *(ports_[name] = std::move(made));
}

void Topology::Remember(Port& port, const Uuid& row, const std::string& name) {
  auto made = std::make_unique<Interface>();
  made->name = name;
  made->row = row;
  made->port = &port;
  interfaces_[name] = std::move(made);
  port.interfaces.insert(std::lower_bound(port.interfaces.begin(), port.interfaces.end(), name), name);
}

Bridge* Topology::FindBridge(std::string_view name) {
  const auto found = Built().bridges_.find(name);
  return found == bridges_.end() ? nullptr : found->second.get();
}

Port* Topology::FindPort(std::string_view name) {
  const auto found = Built().ports_.find(name);
  return found == ports_.end() || found->second->bridge->name == name ? nullptr : found->second.get();
}

Interface* Topology::FindInterface(std::string_view name) {
  const auto found = Built().interfaces_.find(name);
  return found == interfaces_.end() || found->second->port->bridge->name == name ? nullptr : found->second.get();
}

absl::StatusOr<Bridge*> Topology::GetBridge(std::string_view name) {
  Bridge* bridge = FindBridge(name);
  if (bridge == nullptr) return NotFound("no bridge named {}", name);
  return bridge;
}

absl::StatusOr<Bridge*> Topology::GetRealBridge(std::string_view name) {
  absl::StatusOr<Bridge*> bridge = GetBridge(name);
  if (bridge.ok() && (*bridge)->is_fake()) return InvalidArgument("{} is a fake bridge", name);
  return bridge;
}

absl::StatusOr<Port*> Topology::GetPort(std::string_view name) {
  Port* port = FindPort(name);
  if (port == nullptr) return NotFound("no port named {}", name);
  return port;
}

absl::StatusOr<Interface*> Topology::GetInterface(std::string_view name) {
  Interface* interface = FindInterface(name);
  if (interface == nullptr) return NotFound("no interface named {}", name);
  return interface;
}

absl::Status Topology::CheckFree(std::string_view name, const std::string& what) {
  Built();
  if (bridges_.contains(name)) {
    return AlreadyExists("{} because a bridge named {} already exists", what, name);
  }
  if (const auto port = ports_.find(name); port != ports_.end()) {
    return AlreadyExists("{} because a port named {} already exists on bridge {}", what, name,
                         port->second->bridge->name);
  }
  if (const auto interface = interfaces_.find(name); interface != interfaces_.end()) {
    return AlreadyExists("{} because an interface named {} already exists on bridge {}", what, name,
                         interface->second->port->bridge->name);
  }
  return absl::OkStatus();
}

void Topology::VerifyAll() {
  transaction_.Verify("Open_vSwitch", root_, "bridges");
  for (const auto& [name, bridge] : Built().bridges_) {
    if (!bridge->is_fake()) transaction_.Verify("Bridge", bridge->row, "ports");
  }
}

Uuid Topology::InsertInterface(const std::string& name, std::string_view type, std::vector<Uuid>& new_interfaces) {
  const Uuid interface = transaction_.Insert("Interface");
  transaction_.Set("Interface", interface, "name", Datum::Scalar(name));
  if (!type.empty()) transaction_.Set("Interface", interface, "type", Datum::Scalar(std::string(type)));
  new_interfaces.push_back(interface);
  return interface;
}

void Topology::AddBridge(const std::string& name, std::vector<Uuid>& new_interfaces) {
  VerifyAll();
  const Uuid interface = InsertInterface(name, "internal", new_interfaces);
  const Uuid port = transaction_.Insert("Port");
  transaction_.Set("Port", port, "name", Datum::Scalar(name));
  transaction_.Set("Port", port, "interfaces", Datum::Scalar(interface));
  auto bridge = std::make_unique<Bridge>();
  bridge->name = name;
  bridge->row = transaction_.Insert("Bridge");
  transaction_.Set("Bridge", bridge->row, "name", Datum::Scalar(name));
  transaction_.Set("Bridge", bridge->row, "ports", Datum::Scalar(port));
  transaction_.AddTo("Open_vSwitch", root_, "bridges", UuidAtom(bridge->row));
  Remember(Remember(Remember(std::move(bridge)), port, name), interface, name);
}

void Topology::AddFakeBridge(const std::string& name, Bridge& parent, int64_t vlan, std::vector<Uuid>& new_interfaces) {
  VerifyAll();
  const Uuid interface = InsertInterface(name, "internal", new_interfaces);
  const Uuid port = transaction_.Insert("Port");
  transaction_.Set("Port", port, "name", Datum::Scalar(name));
  transaction_.Set("Port", port, "interfaces", Datum::Scalar(interface));
  transaction_.Set("Port", port, "fake_bridge", Datum::Scalar(true));
  transaction_.Set("Port", port, "tag", Datum::Scalar(vlan));
  transaction_.AddTo("Bridge", parent.row, "ports", UuidAtom(port));
  // The parent's ports on that VLAN are the new bridge's now.
  Invalidate();
}

Uuid Topology::AddPort(Bridge& bridge, const std::string& name, const std::vector<std::string>& interfaces,
                       std::vector<Uuid>& new_interfaces) {
  VerifyAll();
  Datum rows;
  std::vector<Uuid> inserted;
  for (const std::string& interface : interfaces) {
    inserted.push_back(InsertInterface(interface, "", new_interfaces));
    rows.keys.emplace_back(inserted.back());
  }
  rows.Normalize(false);
  const Uuid row = transaction_.Insert("Port");
  transaction_.Set("Port", row, "name", Datum::Scalar(name));
  transaction_.Set("Port", row, "interfaces", std::move(rows));
  if (bridge.is_fake()) transaction_.Set("Port", row, "tag", Datum::Scalar(bridge.vlan));
  transaction_.AddTo("Bridge", bridge.row, "ports", UuidAtom(row));
  Port& port = Remember(bridge.is_fake() ? *bridge.parent : bridge, row, name);
  for (size_t i = 0; i < interfaces.size(); ++i) Remember(port, inserted[i], interfaces[i]);
  return row;
}

void Topology::AddInterface(Port& port, const std::string& name, std::vector<Uuid>& new_interfaces) {
  VerifyAll();
  transaction_.Verify("Port", port.row, "interfaces");
  const Uuid interface = InsertInterface(name, "", new_interfaces);
  transaction_.AddTo("Port", port.row, "interfaces", UuidAtom(interface));
  Remember(port, interface, name);
}

void Topology::Forget(Port& port) {
  for (const std::string& name : port.interfaces) interfaces_.erase(name);
  port.bridge->ports.erase(port.name);
  ports_.erase(std::string(port.name));
}

void Topology::DeletePort(Port& port) {
  VerifyAll();
  for (const std::string& name : port.interfaces) transaction_.Delete("Interface", interfaces_.at(name)->row);
  transaction_.RemoveFrom("Bridge", port.bridge->row, "ports", UuidAtom(port.row));
  transaction_.Delete("Port", port.row);
  Forget(port);
}

void Topology::DeleteBridge(Bridge& bridge) {
  VerifyAll();
  while (!bridge.children.empty()) DeleteBridge(*bridge.children.begin()->second);
  while (!bridge.ports.empty()) DeletePort(*bridge.ports.begin()->second);
  if (bridge.is_fake()) {
    bridge.parent->children.erase(bridge.vlan);
  } else {
    transaction_.RemoveFrom("Open_vSwitch", root_, "bridges", UuidAtom(bridge.row));
    transaction_.Delete("Bridge", bridge.row);
  }
  bridges_.erase(std::string(bridge.name));
}

void Topology::DeleteInterface(Interface& interface) {
  VerifyAll();
  Port& port = *interface.port;
  transaction_.Verify("Port", port.row, "interfaces");
  transaction_.RemoveFrom("Port", port.row, "interfaces", UuidAtom(interface.row));
  transaction_.Delete("Interface", interface.row);
  std::erase(port.interfaces, interface.name);
  interfaces_.erase(std::string(interface.name));
}

}  // namespace sluice::vsctl
