#include "netdev/vnet_header.h"

#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint8_t kKnownFlags = VnetHeader::kNeedsCsum | VnetHeader::kDataValid;

constexpr uint8_t kIpProtoIpip = 4;
constexpr uint8_t kIpProtoIpv6 = 41;
constexpr uint8_t kIpProtoGre = 47;

constexpr uint16_t kTcpChecksumOffset = offsetof(TcpHeader, checksum);
constexpr uint16_t kUdpChecksumOffset = offsetof(UdpHeader, checksum);

// What follows the outermost IP header. eth_type 0: no whole IP header in the first buffer; protocol 0: none or a
// fragment.
struct Transport {
  uint16_t eth_type = 0;
  uint8_t protocol = 0;
  uint32_t offset = 0;
  uint32_t end = 0;  // of the datagram, as the IP header says
};

void WalkIpv6Extensions(const DpPacket& packet, Transport& transport, uint8_t next) {
  // Hop-by-hop, routing and destination options are all that offloaded traffic carries; a few of each.
  for (int i = 0; i < 8; ++i) {
    if (next != kIpv6HopByHop && next != kIpv6Routing && next != kIpv6Destination) {
      transport.protocol = next == kIpv6Fragment ? 0 : next;
      return;
    }
    if (transport.offset + sizeof(Ipv6ExtensionHeader) > packet.head_length()) return;
    const auto* extension = HeaderAt<Ipv6ExtensionHeader>(packet, transport.offset);
    next = extension->next_header;
    transport.offset += (extension->length + 1u) * 8;
  }
}

Transport FindTransport(const DpPacket& packet) {
  Transport transport;
  uint32_t l3 = sizeof(EthernetHeader);
  if (packet.head_length() < l3) return transport;
  uint16_t type = HeaderAt<EthernetHeader>(packet, 0)->type.Get();
  for (int tags = 0; tags < 2 && (type == kEthTypeVlan || type == kEthTypeQinq); ++tags) {
    if (packet.head_length() < l3 + sizeof(VlanHeader)) return transport;
    type = HeaderAt<VlanHeader>(packet, l3)->type.Get();
    l3 += sizeof(VlanHeader);
  }
  if (type == kEthTypeIpv4 && packet.head_length() >= l3 + sizeof(Ipv4Header)) {
    const auto* ip = HeaderAt<Ipv4Header>(packet, l3);
    if (ip->version_ihl >> 4 != 4 || ip->HeaderLength() < sizeof(Ipv4Header)) return transport;
    bool fragment = (ip->fragment.Get() & (kIpv4MoreFragments | kIpv4OffsetMask)) != 0;
    transport = {.eth_type = type,
                 .protocol = fragment ? uint8_t{0} : ip->protocol,
                 .offset = l3 + ip->HeaderLength(),
                 .end = l3 + ip->total_length.Get()};
  } else if (type == kEthTypeIpv6 && packet.head_length() >= l3 + sizeof(Ipv6Header)) {
    const auto* ip = HeaderAt<Ipv6Header>(packet, l3);
    if (ip->version_class_label.Get() >> 28 != 6) return transport;
    const auto payload = static_cast<uint32_t>(l3 + sizeof(Ipv6Header));
    transport = {.eth_type = type, .offset = payload, .end = payload + ip->payload_length.Get()};
    WalkIpv6Extensions(packet, transport, ip->next_header);
  }
  return transport;
}

bool CarriesTunnels(uint8_t protocol) {
  return protocol == kIpProtoUdp || protocol == kIpProtoGre || protocol == kIpProtoIpip || protocol == kIpProtoIpv6;
}

// Rule 7. Gives the bytes of all headers, or 0 if the frame does not agree with the header's type.
uint32_t SuperHeaderLength(const DpPacket& packet, const Transport& transport, uint8_t gso_type) {
  const Offload& offload = packet.offload;
  // With another length the segments that leave would not be those that were counted on arrival.
  if (transport.offset != offload.csum_start || transport.end != packet.length()) return 0;
  if (gso_type == VnetHeader::kGsoUdpL4) {
    if (transport.protocol != kIpProtoUdp || offload.csum_offset != kUdpChecksumOffset) return 0;
    uint32_t end = transport.offset + sizeof(UdpHeader);
    return end <= packet.head_length() ? end : 0;
  }
  uint16_t wanted = gso_type == VnetHeader::kGsoTcp4 ? kEthTypeIpv4 : kEthTypeIpv6;
  if (transport.eth_type != wanted || transport.protocol != kIpProtoTcp) return 0;
  if (offload.csum_offset != kTcpChecksumOffset) return 0;
  if (transport.offset + sizeof(TcpHeader) > packet.head_length()) return 0;
  uint32_t tcp_length = HeaderAt<TcpHeader>(packet, transport.offset)->HeaderLength();
  uint32_t end = transport.offset + tcp_length;
  return tcp_length >= sizeof(TcpHeader) && end <= packet.head_length() ? end : 0;
}

