// The options that every kind of port knows, and the refusal of those that it does not.
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string>
#include <string_view>

#include "netdev/netdev.h"

namespace sluice {

struct PortOptions {
  static constexpr size_t kMaxRxqs = 64;

  size_t n_rxq = 1;     // 1..kMaxRxqs
  bool rx_gro = false;  // coalesce what is received
};

// Their names.
inline constexpr std::string_view kCommonPortOptions[] = {"n_rxq", "rx-gro"};

// Reads n_rxq and rx-gro out of `options`; what is absent keeps its value in `defaults`. `more` are the names of
// further options that this kind of port reads itself; any other name is an error that lists the known ones.
absl::StatusOr<PortOptions> ParsePortOptions(std::string_view port, const NetdevOptions& options,
                                             const PortOptions& defaults, absl::Span<const std::string_view> more = {});

// Whether ports of `type` ("" is "system") have that option. Of an unknown type: those of every port.
bool HasPortOption(std::string_view type, std::string_view option);

// A port's name: not empty, shorter than IFNAMSIZ (16), no '/', ':' or '%', no white space, not "." or "..".
absl::Status CheckPortName(std::string_view name);

}  // namespace sluice
