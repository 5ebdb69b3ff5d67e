// The parts that have no socket: limiter, tunnel options, multipart requests, asynchronous masks, targets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ofproto/connections/async_config.h"
#include "ofproto/connections/multipart_parts.h"
#include "ofproto/connections/packet_in_limiter.h"
#include "ofproto/connections/remote.h"
#include "ofproto/connections/tlv_table.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class LimiterTest : public ::testing::Test {
 protected:
  bool Admit(PacketInLimiter& limiter, OfPort port, std::string message) { return limiter.Admit(port, message, now_); }
  std::vector<std::string> TakeAll(PacketInLimiter& limiter) {
    std::vector<std::string> taken;
    while (auto message = limiter.Take(now_)) taken.push_back(*message);
    return taken;
  }

  PacketInLimiter::Clock::time_point now_{};
};

TEST_F(LimiterTest, WithoutARateEverythingPasses) {
  PacketInLimiter limiter(0, 0, now_);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(Admit(limiter, 1, "x"));
  EXPECT_EQ(limiter.statistics().bypassed, 1000u);
  EXPECT_FALSE(limiter.NextTime().has_value());
}

TEST_F(LimiterTest, AfterTheBurstMessagesWaitForTokens) {
  PacketInLimiter limiter(100, 2, now_);
  EXPECT_TRUE(Admit(limiter, 1, "a"));
  EXPECT_TRUE(Admit(limiter, 1, "b"));
  EXPECT_FALSE(Admit(limiter, 1, "c"));
  EXPECT_THAT(TakeAll(limiter), ElementsAre());
  ASSERT_TRUE(limiter.NextTime().has_value());
  EXPECT_EQ(*limiter.NextTime() - now_, milliseconds(10));
  now_ += milliseconds(10);
  EXPECT_THAT(TakeAll(limiter), ElementsAre("c"));
  EXPECT_EQ(limiter.statistics().queued, 1u);
}

TEST_F(LimiterTest, PortsTakeTurns) {
  PacketInLimiter limiter(100, 4, now_);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Admit(limiter, 9, "first"));
  Admit(limiter, 1, "1a");
  Admit(limiter, 1, "1b");
  Admit(limiter, 2, "2a");
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(TakeAll(limiter), ElementsAre("1a", "2a", "1b"));
}

TEST_F(LimiterTest, TheOldestOfTheLongestQueueIsDropped) {
  PacketInLimiter limiter(100, 3, now_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Admit(limiter, 9, "first"));
  Admit(limiter, 1, "1a");
  Admit(limiter, 1, "1b");
  Admit(limiter, 2, "2a");
  Admit(limiter, 3, "3a");
  EXPECT_EQ(limiter.statistics().dropped, 1u);
  EXPECT_EQ(limiter.backlog(), 3u);
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(TakeAll(limiter), ElementsAre("1b", "2a", "3a"));
}

TEST(TlvTableTest, ChecksWholeRequestsBeforeItChangesAnything) {
  TlvTable table;
  const NxTlvTableMod::Map good{.option_class = 0xffff, .option_type = 1, .option_length = 4, .index = 0};
  EXPECT_FALSE(table.Apply({.command = 0, .maps = {good}}));
  EXPECT_EQ(table.Describe().maps.size(), 1u);

  auto refused = [&table](NxTlvTableMod::Map bad) {
    const NxTlvTableMod::Map before{.option_class = 1, .option_type = 2, .option_length = 4, .index = 5};
    OfStatus status = table.Apply({.command = 0, .maps = {before, bad}});
    EXPECT_EQ(table.Describe().maps.size(), 1u);
    return status ? std::optional(status->error) : std::nullopt;
  };
  EXPECT_EQ(refused({.option_class = 9, .option_type = 1, .option_length = 3, .index = 1}), OfError::kNxTtmfcBadOptLen);
  EXPECT_EQ(refused({.option_class = 9, .option_type = 1, .option_length = 4, .index = 64}),
            OfError::kNxTtmfcBadFieldIdx);
  EXPECT_EQ(refused({.option_class = 9, .option_type = 1, .option_length = 4, .index = 0}),
            OfError::kNxTtmfcAlreadyMapped);
  EXPECT_EQ(refused({.option_class = 0xffff, .option_type = 1, .option_length = 4, .index = 1}),
            OfError::kNxTtmfcDupEntry);
  EXPECT_EQ(table.Apply({.command = 9})->error, OfError::kNxTtmfcBadCommand);
  EXPECT_FALSE(table.Apply({.command = 2}));
  EXPECT_TRUE(table.Describe().maps.empty());
}

