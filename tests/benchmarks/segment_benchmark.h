// What the segmentation benchmarks have in common: a TCP/IPv4 super-packet of N segments of 1448 bytes with time
// stamps, and how results are counted.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

namespace sluice {

constexpr uint32_t kL3Offset = 14;
constexpr uint32_t kL4Offset = 34;
constexpr uint32_t kHeaderLength = 66;
constexpr uint32_t kSegmentSize = 1448;

// The frame, its checksum postponed.
std::vector<uint8_t> SuperFrame(uint32_t segments);

// Bytes of payload and wire frames per second, for `segments` per iteration.
inline void CountSegments(benchmark::State& state, uint32_t segments) {
  state.SetBytesProcessed(state.iterations() * segments * kSegmentSize);
  state.SetItemsProcessed(state.iterations() * segments);
}

#define SLUICE_SEGMENT_ARGS Arg(2)->Arg(3)->Arg(5)->Arg(10)->Arg(45)

}  // namespace sluice
