// Meters by themselves, and the meter action on packets.
#include "datapath/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/actions/meter_packets.h"
#include "datapath/actions/set_fields.h"
#include "lib/packet/egress.h"
#include "tests/datapath/execute_support.h"
#include "tests/lib/packet/super_packet.h"

namespace sluice::testing {
namespace {

using Type = DpMeterConfig::Band::Type;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1000 * kSecond;

TEST(MeterTest, PassesTheBurstAndThenTheRate) {
  DpMeter meter({.bands = {{.rate = 80, .burst = 8}}});  // 10 frames of 1,000 bytes a second, one in a burst
  EXPECT_EQ(meter.Measure(1, 1000, kStart), nullptr);
  EXPECT_NE(meter.Measure(1, 1000, kStart), nullptr);
  EXPECT_NE(meter.Measure(1, 1000, kStart + kSecond / 10 - 1), nullptr);
  EXPECT_EQ(meter.Measure(1, 1000, kStart + kSecond / 10), nullptr);
}

TEST(MeterTest, WithoutABurstItIsWhatComesInASecond) {
  DpMeter meter({.in_packets = true, .bands = {{.rate = 5}}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(meter.Measure(1, 1000, kStart), nullptr);
  EXPECT_NE(meter.Measure(1, 1000, kStart), nullptr);
}

TEST(MeterTest, CountsTheSegmentsOfASuperPacket) {
  DpMeter meter({.in_packets = true, .bands = {{.rate = 10}}});
  EXPECT_EQ(meter.Measure(9, 9000, kStart), nullptr);
  EXPECT_EQ(meter.Measure(4, 4000, kStart), nullptr);  // by its first segment: three in debt
  EXPECT_NE(meter.Measure(1, 1000, kStart + kSecond * 3 / 10), nullptr);
  EXPECT_EQ(meter.Measure(1, 1000, kStart + kSecond * 4 / 10), nullptr);
  DpMeterStats stats = meter.Stats();
  EXPECT_EQ(stats.in.frames, 15u);
  EXPECT_EQ(stats.in.bytes, 15'000u);
  EXPECT_EQ(stats.bands[0].frames, 1u);
}

TEST(MeterTest, TheExceededBandWithTheHighestRateDecides) {
  DpMeter meter({.in_packets = true,
                 .bands = {{.type = Type::kDrop, .rate = 3, .burst = 3},
                           {.type = Type::kDscpRemark, .rate = 1, .burst = 1},
                           {.type = Type::kDscpRemark, .rate = 2, .burst = 2}}});
  std::vector<uint64_t> rates;
  for (int i = 0; i < 4; ++i) {
    const DpMeter::BandConfig* band = meter.Measure(1, 100, kStart);
    rates.push_back(band == nullptr ? 0 : band->rate);
  }
  EXPECT_THAT(rates, ::testing::ElementsAre(0, 1, 2, 3));
  DpMeterStats stats = meter.Stats();
  ASSERT_EQ(stats.bands.size(), 3u);
  for (const DpMeterStats::Count& band : stats.bands) {
    EXPECT_EQ(band.frames, 1u);
    EXPECT_EQ(band.bytes, 100u);
  }
}

TEST(MeterTest, ABandWithoutRateOrNoBandAtAllLetsEverythingPass) {
  DpMeter none({});
  DpMeter zero({.bands = {{.rate = 0}}});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(none.Measure(1, 1500, kStart), nullptr);
    EXPECT_EQ(zero.Measure(1, 1500, kStart), nullptr);
  }
  EXPECT_EQ(none.Stats().in.frames, 100u);
}

// The action.
// --------------------------------------------------------------------------------------------------------------

// A rate that does not matter: a test's packets are measured at one moment.
constexpr uint64_t kAnyRate = 1;

class MeterActionTest : public ::testing::Test {
 protected:
  MeterActionTest() : pools_(*PacketPools::Create(256, 16)) {}

  void Execute(std::string_view text, const std::vector<Bytes>& frames) {
    PacketBatch batch;
    for (const Bytes& frame : frames) batch.Add(Load(frame, pools_));
    ExecuteActions(batch, Actions(text), pools_, sink_);
    EXPECT_EQ(sink_.Balance(), frames.size());
  }
  // The TOS byte that a packet of a meter's exceeded remark band leaves with.
  uint8_t Remarked(uint8_t tos, uint8_t precedence, int version) {
    DpMeter meter({.in_packets = true,
                   .bands = {{.type = Type::kDscpRemark, .rate = kAnyRate, .burst = 1, .precedence = precedence}}});
    Bytes frame = MakeFrame({.version = version}, MakeTransport(6, 20));
    DpPacketPtr packet = Load(frame, pools_);
    EXPECT_TRUE(ApplyTos(*packet, tos, version));
    const uint64_t now = MeterNow();
    EXPECT_TRUE(MeterPacket(*packet, meter, now));
    EXPECT_EQ(TosOf(*packet, version), tos);
    EXPECT_TRUE(MeterPacket(*packet, meter, now));
    Bytes remarked = BytesOf(*packet);
    EXPECT_EQ(TransportSum(remarked), 0xffff);
    if (version == 4) {
      EXPECT_EQ(Ipv4HeaderSum(remarked), 0xffff);
    }
    return TosOf(*packet, version);
  }

  static bool ApplyTos(DpPacket& packet, uint8_t tos, int version) {
    SetAction set{version == 4 ? SetAction::Header::kIpv4 : SetAction::Header::kIpv6};
    set.value.ip_tos = tos;
    set.mask.ip_tos = 0xff;
    return ApplySet(packet, set);
  }
  static uint8_t TosOf(const DpPacket& packet, int version) {
    const uint8_t* l3 = packet.data() + packet.l3_offset;
    return version == 4 ? l3[1] : static_cast<uint8_t>(l3[0] << 4 | l3[1] >> 4);
  }

  PacketPools pools_;
  RecordingSink sink_;
};

TEST_F(MeterActionTest, DropsWhatIsBeyondTheRateAndSaysWhy) {
  DpMeter meter({.in_packets = true, .bands = {{.rate = kAnyRate, .burst = 2}}});
  sink_.meter = &meter;
  const Bytes frame = MakeFrame({}, MakeTransport(6, 100));
  Execute("meter(1),1", {frame, frame, frame});
  EXPECT_EQ(sink_.Summary(), "drop meter, output 1, output 1");
  EXPECT_EQ(meter.Stats().in.frames, 3u);
  EXPECT_EQ(meter.Stats().in.bytes, 3 * frame.size());
  EXPECT_EQ(meter.Stats().bands[0].frames, 1u);
}

TEST_F(MeterActionTest, CountsAlsoWhatGoesNowhere) {
  DpMeter meter({});
  sink_.meter = &meter;
  Execute("meter(1)", {MakeFrame({}, MakeTransport(6, 100))});
  EXPECT_EQ(sink_.Summary(), "drop action_drop");
  EXPECT_EQ(meter.Stats().in.frames, 1u);
}

TEST_F(MeterActionTest, AMeterThatIsNotThereLetsEverythingPass) {
  Execute("meter(2),1", {MakeFrame({}, MakeTransport(6, 100))});
  EXPECT_EQ(sink_.Summary(), "output 1");
}

TEST_F(MeterActionTest, MeasuresASuperPacketBySegments) {
  std::mt19937 random(1);
  SuperPacket super = MakeSuper({.payload_bytes = 5000, .segment_size = 1000}, random);
  DpMeter meter({.in_packets = true, .bands = {{.rate = kAnyRate, .burst = 1}}});
  sink_.meter = &meter;
  PacketBatch batch;
  for (int i = 0; i < 2; ++i) batch.Add(LoadSuper(super, pools_, 500));
  ExecuteActions(batch, Actions("meter(1),1"), pools_, sink_);
  EXPECT_EQ(sink_.Summary(), "drop meter, output 1");
  EXPECT_EQ(sink_.Balance(), 10u);
  EXPECT_EQ(meter.Stats().in.frames, 10u);
  EXPECT_EQ(meter.Stats().bands[0].frames, 5u);
}

TEST_F(MeterActionTest, RaisesTheDropPrecedenceOfAssuredForwardingOnly) {
  struct {
    uint8_t dscp;
    uint8_t by;
    uint8_t expected;
  } cases[] = {
      {10, 1, 12},  // AF11 -> AF12
      {10, 2, 14},  // AF11 -> AF13
      {36, 1, 38},  // AF42 -> AF43
      {38, 1, 38},  // AF43: there is no higher one
      {10, 9, 14},  //
      {0, 1, 0},    // best effort
      {8, 1, 8},    // CS1
      {46, 1, 46},  // EF
      {11, 1, 11},  // not a code point of RFC 2597
  };
  for (int version : {4, 6}) {
    for (const auto& c : cases) {
      EXPECT_EQ(Remarked(static_cast<uint8_t>(c.dscp << 2 | 1), c.by, version), c.expected << 2 | 1)
          << "IPv" << version << " DSCP " << int{c.dscp} << " by " << int{c.by};
    }
  }
}

TEST_F(MeterActionTest, LeavesWhatIsNotIpAsItIs) {
  DpMeter meter(
      {.in_packets = true, .bands = {{.type = Type::kDscpRemark, .rate = kAnyRate, .burst = 1, .precedence = 1}}});
  sink_.meter = &meter;
  Execute("meter(1),1", {kArpFrame, kArpFrame});
  EXPECT_EQ(sink_.Summary(), "output 1, output 1");
  EXPECT_EQ(sink_.events[1].bytes, kArpFrame);
  EXPECT_EQ(meter.Stats().bands[0].frames, 1u);
}

}  // namespace
}  // namespace sluice::testing
