// Timeouts, eviction and learning: flows that come and go by themselves.
#include "tests/ofproto/flows/tables_fixture.h"

namespace sluice {
namespace {

using std::chrono::seconds;

class FlowLifetimeTest : public FlowTablesTest {
 protected:
  FlowMod Timed(OfPort port, uint16_t idle, uint16_t hard, uint16_t importance = 0) {
    FlowMod mod = AddFlow(10, InPort(port), 1);
    mod.idle_timeout = idle;
    mod.hard_timeout = hard;
    mod.importance = importance;
    return mod;
  }
  void Limit(uint32_t flows, bool evict) {
    FlowTableConfig config;
    config.flow_limit = flows;
    config.evict = evict;
    tables_.Configure(0, config);
  }
};

TEST_F(FlowLifetimeTest, FlowsExpireAndSayWhy) {
  Apply(Timed(1, 10, 0));
  Apply(Timed(2, 0, 20));
  Apply(Timed(3, 30, 60));
  Add(10, InPort(4), 1);
  TakeNotices();
  const auto start = Find(InPort(1))->created;
  const auto next = tables_.Expire(start + seconds(5));
  EXPECT_EQ(tables_.flow_count(), 4u);
  EXPECT_EQ(OfClockMs(next), OfClockMs(start) + 10'000);

  tables_.Expire(start + seconds(11));
  EXPECT_EQ(Find(InPort(1)), nullptr);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(TakeNotices()[0].reason, FlowRemoved::Reason::kIdle);

  tables_.Expire(start + seconds(25));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(TakeNotices()[0].reason, FlowRemoved::Reason::kHard);

  // Packets keep the third until its hard timeout.
  Find(InPort(3))->counters->used_ms = OfClockMs(start + seconds(50));
  tables_.Expire(start + seconds(40));
  EXPECT_NE(Find(InPort(3)), nullptr);
  tables_.Expire(start + seconds(61));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(TakeNotices()[0].reason, FlowRemoved::Reason::kHard);
  EXPECT_EQ(tables_.Expire(start + seconds(1000)), OfClock::time_point::max());
  EXPECT_EQ(tables_.flow_count(), 1u);
}

TEST_F(FlowLifetimeTest, ManyExpireInTheirOrder) {
  for (uint16_t i = 0; i < 500; ++i) Apply(Timed(i, 0, static_cast<uint16_t>(1 + i * 37 % 500)));
  const auto start = Find(InPort(0))->created;
  for (uint16_t i = 0; i < 500; i += 3) Apply(Command(FlowCommand::kDelete, 0, InPort(i)));
  for (int second = 50; second <= 550; second += 50) {
    tables_.Expire(start + seconds(second));
    for (const RulePtr& rule : All()) EXPECT_GT(rule->counters->hard_timeout, second - 2);
  }
  EXPECT_EQ(tables_.flow_count(), 0u);
}

TEST_F(FlowLifetimeTest, TimeoutsBecomeShorterButNotLonger) {
  Apply(Timed(1, 100, 0));
  RulePtr rule = Find(InPort(1));
  tables_.ShortenTimeouts(*rule, 5, 8);
  EXPECT_EQ(rule->counters->idle_timeout, 5);
  EXPECT_EQ(rule->counters->hard_timeout, 8);
  tables_.ShortenTimeouts(*rule, 50, 0);
  EXPECT_EQ(rule->counters->idle_timeout, 5);
  tables_.Expire(rule->created + seconds(6));
  EXPECT_EQ(tables_.flow_count(), 0u);
}

TEST_F(FlowLifetimeTest, StatisticsSayAgesAndTimeouts) {
  Apply(Timed(1, 100, 200));
  RulePtr rule = Find(InPort(1));
  rule->counters->packets = 2;
  rule->counters->bytes = 120;
  rule->counters->used_ms = OfClockMs(rule->created + seconds(3));
  const OfFlowStats stats = tables_.StatsOf(*rule, rule->created + seconds(10));
  EXPECT_EQ(stats.match, InPort(1));
  EXPECT_EQ(stats.duration, seconds(10));
  EXPECT_EQ(stats.idle_age, 7);
  EXPECT_EQ(stats.hard_age, 10);
  EXPECT_EQ(stats.idle_timeout, 100);
  EXPECT_EQ(stats.hard_timeout, 200);
  EXPECT_EQ(stats.packets, 2u);
  EXPECT_EQ(stats.bytes, 120u);
  EXPECT_EQ(stats.actions.size(), 1u);
}

TEST_F(FlowLifetimeTest, AFullTableRefuses) {
  Limit(2, /*evict=*/false);
  Apply(Timed(1, 10, 0));
  Apply(Timed(2, 10, 0));
  EXPECT_EQ(ErrorOf(tables_.Apply(Timed(3, 10, 0), {})), OfError::kFmfcTableFull);
  EXPECT_EQ(tables_.flow_count(), 2u);
  Apply(Timed(2, 20, 0));  // one that is there may be replaced
  EXPECT_EQ(tables_.table_stats(0).max_entries, 2u);
  // Within a bundle there is room for what comes behind a deletion.
  const std::vector<FlowMod> mods = {Command(FlowCommand::kDelete, 0, InPort(1)), Timed(3, 10, 0)};
  EXPECT_EQ(tables_.ApplyAll(mods, {}, nullptr), std::nullopt);
  EXPECT_EQ(tables_.flow_count(), 2u);
}

TEST_F(FlowLifetimeTest, AFullTableEvictsTheLeastImportantThenTheFirstToExpire) {
  Limit(4, /*evict=*/true);
  Add(10, InPort(1), 1);  // never expires: stays
  Apply(Timed(2, 0, 50, 1));
  Apply(Timed(3, 0, 20, 1));
  Apply(Timed(4, 0, 10, 2));
  TakeNotices();
  Apply(Timed(5, 0, 100, 3));
  EXPECT_EQ(Find(InPort(3)), nullptr);
  auto notices = TakeNotices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].event, FlowEvent::kRemoved);
  EXPECT_EQ(notices[0].reason, FlowRemoved::Reason::kEviction);
  Apply(Timed(6, 0, 100, 3));
  EXPECT_EQ(Find(InPort(2)), nullptr);
  Apply(Timed(7, 0, 100, 3));
  EXPECT_EQ(Find(InPort(4)), nullptr);
  EXPECT_NE(Find(InPort(1)), nullptr);
  EXPECT_EQ(tables_.flow_count(), 4u);
  Limit(2, /*evict=*/true);
  EXPECT_EQ(tables_.flow_count(), 2u);
  EXPECT_NE(Find(InPort(1)), nullptr);
}

TEST_F(FlowLifetimeTest, TheLargestGroupLosesAFlow) {
  FlowTableConfig config;
  config.flow_limit = 4;
  config.evict = true;
  config.eviction_groups = {{&Field(FieldId::kReg0), 0, 8}};
  tables_.Configure(0, config);
  auto in_group = [&](OfPort port, uint32_t group, uint16_t timeout) {
    FlowMod mod = Timed(port, 0, timeout);
    mod.match.value.regs[0] = 0x100u * port | group;  // the upper bits do not count
    mod.match.mask.regs[0] = 0xffffffff;
    return mod;
  };
  Apply(in_group(1, 7, 10));
  Apply(in_group(2, 8, 50));
  Apply(in_group(3, 8, 40));
  Apply(in_group(4, 8, 60));
  Apply(in_group(5, 9, 5));
  EXPECT_NE(Find(in_group(1, 7, 0).match), nullptr) << "it expires first, but it is alone in its group";
  EXPECT_EQ(Find(in_group(3, 8, 0).match), nullptr);
  EXPECT_EQ(tables_.flow_count(), 4u);
}

// What was used lately expires later than was thought when it came.
TEST_F(FlowLifetimeTest, EvictionKnowsOfPackets) {
  Limit(2, /*evict=*/true);
  Apply(Timed(1, 10, 0));
  Apply(Timed(2, 20, 0));
  RulePtr first = Find(InPort(1));
  first->counters->used_ms = OfClockMs(first->created + seconds(100));
  Apply(Timed(3, 1000, 0));
  EXPECT_NE(Find(InPort(1)), nullptr);
  EXPECT_EQ(Find(InPort(2)), nullptr);
}

TEST_F(FlowLifetimeTest, TableModsTurnEvictionOn) {
  Limit(1, /*evict=*/false);
  Apply(Timed(1, 10, 0));
  OfTableMod mod;
  mod.table = 0;
  mod.config = kTableEviction;
  ASSERT_EQ(tables_.SetTableConfig(mod), std::nullopt);
  EXPECT_EQ(tables_.table_desc(0).config, uint32_t{kTableEviction});
  Apply(Timed(2, 10, 0));
  EXPECT_EQ(Find(InPort(1)), nullptr);
  mod.config = kTableVacancy;
  mod.vacancy_down = 80;
  mod.vacancy_up = 20;
  EXPECT_EQ(ErrorOf(tables_.SetTableConfig(mod)), OfError::kBpcBadValue);
  EXPECT_EQ(tables_.miss_handling(0), -1);
  mod = {};
  mod.miss = 2;
  ASSERT_EQ(tables_.SetTableConfig(mod), std::nullopt);
  EXPECT_EQ(tables_.miss_handling(253), 2);
}

TEST_F(FlowLifetimeTest, VacancyIsToldOnceEachWay) {
  std::vector<OfTableStatus> told;
  tables_.OnTableStatus([&](const OfTableStatus& status) { told.push_back(status); });
  Limit(10, /*evict=*/false);
  OfTableMod mod;
  mod.table = 0;
  mod.config = kTableVacancy;
  mod.vacancy_down = 30;
  mod.vacancy_up = 50;
  ASSERT_EQ(tables_.SetTableConfig(mod), std::nullopt);
  for (OfPort port = 1; port <= 9; ++port) Add(10, InPort(port), 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].reason, 3);
  EXPECT_EQ(told[0].desc.vacancy, 20);
  for (OfPort port = 1; port <= 9; ++port) Apply(Command(FlowCommand::kDelete, 0, InPort(port)));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].reason, 4);
  EXPECT_EQ(told[1].desc.vacancy, 60);
}

