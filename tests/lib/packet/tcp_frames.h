// TCP frames for tests, built and checksummed by the plainest code there is, as an oracle apart from lib/packet.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "lib/packet/headers.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

struct TcpFrame {
  bool ipv6 = false;
  std::vector<uint16_t> tags;  // VLAN ids, outer first
  uint8_t last_mac_byte = 1;
  uint8_t last_ip_byte = 2;
  uint16_t source_port = 1000;
  uint32_t sequence = 1;
  uint32_t acknowledgment = 77;
  uint8_t flags = kTcpAck;
  uint16_t window = 512;
  uint16_t urgent = 0;
  uint8_t tos = 0;
  uint8_t ttl = 64;
  uint16_t id = 1;
  uint16_t fragment = kIpv4DontFragment;
  Bytes options = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};  // whole 4-byte words
  uint32_t payload = 1448;
  uint32_t padding = 0;
};

inline uint16_t OracleSum(const uint8_t* bytes, size_t size, uint32_t sum) {
  for (size_t i = 0; i < size; ++i) sum += i % 2 == 0 ? bytes[i] * 256u : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
inline void Store16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
inline uint32_t Read16(const uint8_t* at) { return at[0] * 256u + at[1]; }

inline uint32_t L3Offset(const TcpFrame& f) { return 14 + 4 * static_cast<uint32_t>(f.tags.size()); }
inline uint32_t L4Offset(const TcpFrame& f) { return L3Offset(f) + (f.ipv6 ? 40 : 20); }
inline uint32_t HeaderLength(const TcpFrame& f) { return L4Offset(f) + 20 + static_cast<uint32_t>(f.options.size()); }

// The sum of the pseudo-header of the frame, neither complemented nor zero.
inline uint16_t PseudoSum(const Bytes& frame, const TcpFrame& f) {
  const uint32_t tcp_length = HeaderLength(f) - L4Offset(f) + f.payload;
  const uint32_t addresses = f.ipv6 ? 32 : 8;
  return OracleSum(frame.data() + L4Offset(f) - addresses, addresses, tcp_length + kIpProtoTcp);
}

inline Bytes Build(const TcpFrame& f, ChecksumState state) {
  Bytes b(HeaderLength(f) + f.payload + f.padding);
  b[0] = 2;
  b[5] = f.last_mac_byte;
  b[6] = 2;
  b[11] = 9;
  uint32_t at = 12;
  for (uint16_t tag : f.tags) {
    Store16(&b[at], kEthTypeVlan);
    Store16(&b[at + 2], tag);
    at += 4;
  }
  Store16(&b[at], f.ipv6 ? kEthTypeIpv6 : kEthTypeIpv4);
  const uint32_t l3 = L3Offset(f);
  const uint32_t l4 = L4Offset(f);
  const uint32_t end = HeaderLength(f) + f.payload;
  uint8_t* ip = &b[l3];
  if (f.ipv6) {
    ip[0] = static_cast<uint8_t>(0x60 | f.tos >> 4);
    ip[1] = static_cast<uint8_t>(f.tos << 4);
    Store16(ip + 4, end - l4);
    ip[6] = kIpProtoTcp;
    ip[7] = f.ttl;
    ip[8] = ip[24] = 0xfd;
    ip[23] = 1;
    ip[39] = f.last_ip_byte;
  } else {
    ip[0] = 0x45;
    ip[1] = f.tos;
    Store16(ip + 2, end - l3);
    Store16(ip + 4, f.id);
    Store16(ip + 6, f.fragment);
    ip[8] = f.ttl;
    ip[9] = kIpProtoTcp;
    ip[12] = ip[16] = 10;
    ip[15] = 1;
    ip[19] = f.last_ip_byte;
    Store16(ip + 10, static_cast<uint16_t>(~OracleSum(ip, 20, 0)));
  }
  uint8_t* tcp = &b[l4];
  Store16(tcp, f.source_port);
  Store16(tcp + 2, 5001);
  Store16(tcp + 4, f.sequence >> 16);
  Store16(tcp + 6, f.sequence);
  Store16(tcp + 8, f.acknowledgment >> 16);
  Store16(tcp + 10, f.acknowledgment);
  tcp[12] = static_cast<uint8_t>((20 + f.options.size()) / 4 << 4);
  tcp[13] = f.flags;
  Store16(tcp + 14, f.window);
  Store16(tcp + 18, f.urgent);
  std::copy(f.options.begin(), f.options.end(), tcp + 20);
  for (uint32_t i = 0; i < f.payload; ++i) {
    b[HeaderLength(f) + i] = static_cast<uint8_t>((f.sequence + i) * 2654435761u >> 13);
  }
  const uint16_t pseudo = PseudoSum(b, f);
  Store16(tcp + 16,
          state == ChecksumState::kPartial ? pseudo : static_cast<uint16_t>(~OracleSum(tcp, end - l4, pseudo)));
  return b;
}

inline DpPacketPtr ToPacket(SlabPool& pool, const Bytes& bytes) {
  DpPacketPtr packet = pool.Allocate();
  if (packet == nullptr) {
    ADD_FAILURE() << "the test's pool is too small";
    std::abort();
  }
  packet->SetHeadLength(static_cast<uint32_t>(bytes.size()));
  std::memcpy(packet->data(), bytes.data(), bytes.size());
  return packet;
}

// As a port would hand it over.
inline DpPacketPtr MakePacket(SlabPool& pool, const TcpFrame& f, ChecksumState state) {
  DpPacketPtr packet = ToPacket(pool, Build(f, state));
  packet->offload.l4 = state;
  if (state == ChecksumState::kPartial) {
    packet->offload.csum_start = static_cast<uint16_t>(L4Offset(f));
    packet->offload.csum_offset = 16;
  }
  return packet;
}

inline Bytes BytesOf(const DpPacket& packet) {
  Bytes bytes(packet.length());
  packet.CopyOut(0, packet.length(), bytes.data());
  return bytes;
}

// A new seed in each run, printed; SLUICE_SEED=N repeats a run.
inline uint32_t TestSeed() {
  const char* given = std::getenv("SLUICE_SEED");
  const auto seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 0))
                                     : static_cast<uint32_t>(std::time(nullptr));
  ::testing::Test::RecordProperty("seed", static_cast<int>(seed));
  printf("seed: %u (SLUICE_SEED=%u repeats this run)\n", seed, seed);
  return seed;
}

}  // namespace sluice
