#include <immintrin.h>

#include "lib/packet/checksum_engine.h"

// One step takes 32 bytes, sixteen words w of which each lane of 32 bits sums two:
//
//   v            w0     w1     w2     w3    ...     unsigned
//   v ^ 0x8000   w0-32k w1-32k w2-32k w3-32k ...    as signed words
//   madd by 1    w0+w1-64k     w2+w3-64k     ...    signed lanes of 32 bits
//
// The bias of 32768 per word is given back at the end. In kMaxBlock bytes all lanes together stay below 2^31.
//
// A copy stores whole aligned vectors: the first 32 bytes are stored where they are, summed only up to the first
// aligned byte of the destination (or the one before it, to keep the words of the sum whole), and the loop goes on from
// there. The last 32 bytes are stored once more where they are, and what the loop left of them is summed.

namespace sluice::checksum_internal {
namespace {

constexpr size_t kWidth = 32;
constexpr uint64_t kBiasPerVector = 16 * 32768;

// kWidth bytes of ones and as many of zeros: a load from kMask + kWidth - n masks all but the first n bytes.
alignas(64) constexpr uint8_t kMask[2 * kWidth] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

inline __m256i Load(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline void Store(uint8_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
inline __m256i First(__m256i v, size_t bytes) { return _mm256_and_si256(v, Load(kMask + kWidth - bytes)); }
inline __m256i Words(__m256i v) {
  return _mm256_madd_epi16(_mm256_xor_si256(v, _mm256_set1_epi16(-32768)), _mm256_set1_epi16(1));
}

inline uint64_t Total(__m256i lanes, size_t vectors) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return static_cast<uint64_t>(int64_t{_mm_cvtsi128_si32(sum)}) + vectors * kBiasPerVector;
}

template <bool kCopy>
inline uint64_t Run(uint8_t* to, const uint8_t* from, size_t size) {
  if (size < kWidth) return kCopy ? kScalarEngine.copy_and_sum(to, from, size) : kScalarEngine.sum(from, size);
  __m256i a = _mm256_setzero_si256();
  __m256i b = _mm256_setzero_si256();
  size_t i = 0;
  size_t vectors = 0;
  if constexpr (kCopy) {
    const __m256i first = Load(from);
    Store(to, first);
    i = (0 - reinterpret_cast<uintptr_t>(to)) & (kWidth - 2);
    a = Words(First(first, i));
    Store(to + size - kWidth, Load(from + size - kWidth));
    vectors = 1;
  }
  for (; i + 4 * kWidth <= size; i += 4 * kWidth, vectors += 4) {
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
  for (; i + kWidth <= size; i += kWidth, ++vectors) {
    const __m256i v = Load(from + i);
    if constexpr (kCopy) Store(to + i, v);
    a = _mm256_add_epi32(a, Words(v));
  }
  const uint64_t sum = Total(_mm256_add_epi32(a, b), vectors);
  return i < size ? sum + kScalarEngine.sum(from + i, size - i) : sum;
}

uint64_t SumAvx2(const uint8_t* bytes, size_t size) { return Run<false>(nullptr, bytes, size); }
uint64_t CopyAndSumAvx2(uint8_t* to, const uint8_t* from, size_t size) { return Run<true>(to, from, size); }

}  // namespace

const Engine kAvx2Engine = {SumAvx2, CopyAndSumAvx2};

}  // namespace sluice::checksum_internal
