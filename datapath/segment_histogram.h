// How many wire frames packets stand for: exact counts, never clamped into the last bucket.
//
// One thread writes, any reads. Packets of up to kMaxExact segments are counted each under their number; what is larger
// is counted apart, and the sum of segments is exact for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/counter.h"

namespace sluice {

struct SegmentHistogram {
  static constexpr uint32_t kMaxExact = 128;

  std::array<Counter, kMaxExact + 1> packets{};  // [n]: packets of n segments; [0] is unused
  Counter larger;                                // packets of more than kMaxExact segments
  Counter segments;                              // of all packets, the larger ones included

  void Add(uint32_t segment_count) {
    ++(segment_count <= kMaxExact ? packets[segment_count] : larger);
    segments += segment_count;
  }

  SegmentHistogram& operator+=(const SegmentHistogram& other) {
    for (size_t i = 0; i <= kMaxExact; ++i) packets[i] += other.packets[i];
    larger += other.larger;
    segments += other.segments;
    return *this;
  }
};

}  // namespace sluice
