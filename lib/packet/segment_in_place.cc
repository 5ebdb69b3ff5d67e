#include "lib/packet/segment_in_place.h"

#include <utility>

namespace sluice {
namespace {

// The last buffer of `super` if its last segment, not being the first, ends in it and has room in front of what lies
// there. Otherwise nullptr.
DpPacket* BufferOfLast(DpPacket& super, const GsoSegmenter& segmenter) {
  if (super.IsLinear() || segmenter.segment_count() < 2) return nullptr;
  DpPacket* last = super.next();
  while (!last->IsLinear()) last = last->next();

  // Offsets in the super-packet's frame.
  const uint32_t buffer_start = super.length() - last->head_length();
  const uint32_t payload_start = segmenter.header_length() + (segmenter.segment_count() - 1) * segmenter.segment_size();
  const uint32_t payload_end = segmenter.header_length() + segmenter.payload_left();
  // Behind the end there may be padding.
  if (payload_end <= buffer_start) return nullptr;
  // The segment's headers and payload start in the buffer's headroom, or over payload of segments before it.
  return last->headroom() + payload_start >= buffer_start + segmenter.header_length() ? last : nullptr;
}

}  // namespace

InPlaceSegmenter::InPlaceSegmenter(DpPacket& super, GsoSegmenter& segmenter)
    : segmenter_(segmenter),
      keeps_first_(super.head_length() >= segmenter.longest_length()),
      last_(BufferOfLast(super, segmenter)) {}

void InPlaceSegmenter::Cut(DpPacketPtr super, PacketBatch& buffers, PacketBatch& out) {
  // What stays is finished last: until then its place holds headers and payload that the others are made of.
  if (keeps_first_) segmenter_.SkipFirst();
  for (DpPacket* buffer : buffers) segmenter_.EmitNext(*buffer);
  DpPacketPtr last;
  if (last_ != nullptr) {
    segmenter_.EmitLastInPlace(*last_);
    last = TakeLast(*super);
  }
  if (keeps_first_) {
    FreePacketChain(super->DetachChain());
    segmenter_.EmitFirstInPlace(*super);
    out.Add(std::move(super));
  }
  for (size_t i = 0; i < buffers.size(); ++i) out.Add(buffers.Take(i));
  buffers.Clear();
  if (last != nullptr) out.Add(std::move(last));
}

// Takes the last buffer out of the chain.
DpPacketPtr InPlaceSegmenter::TakeLast(DpPacket& super) const {
  DpPacket* buffer = super.DetachChain();
  while (buffer != last_) {
    DpPacketPtr copied(buffer);
    buffer = copied->DetachChain();
  }
  return DpPacketPtr(buffer);
}

}  // namespace sluice
