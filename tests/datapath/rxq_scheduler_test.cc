#include "datapath/rxq_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/status.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<RxqLoad> Queues(const std::vector<uint64_t>& cycles) {
  std::vector<RxqLoad> queues;
  for (uint64_t load : cycles) {
    queues.push_back({.port = "p0", .queue = static_cast<uint32_t>(queues.size()), .cycles = load});
  }
  return queues;
}

const std::vector<int> kTwoCores = {0, 1};
const std::vector<int> kThreeCores = {3, 4, 5};

struct AssignmentCase {
  const char* name;
  RxqAssignment assignment;
  std::vector<uint64_t> cycles;
  std::vector<size_t> threads;
};

class AssignmentTest : public ::testing::TestWithParam<AssignmentCase> {};

TEST_P(AssignmentTest, GivesEachQueueItsThread) {
  RxqPlan plan = ScheduleRxqs(Queues(GetParam().cycles), kThreeCores, GetParam().assignment, true);
  EXPECT_EQ(plan.thread_of, GetParam().threads);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, AssignmentTest,
    ::testing::Values(
        AssignmentCase{"none", RxqAssignment::kCycles, {}, {}},
        AssignmentCase{"round_robin_ignores_load", RxqAssignment::kRoundRobin, {9, 1, 1, 9, 1}, {0, 1, 2, 0, 1}},
        AssignmentCase{
            "cycles_goes_there_and_back", RxqAssignment::kCycles, {70, 60, 50, 40, 30, 20, 10}, {0, 1, 2, 2, 1, 0, 0}},
        AssignmentCase{"cycles_takes_the_busiest_first", RxqAssignment::kCycles, {1, 5, 3}, {2, 0, 1}},
        AssignmentCase{"cycles_without_load_spreads", RxqAssignment::kCycles, {0, 0, 0}, {0, 1, 2}},
        AssignmentCase{"group_fills_the_least_loaded", RxqAssignment::kGroup, {90, 30, 20, 20, 20}, {0, 1, 2, 2, 1}},
        AssignmentCase{"group_without_load_spreads", RxqAssignment::kGroup, {0, 0, 0, 0}, {0, 1, 2, 0}}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(RxqSchedulerTest, SumsTheLoadOfEachThread) {
  RxqPlan plan = ScheduleRxqs(Queues({30, 20, 10}), kTwoCores, RxqAssignment::kGroup, true);
  EXPECT_THAT(plan.load, ElementsAre(30, 30));
}

TEST(RxqSchedulerTest, PinnedQueueIsolatesItsThread) {
  auto queues = Queues({10, 20, 30});
  queues[0].core = 1;
  RxqPlan plan = ScheduleRxqs(queues, kTwoCores, RxqAssignment::kRoundRobin, true);
  EXPECT_THAT(plan.thread_of, ElementsAre(1, 0, 0));
  EXPECT_THAT(plan.isolated, ElementsAre(false, true));
}

TEST(RxqSchedulerTest, WithoutIsolationThePinnedLoadCounts) {
  auto queues = Queues({100, 20, 30});
  queues[0].core = 1;
  RxqPlan plan = ScheduleRxqs(queues, kTwoCores, RxqAssignment::kGroup, false);
  EXPECT_THAT(plan.thread_of, ElementsAre(1, 0, 0));
  EXPECT_THAT(plan.isolated, ElementsAre(false, false));
  EXPECT_THAT(plan.load, ElementsAre(50, 100));
}

TEST(RxqSchedulerTest, PinningToACoreWithoutThreadIsIgnoredWithAWarning) {
  auto queues = Queues({1, 1});
  queues[1].core = 7;
  RxqPlan plan = ScheduleRxqs(queues, kTwoCores, RxqAssignment::kRoundRobin, true);
  EXPECT_THAT(plan.thread_of, ElementsAre(0, 1));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("port p0 queue 1: no PMD thread on core 7")));
}

TEST(RxqSchedulerTest, QueuesAreNotLeftUnpolledWhenAllThreadsAreIsolated) {
  auto queues = Queues({1, 1, 1, 1});
  queues[0].core = 0;
  queues[1].core = 1;
  RxqPlan plan = ScheduleRxqs(queues, kTwoCores, RxqAssignment::kRoundRobin, true);
  EXPECT_THAT(plan.thread_of, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("isolated")));
}

TEST(RxqAffinityTest, ReadsPairs) {
  auto pins = ParseRxqAffinity("0:3,1:7");
  ASSERT_TRUE(pins.ok());
  EXPECT_THAT(*pins, ElementsAre(std::pair(0u, 3), std::pair(1u, 7)));
  EXPECT_TRUE(ParseRxqAffinity("")->empty());
}

TEST(RxqAffinityTest, RefusesWhatIsNoPair) {
  for (const char* text : {"0", "0:", ":1", "0:1,", "0:1;1:2", "a:1", "0:b", "0:1,,1:1", "0:99999999999", "-1:0"}) {
    auto pins = ParseRxqAffinity(text);
    ASSERT_FALSE(pins.ok()) << text;
    EXPECT_THAT(Message(pins.status()), HasSubstr("expected QUEUE:CORE")) << text;
  }
  EXPECT_THAT(Message(ParseRxqAffinity("0:1,0:2").status()), HasSubstr("queue 0 is named twice"));
}

TEST(RxqAssignmentTest, NamesAreThoseOfOpenVSwitch) {
  for (const char* name : {"roundrobin", "cycles", "group"}) {
    auto assignment = ParseRxqAssignment(name);
    ASSERT_TRUE(assignment.ok());
    EXPECT_EQ(RxqAssignmentName(*assignment), name);
  }
  EXPECT_THAT(Message(ParseRxqAssignment("fastest").status()), HasSubstr("expected roundrobin, cycles or group"));
}

}  // namespace
}  // namespace sluice
