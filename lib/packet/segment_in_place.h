// Segmentation that leaves the first and the last segment in the super-packet's own buffers, where they fit.
//
// The segmenter (gso.h) copies the payload of every segment. Of a super-packet of few segments most of that is not
// needed: the first one can leave in the first buffer, its headers corrected, and the last one in the last buffer, its
// headers written over payload that has been copied before, or into headroom. What the last segment has in buffers
// before that is copied to its front, so that all segments are linear. The frames are those of GsoSegmenter, byte for
// byte.
#pragma once

#include <cstdint>

#include "lib/packet/dp_packet.h"
#include "lib/packet/gso.h"
#include "lib/packet/packet_batch.h"

namespace sluice {

class InPlaceSegmenter {
 public:
  // Borrows `segmenter`, which is ok() and at the first segment of `super`. Nothing is changed yet.
  InPlaceSegmenter(DpPacket& super, GsoSegmenter& segmenter);

  // True if any segment can stay.
  bool CanCut() const { return keeps_first_ || last_ != nullptr; }
  // Buffers, each for a segment of longest_length(), that Cut() needs for the others.
  uint32_t copies() const { return segmenter_.segment_count() - keeps_first_ - (last_ != nullptr); }

  // Adds all segments, in order, to `out`, which has room for them; the segmenter is done. `super` is the packet that
  // the constructor saw; `buffers` are copies() empty ones, and are used up.
  void Cut(DpPacketPtr super, PacketBatch& buffers, PacketBatch& out);

 private:
  DpPacketPtr TakeLast(DpPacket& super) const;

  GsoSegmenter& segmenter_;
  const bool keeps_first_;
  DpPacket* last_ = nullptr;  // the buffer that the last segment stays in
};

}  // namespace sluice
