#include "ofproto/datapath_meters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr DatapathConfig kSmall{.small_buffers = 256, .large_buffers = 16};
constexpr uint64_t kNow = 1'000'000'000'000;

TEST(MetersInDatapathTest, KeepsWhatTheMeterSays) {
  auto datapath = *Datapath::Create("test", kSmall);
  MetersInDatapath meters;
  meters.set_datapath(datapath.get());
  MeterConfig config{.meter = 5,
                     .flags = kMeterPktps | kMeterBurst,
                     .bands = {{.rate = 10, .burst = 2},
                               {.type = MeterBand::Type::kDscpRemark, .rate = 1, .burst = 1, .precedence = 2}}};
  auto number = meters.AddMeter(config);
  ASSERT_TRUE(number.ok()) << number.status();
  DpMeter* meter = datapath->meters().Find(*number);
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(meter->Measure(1, 100, kNow), nullptr);
  const DpMeter::BandConfig* band = meter->Measure(1, 100, kNow);
  ASSERT_NE(band, nullptr);
  EXPECT_EQ(band->type, DpMeterConfig::Band::Type::kDscpRemark);
  EXPECT_EQ(band->precedence, 2);
  band = meter->Measure(1, 100, kNow);
  ASSERT_NE(band, nullptr);
  EXPECT_EQ(band->type, DpMeterConfig::Band::Type::kDrop);

  MeterStats stats = meters.ReadMeter(*number);
  EXPECT_EQ(stats.packets_in, 3u);
  EXPECT_EQ(stats.bytes_in, 300u);
  ASSERT_EQ(stats.bands.size(), 2u);
  EXPECT_EQ(stats.bands[0].packets, 1u);
  EXPECT_EQ(stats.bands[1].bytes, 100u);

  // Without the flag a burst does not count.
  config.flags = kMeterPktps;
  meters.ModifyMeter(*number, config);
  meter = datapath->meters().Find(*number);
  EXPECT_EQ(meters.ReadMeter(*number).packets_in, 0u);
  for (int i = 0; i < 10; ++i) {
    band = meter->Measure(1, 100, kNow);
    EXPECT_TRUE(band == nullptr || band->type == DpMeterConfig::Band::Type::kDscpRemark);
  }

  meters.RemoveMeter(*number);
  EXPECT_EQ(datapath->meters().Find(*number), nullptr);
  EXPECT_TRUE(meters.ReadMeter(*number).bands.empty());
}

TEST(MetersInDatapathTest, WithoutADatapathThereIsNoMeter) {
  MetersInDatapath meters;
  EXPECT_THAT(Message(meters.AddMeter({.meter = 7}).status()), ::testing::HasSubstr("meter 7: there is no datapath"));
  meters.ModifyMeter(0, {});
  meters.RemoveMeter(0);
  EXPECT_EQ(meters.ReadMeter(0).packets_in, 0u);
}

}  // namespace
}  // namespace sluice
