#include "lib/base/cycle_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sluice {
namespace {

TEST(CycleClockTest, AgreesWithTheMonotonicClock) {
  CyclesPerSecond();  // calibrated outside the measurement
  const auto start = std::chrono::steady_clock::now();
  const uint64_t start_cycles = CycleNow();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50)) {
  }
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Two per cent: this thread may lose the processor between the two readings of the clocks.
  EXPECT_NEAR(CyclesToSeconds(CycleNow() - start_cycles), elapsed, elapsed * 0.02 + 0.005);
}

TEST(CycleClockTest, ConvertsBothWays) {
  EXPECT_EQ(CyclesToNanoseconds(CyclesPerSecond()), 1'000'000'000u);
  EXPECT_EQ(NanosecondsToCycles(1'000'000'000), CyclesPerSecond());
  EXPECT_NEAR(static_cast<double>(CyclesToNanoseconds(MicrosecondsToCycles(123))), 123'000, 2);
  // A year does not overflow the intermediate product.
  const uint64_t year = uint64_t{365} * 24 * 3600;
  EXPECT_EQ(NanosecondsToCycles(year * 1'000'000'000), year * CyclesPerSecond());
}

}  // namespace
}  // namespace sluice
