// A fast hash over 64-bit words, for tables that live inside one process.
//
// Each word costs one multiplication (the 128-bit product folded to 64 bits), so a flow key hashes in a few
// nanoseconds. The result depends on the order of the words. It is neither stable between versions nor keyed: never
// put it on the wire or in a file. Usage:
//
//   uint64_t hash = basis;
//   for (uint64_t word : words) hash = HashAdd(hash, word);
//   uint32_t bucket = HashFinish(hash) & mask;
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

namespace hash_internal {

// Odd, with about half of their bits set in no pattern (the fractional parts of the golden ratio and of sqrt(3)).
inline constexpr uint64_t kAddFactor = 0x9e3779b97f4a7c15;
inline constexpr uint64_t kFinishFactor = 0xbb67ae8584caa73b;

inline uint64_t FoldedMultiply(uint64_t a, uint64_t b) {
  __extension__ using Uint128 = unsigned __int128;
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace hash_internal

inline uint64_t HashAdd(uint64_t hash, uint64_t word) {
  // The constant keeps a run of zero words from leaving a zero state unchanged.
  return hash_internal::FoldedMultiply(hash ^ word, hash_internal::kAddFactor) + hash_internal::kFinishFactor;
}

inline uint32_t HashFinish(uint64_t hash) {
  return static_cast<uint32_t>(hash_internal::FoldedMultiply(hash, hash_internal::kFinishFactor) >> 16);
}

// `length` bytes from any alignment; the length takes part, so a trailing zero byte makes a difference.
inline uint32_t HashBytes(const void* data, size_t length, uint64_t basis = 0) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = HashAdd(basis, length);
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = HashAdd(hash, word);
  }
  if (length > 0) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, length);
    hash = HashAdd(hash, word);
  }
  return HashFinish(hash);
}

}  // namespace sluice
