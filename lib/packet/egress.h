// PrepareForEgress: makes what a port can send out of what the datapath forwards. Segmentation and checksums happen
// here, once, last.
//
// A pure function of (packets, capabilities of the egress port): no port object, no system call. In order, per packet:
//   1. A super-packet that the port takes (type, ECN, size, segment count, buffers) and whose segments fit the MTU
//      passes whole.
//   2. Any other super-packet is segmented (gso.h), in place where that saves copying (uncoalesce.h,
//      segment_in_place.h); segments larger than the MTU mean a drop.
//   3. A frame larger than the MTU is dropped.
//   4. A postponed checksum that the port does not complete is completed here, also in each segment.
//   5. A frame of more buffers than the port gathers is copied into one.
// Order is kept. A frame is never over MTU; a wrong checksum is never repaired; a broken one never created.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/packet/drop_reason.h"
#include "lib/packet/gso.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

constexpr uint8_t SegmentationBit(Segmentation segmentation) {
  return static_cast<uint8_t>(1u << static_cast<uint8_t>(segmentation));
}

// What one transmit queue can do. Data, not methods: read at a batch boundary, replaced as a whole when it changes.
struct EgressCaps {
  uint32_t mtu = 1500;            // bytes of layer 3, so Ethernet header and VLAN tags excluded
  uint32_t max_super_length = 0;  // bytes of frame, Ethernet header included; 0 if no segmentation is offered
  uint16_t max_segments = 0;      // segments per super-packet; 0 means no limit
  uint16_t max_buffers = 1;       // buffers per frame that the port gathers
  uint8_t segmentations = 0;      // SegmentationBit()s that the port cuts itself
  bool segmentation_ecn = false;  // takes super-packets with Offload::ecn
  bool partial_checksum = false;  // completes a kPartial checksum of any csum_start and csum_offset
  bool sctp_checksum = false;     // completes a kPartial CRC32c (csum_offset 8 of SCTP)

  bool operator==(const EgressCaps&) const = default;
};

// Takes the prepared frames. Emit() must take every packet out of the batch (send or free and count); it is called with
// 1..32 frames, possibly several times for one prepared batch.
class EgressSink {
 public:
  virtual ~EgressSink() = default;
  virtual void Emit(PacketBatch& frames) = 0;
};

// Consumes `batch`. Segments and copies come from `pools` (the calling thread's). When the pool runs dry in the middle
// of a super-packet, what is ready is emitted, which brings buffers home; if that does not help, the remaining segments
// are dropped and counted in `drops`.
void PrepareForEgress(PacketBatch& batch, const EgressCaps& caps, PacketPools& pools, EgressSink& sink,
                      DropCounters& drops);

// Completes the postponed checksum of a frame that is no super-packet; its state is kGood then. False, and nothing
// changed, if it would lie outside the first buffer.
bool CompletePostponedChecksum(DpPacket& packet);

// Wire frames that `packet` stands for: 1, or the number of its segments. Needs the layer offsets of ParsePacket.
inline uint32_t WireFrames(const DpPacket& packet) {
  if (!packet.offload.IsSuper() || packet.payload_offset == kNoOffset || packet.length() <= packet.payload_offset) {
    return 1;
  }
  return std::max(SegmentCount(packet.length() - packet.payload_offset, packet.offload.segment_size), 1u);
}
// Bytes that `packet` occupies on the wire as these frames, without preamble and FCS.
inline uint64_t WireBytes(const DpPacket& packet) {
  const uint64_t copies = WireFrames(packet) - 1;
  return packet.length() + (copies == 0 ? 0 : copies * packet.payload_offset);
}

}  // namespace sluice
