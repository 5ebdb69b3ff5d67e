// The inner loops of checksum.h, one set per instruction set. Internal to lib/packet.
//
// This header is included by files that are compiled for wider vectors than the rest of the program. It must hold no
// inline function (nor include anything that does): the linker keeps one copy of an inline function and might keep
// theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::checksum_internal {

// The longest range that one call may get: the 32-bit lanes of the vector engines, and their sum, cannot overflow.
// Even.
constexpr size_t kMaxBlock = size_t{1} << 16;

// Both return a sum below 2^34, the odd last byte padded with zero, for any alignment and any size up to kMaxBlock.
struct Engine {
  uint64_t (*sum)(const uint8_t* bytes, size_t size);
  uint64_t (*copy_and_sum)(uint8_t* to, const uint8_t* from, size_t size);
};

extern const Engine kScalarEngine;
extern const Engine kAvx2Engine;
extern const Engine kAvx512Engine;

}  // namespace sluice::checksum_internal
