// The parts of a stream's name ("tcp:10.0.0.1:6640"), as ovsdb(7) "Connection Methods" writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {

struct StreamTarget {
  enum class Kind : uint8_t { kUnix, kTcp, kTls };
  static constexpr uint16_t kDefaultPort = 6640;

  Kind kind = Kind::kUnix;
  bool passive = false;
  std::string path;              // unix: absolute; relative names are in the run directory
  std::string host;              // without brackets; passive: "" for any IPv4 address
  uint16_t port = kDefaultPort;  // passive: 0 lets the kernel choose

  // The error names the target, what is wrong with it and what would be right.
  static absl::StatusOr<StreamTarget> Parse(std::string_view target);
};

// "tcp:10.0.0.1:6640", "ssl:[::1]:6640".
std::string SocketName(StreamTarget::Kind kind, std::string_view host, uint16_t port);

}  // namespace sluice
