#include "lib/packet/checksum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/packet/slab_pool.h"

namespace sluice {
namespace {

// The oracle: RFC 1071 as its text says it, byte by byte, with nothing shared with the code under test.
uint16_t NaiveSum(const uint8_t* bytes, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i < size; ++i) {
    sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
    if (sum > 0xffff) sum = (sum & 0xffff) + 1;
  }
  return static_cast<uint16_t>(sum);
}

uint16_t HostOrder(Sum sum) { return Be16::FromRaw(FoldSum(sum)).Get(); }

// CRC32c bit by bit, reflected polynomial.
uint32_t NaiveCrc32c(const uint8_t* bytes, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

std::vector<uint8_t> RandomBytes(std::mt19937& random, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

class ChecksumEngineTest : public testing::TestWithParam<ChecksumEngine> {
 protected:
  void SetUp() override {
    before_ = SelectedChecksumEngine();
    if (!SelectChecksumEngine(GetParam())) GTEST_SKIP() << "this processor lacks " << ChecksumEngineName(GetParam());
    ASSERT_EQ(SelectedChecksumEngine(), GetParam());
  }
  void TearDown() override { SelectChecksumEngine(before_); }

  std::mt19937 random_{20261130};

 private:
  ChecksumEngine before_;
};

INSTANTIATE_TEST_SUITE_P(Engines, ChecksumEngineTest,
                         testing::Values(ChecksumEngine::kScalar, ChecksumEngine::kAvx2, ChecksumEngine::kAvx512),
                         [](const auto& engine) { return std::string(ChecksumEngineName(engine.param)); });

TEST_P(ChecksumEngineTest, SumsTheExampleOfRfc1071) {
  const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(HostOrder(SumBytes(bytes, sizeof bytes)), 0xddf2);
  EXPECT_EQ(FinishChecksum(SumBytes(bytes, sizeof bytes)).Get(), 0x220d);
}

TEST_P(ChecksumEngineTest, SumsEveryAlignmentAndSmallSize) {
  const std::vector<uint8_t> bytes = RandomBytes(random_, 64 + 300);
  for (size_t alignment = 0; alignment < 64; ++alignment) {
    for (size_t size = 0; size <= 300; ++size) {
      ASSERT_EQ(HostOrder(SumBytes(&bytes[alignment], size)), NaiveSum(&bytes[alignment], size))
          << "alignment " << alignment << " size " << size;
    }
  }
}

TEST_P(ChecksumEngineTest, CopiesExactlyWhatItSums) {
  const std::vector<uint8_t> from = RandomBytes(random_, 64 + 300);
  for (size_t alignment = 0; alignment < 64; ++alignment) {
    for (size_t size = 0; size <= 300; ++size) {
      // The destination takes every alignment too, out of step with the source, between guards.
      const size_t at = (alignment * 7 + size) % 64 + 1;
      std::vector<uint8_t> to(at + size + 1, 0xa5);
      const Sum sum = CopyAndSum(&to[at], &from[alignment], size);
      ASSERT_EQ(HostOrder(sum), NaiveSum(&from[alignment], size)) << "alignment " << alignment << " size " << size;
      ASSERT_EQ(std::memcmp(&to[at], &from[alignment], size), 0) << "alignment " << alignment << " size " << size;
      ASSERT_EQ(to[at - 1], 0xa5);
      ASSERT_EQ(to[at + size], 0xa5);
    }
  }
}

TEST_P(ChecksumEngineTest, SumsLargeRandomRanges) {
  const std::vector<uint8_t> from = RandomBytes(random_, 600'000);
  std::vector<uint8_t> to(from.size());
  std::vector<size_t> sizes = {4080, 4096, 9000, 65535, 65536, 1 << 18, (1 << 18) + 1, (1 << 19) + 3};
  for (int i = 0; i < 50; ++i) sizes.push_back(random_() % 70'000);
  for (size_t size : sizes) {
    const size_t start = random_() % (from.size() - size);
    ASSERT_EQ(HostOrder(SumBytes(&from[start], size)), NaiveSum(&from[start], size)) << size;
    ASSERT_EQ(HostOrder(CopyAndSum(to.data(), &from[start], size)), NaiveSum(&from[start], size)) << size;
    ASSERT_EQ(std::memcmp(to.data(), &from[start], size), 0) << size;
  }
}

TEST_P(ChecksumEngineTest, HandlesExtremesWithoutOverflow) {
  // All ones fill every lane as fast as can be; the sum is a non-zero zero. All zeros is the only true zero.
  for (size_t size : {2, 8, 64, 1448, 65536, 1 << 18, 1 << 20}) {
    const std::vector<uint8_t> ones(size, 0xff);
    const std::vector<uint8_t> zeros(size, 0);
    std::vector<uint8_t> low(size);
    std::vector<uint8_t> high(size);
    for (size_t i = 0; i < size; ++i) (i % 2 == 0 ? high : low)[i] = 0x80;
    EXPECT_EQ(FoldSum(SumBytes(ones.data(), size)), 0xffff) << size;
    EXPECT_EQ(FoldSum(SumBytes(zeros.data(), size)), 0) << size;
    EXPECT_EQ(HostOrder(SumBytes(low.data(), size)), NaiveSum(low.data(), size)) << size;
    EXPECT_EQ(HostOrder(SumBytes(high.data(), size)), NaiveSum(high.data(), size)) << size;
  }
}

TEST_P(ChecksumEngineTest, SumsOfPiecesAddUp) {
  const std::vector<uint8_t> bytes = RandomBytes(random_, 5000);
  for (int round = 0; round < 500; ++round) {
    Sum sum = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = std::min<size_t>(1 + random_() % 700, bytes.size() - at);
      const Sum piece = SumBytes(&bytes[at], size);
      sum += at % 2 == 0 ? piece : SwapSum(piece);
      at += size;
    }
    ASSERT_EQ(HostOrder(sum), NaiveSum(bytes.data(), bytes.size()));
  }
}

class ChainTest : public testing::Test {
 protected:
  // The bytes as a frame of buffers of the given sizes.
  DpPacketPtr Chain(const std::vector<uint8_t>& bytes, const std::vector<size_t>& sizes) {
    DpPacketPtr frame;
    DpPacket* last = nullptr;
    size_t at = 0;
    for (size_t size : sizes) {
      DpPacketPtr buffer = pools_.large->Allocate();
      buffer->SetHeadLength(static_cast<uint32_t>(size));
      std::memcpy(buffer->data(), &bytes[at], size);
      at += size;
      DpPacket* raw = buffer.get();
      if (frame == nullptr) {
        frame = std::move(buffer);
      } else {
        frame->AppendChain(last, buffer.release());
      }
      last = raw;
    }
    return frame;
  }

  PacketPools pools_ = PacketPools::Create(16, 64).value();
  std::mt19937 random_{42};
};

TEST_F(ChainTest, SumsRangesOverBuffersOfOddSizes) {
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> sizes;
    size_t total = 0;
    for (size_t i = 0, count = 1 + random_() % 8; i < count; ++i) {
      sizes.push_back(1 + random_() % 200);
      total += sizes.back();
    }
    const std::vector<uint8_t> bytes = RandomBytes(random_, total);
    const DpPacketPtr frame = Chain(bytes, sizes);
    ASSERT_EQ(frame->length(), total);
    for (int i = 0; i < 20; ++i) {
      const auto offset = static_cast<uint32_t>(random_() % (total + 1));
      const auto size = static_cast<uint32_t>(random_() % (total - offset + 1));
      const uint8_t* start = bytes.data() + offset;
      ASSERT_EQ(HostOrder(SumPacket(*frame, offset, size)), NaiveSum(start, size)) << offset << " " << size;
      ASSERT_EQ(Crc32cPacket(*frame, offset, size), NaiveCrc32c(start, size)) << offset << " " << size;
    }
  }
}

TEST(ChecksumTest, PseudoHeadersMatchTheirBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<uint8_t> addresses = RandomBytes(random, 32);
    const auto protocol = static_cast<uint8_t>(random());
    const uint32_t length = random() % 70'000;
    const uint8_t l[4] = {0, static_cast<uint8_t>(length >> 16), static_cast<uint8_t>(length >> 8),
                          static_cast<uint8_t>(length)};
    // RFC 8200, 8.1: addresses, 32-bit length, three zero bytes, next header.
    std::vector<uint8_t> header = addresses;
    header.insert(header.end(), {l[0], l[1], l[2], l[3], 0, 0, 0, protocol});
    EXPECT_EQ(HostOrder(PseudoHeaderSum6(&addresses[0], &addresses[16], protocol, length)),
              NaiveSum(header.data(), header.size()));
    // RFC 9293, 3.1: addresses, zero, protocol, 16-bit length.
    header.assign(addresses.begin(), addresses.begin() + 8);
    header.insert(header.end(), {0, protocol, l[2], l[3]});
    Be32 source;
    Be32 destination;
    std::memcpy(&source, &addresses[0], 4);
    std::memcpy(&destination, &addresses[4], 4);
    EXPECT_EQ(HostOrder(PseudoHeaderSum4(source, destination, protocol, length & 0xffff)),
              NaiveSum(header.data(), header.size()));
  }
}

TEST(ChecksumTest, UpdatesTheExampleOfRfc1624) {
  // Section 4: HC = 0xdd2f, m = 0x5555, m' = 0x3285 give 0x0000, where equation 2 would give 0xffff.
  EXPECT_EQ(UpdateChecksum16(Be16(0xdd2f), Be16(0x5555), Be16(0x3285)).Get(), 0x0000);
}

TEST(ChecksumTest, UpdatesEqualRecomputation) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes = RandomBytes(random, 40);
    if (round % 3 == 0) {  // provoke sums of 0xffff and words of 0 and 0xffff
      for (uint8_t& byte : bytes) byte = byte % 2 == 0 ? 0 : 0xff;
    }
    bytes[0] = 0x45;  // as in every real header, not all words are zero
    std::vector<uint8_t> after = bytes;
    const size_t at = 2 + random() % 16 * 2;
    const size_t size = round % 3 == 0 ? 2 : round % 3 == 1 ? 4 : 1 + random() % (bytes.size() - at);
    for (size_t i = at; i < at + size && i < after.size(); ++i) {
      after[i] = round % 2 == 0 ? static_cast<uint8_t>(random()) : random() % 2 == 0 ? 0 : 0xff;
    }
    const Be16 before = FinishChecksum(SumBytes(bytes.data(), bytes.size()));
    Be16 updated;
    if (size == 2) {
      Be16 old_word;
      Be16 new_word;
      std::memcpy(&old_word, &bytes[at], 2);
      std::memcpy(&new_word, &after[at], 2);
      updated = UpdateChecksum16(before, old_word, new_word);
    } else if (size == 4) {
      Be32 old_word;
      Be32 new_word;
      std::memcpy(&old_word, &bytes[at], 4);
      std::memcpy(&new_word, &after[at], 4);
      updated = UpdateChecksum32(before, old_word, new_word);
    } else {
      updated = UpdateChecksumBytes(before, &bytes[at], &after[at], size);
    }
    const auto expected = static_cast<uint16_t>(~NaiveSum(after.data(), after.size()));
    ASSERT_EQ(updated.Get(), expected) << "round " << round << " at " << at << " size " << size;
  }
}

TEST(ChecksumTest, Crc32cMatchesItsVectors) {
  // RFC 3720, B.4, and the check value of the CRC catalogue.
  const std::vector<uint8_t> zeros(32, 0);
  const std::vector<uint8_t> ones(32, 0xff);
  std::vector<uint8_t> rising(32);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(Crc32c(zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c(ones.data(), 32), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(rising.data(), 32), 0x46dd794eu);
  EXPECT_EQ(Crc32c(reinterpret_cast<const uint8_t*>("123456789"), 9), 0xe3069283u);
}

TEST(ChecksumTest, Crc32cMatchesItsDefinitionInAnyPieces) {
  std::mt19937 random(13);
  for (size_t size = 0; size < 200; ++size) {
    const std::vector<uint8_t> bytes = RandomBytes(random, size);
    const size_t cut = size == 0 ? 0 : random() % size;
    const uint32_t expected = NaiveCrc32c(bytes.data(), size);
    EXPECT_EQ(Crc32c(bytes.data(), size), expected) << size;
    EXPECT_EQ(Crc32c(bytes.data() + cut, size - cut, Crc32c(bytes.data(), cut)), expected) << size << " cut " << cut;
  }
}

}  // namespace
}  // namespace sluice
