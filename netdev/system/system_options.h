// The options column of a port of type "system".
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "netdev/port_options.h"

namespace sluice {

// Besides those of every port.
inline constexpr std::string_view kSystemOptions[] = {"rx-socket-buffer", "tx-socket-buffer"};

struct SystemOptions {
  PortOptions port{.n_rxq = 1, .rx_gro = true};
  uint32_t rx_socket_buffer = 32 << 20;  // bytes of kernel memory that may wait in each receive queue
  uint32_t tx_socket_buffer = 32 << 20;  // and in each transmit queue

  // What is not in `options` has its default. The error names port, option, value and what would be accepted.
  static absl::StatusOr<SystemOptions> Parse(const std::string& port, const NetdevOptions& options);
  NetdevOptions ToMap() const;
};

}  // namespace sluice
