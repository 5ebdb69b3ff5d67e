#include "netdev/port_options.h"

#include <fmt/ranges.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>

#include "lib/base/status.h"

namespace sluice {

absl::StatusOr<PortOptions> ParsePortOptions(std::string_view port, const NetdevOptions& options,
                                             const PortOptions& defaults, absl::Span<const std::string_view> more) {
  PortOptions parsed = defaults;
  for (const auto& [key, value] : options) {
    if (key == "n_rxq") {
      const char* end = value.data() + value.size();
      auto [stop, error] = std::from_chars(value.data(), end, parsed.n_rxq);
      if (error != std::errc() || stop != end || parsed.n_rxq < 1 || parsed.n_rxq > PortOptions::kMaxRxqs) {
        return InvalidArgument("port {}: option n_rxq is \"{}\": expected a number from 1 to {}", port, value,
                               PortOptions::kMaxRxqs);
      }
    } else if (key == "rx-gro") {
      if (value != "true" && value != "false") {
        return InvalidArgument("port {}: option rx-gro is \"{}\": expected true or false", port, value);
      }
      parsed.rx_gro = value == "true";
    } else if (std::find(more.begin(), more.end(), key) == more.end()) {
      std::vector<std::string_view> known(std::begin(kCommonPortOptions), std::end(kCommonPortOptions));
      known.insert(known.end(), more.begin(), more.end());
      return InvalidArgument("port {}: unknown option \"{}\": known are {}", port, key, fmt::join(known, ", "));
    }
  }
  return parsed;
}

absl::Status CheckPortName(std::string_view name) {
  // In '%' the kernel sees a pattern: the device would get another name than the port.
  auto bad = [](char c) {
    return std::string_view("/:%").find(c) != std::string_view::npos || static_cast<unsigned char>(c) <= ' ' ||
           c == 0x7f;
  };
  if (name.empty()) return InvalidArgument("a port's name is empty: expected 1 to {} characters", IFNAMSIZ - 1);
  if (name.size() >= IFNAMSIZ) {
    return InvalidArgument("port name \"{}\" has {} characters: expected at most {}", name, name.size(), IFNAMSIZ - 1);
  }
  if (name == "." || name == ".." || std::any_of(name.begin(), name.end(), bad)) {
    return InvalidArgument(
        "port name \"{}\" is not a device name: expected no '/', ':', '%' or white space, not . or ..", name);
  }
  return absl::OkStatus();
}

}  // namespace sluice
