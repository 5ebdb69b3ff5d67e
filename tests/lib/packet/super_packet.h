// Super-packets for tests: as bytes with their offload state, built field by field from what a table or a random
// generator says, with nothing of the code under test in it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lib/packet/offload.h"
#include "lib/packet/slab_pool.h"

namespace sluice::testing {

struct SuperOptions {
  Segmentation type = Segmentation::kTcp4;
  std::vector<uint16_t> vlan_tpids;      // outer first
  uint32_t ip_option_bytes = 0;          // IPv4, a multiple of 4, at most 40
  std::vector<uint8_t> ipv6_extensions;  // next-header numbers, in order; hop-by-hop, routing, destination
  uint32_t tcp_option_bytes = 0;         // a multiple of 4, at most 40
  uint8_t tcp_flags = 0x10;
  uint16_t ip_id = 0;
  bool dont_fragment = true;
  uint32_t sequence = 1;
  uint32_t payload_bytes = 0;
  uint16_t segment_size = 0;
};

struct SuperPacket {
  SuperOptions options;
  std::vector<uint8_t> frame;  // the transport checksum field holds the pseudo-header sum
  uint32_t l3_offset = 0;
  uint32_t l4_offset = 0;
  uint32_t payload_offset = 0;
  Offload offload;

  uint32_t SegmentCount() const;
  std::vector<uint8_t> Payload() const { return {frame.begin() + payload_offset, frame.end()}; }
};

// The bytes that the options leave open (addresses, ports, payload, ...) are random.
SuperPacket MakeSuper(const SuperOptions& options, std::mt19937& random);

// Any type, tags, options, extension headers, flags and sizes; IP length at most 65,535. Mostly small, sometimes full.
SuperOptions RandomSuperOptions(std::mt19937& random);

// `super` in buffers of `pools` with layer offsets and offload state: `first_bytes` of it in the first buffer, the
// others of at most `other_bytes` (0: whatever fits).
DpPacketPtr LoadSuper(const SuperPacket& super, PacketPools& pools, uint32_t first_bytes, uint32_t other_bytes = 0);

// RFC 1071 byte by byte; network order value.
uint16_t NaiveSum(const uint8_t* bytes, size_t size, uint32_t seed = 0);

// Why `segments` are not what hardware would cut `super` into, or "" if they are. Looks at every byte. With
// `partial` the transport checksum must be the pseudo-header sum instead of a full checksum.
std::string CompareWithSuper(const SuperPacket& super, const std::vector<std::vector<uint8_t>>& segments, bool partial);

}  // namespace sluice::testing
