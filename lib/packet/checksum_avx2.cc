#include <immintrin.h>

#include "lib/packet/checksum_engine.h"

// One step takes 32 bytes, sixteen words w of which each lane of 32 bits sums two:
//
//   v            w0     w1     w2     w3    ...     unsigned
//   v ^ 0x8000   w0-32k w1-32k w2-32k w3-32k ...    as signed words
//   madd by 1    w0+w1-64k     w2+w3-64k     ...    signed lanes of 32 bits
//
// The bias of 32768 per word is given back at the end. A lane holds 32768 steps, kMaxBlock is 8192 of them. What does
// not fill a vector is left to the scalar engine, except that a copy of at least 32 bytes ends with one overlapping
// store.

namespace sluice::checksum_internal {
namespace {

constexpr size_t kWidth = 32;
constexpr uint64_t kBiasPerVector = 16 * 32768;

inline __m256i Load(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline void Store(uint8_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
inline __m256i Words(__m256i v) {
  return _mm256_madd_epi16(_mm256_xor_si256(v, _mm256_set1_epi16(-32768)), _mm256_set1_epi16(1));
}

inline uint64_t Total(__m256i lanes, size_t vectors) {
  // Each half widened to 64 bits before it is added across, since lanes may be near their limits.
  __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
                                  _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
  __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  const int64_t sum = _mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1);
  return static_cast<uint64_t>(sum) + vectors * kBiasPerVector;
}

template <bool kCopy>
inline uint64_t Run(uint8_t* to, const uint8_t* from, size_t size) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
    const __m256i v0 = Load(from + i);
    const __m256i v1 = Load(from + i + kWidth);
    const __m256i v2 = Load(from + i + 2 * kWidth);
    const __m256i v3 = Load(from + i + 3 * kWidth);
    if constexpr (kCopy) {
      Store(to + i, v0);
      Store(to + i + kWidth, v1);
      Store(to + i + 2 * kWidth, v2);
      Store(to + i + 3 * kWidth, v3);
    }
    a = _mm256_add_epi32(a, _mm256_add_epi32(Words(v0), Words(v1)));
    b = _mm256_add_epi32(b, _mm256_add_epi32(Words(v2), Words(v3)));
  }
  for (; i + kWidth <= size; i += kWidth) {
    const __m256i v = Load(from + i);
    if constexpr (kCopy) Store(to + i, v);
    a = _mm256_add_epi32(a, Words(v));
  }
  uint64_t sum = Total(_mm256_add_epi32(a, b), i / kWidth);
  if (i < size) {
    if (kCopy && size >= kWidth) {
      Store(to + size - kWidth, Load(from + size - kWidth));
      sum += kScalarEngine.sum(from + i, size - i);
    } else if constexpr (kCopy) {
      sum += kScalarEngine.copy_and_sum(to + i, from + i, size - i);
    } else {
      sum += kScalarEngine.sum(from + i, size - i);
    }
  }
  return sum;
}

uint64_t SumAvx2(const uint8_t* bytes, size_t size) { return Run<false>(nullptr, bytes, size); }
uint64_t CopyAndSumAvx2(uint8_t* to, const uint8_t* from, size_t size) { return Run<true>(to, from, size); }

}  // namespace

const Engine kAvx2Engine = {SumAvx2, CopyAndSumAvx2};

}  // namespace sluice::checksum_internal
