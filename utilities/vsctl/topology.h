// The bridges, ports and interfaces of a database, with the fake bridges (ovs-vsctl(8) "Linux VLAN Bridging
// Compatibility") as bridges of their own: what the bridge and port commands speak of.
//
// Built when first asked for, from the transaction; changes made through it are in it at once. Whoever changes the rows
// behind it otherwise calls Invalidate(). Pointers are good until then and until the thing is deleted.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "utilities/vsctl/transaction.h"

namespace sluice::vsctl {

struct Bridge;

struct Port {
  std::string name;
  Uuid row;
  Bridge* bridge = nullptr;             // a fake one if the port is on its VLAN
  std::vector<std::string> interfaces;  // sorted names
};

struct Bridge {
  std::string name;
  Uuid row;                                         // of the Bridge table; a fake bridge: its parent's
  Bridge* parent = nullptr;                         // of a fake bridge
  int64_t vlan = 0;                                 // of a fake bridge
  Uuid fake_port;                                   // the Port that makes a fake bridge
  std::map<std::string, Port*, std::less<>> ports;  // the local port included
  std::map<int64_t, Bridge*> children;              // fake bridges by VLAN

  bool is_fake() const { return parent != nullptr; }
};

struct Interface {
  std::string name;
  Uuid row;
  Port* port = nullptr;
};

class Topology {
 public:
  // `root`: the row of Open_vSwitch.
  Topology(Transaction& transaction, Uuid root, std::vector<std::string>& warnings)
      : transaction_(transaction), root_(root), warnings_(warnings) {}

  void Invalidate() { built_ = false; }

  const std::map<std::string, std::unique_ptr<Bridge>, std::less<>>& bridges() { return Built().bridges_; }

  // By name; nullptr if there is none. Local ports and their interfaces are not found as ports and interfaces.
  Bridge* FindBridge(std::string_view name);
  Port* FindPort(std::string_view name);
  Interface* FindInterface(std::string_view name);
  // The same, an error where there is none.
  absl::StatusOr<Bridge*> GetBridge(std::string_view name);
  absl::StatusOr<Bridge*> GetRealBridge(std::string_view name);
  absl::StatusOr<Port*> GetPort(std::string_view name);
  absl::StatusOr<Interface*> GetInterface(std::string_view name);

  // An error if the name is taken by a bridge, port or interface: "<what> because ...".
  absl::Status CheckFree(std::string_view name, const std::string& what);

  // The transaction fails if somebody adds or removes bridges or ports meanwhile. Before every change.
  void VerifyAll();

  // New rows, which are attached. Returns the row of the port.
  void AddBridge(const std::string& name, std::vector<Uuid>& new_interfaces);
  void AddFakeBridge(const std::string& name, Bridge& parent, int64_t vlan, std::vector<Uuid>& new_interfaces);
  Uuid AddPort(Bridge& bridge, const std::string& name, const std::vector<std::string>& interfaces,
               std::vector<Uuid>& new_interfaces);
  void AddInterface(Port& port, const std::string& name, std::vector<Uuid>& new_interfaces);

  void DeletePort(Port& port);
  void DeleteBridge(Bridge& bridge);
  void DeleteInterface(Interface& interface);

 private:
  Topology& Built();
  void Build();
  void ReadBridge(const Uuid& row, std::set<Uuid>& seen_ports);
  void ReadPort(Bridge& bridge, const Uuid& row);
  Bridge& Remember(std::unique_ptr<Bridge> bridge);
  Port& Remember(Bridge& bridge, const Uuid& row, const std::string& name);
  void Remember(Port& port, const Uuid& row, const std::string& name);
  Uuid InsertInterface(const std::string& name, std::string_view type, std::vector<Uuid>& new_interfaces);
  void Forget(Port& port);
  std::string Name(std::string_view table, const Uuid& row) const;

  Transaction& transaction_;
  const Uuid root_;
  std::vector<std::string>& warnings_;
  bool built_ = false;
  std::map<std::string, std::unique_ptr<Bridge>, std::less<>> bridges_;
  std::map<std::string, std::unique_ptr<Port>, std::less<>> ports_;  // local ports included
  std::map<std::string, std::unique_ptr<Interface>, std::less<>> interfaces_;
};

}  // namespace sluice::vsctl
