#include <cstring>

#include "lib/packet/checksum_engine.h"

namespace sluice::checksum_internal {
namespace {

template <typename Word>
Word Load(const uint8_t* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// 64-bit loads split into 32-bit halves: no carry to catch, and two independent chains of additions.
class Accumulator {
 public:
  void Add64(uint64_t word) {
    low_ += word & 0xffffffff;
    high_ += word >> 32;
  }
  void Add(uint64_t word) { low_ += word; }
  uint64_t Total() const {
    const uint64_t sum = (low_ & 0xffffffff) + (low_ >> 32) + (high_ & 0xffffffff) + (high_ >> 32);
    return (sum & 0xffffffff) + (sum >> 32);
  }

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

template <bool kCopy>
uint64_t Run(uint8_t* to, const uint8_t* from, size_t size) {
  Accumulator sum;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const auto word = Load<uint64_t>(from + i);
    if constexpr (kCopy) std::memcpy(to + i, &word, 8);
    sum.Add64(word);
  }
  if (size & 4) {
    const auto word = Load<uint32_t>(from + i);
    if constexpr (kCopy) std::memcpy(to + i, &word, 4);
    sum.Add(word);
    i += 4;
  }
  if (size & 2) {
    const auto word = Load<uint16_t>(from + i);
    if constexpr (kCopy) std::memcpy(to + i, &word, 2);
    sum.Add(word);
    i += 2;
  }
  if (size & 1) {
    if constexpr (kCopy) to[i] = from[i];
    sum.Add(from[i]);  // the first byte of a little-endian word whose second is the padding
  }
  return sum.Total();
}

uint64_t SumScalar(const uint8_t* bytes, size_t size) { return Run<false>(nullptr, bytes, size); }
uint64_t CopyAndSumScalar(uint8_t* to, const uint8_t* from, size_t size) { return Run<true>(to, from, size); }

}  // namespace

const Engine kScalarEngine = {SumScalar, CopyAndSumScalar};

}  // namespace sluice::checksum_internal
