// PortManager: makes interfaces of the configuration into ports of the datapath, and keeps what became of each.
//
// An interface is known by its name. One that cannot be made keeps its error and is tried again. The local interface of
// a bridge (named as the bridge) is internal. Patch interfaces have no datapath port. Main thread.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/datapath_manager.h"
#include "ofproto/ofports.h"
#include "ofproto/switch.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

struct Interface {
  std::string bridge;
  std::string port;
  InterfaceConfig config;  // its type is what is really opened: "system", not ""
  uint16_t ofport = 0;     // 0: none
  uint32_t dp_port = 0;    // 0: none
  // Of patch interfaces.
  std::shared_ptr<PatchCounters> patch_counters;
  MacAddress patch_mac{};

  InterfaceStatus status;
  std::string open_error;     // why there is no port; empty: there is one
  std::string options_error;  // why the port does not have the options that it should have
  std::string device_error;   // why the device was not changed as it should

  bool is_patch() const { return config.type == "patch"; }
  bool is_local() const { return config.name == bridge; }
  bool works() const { return open_error.empty(); }
};

class PortManager {
 public:
  explicit PortManager(DatapathManager& datapaths) : datapaths_(datapaths) {}

  // Where ports are made from now on; all interfaces have been removed before it is changed. nullptr: nowhere, and
  // `why` is what is wrong with every interface.
  void set_datapath(Datapath* datapath, std::string why = "") {
    datapath_ = datapath;
    no_datapath_ = std::move(why);
  }

  // Makes the interfaces be those of `config`: removes, adds and changes.
  void Apply(const SwitchConfig& config);
  // Tries again what has no port. Returns whether any has one now.
  bool Retry();
  // Asks the devices for their state. Returns what changed since the last time.
  struct Changes {
    bool status = false;    // something that a status column shows
    bool topology = false;  // a port is up or down
  };
  Changes Refresh();
  void Refresh(Interface& interface);

  // Gives the devices the addresses and MTUs that they should have: those requested, for internal ones without request
  // the lowest MTU of the bridge's other ports, for the local one the bridge's address. And ports their policing.
  void ConfigureDevices(const std::map<std::string, MacAddress>& bridge_macs);

  // Datapath ports removed since the last call.
  absl::flat_hash_set<uint32_t> TakeRemoved();

  Interface* Find(std::string_view name);
  const Interface* Find(std::string_view name) const;
  const std::map<std::string, Interface, std::less<>>& interfaces() const { return interfaces_; }
  Port* DatapathPort(const Interface& interface) const;

 private:
  using Wanted = std::map<std::string, Interface, std::less<>>;

  static Wanted Flatten(const SwitchConfig& config);
  void RemoveAllBut(const Wanted& wanted);
  void TakeOver(Wanted& wanted);
  void ChangeOptions(Interface& interface);
  // Opens what has no port yet; returns whether any has one now.
  bool OpenMissing(bool only_likely);
  void AllocateOfports();
  void ApplyPolicing();
  void ConfigureDevice(Interface& interface, std::optional<uint32_t> mtu, std::optional<MacAddress> mac);

  DatapathManager& datapaths_;
  Datapath* datapath_ = nullptr;
  std::string no_datapath_;
  std::map<std::string, Interface, std::less<>> interfaces_;
  std::map<std::string, OfportAllocator> ofports_;  // by bridge
  absl::flat_hash_set<uint32_t> removed_;
};

}  // namespace sluice
