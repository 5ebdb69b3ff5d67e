#include <gtest/gtest.h>

#include <set>

#include "tests/lib/openflow/messages/samples.h"

namespace sluice {
namespace {

std::string Where(const Sample& sample, OfVersion version) {
  return sample.name + " in " + std::string(OfVersionName(version));
}

TEST(MessageRoundTripTest, EncodesWhatItDecoded) {
  for (const Sample& sample : Samples()) {
    for (OfVersion version : kVersions) {
      SCOPED_TRACE(Where(sample, version));
      std::string bytes = Encode(sample, version);
      if (bytes.empty()) continue;
      ASSERT_EQ(ReadHeader(AsBytes(bytes)).length, bytes.size());
      OfResult<OfMessage> message = DecodeMessage(AsBytes(bytes), sample.state);
      ASSERT_TRUE(message.ok()) << message.failure().message;
      EXPECT_EQ(message->version, version);
      EXPECT_EQ(message->xid, 0x12345678u);
      EXPECT_EQ(message->body.index(), sample.body.index());
      EXPECT_EQ(EncodeMessage(*message, sample.state), bytes);
    }
  }
}

TEST(MessageRoundTripTest, PrintsEveryMessageUnderItsName) {
  for (const Sample& sample : Samples()) {
    for (OfVersion version : kVersions) {
      SCOPED_TRACE(Where(sample, version));
      std::string bytes = Encode(sample, version);
      if (bytes.empty()) continue;
      std::string text = FormatMessage(AsBytes(bytes), {}, 2);
      EXPECT_TRUE(text.starts_with(MessageName(AsBytes(bytes)))) << text;
      EXPECT_EQ(text.find("decode error"), std::string::npos) << text;
      EXPECT_EQ(text.back(), '\n');
    }
  }
}

// All kinds but the message that is not known, which is never encoded.
TEST(MessageRoundTripTest, HasASampleOfEveryKind) {
  std::set<size_t> kinds;
  for (const Sample& sample : Samples()) {
    bool encoded = false;
    for (OfVersion version : kVersions) encoded = encoded || !Encode(sample, version).empty();
    EXPECT_TRUE(encoded) << sample.name;
    kinds.insert(sample.body.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<OfBody> - 1);
}

TEST(MessageTest, CutsALongListIntoMessages) {
  OfPortStatsReply reply;
  reply.entries.resize(2000);
  for (size_t i = 0; i < reply.entries.size(); ++i) reply.entries[i].port = static_cast<OfPort>(i);
  std::string bytes = EncodeMessage({OfVersion::k13, 1, reply});
  size_t messages = 0;
  size_t ports = 0;
  bool more = true;
  OfStreamSplitter splitter;
  ASSERT_TRUE(splitter.Feed(bytes, [&](std::string message) {
    EXPECT_TRUE(more) << "a message behind the last";
    OfResult<OfMessage> decoded = DecodeMessage(AsBytes(message));
    EXPECT_TRUE(decoded.ok());
    auto& part = std::get<OfPortStatsReply>(decoded->body);
    for (const OfPortStats& stats : part.entries) EXPECT_EQ(stats.port, ports++);
    more = part.more;
    ++messages;
    return true;
  }));
  EXPECT_EQ(splitter.pending(), 0u);
  EXPECT_FALSE(more);
  EXPECT_EQ(messages, 4u);
  EXPECT_EQ(ports, 2000u);
}

TEST(MessageTest, CutsAPacketThatDoesNotFit) {
  OfPacketIn packet_in;
  packet_in.packet = std::string(65535, 'x');
  for (PacketInFormat format : {PacketInFormat::kStandard, PacketInFormat::kNxt, PacketInFormat::kNxt2}) {
    OfCodecState state{.packet_in = format};
    std::string bytes = EncodeMessage({OfVersion::k13, 1, packet_in}, state);
    OfResult<OfMessage> decoded = DecodeMessage(AsBytes(bytes));
    ASSERT_TRUE(decoded.ok()) << decoded.failure().message;
    auto& cut = std::get<OfPacketIn>(decoded->body);
    EXPECT_GT(cut.packet.size(), 64000u);
    EXPECT_EQ(cut.total_length, 65535u);
  }
}

}  // namespace
}  // namespace sluice
