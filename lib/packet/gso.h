// Software segmentation: a super-packet into the frames that TSO hardware would have sent.
//
// Per segment: headers are the template's; TCP sequence += segment_size; IPv4 ID += 1 (an atomic datagram, DF set, is
// treated as the kernel treats it); lengths; FIN and PSH on the last segment only, CWR on the first only; options
// replicated; UDP lengths for USO. IPv6 with extension headers; VLAN tags. IPv4 header checksums are always computed.
// The transport checksum is postponed (kPartial, pseudo-header sum in the field) or computed in the pass that copies
// the payload, as asked.
//
// The super-packet's transport checksum must be postponed (kPartial, at the transport header): that is what every
// sender of super-packets promises, and the virtio-net codec and the coalescer see to it. A full checksum of a
// super-packet, right or wrong, says nothing about its segments, so such a packet is refused (ok() is false), and so
// are tunnels. The postponed sum in the field is not trusted but made anew from the addresses, except behind an IPv6
// routing header, where only the sender's sum knows the final destination (RFC 8200, section 8.1).
//
// The payload ends where the IP length says; what follows in the frame (padding) is left out.
//
// Sources: RFC 9293, 768, 791, 8200, 3168; net/ipv4/{af_inet,tcp_offload,udp_offload}.c and net/ipv6/ip6_offload.c of
// Linux, whose segments are equal to these byte for byte.
//
// GsoSegmenter is a resumable iterator: header cursor and payload cursor over the chain. It borrows the super-packet,
// which must outlive it and not change, but by the segmenter itself (see EmitFirstInPlace()). No allocation: the caller
// provides every output buffer.
#pragma once

#include <cstdint>

#include "lib/packet/checksum.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

enum class SegmentChecksum : uint8_t { kPostpone, kCompute };

class GsoSegmenter {
 public:
  // `super` has the offsets of ParsePacket. Check ok() before use: false if its headers do not fit its segmentation
  // type, if it is a fragment, has no payload or a segment size of 0, and then it cannot be segmented at all. A segment
  // size of at least the payload is fine: one segment.
  GsoSegmenter(const DpPacket& super, SegmentChecksum checksum);

  bool ok() const { return ok_; }
  uint32_t segment_count() const { return segment_count_; }  // wire frames in total
  uint32_t next_index() const { return next_index_; }
  bool done() const { return next_index_ == segment_count_; }
  // Frame length, Ethernet header included, of the next segment, and of the longest one.
  uint32_t next_length() const;
  uint32_t longest_length() const { return header_length_ + segment_size_; }
  uint32_t header_length() const { return header_length_; }
  uint32_t segment_size() const { return segment_size_; }  // at most the payload
  uint32_t payload_left() const { return payload_left_; }  // bytes of payload not written yet

  // Writes the next segment, a complete frame of next_length() bytes, to `out`. Its payload is read once.
  void WriteNext(uint8_t* out);
  // The same into `out`, an empty linear buffer with room: data, length, layer offsets, offload state and metadata.
  void EmitNext(DpPacket& out);

  // For segments that stay in the super-packet's own buffers; segment_in_place.h says which can.
  // Passes over the first segment, which lies whole in the first buffer, and after all others makes that buffer, whose
  // chain was detached by then, the first segment. Nothing can be written afterwards.
  void SkipFirst();
  void EmitFirstInPlace(DpPacket& super);
  // Writes the last segment around what `buffer`, the last of the chain, holds of it: headers, and payload that other
  // buffers hold, go to the front. `buffer` must be taken out of the chain afterwards; all but its links is set.
  void EmitLastInPlace(DpPacket& buffer);

 private:
  bool Prepare();
  bool PrepareIpv4();
  bool PrepareIpv6();
  bool PrepareTransport();
  void Write(uint8_t* out, uint32_t payload_bytes);
  void Describe(DpPacket& out) const;
  Sum SumInPlace(const uint8_t* payload, uint32_t bytes) const;
  void WriteNetwork(uint8_t* out, uint32_t payload_bytes) const;
  void WriteTransport(uint8_t* out, uint32_t payload_bytes, Sum payload_sum) const;
  Sum CopyPayload(uint8_t* out, uint32_t bytes);
  Sum CopyChainedPayload(uint8_t* out, uint32_t bytes);

  const DpPacket& super_;
  const DpPacket* cursor_;      // buffer that holds the next payload byte
  uint32_t cursor_offset_ = 0;  // and where in it
  uint32_t header_length_ = 0;  // bytes up to the payload
  uint32_t l3_offset_ = 0;
  uint32_t l4_offset_ = 0;
  uint32_t payload_left_ = 0;
  uint32_t segment_size_ = 0;
  uint32_t segment_count_ = 0;
  uint32_t next_index_ = 0;
  SegmentChecksum checksum_;
  bool ok_ = false;
  bool is_ipv4_ = false;
  bool is_tcp_ = false;

  // What the template says in the fields that vary.
  uint16_t ip_id_ = 0;
  uint32_t tcp_sequence_ = 0;
  uint8_t tcp_flags_ = 0;
  // Sums of what does not vary: the IPv4 header without length, ID and checksum; the pseudo-header without length; the
  // transport header without sequence, flags, UDP length and checksum.
  Sum ip_sum_ = 0;
  Sum pseudo_sum_ = 0;
  Sum transport_sum_ = 0;
  Sum kept_sum_ = 0;  // of the first segment's payload, where it stays in place
};

// Segments of a super-packet by its payload length, 0 when not segmentable. See WireFrames() for a packet.
inline uint32_t SegmentCount(uint32_t payload_bytes, uint16_t segment_size) {
  // Two are frequent, and a division would be felt.
  if (payload_bytes - 1 < 2u * segment_size) return payload_bytes > segment_size ? 2 : 1;
  return segment_size == 0 ? 0 : (payload_bytes + segment_size - 1) / segment_size;
}

}  // namespace sluice
