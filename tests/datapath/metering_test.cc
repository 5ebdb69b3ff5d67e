// Meters in a datapath that forwards.
#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using testing::MakeFrame;

// Never to come back while a test runs: the burst is all that passes.
DpMeterConfig OnlyBurst(uint64_t frames) { return {.in_packets = true, .bands = {{.rate = 1, .burst = frames}}}; }

class MeteringTest : public testing::DatapathFixture {};

TEST_F(MeteringTest, DropsAreCountedUnderTheirReason) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  // A band that even a machine which stands still for a minute does not refill.
  uint32_t meter = *datapath_->meters().Add({.bands = {{.rate = 1, .burst = 100'000}}});
  EXPECT_EQ(meter, 0u);
  AddFlow("in_port(1)", "meter(0),2");
  std::vector<uint8_t> bytes = MakeFrame({.payload = 1400}).bytes;
  constexpr uint64_t kFrames = 10'000;
  for (uint64_t i = 0; i < kFrames; ++i) {
    Inject(in, bytes);
    if (i % 100 == 0) Settle();
  }
  Conservation sum = Settle();
  const uint64_t dropped = RxDrops("p1", DropReason::kMeter);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(sum.sent + dropped, kFrames);
  EXPECT_EQ(out.sent_count(), sum.sent);
  DpMeterStats stats = datapath_->meters().Find(meter)->Stats();
  EXPECT_EQ(stats.in.frames, kFrames);
  EXPECT_EQ(stats.in.bytes, kFrames * bytes.size());
  EXPECT_EQ(stats.bands[0].frames, dropped);
}

TEST_F(MeteringTest, FlowsFollowWhatBecomesOfTheirMeter) {
  DummyNetdev& in = AddPort("p1");
  AddPort("p2");
  AddFlow("in_port(1)", "meter(0),2");
  Inject(in, MakeFrame({}).bytes);
  EXPECT_EQ(Settle().sent, 1u) << "without a meter";

  ASSERT_EQ(*datapath_->meters().Add({}), 0u);
  Inject(in, MakeFrame({}).bytes);
  EXPECT_EQ(Settle().sent, 2u);
  EXPECT_EQ(datapath_->meters().Find(0)->Stats().in.frames, 1u);

  ASSERT_TRUE(datapath_->meters().Modify(0, OnlyBurst(1)).ok());
  EXPECT_EQ(datapath_->meters().Find(0)->Stats().in.frames, 0u);

  ASSERT_TRUE(datapath_->meters().Remove(0).ok());
  Inject(in, MakeFrame({}).bytes);
  EXPECT_EQ(Settle().sent, 3u);
}

TEST(DpMetersTest, HandsOutTheLowestFreeNumber) {
  DpMeters meters;
  for (uint32_t i = 0; i < 2000; ++i) ASSERT_EQ(*meters.Add({}), i);
  ASSERT_TRUE(meters.Remove(1500).ok());
  ASSERT_TRUE(meters.Remove(7).ok());
  EXPECT_EQ(meters.count(), 1998u);
  EXPECT_EQ(meters.Find(7), nullptr);
  EXPECT_EQ(*meters.Add({}), 7u);
  EXPECT_EQ(*meters.Add({}), 1500u);
  EXPECT_EQ(*meters.Add({}), 2000u);
}

TEST(DpMetersTest, SaysWhichMeterIsNotThere) {
  DpMeters meters;
  EXPECT_THAT(Message(meters.Modify(3, {})), ::testing::HasSubstr("no meter 3"));
  EXPECT_THAT(Message(meters.Remove(DpMeters::kMaxMeters)), ::testing::HasSubstr("no meter 262144"));
  EXPECT_EQ(meters.Find(UINT32_MAX), nullptr);
}

}  // namespace
}  // namespace sluice
