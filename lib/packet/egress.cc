#include "lib/packet/egress.h"

#include <algorithm>

#include "lib/packet/checksum.h"
#include "lib/packet/gso.h"
#include "lib/packet/headers.h"
#include "lib/packet/segment_in_place.h"
#include "lib/packet/uncoalesce.h"

namespace sluice {
namespace {

constexpr uint16_t kUdpChecksumOffset = offsetof(UdpHeader, checksum);
constexpr uint16_t kSctpChecksumOffset = offsetof(SctpHeader, checksum);

// Bytes in front of layer 3. A packet that nobody parsed counts as untagged.
uint32_t L2Length(const DpPacket& packet) {
  return packet.l3_offset == kNoOffset ? uint32_t{sizeof(EthernetHeader)} : packet.l3_offset;
}

// True if a postponed checksum is a CRC32c, given that it is where SCTP has it and no other protocol.
[[gnu::noinline]] bool HasSctpHeader(const DpPacket& packet) {
  if (packet.l3_offset == kNoOffset) return false;
  const uint32_t l3 = packet.l3_offset;
  const uint32_t start = packet.offload.csum_start;
  if (start < l3 + sizeof(Ipv4Header) || start > packet.head_length()) return false;
  switch (packet.data()[l3] >> 4) {
    case 4:
      return HeaderAt<Ipv4Header>(packet, l3)->protocol == kIpProtoSctp;
    case 6:
      if (start < l3 + sizeof(Ipv6Header)) return false;
      if (HeaderAt<Ipv6Header>(packet, l3)->next_header == kIpProtoSctp) return true;
      // Behind extension headers only TCP, UDP and ICMPv6 would be at home, whose checksums are elsewhere.
      return start > l3 + sizeof(Ipv6Header);
    default:
      return false;
  }
}

inline bool IsSctpChecksum(const DpPacket& packet) {
  return packet.offload.csum_offset == kSctpChecksumOffset && HasSctpHeader(packet);
}

// The checksum field lies inside the headers, which the first buffer holds.
bool ChecksumIsInRange(const DpPacket& packet) {
  const uint32_t field = uint32_t{packet.offload.csum_start} + packet.offload.csum_offset;
  return field + (IsSctpChecksum(packet) ? sizeof(uint32_t) : sizeof(Be16)) <= packet.head_length();
}

bool PortCompletesChecksum(const DpPacket& packet, const EgressCaps& caps) {
  return IsSctpChecksum(packet) ? caps.sctp_checksum : caps.partial_checksum;
}

// Layer-3 bytes of the longest frame that this super-packet becomes. Its payload_offset is known.
uint32_t SegmentLength(const DpPacket& super) {
  return std::min<uint32_t>(super.length(), uint32_t{super.payload_offset} + super.offload.segment_size) -
         L2Length(super);
}

// Rule 1.
bool SuperPassesWhole(const DpPacket& packet, const EgressCaps& caps) {
  return (caps.segmentations & SegmentationBit(packet.offload.segmentation)) != 0 &&
         (!packet.offload.ecn || caps.segmentation_ecn) && packet.length() <= caps.max_super_length &&
         packet.buffer_count() <= std::max<uint16_t>(caps.max_buffers, 1) && packet.payload_offset != kNoOffset &&
         (caps.max_segments == 0 || WireFrames(packet) <= caps.max_segments) && SegmentLength(packet) <= caps.mtu &&
         (!packet.offload.IsPartial() || (caps.partial_checksum && ChecksumIsInRange(packet)));
}

// True if there is nothing to do for this packet.
inline bool PassesAsItIs(const DpPacket& packet, const EgressCaps& caps) {
  if (packet.offload.IsSuper()) return SuperPassesWhole(packet, caps);
  return packet.length() <= caps.mtu + L2Length(packet) &&
         (packet.IsLinear() || packet.buffer_count() <= caps.max_buffers) &&
         (!packet.offload.IsPartial() || (PortCompletesChecksum(packet, caps) && ChecksumIsInRange(packet)));
}

void CompleteChecksum(DpPacket& packet) {
  Offload& offload = packet.offload;
  const uint32_t start = offload.csum_start;
  const uint32_t bytes = packet.length() - start;
  uint8_t* field = packet.data() + start + offload.csum_offset;
  if (IsSctpChecksum(packet)) {
    std::memset(field, 0, sizeof(uint32_t));
    const uint32_t crc = Crc32cPacket(packet, start, bytes);
    for (int i = 0; i < 4; ++i) field[i] = static_cast<uint8_t>(crc >> (8 * i));
  } else {
    // The field holds the pseudo-header's sum, so the sum over everything includes it.
    Be16 checksum = FinishChecksum(SumPacket(packet, start, bytes));
    // In UDP zero would say that there is none (RFC 768); its other form says the same sum.
    if (offload.csum_offset == kUdpChecksumOffset && checksum == Be16(0)) checksum = Be16(0xffff);
    std::memcpy(field, &checksum, sizeof checksum);
  }
  (offload.inner_l4 == ChecksumState::kPartial ? offload.inner_l4 : offload.l4) = ChecksumState::kGood;
}

// Super-packets of more segments are copied whole: what could stay is too small a part of them.
constexpr uint32_t kMaxInPlaceSegments = 4;

// One call of PrepareForEgress in which there is something to do.
class Preparation {
 public:
  Preparation(const EgressCaps& caps, PacketPools& pools, EgressSink& sink, DropCounters& drops)
      : caps_(caps), pools_(pools), sink_(sink), drops_(drops) {}

