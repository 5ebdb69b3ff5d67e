#include "netdev/link_query.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "lib/base/status.h"

namespace sluice {
namespace {

ifreq RequestFor(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

template <size_t kSize>
std::string FixedText(const char (&text)[kSize]) {
  return std::string(text, strnlen(text, kSize));
}

}  // namespace

absl::StatusOr<LinkQuery> LinkQuery::Open() {
  // Device ioctls work on a socket of any family; a local one exists in every kernel.
  FileDescriptor control(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!control) return ErrnoStatus(errno, "socket for device queries");
  return LinkQuery(std::move(control));
}

absl::StatusOr<LinkFacts> LinkQuery::Read(const std::string& name) const {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return InvalidArgument("\"{}\": not a device name: expected 1 to {} characters", name, IFNAMSIZ - 1);
  }
  LinkFacts facts;
  ifreq request = RequestFor(name);
  auto ask = [&](unsigned long what) { return ioctl(control_.get(), what, &request) == 0; };
  auto failure = [&name]() -> absl::Status {
    if (errno == ENODEV) return NotFound("{}: there is no such network device", name);
    return ErrnoStatus(errno, fmt::format("{}: asking for the device's state", name));
  };

  if (!ask(SIOCGIFINDEX)) return failure();
  facts.ifindex = static_cast<uint32_t>(request.ifr_ifindex);
  if (!ask(SIOCGIFMTU)) return failure();
  facts.mtu = static_cast<uint32_t>(request.ifr_mtu);
  if (!ask(SIOCGIFFLAGS)) return failure();
  facts.admin_up = (request.ifr_flags & IFF_UP) != 0;
  facts.carrier = (request.ifr_flags & IFF_RUNNING) != 0;
  if (!ask(SIOCGIFHWADDR)) return failure();
  auto family = request.ifr_hwaddr.sa_family;
  facts.ethernet = family == ARPHRD_ETHER || family == ARPHRD_LOOPBACK;
  std::memcpy(facts.mac.data(), request.ifr_hwaddr.sa_data, facts.mac.size());
  return facts;
}

DriverInfo LinkQuery::ReadDriver(const std::string& name) const {
  ethtool_drvinfo answer{.cmd = ETHTOOL_GDRVINFO};
  if (!AskEthtool(name, &answer, "asking for its driver").ok()) return {};
  return {.name = FixedText(answer.driver),
          .version = FixedText(answer.version),
          .firmware_version = FixedText(answer.fw_version)};
}

LinkSpeed LinkQuery::ReadSpeed(const std::string& name) const {
  // The bitmaps of link modes follow the struct; their length is first asked for and then given back (ethtool.h).
  alignas(ethtool_link_settings)
      std::array<uint8_t, sizeof(ethtool_link_settings) + 3 * SCHAR_MAX * sizeof(uint32_t)> answer{};
  auto& settings = *reinterpret_cast<ethtool_link_settings*>(answer.data());
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  if (!AskEthtool(name, answer.data(), "asking for its speed").ok()) return {};
  if (settings.link_mode_masks_nwords < 0) {
    settings.link_mode_masks_nwords = static_cast<int8_t>(-settings.link_mode_masks_nwords);
    settings.cmd = ETHTOOL_GLINKSETTINGS;
    if (!AskEthtool(name, answer.data(), "asking for its speed").ok()) return {};
  }
  if (settings.speed == static_cast<uint32_t>(SPEED_UNKNOWN)) return {};
  return {.bits_per_second = uint64_t{settings.speed} * 1'000'000,
          .full_duplex = settings.duplex == DUPLEX_FULL};
}

absl::StatusOr<bool> LinkQuery::ReadGro(const std::string& name) const {
  ethtool_value answer{.cmd = ETHTOOL_GGRO};
  SLUICE_RETURN_IF_ERROR(AskEthtool(name, &answer, "asking whether it coalesces (GRO)"));
  return answer.data != 0;
}

absl::Status LinkQuery::WriteGro(const std::string& name, bool enabled) const {
  ethtool_value value{.cmd = ETHTOOL_SGRO, .data = enabled};
  return AskEthtool(name, &value, enabled ? "making it coalesce (GRO)" : "making it stop to coalesce (GRO)");
}

absl::Status LinkQuery::AskEthtool(const std::string& name, void* command, std::string_view what) const {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return InvalidArgument("\"{}\": not a device name: expected 1 to {} characters", name, IFNAMSIZ - 1);
  }
  ifreq request = RequestFor(name);
  request.ifr_data = static_cast<char*>(command);
  if (ioctl(control_.get(), SIOCETHTOOL, &request) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("{}: {}", name, what));
}

}  // namespace sluice
