// What the kernel says of a network interface, by name. Main thread; one ioctl(2) per fact (netdevice(7), ethtool).
//
// The namespace asked is that of the control socket, wherever the calling thread has gone since.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "netdev/file_descriptor.h"

namespace sluice {

struct LinkFacts {
  uint32_t ifindex = 0;
  uint32_t mtu = 0;  // bytes of layer 3
  std::array<uint8_t, 6> mac{};
  bool admin_up = false;
  bool carrier = false;
  bool ethernet = false;  // the link layer is Ethernet (loopback counts)
};

// From ETHTOOL_GDRVINFO; empty where the driver says nothing.
struct DriverInfo {
  std::string name;
  std::string version;
  std::string firmware_version;
};

// From ETHTOOL_GLINKSETTINGS; zero where the driver does not know.
struct LinkSpeed {
  uint64_t bits_per_second = 0;
  bool full_duplex = false;
};

class LinkQuery {
 public:
  // Asks the calling thread's network namespace from now on.
  static absl::StatusOr<LinkQuery> Open();

  // kNotFound if there is no interface of that name now.
  absl::StatusOr<LinkFacts> Read(const std::string& name) const;
  // Whether the device merges received TCP segments itself (NETIF_F_GRO), and a change of that (needs CAP_NET_ADMIN).
  absl::StatusOr<bool> ReadGro(const std::string& name) const;
  absl::Status WriteGro(const std::string& name, bool enabled) const;

  DriverInfo ReadDriver(const std::string& name) const;
  LinkSpeed ReadSpeed(const std::string& name) const;

 private:
  explicit LinkQuery(FileDescriptor control) : control_(std::move(control)) {}
  // `command` is one of the structs of linux/ethtool.h; `what` names the deed in an error.
  absl::Status AskEthtool(const std::string& name, void* command, std::string_view what) const;

  FileDescriptor control_;
};

}  // namespace sluice