Segmentation SegmentationOf(uint8_t gso_type, uint16_t eth_type) {
  bool v4 = eth_type == kEthTypeIpv4;
  if (gso_type == VnetHeader::kGsoUdpL4) return v4 ? Segmentation::kUdp4 : Segmentation::kUdp6;
  return v4 ? Segmentation::kTcp4 : Segmentation::kTcp6;
}

bool IsKnownGsoType(uint8_t gso_type, bool ecn) {
  switch (gso_type) {
    case VnetHeader::kGsoTcp4:
    case VnetHeader::kGsoTcp6:
      return true;
    case VnetHeader::kGsoNone:
    case VnetHeader::kGsoUdpL4:
      return !ecn;
    default:
      return false;
  }
}

}  // namespace

bool DecodeVnetHeader(const VnetHeader& header, DpPacket& packet, DropReason& reason) {
  auto refuse = [&reason](DropReason why) {
    reason = why;
    return false;
  };
  Offload& offload = packet.offload;
  offload = Offload{};
  uint8_t gso_type = header.gso_type & ~VnetHeader::kGsoEcn;
  bool ecn = (header.gso_type & VnetHeader::kGsoEcn) != 0;

  if ((header.flags & ~kKnownFlags) != 0) return refuse(DropReason::kRxVnetFlags);
  if (gso_type == VnetHeader::kGsoUfo) return refuse(DropReason::kRxVnetUfo);
  if (!IsKnownGsoType(gso_type, ecn)) return refuse(DropReason::kRxVnetGsoType);
  if (header.hdr_len > packet.length()) return refuse(DropReason::kRxVnetHdrLen);

  bool super = gso_type != VnetHeader::kGsoNone;
  if ((header.flags & VnetHeader::kNeedsCsum) == 0) {
    if (super) return refuse(DropReason::kRxVnetGsoNoCsum);
    if ((header.flags & VnetHeader::kDataValid) != 0) offload.l4 = ChecksumState::kGood;
    return true;
  }

  uint32_t checksum_end = uint32_t{header.csum_start} + header.csum_offset + sizeof(Be16);
  if (checksum_end > packet.head_length()) return refuse(DropReason::kRxVnetCsumRange);
  offload.csum_start = header.csum_start;
  offload.csum_offset = header.csum_offset;
  Transport transport = FindTransport(packet);
  bool inner = CarriesTunnels(transport.protocol) && header.csum_start > transport.offset;
  (inner ? offload.inner_l4 : offload.l4) = ChecksumState::kPartial;
  if (!super) return true;

  if (header.gso_size == 0) return refuse(DropReason::kRxVnetGsoSize);
  uint32_t header_length = SuperHeaderLength(packet, transport, gso_type);
  if (header_length == 0) return refuse(DropReason::kRxGsoMismatch);
  if (packet.length() <= header_length + header.gso_size) return true;
  offload.segmentation = SegmentationOf(gso_type, transport.eth_type);
  offload.segment_size = header.gso_size;
  offload.ecn = ecn;
  return true;
}

void EncodeVnetHeader(const DpPacket& packet, VnetHeader& header) {
  const Offload& offload = packet.offload;
  header = VnetHeader{};
  if (!offload.IsPartial()) {
    if (offload.l4 == ChecksumState::kGood) header.flags = VnetHeader::kDataValid;
    return;
  }
  header.flags = VnetHeader::kNeedsCsum;
  header.csum_start = offload.csum_start;
  header.csum_offset = offload.csum_offset;
  if (!offload.IsSuper()) return;

  constexpr uint8_t kTypes[] = {VnetHeader::kGsoNone, VnetHeader::kGsoTcp4, VnetHeader::kGsoTcp6, VnetHeader::kGsoUdpL4,
                                VnetHeader::kGsoUdpL4};
  static_assert(static_cast<size_t>(Segmentation::kUdp6) == 4);
  header.gso_type = kTypes[static_cast<size_t>(offload.segmentation)];
  if (offload.ecn) header.gso_type |= VnetHeader::kGsoEcn;
  header.gso_size = offload.segment_size;
  // The kernel makes this many bytes linear: the headers exactly, so that it neither pulls nor copies payload. A super-
  // packet's csum_start is its transport header.
  uint32_t transport_length =
      IsTcp(offload.segmentation) ? HeaderAt<TcpHeader>(packet, offload.csum_start)->HeaderLength() : sizeof(UdpHeader);
  header.hdr_len = static_cast<uint16_t>(offload.csum_start + transport_length);
}

}  // namespace sluice
