// Software segmentation: a super-packet into the frames that TSO hardware would have sent.
//
// Per segment: headers are the template's; TCP sequence += segment_size; IPv4 ID += 1 (an atomic datagram, DF set, is
// treated as the kernel treats it); lengths; FIN and PSH on the last segment only, CWR on the first only; options
// replicated; UDP lengths for USO. IPv6 with extension headers; VLAN tags. IPv4 header checksums are always computed.
// The transport checksum is postponed (kPartial, pseudo-header sum in the field) or computed in the pass that copies
// the payload, as asked.
//
// GsoSegmenter is a resumable iterator: header cursor and payload cursor over the chain. It borrows the super-packet,
// which must outlive it and not change. No allocation: the caller provides every output buffer.
#pragma once

#include <cstdint>

#include "lib/packet/dp_packet.h"
#include "lib/packet/drop_reason.h"

namespace sluice {

enum class SegmentChecksum : uint8_t { kPostpone, kCompute };

class GsoSegmenter {
 public:
  // `super` has the offsets of ParsePacket. Check ok() before use: false if its headers do not fit its segmentation type
  // (or it has no payload), and then it cannot be segmented at all.
  GsoSegmenter(const DpPacket& super, SegmentChecksum checksum);

  bool ok() const { return ok_; }
  uint32_t segment_count() const { return segment_count_; }  // wire frames in total
  uint32_t next_index() const { return next_index_; }
  bool done() const { return next_index_ == segment_count_; }
  // Frame length, Ethernet header included, of the next segment, and of the longest one.
  uint32_t next_length() const;
  uint32_t longest_length() const { return header_length_ + segment_size_; }
  uint32_t header_length() const { return header_length_; }

  // Writes the next segment, a complete frame of next_length() bytes, to `out`. Its payload is read once.
  void WriteNext(uint8_t* out);
  // The same into `out`, an empty linear buffer with room: data, length, layer offsets, offload state and metadata.
  void EmitNext(DpPacket& out);

 private:
  void WriteHeaders(uint8_t* out, uint32_t payload_bytes) const;
  void FinishTransport(uint8_t* out, uint32_t payload_bytes, uint64_t payload_sum) const;
  uint64_t CopyPayload(uint8_t* out, uint32_t bytes);

  const DpPacket& super_;
  const DpPacket* cursor_;       // buffer that holds the next payload byte
  uint32_t cursor_offset_ = 0;   // and where in it
  uint32_t header_length_ = 0;   // bytes up to the payload
  uint32_t payload_left_ = 0;
  uint32_t segment_size_ = 0;
  uint32_t segment_count_ = 0;
  uint32_t next_index_ = 0;
  SegmentChecksum checksum_;
  bool ok_ = false;
};

// Segments of a super-packet by its payload length, 0 when not segmentable. See WireFrames() for a packet.
uint32_t SegmentCount(uint32_t payload_bytes, uint16_t segment_size);

}  // namespace sluice
