#include "datapath/policing.h"

#include <chrono>

#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using testing::Frame;
using testing::MakeFrame;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1000 * kSecond;

TEST(PolicerTest, PassesTheBurstAndThenTheRate) {
  Policer policer({.rate_kbps = 80, .burst_kb = 8});  // 10 frames of 1,000 bytes a second, one in a burst
  EXPECT_TRUE(policer.Admit(1, 1000, kStart));
  EXPECT_FALSE(policer.Admit(1, 1000, kStart));
  EXPECT_FALSE(policer.Admit(1, 1000, kStart + kSecond / 10 - 1));
  EXPECT_TRUE(policer.Admit(1, 1000, kStart + kSecond / 10));
  // Idle for long, there is one burst and no more.
  EXPECT_TRUE(policer.Admit(1, 1000, kStart + 100 * kSecond));
  EXPECT_FALSE(policer.Admit(1, 1000, kStart + 100 * kSecond));
}

TEST(PolicerTest, HoldsTheRateOverTime) {
  for (uint32_t frames : {1u, 45u}) {
    Policer policer({.rate_kbps = 10'000});
    uint64_t passed_bits = 0;
    // Ten times as much as may pass, for 100 s.
    const uint64_t bytes = frames * 1000;
    const uint64_t interval = bytes * 8 * kSecond / 100'000'000;
    for (uint64_t now = kStart; now < kStart + 100 * kSecond; now += interval) {
      if (policer.Admit(frames, bytes, now)) passed_bits += bytes * 8;
    }
    EXPECT_NEAR(static_cast<double>(passed_bits), 1000e6 + 8e6, 2e6) << frames << " frames a packet";
  }
}

TEST(PolicerTest, CountsSegmentsAsPackets) {
  Policer policer({.rate_kpkts = 1, .burst_kpkts = 1});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(policer.Admit(100, 100'000, kStart));
  EXPECT_FALSE(policer.Admit(1, 1000, kStart));
  EXPECT_TRUE(policer.Admit(1, 1000, kStart + kSecond / 1000));
}

TEST(PolicerTest, ASuperPacketLargerThanTheBurstPassesAndOwesTheRest) {
  Policer policer({.rate_kbps = 80, .burst_kb = 16});
  EXPECT_TRUE(policer.Admit(10, 10'000, kStart));
  EXPECT_FALSE(policer.Admit(10, 10'000, kStart + kSecond / 2));
  EXPECT_TRUE(policer.Admit(10, 10'000, kStart + kSecond));
}

TEST(PolicerTest, WhatTheBitsRefuseCostsNoPackets) {
  Policer policer({.rate_kbps = 8, .burst_kb = 8, .rate_kpkts = 1, .burst_kpkts = 1});
  EXPECT_TRUE(policer.Admit(1, 1000, kStart));
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(policer.Admit(1, 1000, kStart));
  EXPECT_TRUE(policer.Admit(1, 1000, kStart + kSecond));
}

class PolicingTest : public testing::DatapathFixture {};

TEST_F(PolicingTest, DropsWithAReasonAndKeepsTheBalance) {
  DummyNetdev& in = AddPort("in");
  DummyNetdev& out = AddPort("out");
  AddFlow("in_port(1)", "2");
  const Frame frame = MakeFrame({});
  const uint64_t bits = frame.bytes.size() * 8;
  datapath_->FindPort("in")->SetPolicing({.rate_kbps = 1, .burst_kb = 100});
  for (int i = 0; i < 1000; ++i) Inject(in, frame.bytes);
  Conservation sum = Settle();
  EXPECT_NEAR(static_cast<double>(out.sent_count()), static_cast<double>(100'000 / bits), 20);
  EXPECT_EQ(sum.sent + sum.drops[DropReason::kRxPoliced], 1000u);
  EXPECT_EQ(RxDrops("in", DropReason::kRxPoliced), 1000 - sum.sent);

  datapath_->FindPort("in")->SetPolicing({});
  out.TakeSent();
  for (int i = 0; i < 1000; ++i) Inject(in, frame.bytes);
  Settle();
  EXPECT_EQ(out.sent_count(), 1000u);
}

TEST_F(PolicingTest, SuperPacketsCountTheirSegments) {
  DummyNetdev& in = AddPort("in");
  AddPort("out");
  AddFlow("in_port(1)", "2");
  datapath_->FindPort("in")->SetPolicing({.rate_kpkts = 1, .burst_kpkts = 1});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) InjectSuper(in, MakeFrame({.payload = 40 * 1000}), 1000);
  Conservation sum = Settle();
  // The bucket, and a token for each millisecond that it took; a super-packet more for rounding.
  const auto took = std::chrono::steady_clock::now() - began;
  const auto tokens = 1000 + std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  EXPECT_GE(sum.sent, 960u);
  EXPECT_LE(sum.sent, static_cast<uint64_t>(tokens) + 41);
  EXPECT_EQ(sum.sent % 40, 0u);
  EXPECT_EQ(RxDrops("in", DropReason::kRxPoliced), 4000 - sum.sent);
}

}  // namespace
}  // namespace sluice
