// Where the network and transport headers of a packet are, for actions that change them, and the transport checksum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/packet/dp_packet.h"

namespace sluice {

struct NetworkInfo {
  enum class Version : uint8_t { kNone, kIpv4, kIpv6 };

  Version version = Version::kNone;
  uint8_t protocol = 0;         // of the transport header at l4_offset; 0 if there is none
  bool fragment = false;        // the first or a later one
  bool later_fragment = false;  // which has no transport header
  bool routed = false;          // IPv6: a routing header holds the last destination, not the fixed header
  uint32_t end = 0;             // offset behind the datagram, padding excluded
};

// Reads the headers in front of l4_offset. The packet has the offsets of ParsePacket.
NetworkInfo InspectNetwork(const DpPacket& packet);

// Bytes in the pseudo-header changed from `before` to `after` (`size`, even).
void UpdateForAddresses(DpPacket& packet, uint8_t protocol, const uint8_t* before, const uint8_t* after, size_t size);
// Bytes of the transport header or what follows changed, from an even offset on.
void UpdateForTransport(DpPacket& packet, uint8_t protocol, const uint8_t* before, const uint8_t* after, size_t size);

}  // namespace sluice
