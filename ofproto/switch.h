// Switch: all bridges of the process and their ports, on one datapath; the face of ofproto to the daemon.
//
// Everything but the upcalls (which PMD threads make through the handler inside) belongs to the main thread. The
// configuration is declared: Configure() finds the difference to what is there and applies it in one step while traffic
// goes on. A new topology is published at once for all threads, and installed flows follow it before Configure()
// returns or, with many flows, within a second (the revalidator thread).
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/datapath_manager.h"
#include "lib/io/unixctl.h"
#include "ofproto/config.h"

namespace sluice {

constexpr uint16_t kOfportLocal = 65534;  // OFPP_LOCAL: the port named as its bridge
constexpr uint16_t kOfportNone = 65535;

// What became of an interface. The error is for the error column: empty if fine.
struct InterfaceStatus {
  int32_t ofport = -1;  // -1: could not be made
  std::string error;
  bool is_patch = false;
  NetdevState device;                         // of other than patch ports
  std::map<std::string, std::string> status;  // driver_name, ... for the status column
  uint32_t dp_port = 0;                       // datapath port number; 0: none
};

struct InterfaceStatistics {
  // rx_packets, rx_bytes, rx_dropped, tx_..., and one "rx_<reason>_drops"/"tx_<reason>_drops" per reason that is not
  // zero; wire frames. The names of ovs-vswitchd.conf.db(5), where there is one.
  std::map<std::string, int64_t> values;
};

struct BridgeStatus {
  uint64_t datapath_id = 0;
  MacAddress mac{};
};

class Switch {
 public:
  // `datapaths` outlives the switch, which makes one datapath in it ("ovs-netdev") with the first bridge and removes it
  // with the last.
  explicit Switch(DatapathManager& datapaths);
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Makes it so. What cannot be made (a device that does not exist, an unknown type, an ofport or a device taken twice)
  // fails for itself only; see interface_status(). Retry() tries such interfaces again. Removing a bridge removes its
  // taps; a system device is left as it was found.
  void Configure(const SwitchConfig& config);
  // Tries again what could not be made; returns whether anything changed. Also called by the switch itself when a
  // device of that name appears.
  bool Retry();
  // Called (main thread, from Retry() or a link event) when an interface's status changed.
  void OnStatusChange(std::function<void()> callback);
  // Call once a second: ageing, patch loops, retries.
  void Tick();

  // By interface name within any bridge; names are unique among all bridges. nullptr / empty if there is none.
  const InterfaceStatus* interface_status(std::string_view name);
  InterfaceStatistics interface_statistics(std::string_view name) const;
  const BridgeStatus* bridge_status(std::string_view name) const;
  // Mirror:statistics: tx_packets, tx_bytes.
  std::map<std::string, int64_t> mirror_statistics(std::string_view bridge, std::string_view mirror) const;
  // Types for Open_vSwitch:iface_types, "patch" included.
  static std::vector<std::string> InterfaceTypes();

  // fdb/*, dpif/*, ofproto/list, ofproto/trace, upcall/show, revalidator/*, bridge/dump-flows, bridge/reconnect,
  // qos/show-types. The server stops before the switch is destroyed.
  void RegisterCommands(UnixctlServer& server);

  struct Impl;  // for the commands
  Impl& impl_for_tests() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
