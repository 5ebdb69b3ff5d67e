// Takes a coalesced super-packet apart where it lies: every buffer of its chain becomes the frame that it was.
//
// What the segmenter (gso.h) does by copying, this does by writing headers alone: the payload of each segment lies in a
// buffer of its own, with room in front where its headers were. The frames are those of GsoSegmenter, byte for byte;
// the headers are those of the super-packet now, not the ones that it was made from.
#pragma once

#include <array>
#include <cstdint>

#include "lib/packet/checksum.h"
#include "lib/packet/dp_packet.h"
#include "lib/packet/gso.h"

namespace sluice {

class Uncoalescer {
 public:
  // Longer headers (tunnels) go through the segmenter.
  static constexpr uint32_t kMaxHeaderLength = 256;

  // True if `packet` is a coalesced super-packet whose buffers still are whole segments, behind headers without
  // options or extension headers of IP that tell its true length. Needs the layer offsets of ParsePacket.
  static bool CanTake(const DpPacket& packet);

  // Takes over `super`, for which CanTake() is true. Frames that are not taken out are freed with this object.
  Uncoalescer(DpPacketPtr super, SegmentChecksum checksum);
  ~Uncoalescer() { FreePacketChain(rest_); }
  Uncoalescer(const Uncoalescer&) = delete;
  Uncoalescer& operator=(const Uncoalescer&) = delete;

  bool done() const { return rest_ == nullptr; }
  // The next segment, in order: a linear frame with offload state and the metadata of the super-packet.
  DpPacketPtr Next();

 private:
  void WriteHeaders(uint8_t* frame, uint32_t payload_bytes);
  void FinishChecksumOf(DpPacket& frame) const;

  DpPacket* rest_;  // the buffers not taken out yet
  const uint32_t l3_;
  const uint32_t l4_;
  const uint32_t header_length_;
  const bool ipv4_;
  const SegmentChecksum checksum_;
  uint8_t last_flags_ = 0;  // flags of the super-packet that only its last segment bears
  bool first_ = true;
  uint16_t id_ = 0;  // of the next segment
  uint32_t sequence_ = 0;
  Sum ip_sum_ = 0;      // the IPv4 header without length, ID and checksum
  Sum pseudo_sum_ = 0;  // the pseudo-header without length
  uint32_t in_port_ = 0;
  uint32_t flow_hash_ = 0;
  uint32_t dp_hash_ = 0;
  uint32_t skb_mark_ = 0;
  uint32_t skb_priority_ = 0;
  std::array<uint8_t, kMaxHeaderLength> template_;  // header_length_ bytes
};

}  // namespace sluice
