// Frames for the tests of netdev: bytes of Ethernet frames, and packets that hold them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/packet/headers.h"
#include "lib/packet/slab_pool.h"

namespace sluice::testing {

struct FrameSpec {
  int vlan_tags = 0;
  int ip_version = 4;  // 4 or 6; anything else: no IP header, EtherType 0x88b5
  uint8_t protocol = kIpProtoTcp;
  bool hop_by_hop = false;   // IPv6: an extension header of 8 bytes before the transport
  bool fragment = false;     // IPv4: more fragments
  uint8_t tcp_options = 12;  // bytes
  uint32_t payload = 100;    // bytes
};

struct Frame {
  std::vector<uint8_t> bytes;
  uint32_t l4 = 0;       // offset of the transport header
  uint32_t payload = 0;  // offset of the payload
};

template <typename Header>
Header& AppendHeader(std::vector<uint8_t>& bytes) {
  bytes.resize(bytes.size() + sizeof(Header));
  return *reinterpret_cast<Header*>(bytes.data() + bytes.size() - sizeof(Header));
}

inline uint16_t EthTypeOf(int ip_version) {
  return ip_version == 4 ? kEthTypeIpv4 : ip_version == 6 ? kEthTypeIpv6 : uint16_t{0x88b5};
}

inline void AppendTransport(const FrameSpec& spec, std::vector<uint8_t>& bytes) {
  if (spec.protocol == kIpProtoTcp) {
    auto& tcp = AppendHeader<TcpHeader>(bytes);
    tcp.source = Be16(1000);
    tcp.destination = Be16(2000);
    tcp.data_offset = static_cast<uint8_t>((sizeof(TcpHeader) + spec.tcp_options) / 4 << 4);
    tcp.flags = kTcpAck;
    bytes.resize(bytes.size() + spec.tcp_options, 1);
  } else if (spec.protocol == kIpProtoUdp) {
    auto& udp = AppendHeader<UdpHeader>(bytes);
    udp.source = Be16(1000);
    udp.destination = Be16(2000);
    udp.length = Be16(static_cast<uint16_t>(sizeof(UdpHeader) + spec.payload));
  }
}

// Payload byte i is i modulo 251. IP and UDP lengths fit, checksums are left zero.
inline Frame MakeFrame(const FrameSpec& spec) {
  Frame frame;
  auto& bytes = frame.bytes;
  bytes.reserve(200 + spec.payload);
  auto& ethernet = AppendHeader<EthernetHeader>(bytes);
  ethernet.type = Be16(spec.vlan_tags > 0 ? kEthTypeVlan : EthTypeOf(spec.ip_version));
  for (int tag = 1; tag <= spec.vlan_tags; ++tag) {
    auto& vlan = AppendHeader<VlanHeader>(bytes);
    vlan.tci = Be16(static_cast<uint16_t>(tag));
    vlan.type = Be16(tag < spec.vlan_tags ? kEthTypeVlan : EthTypeOf(spec.ip_version));
  }
  size_t l3 = bytes.size();
  if (spec.ip_version == 4) {
    auto& ip = AppendHeader<Ipv4Header>(bytes);
    ip.version_ihl = 0x45;
    ip.ttl = 64;
    ip.protocol = spec.protocol;
    if (spec.fragment) ip.fragment = Be16(kIpv4MoreFragments);
  } else if (spec.ip_version == 6) {
    auto& ip = AppendHeader<Ipv6Header>(bytes);
    ip.version_class_label = Be32(6u << 28);
    ip.hop_limit = 64;
    ip.next_header = spec.hop_by_hop ? kIpv6HopByHop : spec.protocol;
    if (spec.hop_by_hop) {
      bytes.resize(bytes.size() + 8);
      bytes[bytes.size() - 8] = spec.protocol;
    }
  }
  frame.l4 = static_cast<uint32_t>(bytes.size());
  if (spec.ip_version == 4 || spec.ip_version == 6) AppendTransport(spec, bytes);
  frame.payload = static_cast<uint32_t>(bytes.size());
  for (uint32_t i = 0; i < spec.payload; ++i) bytes.push_back(static_cast<uint8_t>(i % 251));
  uint16_t ip_bytes = static_cast<uint16_t>(bytes.size() - l3);
  if (spec.ip_version == 4) reinterpret_cast<Ipv4Header*>(&bytes[l3])->total_length = Be16(ip_bytes);
  if (spec.ip_version == 6) reinterpret_cast<Ipv6Header*>(&bytes[l3])->payload_length = Be16(ip_bytes - 40);
  return frame;
}

// As a receive queue lays a frame out: the first 2 KiB in a small buffer, the rest chained in a large one.
inline DpPacketPtr MakePacket(PacketPools& pools, const std::vector<uint8_t>& bytes) {
  DpPacketPtr packet = pools.small->Allocate();
  uint32_t head = std::min<uint32_t>(PacketPools::kSmallDataSize, static_cast<uint32_t>(bytes.size()));
  std::copy_n(bytes.begin(), head, packet->data());
  packet->SetHeadLength(head);
  if (bytes.size() > head) {
    DpPacketPtr rest = pools.large->Allocate();
    std::memcpy(rest->data(), bytes.data() + head, bytes.size() - head);
    rest->SetHeadLength(static_cast<uint32_t>(bytes.size() - head));
    packet->AppendChain(packet.get(), rest.release());
  }
  return packet;
}

inline std::vector<uint8_t> BytesOf(const DpPacket& packet) {
  std::vector<uint8_t> bytes(packet.length());
  packet.CopyOut(0, packet.length(), bytes.data());
  return bytes;
}

}  // namespace sluice::testing