TEST(TlvTableTest, OptionSpaceIsLimited) {
  TlvTable table;
  auto map = [](uint16_t index) {
    return NxTlvTableMod::Map{
        .option_class = 1, .option_type = static_cast<uint8_t>(index), .option_length = 124, .index = index};
  };
  EXPECT_FALSE(table.Apply({.command = 0, .maps = {map(0), map(1)}}));
  EXPECT_EQ(table.Apply({.command = 0, .maps = {map(2)}})->error, OfError::kNxTtmfcTableFull);
}

std::string Multipart(uint32_t xid, bool more, const std::string& body) {
  WireWriter out;
  out.U8(4);
  out.U8(18);
  out.U16(static_cast<uint16_t>(16 + body.size()));
  out.U32(xid);
  out.U16(12);
  out.U16(more ? 1 : 0);
  out.Zeros(4);
  out.Raw(AsBytes(body));
  return out.Release();
}

TEST(MultipartPartsTest, PutsPartsTogether) {
  MultipartParts parts;
  EXPECT_FALSE((*parts.Add(Multipart(1, true, "one"))).has_value());
  EXPECT_FALSE((*parts.Add(Multipart(1, true, "two"))).has_value());
  auto whole = parts.Add(Multipart(1, false, "three"));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(**whole, Multipart(1, false, "onetwothree"));
}

TEST(MultipartPartsTest, AnotherRequestEndsOneThatIsIncomplete) {
  MultipartParts parts;
  EXPECT_FALSE((*parts.Add(Multipart(1, true, "one"))).has_value());
  auto whole = parts.Add(Multipart(2, false, "other"));
  EXPECT_EQ(**whole, Multipart(2, false, "other"));
}

TEST(MultipartPartsTest, RefusesWhatGrowsBeyondOneMessage) {
  MultipartParts parts;
  const std::string body(40000, 'x');
  EXPECT_FALSE((*parts.Add(Multipart(1, true, body))).has_value());
  auto second = parts.Add(Multipart(1, true, body));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, OfError::kBrcMultipartBufferOverflow);
}

TEST(AsyncConfigTest, WhatWasNotGivenStays) {
  OfAsyncConfig config = DefaultAsyncConfig(OfVersion::k14);
  const OfAsyncConfig before = config;
  OfSetAsync set;
  set.given[0][OfAsyncConfig::kPortStatus] = true;
  ApplyAsync(set, config);
  EXPECT_EQ(config.masks[0][OfAsyncConfig::kPortStatus], 0u);
  EXPECT_EQ(config.masks[0][OfAsyncConfig::kPacketIn], before.masks[0][OfAsyncConfig::kPacketIn]);
  EXPECT_EQ(config.masks[1], before.masks[1]);
}

TEST(AsyncConfigTest, OldVersionsNameOldReasons) {
  using Reason = OfPacketIn::Reason;
  EXPECT_EQ(PublicReason(Reason::kGroup, OfVersion::k13), Reason::kAction);
  EXPECT_EQ(PublicReason(Reason::kGroup, OfVersion::k14), Reason::kGroup);
  EXPECT_EQ(PublicReason(Reason::kExplicitMiss, OfVersion::k10), Reason::kAction);
  EXPECT_EQ(PublicReason(Reason::kExplicitMiss, OfVersion::k13), Reason::kNoMatch);
  EXPECT_EQ(PublicReason(Reason::kImplicitMiss, OfVersion::k10), Reason::kNoMatch);
}

TEST(RemoteTest, TheDefaultPortIsOpenFlows) {
  EXPECT_EQ(WithOpenFlowPort("tcp:10.0.0.1"), "tcp:10.0.0.1:6653");
  EXPECT_EQ(WithOpenFlowPort("tcp:10.0.0.1:7"), "tcp:10.0.0.1:7");
  EXPECT_EQ(WithOpenFlowPort("ssl:[fd00::1]"), "ssl:[fd00::1]:6653");
  EXPECT_EQ(WithOpenFlowPort("ssl:[fd00::1]:7"), "ssl:[fd00::1]:7");
  EXPECT_EQ(WithOpenFlowPort("ptcp:"), "ptcp:6653");
  EXPECT_EQ(WithOpenFlowPort("ptcp::127.0.0.1"), "ptcp:6653:127.0.0.1");
  EXPECT_EQ(WithOpenFlowPort("pssl:7:127.0.0.1"), "pssl:7:127.0.0.1");
  EXPECT_EQ(WithOpenFlowPort("unix:/a:b"), "unix:/a:b");
}

}  // namespace
}  // namespace sluice
