#include "lib/base/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

SLUICE_COVERAGE_DEFINE(test_many_threads);
SLUICE_COVERAGE_DEFINE(test_rates);
SLUICE_COVERAGE_DEFINE(test_never);

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CoverageTest, SumsThreadsAndKeepsTheCountsOfThoseThatEnded) {
  const uint64_t before = *CoverageRead("test_many_threads");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10'000; ++i) {
        SLUICE_COVERAGE_INC(test_many_threads);
      }
      SLUICE_COVERAGE_ADD(test_many_threads, 5);
    });
  }
  while (*CoverageRead("test_many_threads") == before) {  // read while they count
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*CoverageRead("test_many_threads") - before, 40'020u);
}

TEST(CoverageTest, UnknownCounterIsNothing) { EXPECT_FALSE(CoverageRead("no_such_counter").has_value()); }

TEST(CoverageTest, ShowsRatesOverThreePeriods) {
  SLUICE_COVERAGE_ADD(test_rates, 600);
  CoverageSample();
  EXPECT_THAT(CoverageShow(),
              HasSubstr("test_rates               120.0/sec    10.000/sec        0.1667/sec   total: 600"));
  SLUICE_COVERAGE_ADD(test_rates, 30);
  CoverageSample();
  EXPECT_THAT(CoverageShow(),
              HasSubstr("test_rates                 6.0/sec    10.500/sec        0.1750/sec   total: 630"));
  for (int i = 0; i < 12; ++i) {  // a minute later only the hour remembers
    CoverageSample();
  }
  EXPECT_THAT(CoverageShow(),
              HasSubstr("test_rates                 0.0/sec     0.000/sec        0.1750/sec   total: 630"));
  for (int i = 0; i < 60 * 12; ++i) {
    CoverageSample();
  }
  EXPECT_THAT(CoverageShow(),
              HasSubstr("test_rates                 0.0/sec     0.000/sec        0.0000/sec   total: 630"));
}

TEST(CoverageTest, LeavesOutWhatNeverHappened) {
  EXPECT_THAT(CoverageShow(), Not(HasSubstr("test_never")));
  EXPECT_THAT(CoverageShow(), HasSubstr(" events never hit\n"));
  EXPECT_EQ(CoverageRead("test_never"), 0u);
}

}  // namespace
}  // namespace sluice
