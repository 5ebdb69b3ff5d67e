// Frames for the tests of the system netdev, built from the header formats alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "lib/packet/headers.h"
#include "netdev/vnet_header.h"

namespace sluice::testing {

using Bytes = std::vector<uint8_t>;

constexpr uint16_t kFrameHeaders = 14 + 20 + 20;  // Ethernet, IPv4, TCP

inline uint8_t PayloadByte(size_t i) { return static_cast<uint8_t>(i * 7 + i / 251); }

// A TCP over IPv4 frame of `payload` bytes; addresses and ports tell flow `flow` apart. Checksums are left zero, but
// for the pseudo-header sum that a postponed TCP checksum needs (VnetForSuper, VnetForPartial).
inline Bytes TcpFrame(size_t payload, uint16_t flow = 0, uint32_t sequence = 0) {
  Bytes frame(kFrameHeaders + payload);
  auto* ethernet = reinterpret_cast<EthernetHeader*>(frame.data());
  std::memcpy(&ethernet->destination, "\x02\x00\x00\x00\x00\x02", 6);
  std::memcpy(&ethernet->source, "\x02\x00\x00\x00\x00\x01", 6);
  ethernet->type = Be16(kEthTypeIpv4);
  auto* ip = reinterpret_cast<Ipv4Header*>(frame.data() + 14);
  ip->version_ihl = 0x45;
  ip->total_length = Be16(static_cast<uint16_t>(frame.size() - 14));
  ip->ttl = 64;
  ip->protocol = kIpProtoTcp;
  ip->source = Be32(0x0a630001);
  ip->destination = Be32(0x0a630002);
  auto* tcp = reinterpret_cast<TcpHeader*>(frame.data() + 34);
  tcp->source = Be16(static_cast<uint16_t>(1000 + flow));
  tcp->destination = Be16(5001);
  tcp->sequence = Be32(sequence);
  tcp->data_offset = 5 << 4;
  tcp->flags = kTcpAck;
  uint32_t sum = 0x0a63 + 0x0001 + 0x0a63 + 0x0002 + kIpProtoTcp + static_cast<uint32_t>(frame.size() - 34);
  tcp->checksum = Be16(static_cast<uint16_t>((sum & 0xffff) + (sum >> 16)));
  for (size_t i = 0; i < payload; ++i) frame[kFrameHeaders + i] = PayloadByte(i);
  return frame;
}

inline VnetHeader VnetForPartial() {
  return {
      .flags = VnetHeader::kNeedsCsum, .gso_type = 0, .hdr_len = 0, .gso_size = 0, .csum_start = 34, .csum_offset = 16};
}
inline VnetHeader VnetForSuper(uint16_t segment_size) {
  return {.flags = VnetHeader::kNeedsCsum,
          .gso_type = VnetHeader::kGsoTcp4,
          .hdr_len = kFrameHeaders,
          .gso_size = segment_size,
          .csum_start = 34,
          .csum_offset = 16};
}

// The frame with a tag put in behind its addresses.
inline Bytes Tagged(const Bytes& frame, uint16_t tpid, uint16_t tci) {
  Bytes tagged(frame.begin(), frame.begin() + 12);
  for (uint16_t word : {tpid, tci}) {
    tagged.push_back(static_cast<uint8_t>(word >> 8));
    tagged.push_back(static_cast<uint8_t>(word));
  }
  tagged.insert(tagged.end(), frame.begin() + 12, frame.end());
  return tagged;
}

inline Bytes BytesOf(const DpPacket& packet) {
  Bytes bytes(packet.length());
  packet.CopyOut(0, packet.length(), bytes.data());
  return bytes;
}

}  // namespace sluice::testing
