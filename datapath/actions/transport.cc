#include "datapath/actions/transport.h"

#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"

namespace sluice {
namespace {

// Of the 16-bit checksum in a transport header; 0 for protocols without.
uint32_t ChecksumOffset(uint8_t protocol) {
  switch (protocol) {
    case kIpProtoTcp:
      return offsetof(TcpHeader, checksum);
    case kIpProtoUdp:
      return offsetof(UdpHeader, checksum);
    case kIpProtoIcmp:
    case kIpProtoIcmpv6:
      return offsetof(IcmpHeader, checksum);
    default:
      return 0;
  }
}

bool IsPostponed(const DpPacket& packet, uint32_t checksum_offset) {
  const Offload& offload = packet.offload;
  return offload.IsPartial() && offload.csum_start == packet.l4_offset && offload.csum_offset == checksum_offset;
}

void UpdateFull(DpPacket& packet, uint8_t protocol, uint32_t offset, const uint8_t* before, const uint8_t* after,
                size_t size) {
  auto* field = HeaderAt<Be16>(packet, packet.l4_offset + offset);
  bool is_udp = protocol == kIpProtoUdp;
  if (is_udp && *field == Be16(0)) return;
  Be16 updated = UpdateChecksumBytes(*field, before, after, size);
  *field = is_udp && updated == Be16(0) ? Be16(0xffff) : updated;
}

void InspectIpv6(const DpPacket& packet, NetworkInfo& info) {
  const auto* ip = HeaderAt<Ipv6Header>(packet, packet.l3_offset);
  info.end = packet.l3_offset + uint32_t{sizeof(Ipv6Header)} + ip->payload_length.Get();
  uint8_t next = ip->next_header;
  uint32_t offset = packet.l3_offset + uint32_t{sizeof(Ipv6Header)};
  uint32_t limit = packet.l4_offset != kNoOffset ? packet.l4_offset : packet.head_length();
  while (offset + sizeof(Ipv6FragmentHeader) <= limit) {
    const auto* extension = HeaderAt<Ipv6ExtensionHeader>(packet, offset);
    if (next == kIpv6Fragment) {
      uint16_t offset_more = HeaderAt<Ipv6FragmentHeader>(packet, offset)->offset_more.Get();
      info.fragment = (offset_more & 0xfff9) != 0;
      info.later_fragment = (offset_more & 0xfff8) != 0;
      if (info.later_fragment) return;
      offset += sizeof(Ipv6FragmentHeader);
    } else if (next == kIpv6Auth) {
      offset += (extension->length + 2u) * 4;
    } else if (next == kIpv6HopByHop || next == kIpv6Routing || next == kIpv6Destination || next == kIpv6Mobility) {
      const auto* segments_left = HeaderAt<uint8_t>(packet, offset + 3);
      info.routed |= next == kIpv6Routing && *segments_left != 0;
      offset += (extension->length + 1u) * 8;
    } else {
      break;
    }
    next = extension->next_header;
  }
  if (packet.l4_offset != kNoOffset) info.protocol = next;
}

}  // namespace

NetworkInfo InspectNetwork(const DpPacket& packet) {
  NetworkInfo info;
  if (packet.l3_offset == kNoOffset) return info;
  switch (packet.data()[packet.l3_offset] >> 4) {
    case 4: {
      const auto* ip = HeaderAt<Ipv4Header>(packet, packet.l3_offset);
      info.version = NetworkInfo::Version::kIpv4;
      info.end = packet.l3_offset + uint32_t{ip->total_length.Get()};
      info.fragment = (ip->fragment.Get() & (kIpv4MoreFragments | kIpv4OffsetMask)) != 0;
      info.later_fragment = (ip->fragment.Get() & kIpv4OffsetMask) != 0;
      if (packet.l4_offset != kNoOffset) info.protocol = ip->protocol;
      break;
    }
    case 6:
      info.version = NetworkInfo::Version::kIpv6;
      InspectIpv6(packet, info);
      break;
    default:  // ARP
      break;
  }
  return info;
}

void UpdateForAddresses(DpPacket& packet, uint8_t protocol, const uint8_t* before, const uint8_t* after, size_t size) {
  uint32_t offset = protocol == kIpProtoIcmp ? 0 : ChecksumOffset(protocol);
  if (offset == 0) return;
  if (!IsPostponed(packet, offset)) return UpdateFull(packet, protocol, offset, before, after, size);
  // The field holds the sum itself, not its complement.
  auto* field = HeaderAt<Be16>(packet, packet.l4_offset + offset);
  *field = ~UpdateChecksumBytes(~*field, before, after, size);
}

void UpdateForTransport(DpPacket& packet, uint8_t protocol, const uint8_t* before, const uint8_t* after, size_t size) {
  uint32_t offset = ChecksumOffset(protocol);
  if (offset == 0 || IsPostponed(packet, offset)) return;
  UpdateFull(packet, protocol, offset, before, after, size);
}

}  // namespace sluice
