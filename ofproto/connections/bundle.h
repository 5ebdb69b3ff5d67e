// Bundles (OpenFlow 1.4+, and ONF extension 230 for 1.3): messages of one connection that are carried out together.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/openflow/message.h"

namespace sluice {

// A message in a bundle, checked as far as it can be by itself.
struct BundledMessage {
  OfMessage message;
  std::string start;  // of its bytes: what an error message quotes
};

struct PendingBundle {
  static constexpr size_t kMaxBundles = 64;            // of one connection
  static constexpr size_t kMaxMessages = 1 << 20;      // of one connection's bundles together
  static constexpr std::chrono::seconds kTimeout{10};  // without a message

  uint16_t flags = 0;
  bool closed = false;
  std::vector<BundledMessage> messages;
  std::chrono::steady_clock::time_point used;
};
using PendingBundles = std::map<uint32_t, PendingBundle>;

}  // namespace sluice