  void Add(DpPacketPtr packet) {
    if (PassesAsItIs(*packet, caps_)) {
      Put(std::move(packet));
    } else if (packet->offload.IsSuper()) {
      AddSuper(std::move(packet));
    } else {
      AddFrame(std::move(packet));
    }
  }
  void Flush() {
    if (ready_.empty()) return;
    sink_.Emit(ready_);
    assert(ready_.empty());
  }

 private:
  void Put(DpPacketPtr frame) {
    ready_.Add(std::move(frame));
    if (ready_.full()) Flush();
  }

  // Rule 2.
  void AddSuper(DpPacketPtr super) {
    const auto checksum = caps_.partial_checksum ? SegmentChecksum::kPostpone : SegmentChecksum::kCompute;
    if (super->payload_offset != kNoOffset && SegmentLength(*super) > caps_.mtu) {
      drops_.Add(DropReason::kTxOverMtu, WireFrames(*super));
      return;
    }
    if (Uncoalescer::CanTake(*super)) {
      Uncoalescer segments(std::move(super), checksum);
      while (!segments.done()) Put(segments.Next());
      return;
    }
    GsoSegmenter segmenter(*super, checksum);
    if (!segmenter.ok() || segmenter.longest_length() > pools_.large->data_size()) {
      drops_.Add(DropReason::kTxNotSegmentable, WireFrames(*super));
      return;
    }
    if (AddInPlace(super, segmenter)) return;
    while (!segmenter.done()) {
      DpPacketPtr segment = AllocateFor(segmenter.next_length());
      if (segment == nullptr) {
        drops_.Add(DropReason::kTxPoolEmpty, segmenter.segment_count() - segmenter.next_index());
        return;
      }
      segmenter.EmitNext(*segment);
      Put(std::move(segment));
    }
  }

  // Leaves what need not be copied in its place. False, and nothing done, if that cannot be: the first segment is
  // finished after the others, so all must fit what is ready; or there is no buffer for each copy.
  bool AddInPlace(DpPacketPtr& super, GsoSegmenter& segmenter) {
    if (segmenter.segment_count() > kMaxInPlaceSegments) return false;
    if (segmenter.segment_count() > PacketBatch::kCapacity - ready_.size()) return false;
    InPlaceSegmenter in_place(*super, segmenter);
    if (!in_place.CanCut()) return false;
    PacketBatch buffers;
    for (uint32_t i = 0; i < in_place.copies(); ++i) {
      DpPacketPtr buffer = AllocateFor(segmenter.longest_length());
      if (buffer == nullptr) return false;
      buffers.Add(std::move(buffer));
    }
    in_place.Cut(std::move(super), buffers, ready_);
    if (ready_.full()) Flush();
    return true;
  }

  // Rules 3 to 5.
  void AddFrame(DpPacketPtr frame) {
    if (frame->length() > caps_.mtu + L2Length(*frame)) {
      drops_.Add(DropReason::kTxOverMtu);
      return;
    }
    if (frame->offload.IsPartial()) {
      if (!ChecksumIsInRange(*frame)) {
        drops_.Add(DropReason::kTxChecksumRange);
        return;
      }
      if (!PortCompletesChecksum(*frame, caps_)) CompleteChecksum(*frame);
    }
    if (!frame->IsLinear() && frame->buffer_count() > caps_.max_buffers) {
      DpPacketPtr linear = AllocateFor(frame->length());
      if (linear == nullptr) {
        drops_.Add(DropReason::kTxPoolEmpty);
        return;
      }
      linear->CopyMetadataFrom(*frame);
      linear->SetHeadLength(frame->length());
      frame->CopyOut(0, frame->length(), linear->data());
      frame = std::move(linear);
    }
    Put(std::move(frame));
  }

  // A buffer for a frame of `bytes`, or nullptr when there is none even after what is ready was sent.
  DpPacketPtr AllocateFor(uint32_t bytes) {
    SlabPool& pool = bytes <= pools_.small->data_size() ? *pools_.small : *pools_.large;
    if (bytes > pool.data_size()) return nullptr;
    DpPacketPtr packet = pool.Allocate();
    if (packet == nullptr && !ready_.empty()) {
      Flush();
      packet = pool.Allocate();
    }
    return packet;
  }

  const EgressCaps& caps_;
  PacketPools& pools_;
  EgressSink& sink_;
  DropCounters& drops_;
  PacketBatch ready_;
};

[[gnu::noinline]] void PrepareSlowly(PacketBatch& batch, const EgressCaps& caps, PacketPools& pools, EgressSink& sink,
                                     DropCounters& drops) {
  Preparation preparation(caps, pools, sink, drops);
  for (size_t i = 0; i < batch.size(); ++i) preparation.Add(batch.Take(i));
  batch.Clear();
  preparation.Flush();
}

}  // namespace

void PrepareForEgress(PacketBatch& batch, const EgressCaps& caps, PacketPools& pools, EgressSink& sink,
                      DropCounters& drops) {
  if (batch.empty()) return;
  for (const DpPacket* packet : batch) {
    if (!PassesAsItIs(*packet, caps)) [[unlikely]] {
      PrepareSlowly(batch, caps, pools, sink, drops);
      return;
    }
  }
  sink.Emit(batch);
}

bool CompletePostponedChecksum(DpPacket& packet) {
  if (!ChecksumIsInRange(packet)) return false;
  CompleteChecksum(packet);
  return true;
}

}  // namespace sluice
