// Header layouts, to be laid over packet bytes. All fields in network byte order, alignment 1.
//
// Sources: IEEE 802.3, 802.1Q; RFC 791, 8200, 826, 9293, 768, 9260, 792, 4443, 4861, 3032.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lib/base/byte_order.h"
#include "lib/flow/flow_key.h"

namespace sluice {

constexpr uint16_t kEthTypeIpv4 = 0x0800;
constexpr uint16_t kEthTypeArp = 0x0806;
constexpr uint16_t kEthTypeRarp = 0x8035;
constexpr uint16_t kEthTypeVlan = 0x8100;
constexpr uint16_t kEthTypeQinq = 0x88a8;
constexpr uint16_t kEthTypeIpv6 = 0x86dd;
constexpr uint16_t kEthTypeMpls = 0x8847;
constexpr uint16_t kEthTypeMplsMulticast = 0x8848;
constexpr uint16_t kEthTypeMinimum = 0x0600;  // below: an 802.3 length

constexpr uint8_t kIpProtoIcmp = 1;
constexpr uint8_t kIpProtoIgmp = 2;
constexpr uint8_t kIpProtoTcp = 6;
constexpr uint8_t kIpProtoUdp = 17;
constexpr uint8_t kIpProtoIcmpv6 = 58;
constexpr uint8_t kIpProtoSctp = 132;
constexpr uint8_t kIpv6HopByHop = 0;
constexpr uint8_t kIpv6Routing = 43;
constexpr uint8_t kIpv6Fragment = 44;
constexpr uint8_t kIpv6Auth = 51;
constexpr uint8_t kIpv6NoNext = 59;
constexpr uint8_t kIpv6Destination = 60;
constexpr uint8_t kIpv6Mobility = 135;

constexpr uint8_t kTcpFin = 0x01;
constexpr uint8_t kTcpSyn = 0x02;
constexpr uint8_t kTcpRst = 0x04;
constexpr uint8_t kTcpPsh = 0x08;
constexpr uint8_t kTcpAck = 0x10;
constexpr uint8_t kTcpUrg = 0x20;
constexpr uint8_t kTcpEce = 0x40;
constexpr uint8_t kTcpCwr = 0x80;

struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  Be16 type;
};
static_assert(sizeof(EthernetHeader) == 14);

struct VlanHeader {  // behind the two addresses: TPID is the type before it
  Be16 tci;
  Be16 type;
};
static_assert(sizeof(VlanHeader) == 4);

struct Ipv4Header {
  uint8_t version_ihl;
  uint8_t tos;
  Be16 total_length;  // bytes, header included
  Be16 id;
  Be16 fragment;  // flags (DF 0x4000, MF 0x2000) and offset in 8-byte units
  uint8_t ttl;
  uint8_t protocol;
  Be16 checksum;
  Be32 source;
  Be32 destination;

  uint32_t HeaderLength() const { return (version_ihl & 0xfu) * 4; }
};
static_assert(sizeof(Ipv4Header) == 20);
constexpr uint16_t kIpv4DontFragment = 0x4000;
constexpr uint16_t kIpv4MoreFragments = 0x2000;
constexpr uint16_t kIpv4OffsetMask = 0x1fff;

struct Ipv6Header {
  Be32 version_class_label;
  Be16 payload_length;  // bytes behind this header
  uint8_t next_header;
  uint8_t hop_limit;
  Ipv6Address source;
  Ipv6Address destination;
};
static_assert(sizeof(Ipv6Header) == 40);

struct Ipv6ExtensionHeader {  // hop-by-hop, routing, destination, mobility; AH counts in 4-byte units
  uint8_t next_header;
  uint8_t length;
};
struct Ipv6FragmentHeader {
  uint8_t next_header;
  uint8_t reserved;
  Be16 offset_more;  // offset in 8-byte units << 3, more flag in bit 0
  Be32 id;
};
static_assert(sizeof(Ipv6FragmentHeader) == 8);

struct TcpHeader {
  Be16 source;
  Be16 destination;
  Be32 sequence;
  Be32 acknowledgment;
  uint8_t data_offset;  // high four bits, in 4-byte units
  uint8_t flags;
  Be16 window;
  Be16 checksum;
  Be16 urgent;

  uint32_t HeaderLength() const { return (data_offset >> 4) * 4u; }
};
static_assert(sizeof(TcpHeader) == 20);

struct UdpHeader {
  Be16 source;
  Be16 destination;
  Be16 length;    // bytes, header included
  Be16 checksum;  // 0: none (IPv4)
};
static_assert(sizeof(UdpHeader) == 8);

struct SctpHeader {
  Be16 source;
  Be16 destination;
  Be32 tag;
  Be32 checksum;  // four bytes of CRC32c, least significant first: not to be read with Get()
};
static_assert(sizeof(SctpHeader) == 12);

struct IcmpHeader {
  uint8_t type;
  uint8_t code;
  Be16 checksum;
  Be32 rest;
};
static_assert(sizeof(IcmpHeader) == 8);

struct NdMessage {  // neighbour solicitation (135) and advertisement (136), behind type, code, checksum, flags
  IcmpHeader icmp;
  Ipv6Address target;
};
static_assert(sizeof(NdMessage) == 24);
struct NdOption {
  uint8_t type;    // 1 source, 2 target link-layer address
  uint8_t length;  // in 8-byte units
  MacAddress address;
};
static_assert(sizeof(NdOption) == 8);

struct ArpHeader {  // Ethernet and IPv4
  Be16 hardware_type;
  Be16 protocol_type;
  uint8_t hardware_length;
  uint8_t protocol_length;
  Be16 operation;
  MacAddress sender_mac;
  Be32 sender_ip;
  MacAddress target_mac;
  Be32 target_ip;
};
static_assert(sizeof(ArpHeader) == 28);

// The header of type T at `offset` of the first buffer. The caller has checked that it is there.
template <typename T, typename Packet>
auto* HeaderAt(Packet& packet, uint32_t offset) {
  if constexpr (std::is_const_v<Packet>) {
    return reinterpret_cast<const T*>(packet.data() + offset);
  } else {
    return reinterpret_cast<T*>(packet.data() + offset);
  }
}

}  // namespace sluice
