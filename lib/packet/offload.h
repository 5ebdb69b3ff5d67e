// The offload state of a packet: what its sender postponed, and what is known about its checksums.
//
// One small struct with named states. It is read from what the kernel or a guest said (virtio-net header, descriptor
// flags), validated there, carried unchanged from ingress to egress, and resolved once, by PrepareForEgress.
#pragma once

#include <cstdint>

namespace sluice {

// What is known of a transport checksum.
enum class ChecksumState : uint8_t {
  kUnknown,  // Nobody looked. The field holds a full checksum that may be right or wrong.
  kGood,     // Verified by hardware, the kernel or us. The field holds a full, right checksum.
  kBad,      // Verified and wrong. Never repaired: it leaves as wrong as it came.
  kPartial,  // Postponed. The field holds the folded, not complemented, pseudo-header sum (RFC 1071); see csum_start.
};

// How a packet larger than its path's MTU is to be cut. The number is the IP version of the segmented header.
enum class Segmentation : uint8_t { kNone, kTcp4, kTcp6, kUdp4, kUdp6 };

constexpr bool IsTcp(Segmentation s) { return s == Segmentation::kTcp4 || s == Segmentation::kTcp6; }
constexpr bool IsUdp(Segmentation s) { return s == Segmentation::kUdp4 || s == Segmentation::kUdp6; }

struct Offload {
  // Checksum of the outermost transport header, and of the one inside a tunnel (kUnknown where there is none).
  ChecksumState l4 = ChecksumState::kUnknown;
  ChecksumState inner_l4 = ChecksumState::kUnknown;
  Segmentation segmentation = Segmentation::kNone;
  // The TCP header carries CWR (RFC 3168) and the sender knows that only the first segment may keep it
  // (VIRTIO_NET_HDR_GSO_ECN). CWR is handled this way whether or not the bit is set; an egress that was not
  // offered ECN segmentation must not be given such a packet.
  bool ecn = false;
  // Payload bytes per segment, transport header excluded; the last segment may be shorter. 0 if segmentation is kNone.
  uint16_t segment_size = 0;
  // Valid while l4 or inner_l4 is kPartial: the sum runs from data() + csum_start to the end of the frame and is stored
  // at data() + csum_start + csum_offset. Whoever pushes or pulls bytes at the front moves csum_start along
  // (DpPacket::PushFront and PullFront do).
  uint16_t csum_start = 0;
  uint16_t csum_offset = 0;

  bool IsSuper() const { return segmentation != Segmentation::kNone; }
  bool IsPartial() const { return l4 == ChecksumState::kPartial || inner_l4 == ChecksumState::kPartial; }
};
static_assert(sizeof(Offload) == 10);

}  // namespace sluice
