#include "netdev/system/system_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/status.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(SystemOptionsTest, DefaultsAreOneQueueCoalescingAndLargeBuffers) {
  auto options = SystemOptions::Parse("p0", {});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(
      options->ToMap(),
      (NetdevOptions{
          {"n_rxq", "1"}, {"rx-gro", "true"}, {"rx-socket-buffer", "33554432"}, {"tx-socket-buffer", "33554432"}}));
}

TEST(SystemOptionsTest, TakesEveryOption) {
  NetdevOptions given = {
      {"n_rxq", "4"}, {"rx-gro", "false"}, {"rx-socket-buffer", "1048576"}, {"tx-socket-buffer", "65536"}};
  auto options = SystemOptions::Parse("p0", given);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->ToMap(), given);
}

TEST(SystemOptionsTest, ErrorsNamePortOptionAndValue) {
  const NetdevOptions kBad[] = {{{"n_rxq", "0"}},
                                {{"n_rxq", "x"}},
                                {{"rx-gro", "yes"}},
                                {{"rx-socket-buffer", "10"}},
                                {{"tx-socket-buffer", "1M"}},
                                {{"colour", "red"}}};
  for (const NetdevOptions& bad : kBad) {
    const auto& [option, value] = *bad.begin();
    auto options = SystemOptions::Parse("p0", bad);
    ASSERT_FALSE(options.ok()) << option;
    EXPECT_THAT(Message(options.status()), HasSubstr("p0"));
    EXPECT_THAT(Message(options.status()), HasSubstr(option));
  }
}

}  // namespace
}  // namespace sluice
