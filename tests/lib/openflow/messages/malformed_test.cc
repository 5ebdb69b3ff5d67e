#include <gtest/gtest.h>

#include "tests/lib/openflow/messages/samples.h"

namespace sluice {
namespace {

void SetU16(std::string& bytes, size_t at, uint16_t value) {
  bytes[at] = static_cast<char>(value >> 8);
  bytes[at + 1] = static_cast<char>(value);
}

// Decodes and prints; what could be decoded must also encode and decode again.
bool Survives(const std::string& bytes, const OfCodecState& state) {
  FormatMessage(AsBytes(bytes), {}, 2);
  OfResult<OfMessage> message = DecodeMessage(AsBytes(bytes), state);
  if (!message.ok()) return !message.failure().message.empty();
  std::string again = EncodeMessage(*message, state);
  return again.empty() || again.size() > 65535 || DecodeMessage(AsBytes(again), state).ok();
}

template <typename F>
void ForEachMessage(F&& f) {
  for (const Sample& sample : Samples()) {
    for (OfVersion version : kVersions) {
      std::string bytes = Encode(sample, version);
      if (bytes.empty()) continue;
      SCOPED_TRACE(sample.name + " in " + std::string(OfVersionName(version)));
      f(sample, bytes);
    }
  }
}

TEST(MalformedMessageTest, FailsWhenCut) {
  ForEachMessage([](const Sample& sample, const std::string& bytes) {
    for (size_t length = 0; length < bytes.size(); ++length) {
      OfResult<OfMessage> message = DecodeMessage(AsBytes(bytes).subspan(0, length), sample.state);
      ASSERT_FALSE(message.ok()) << "at " << length;
      EXPECT_EQ(message.failure().error, OfError::kBrcBadLen) << "at " << length;
    }
  });
}

TEST(MalformedMessageTest, SurvivesEveryLength) {
  ForEachMessage([](const Sample& sample, const std::string& bytes) {
    for (size_t length = kOfHeaderSize; length < bytes.size(); ++length) {
      std::string cut = bytes.substr(0, length);
      SetU16(cut, 2, static_cast<uint16_t>(length));
      ASSERT_TRUE(Survives(cut, sample.state)) << "at " << length;
    }
  });
}

TEST(MalformedMessageTest, SurvivesEveryWrongLengthField) {
  ForEachMessage([](const Sample& sample, const std::string& bytes) {
    // Long texts of descriptions have no lengths.
    for (size_t at = kOfHeaderSize; at + 2 <= std::min<size_t>(bytes.size(), 400); at += 2) {
      auto value = static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) << 8 | static_cast<uint8_t>(bytes[at + 1]));
      for (int wrong : {0, 1, 3, 4, 7, 8, value - 8, value - 1, value + 1, value + 8, 0x7fff, 0xfff8, 0xffff}) {
        std::string changed = bytes;
        SetU16(changed, at, static_cast<uint16_t>(wrong));
        ASSERT_TRUE(Survives(changed, sample.state)) << wrong << " at " << at;
      }
    }
  });
}

TEST(MalformedMessageTest, NamesTheError) {
  struct Case {
    const char* bytes;
    size_t size;
    OfError error;
  };
  const Case cases[] = {
      {"\x07\x05\x00\x08\0\0\0\1", 8, OfError::kBrcBadVersion},
      {"\x00\x05\x00\x08\0\0\0\1", 8, OfError::kBrcBadVersion},
      {"\x04\x64\x00\x08\0\0\0\1", 8, OfError::kBrcBadType},
      {"\x04\x05\x00\x09\0\0\0\1\0", 9, OfError::kBrcBadLen},
      {"\x04\x05\x00\x10\0\0\0\1", 8, OfError::kBrcBadLen},
      {"\x04\x12\x00\x10\0\0\0\1\0\x77\0\0\0\0\0\0", 16, OfError::kBrcBadStat},
      {"\x04\x12\x00\x0c\0\0\0\1\0\0\0\0", 12, OfError::kBrcBadLen},
      {"\x04\x04\x00\x10\0\0\0\1\0\0\x12\x34\0\0\0\1", 16, OfError::kBrcBadExperimenter},
      {"\x04\x04\x00\x10\0\0\0\1\0\0\x23\x20\0\0\1\1", 16, OfError::kBrcBadExpType},
      {"\x04\x04\x00\x0a\0\0\0\1\0\0", 10, OfError::kBrcBadLen},
  };
  for (const Case& c : cases) {
    OfResult<OfMessage> message = DecodeMessage(AsBytes({c.bytes, c.size}));
    ASSERT_FALSE(message.ok());
    EXPECT_EQ(message.failure().error, c.error) << message.failure().message;
  }
}

// Each bundle message may hold the next: 2,000 of them must neither be decoded nor printed to the end.
TEST(MalformedMessageTest, BoundsNesting) {
  std::string bytes = EncodeMessage({OfVersion::k14, 1, OfBarrierRequest{}});
  while (bytes.size() < 32000) {
    std::string around = EncodeMessage({OfVersion::k14, 1, OfBundleAdd{1, 0, bytes}});
    around[7] = bytes[7];
    bytes = around;
  }
  EXPECT_TRUE(Survives(bytes, {}));
  std::string forward = EncodeMessage({OfVersion::k14, 1, OfBarrierRequest{}});
  while (forward.size() < 32000) forward = EncodeMessage({OfVersion::k14, 1, OfRequestForward{forward}});
  EXPECT_TRUE(Survives(forward, {}));
}

}  // namespace
}  // namespace sluice
