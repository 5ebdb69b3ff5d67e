#include "lib/base/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace sluice {
namespace {

uint32_t Hash(std::initializer_list<uint64_t> words) {
  uint64_t hash = 0;
  for (uint64_t word : words) {
    hash = HashAdd(hash, word);
  }
  return HashFinish(hash);
}

TEST(HashTest, DependsOnValueOrderAndNumberOfWords) {
  EXPECT_EQ(Hash({1, 2}), Hash({1, 2}));
  EXPECT_NE(Hash({1, 2}), Hash({2, 1}));
  EXPECT_NE(Hash({0}), Hash({0, 0}));
  EXPECT_NE(Hash({0, 0}), Hash({0, 0, 0}));
}

// The keys of real tables differ in a few low bits of one word: every such difference must reach every bit of the
// result about half of the time.
TEST(HashTest, SpreadsSingleBitDifferences) {
  for (int bit = 0; bit < 64; ++bit) {
    std::array<int, 32> flips{};
    constexpr int kKeys = 2000;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const uint32_t difference = Hash({key, 42}) ^ Hash({key ^ (uint64_t{1} << bit), 42});
      for (int i = 0; i < 32; ++i) {
        flips[i] += difference >> i & 1;
      }
    }
    for (int i = 0; i < 32; ++i) {
      EXPECT_GT(flips[i], kKeys * 35 / 100) << "input bit " << bit << ", output bit " << i;
      EXPECT_LT(flips[i], kKeys * 65 / 100) << "input bit " << bit << ", output bit " << i;
    }
  }
}

TEST(HashTest, FillsBucketsEvenly) {
  constexpr size_t kBuckets = 1024;
  constexpr size_t kKeys = 64 * kBuckets;
  std::vector<int> load(kBuckets);
  for (uint64_t address = 0; address < kKeys; ++address) {
    ++load[Hash({0x0a000000'00000000 + (address << 32), 0x5001}) % kBuckets];
  }
  for (int n : load) {
    EXPECT_GT(n, 20);  // 64 expected, standard deviation 8
    EXPECT_LT(n, 120);
  }
}

TEST(HashTest, BytesOfEveryLengthAndAlignment) {
  std::array<unsigned char, 64> buffer{};
  std::set<uint32_t> seen;
  for (size_t length = 0; length <= 40; ++length) {
    EXPECT_TRUE(seen.insert(HashBytes(buffer.data(), length)).second) << "zeros of length " << length;
  }
  for (size_t i = 0; i < buffer.size(); ++i) {
    buffer[i] = static_cast<unsigned char>(i % 8);
  }
  for (size_t shift : {8u, 16u, 24u}) {
    EXPECT_EQ(HashBytes(buffer.data(), 19), HashBytes(buffer.data() + shift, 19));
  }
  EXPECT_NE(HashBytes(buffer.data(), 19, 1), HashBytes(buffer.data(), 19, 2));
}

}  // namespace
}  // namespace sluice
