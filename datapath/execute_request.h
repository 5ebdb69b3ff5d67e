// ExecuteRequest: a packet that does not come from a port, and what is to be done with it: an OpenFlow packet-out, a
// packet that a controller gives back, a probe of our own.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/flow/actions.h"

namespace sluice {

struct ExecuteRequest {
  // From the Ethernet header on, checksums complete (or wrong: they are left so).
  std::vector<uint8_t> frame;
  ActionList actions;
  // What recirculation and upcalls will find in the packet's key. in_port may be no port at all.
  uint32_t in_port = 0;
  uint32_t skb_mark = 0;
  uint32_t skb_priority = 0;
  uint32_t dp_hash = 0;
};

}  // namespace sluice
