#include "netdev/link_change.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "lib/base/status.h"
#include "lib/flow/mac_text.h"
#include "netdev/file_descriptor.h"
#include "netdev/netdev.h"

namespace sluice {
namespace {

absl::Status Change(const std::string& name, unsigned long request, ifreq& change, std::string what) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return InvalidArgument("\"{}\": not a device name: expected 1 to {} characters", name, IFNAMSIZ - 1);
  }
  std::memcpy(change.ifr_name, name.data(), name.size());
  FileDescriptor control(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (control && ioctl(control.get(), request, &change) == 0) return absl::OkStatus();
  int error = errno;
  if (error == ENODEV) return NotFound("{}: there is no such network device", name);
  return ErrnoStatus(error, std::move(what));
}

}  // namespace

absl::Status SetLinkMtu(const std::string& name, uint32_t mtu) {
  if (mtu > INT_MAX) return InvalidArgument("{}: MTU {}: expected at most {}", name, mtu, INT_MAX);
  ifreq change{};
  change.ifr_mtu = static_cast<int>(mtu);
  return Change(name, SIOCSIFMTU, change, fmt::format("{}: setting its MTU to {}", name, mtu));
}

absl::Status SetLinkMac(const std::string& name, const std::array<uint8_t, 6>& mac) {
  ifreq change{};
  change.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(change.ifr_hwaddr.sa_data, mac.data(), mac.size());
  return Change(name, SIOCSIFHWADDR, change,
                fmt::format("{}: setting its address to {}", name, FormatMac(mac)));
}

absl::Status Netdev::SetMtu(uint32_t mtu) {
  SLUICE_RETURN_IF_ERROR(SetLinkMtu(name(), mtu));
  OnLinkChange();
  return absl::OkStatus();
}

absl::Status Netdev::SetMac(const std::array<uint8_t, 6>& mac) {
  SLUICE_RETURN_IF_ERROR(SetLinkMac(name(), mac));
  OnLinkChange();
  return absl::OkStatus();
}

}  // namespace sluice