TEST_F(FlowLifetimeTest, LearningAnEqualFlowOnlyBeginsItsHardTimeoutAnew) {
  FlowMod learned = Timed(1, 0, 10);
  const auto start = OfClock::now();
  ASSERT_TRUE(tables_.Learn(learned, 0, start));
  const TableVersion version = tables_.version();
  ASSERT_TRUE(tables_.Learn(learned, 0, start + seconds(8)));
  EXPECT_EQ(tables_.version(), version);
  tables_.Expire(start + seconds(15));
  EXPECT_EQ(tables_.flow_count(), 1u);
  learned.actions = {Output(5)};
  ASSERT_TRUE(tables_.Learn(learned, 0, start + seconds(15)));
  EXPECT_GT(tables_.version(), version);
  EXPECT_EQ(OutputOf(InPort(1)), 5);
}

TEST_F(FlowLifetimeTest, LearningStopsAtItsLimit) {
  for (OfPort port = 1; port <= 3; ++port) {
    FlowMod learned = Timed(port, 10, 0);
    learned.new_cookie = 6;
    EXPECT_EQ(tables_.Learn(learned, 2, OfClock::now()), port <= 2);
  }
  FlowMod known = Timed(1, 10, 0);
  known.new_cookie = 6;
  EXPECT_TRUE(tables_.Learn(known, 2, OfClock::now()));
  EXPECT_EQ(tables_.flow_count(), 2u);
}

TEST_F(FlowLifetimeTest, WhatWasLearnedGoesWithItsLastTeacher) {
  OfLearn learn;
  learn.cookie = 9;
  learn.table = 3;
  learn.flags = 2;  // delete_learned
  FlowMod teacher = AddFlow(10, InPort(1));
  teacher.actions = {{learn}};
  Apply(teacher);
  teacher.match = InPort(2);
  Apply(teacher);
  for (uint8_t table = 2; table <= 3; ++table) {
    FlowMod learned = AddFlow(10, InPort(7), 1, table);
    learned.new_cookie = 9;
    Apply(learned);
  }
  Apply(Command(FlowCommand::kDelete, 0, InPort(1)));
  EXPECT_EQ(tables_.flow_count(3), 1u);
  teacher.actions = {{learn}, Output(1)};
  Apply(teacher);  // replaced, not gone
  EXPECT_EQ(tables_.flow_count(3), 1u);
  Apply(Command(FlowCommand::kDelete, 0, InPort(2)));
  EXPECT_EQ(tables_.flow_count(3), 0u);
  EXPECT_EQ(tables_.flow_count(2), 1u);
}

}  // namespace
}  // namespace sluice
