#include <nmmintrin.h>

#include <cstring>

#include "lib/packet/checksum.h"

namespace sluice {

// The instruction is part of the oldest processor that is supported (SSE4.2). Inverted before and after, so that the
// result of one piece is the seed of the next.
uint32_t Crc32c(const uint8_t* bytes, size_t size, uint32_t seed) {
  uint64_t crc = ~seed;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<uint32_t>(crc);
  for (; size > 0; ++bytes, --size) narrow = _mm_crc32_u8(narrow, *bytes);
  return ~narrow;
}

}  // namespace sluice
