// The virtio-net header that the kernel puts before each frame of a packet socket (PACKET_VNET_HDR) or tap
// (IFF_VNET_HDR) and takes before each frame that is sent: struct virtio_net_hdr of linux/virtio_net.h, 10 bytes,
// native byte order (virtio 1.2, section 5.1.6; the kernel's side is include/linux/virtio_net.h).
//
// The header comes from a peer and is not trusted. Decoding accepts, per rule in this order, else the reason named:
//   1. flags: NEEDS_CSUM and DATA_VALID only                                          kRxVnetFlags
//   2. GSO type without ECN: none, TCPV4, TCPV6, UDP_L4 (not 3, legacy UFO)           kRxVnetUfo, kRxVnetGsoType
//      ECN only with TCP                                                              kRxVnetGsoType
//   3. hdr_len not beyond the frame; it is a hint and not used otherwise              kRxVnetHdrLen
//   4. NEEDS_CSUM: the two bytes at csum_start + csum_offset in the first buffer      kRxVnetCsumRange
//   5. GSO: with NEEDS_CSUM                                                           kRxVnetGsoNoCsum
//   6. GSO: gso_size not 0                                                            kRxVnetGsoSize
//   7. GSO: behind at most two VLAN tags stands the IP version of the type, not       kRxGsoMismatch
//      fragmented and as long as the frame, and at csum_start a whole transport
//      header of the type
// So a super-packet inside a tunnel or behind MPLS labels is refused by rule 7: the header cannot say which layers are
// to be rewritten per segment.
//
// Outcome: NEEDS_CSUM gives kPartial, of `inner_l4` when csum_start lies behind the outermost transport or tunnel
// header, else of `l4`; DATA_VALID without NEEDS_CSUM gives kGood; neither gives kUnknown. A GSO frame that holds one
// segment (or none) is turned into an ordinary frame, so IsSuper() means at least two segments.
#pragma once

#include <cstdint>

#include "lib/packet/dp_packet.h"
#include "lib/packet/drop_reason.h"

namespace sluice {

struct VnetHeader {
  // Flags.
  static constexpr uint8_t kNeedsCsum = 1;
  static constexpr uint8_t kDataValid = 2;
  // GSO types.
  static constexpr uint8_t kGsoNone = 0;
  static constexpr uint8_t kGsoTcp4 = 1;
  static constexpr uint8_t kGsoUfo = 3;
  static constexpr uint8_t kGsoTcp6 = 4;
  static constexpr uint8_t kGsoUdpL4 = 5;
  static constexpr uint8_t kGsoEcn = 0x80;  // a bit on top of a TCP type

  uint8_t flags;
  uint8_t gso_type;
  uint16_t hdr_len;   // bytes up to the payload: a hint
  uint16_t gso_size;  // payload bytes per segment
  uint16_t csum_start;
  uint16_t csum_offset;
};
static_assert(sizeof(VnetHeader) == 10);

// Fills packet.offload from `header`, for a frame whose bytes and length are in place and whose first byte is that of
// the Ethernet header. On false `reason` says which rule it broke and packet.offload is unspecified. Reads the first
// buffer only and changes no byte of the frame.
bool DecodeVnetHeader(const VnetHeader& header, DpPacket& packet, DropReason& reason);

// The header that tells the receiver packet.offload. A frame that decoded well encodes into a header that decodes to
// the same offload state; kBad is told as "not looked at", the nearest that the header can say.
void EncodeVnetHeader(const DpPacket& packet, VnetHeader& header);

}  // namespace sluice
