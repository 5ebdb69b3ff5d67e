// Flow mods: what each command does to flows, and what it tells.
#include "tests/ofproto/flows/tables_fixture.h"

namespace sluice {
namespace {

using FlowModsTest = FlowTablesTest;

TEST_F(FlowModsTest, AddingAnEqualFlowReplacesIt) {
  FlowMod mod = AddFlow(10, InPort(1), 1);
  mod.new_cookie = 5;
  mod.idle_timeout = 7;
  Apply(mod);
  Find(InPort(1))->counters->packets = 3;
  mod.actions = {Output(2)};
  mod.new_cookie = 6;
  mod.idle_timeout = 9;
  Apply(mod);
  ASSERT_EQ(tables_.flow_count(), 1u);
  RulePtr rule = Find(InPort(1));
  EXPECT_EQ(OutputOf(InPort(1)), 2);
  EXPECT_EQ(rule->cookie, 6u);
  EXPECT_EQ(rule->counters->packets, 3u);
  EXPECT_EQ(rule->counters->idle_timeout, 9);
  mod.flags = kResetCounts;
  Apply(mod);
  EXPECT_EQ(Find(InPort(1))->counters->packets, 0u);
  EXPECT_EQ(Find(InPort(1))->flags, 0);
  // Another priority is another flow.
  Add(11, InPort(1), 3);
  EXPECT_EQ(tables_.flow_count(), 2u);
}

TEST_F(FlowModsTest, ModifyingKeepsAllButActions) {
  FlowMod mod = AddFlow(10, InPort(1), 1);
  mod.new_cookie = 5;
  mod.hard_timeout = 7;
  mod.importance = 3;
  mod.flags = kSendFlowRem;
  Apply(mod);
  Find(InPort(1))->counters->bytes = 100;
  const auto created = Find(InPort(1))->created;
  Apply(Command(FlowCommand::kModify, 0, {}, 2));
  RulePtr rule = Find(InPort(1));
  EXPECT_EQ(OutputOf(InPort(1)), 2);
  EXPECT_EQ(rule->priority, 10);
  EXPECT_EQ(rule->cookie, 5u);
  EXPECT_EQ(rule->counters->hard_timeout, 7);
  EXPECT_EQ(rule->counters->bytes, 100u);
  EXPECT_EQ(rule->importance, 3);
  EXPECT_EQ(rule->flags, kSendFlowRem);
  EXPECT_EQ(rule->created, created);
  FlowMod other = Command(FlowCommand::kModify, 0, {}, 2);
  other.modify_cookie = true;
  other.new_cookie = 8;
  other.flags = kResetCounts;
  Apply(other);
  EXPECT_EQ(Find(InPort(1))->cookie, 8u);
  EXPECT_EQ(Find(InPort(1))->counters->bytes, 0u);
  EXPECT_EQ(Find(InPort(1))->counters->hard_timeout, 7);
}

TEST_F(FlowModsTest, LooseCommandsMeanWhatIsWithinStrictOnesWhatIsEqual) {
  Add(10, Ipv4Dst(0x0a010000, 16), 1);
  Add(20, Ipv4Dst(0x0a020000, 16), 1);
  Add(10, Ipv4Dst(0x0b000000, 8), 1);
  Apply(Command(FlowCommand::kModify, 10, Ipv4Dst(0x0a000000, 8), 2));
  EXPECT_EQ(OutputOf(Ipv4Dst(0x0a010000, 16)), 2);
  EXPECT_EQ(OutputOf(Ipv4Dst(0x0a020000, 16)), 2);
  EXPECT_EQ(OutputOf(Ipv4Dst(0x0b000000, 8)), 1);
  Apply(Command(FlowCommand::kModifyStrict, 10, Ipv4Dst(0x0a020000, 16), 3));
  EXPECT_EQ(OutputOf(Ipv4Dst(0x0a020000, 16)), 2) << "its priority is 20";
  Apply(Command(FlowCommand::kDeleteStrict, 20, Ipv4Dst(0x0a020000, 16)));
  EXPECT_EQ(Find(Ipv4Dst(0x0a020000, 16)), nullptr);
  Apply(Command(FlowCommand::kDelete, 0, Ipv4Dst(0x0a010000, 16)));
  EXPECT_EQ(tables_.flow_count(), 1u);
  Apply(Command(FlowCommand::kDelete, 0, {}));
  EXPECT_EQ(tables_.flow_count(), 0u);
}

// OpenFlow 1.0 and 1.1.
TEST_F(FlowModsTest, ModifyingNothingAddsIfThereIsACookieToGive) {
  FlowMod mod = Command(FlowCommand::kModify, 10, InPort(1));
  Apply(mod);
  EXPECT_EQ(tables_.flow_count(), 0u);
  mod.new_cookie = 0;
  mod.cookie_mask = 1;
  Apply(mod);
  EXPECT_EQ(tables_.flow_count(), 0u);
  mod.cookie_mask = 0;
  Apply(mod);
  EXPECT_EQ(tables_.flow_count(), 1u);
  EXPECT_EQ(Find(InPort(1))->table, 0);
}

TEST_F(FlowModsTest, CookiesOutputsAndTablesNarrowDown) {
  for (OfPort port = 1; port <= 4; ++port) {
    FlowMod mod = AddFlow(10, InPort(port), port, static_cast<uint8_t>(port % 2));
    mod.new_cookie = 0x10u + port;
    if (port == 4) mod.actions = {{OfGroup{7}}};
    Apply(mod);
  }
  FlowStatsRequest request;
  request.cookie = 0x12;
  request.cookie_mask = UINT64_MAX;
  EXPECT_EQ(tables_.Collect(request).size(), 1u);
  request.cookie_mask = 0x12;
  EXPECT_EQ(tables_.Collect(request).size(), 2u);  // 0x12, 0x13
  request = {};
  request.out_port = 3;
  EXPECT_EQ(tables_.Collect(request).size(), 1u);
  request = {};
  request.out_group = 7;
  EXPECT_EQ(tables_.Collect(request).size(), 1u);
  request = {};
  request.table = 1;
  EXPECT_EQ(tables_.Collect(request).size(), 2u);
  EXPECT_EQ(tables_.flow_count(1), 2u);

  FlowMod remove = Command(FlowCommand::kDelete, 0, {});
  remove.out_port = 3;
  Apply(remove);
  EXPECT_EQ(Find(InPort(3)), nullptr);
  remove = Command(FlowCommand::kDelete, 0, {});
  remove.table = 0;
  remove.cookie = 0x12;
  remove.cookie_mask = UINT64_MAX;
  Apply(remove);
  EXPECT_EQ(Find(InPort(2)), nullptr);
  EXPECT_EQ(tables_.flow_count(), 2u);
  // A modification does not ask where flows lead.
  FlowMod modify = Command(FlowCommand::kModify, 0, {}, 9);
  modify.out_port = 3;
  Apply(modify);
  EXPECT_EQ(OutputOf(InPort(1)), 9);
  EXPECT_EQ(OutputOf(InPort(4)), 9);
}

TEST_F(FlowModsTest, OverlapIsRefusedWhereAsked) {
  Add(10, Ipv4Dst(0x0a000000, 8), 1);
  FlowMod mod = AddFlow(10, InPort(1), 1);
  mod.flags = kCheckOverlap;
  EXPECT_EQ(ErrorOf(tables_.Apply(mod, {})), OfError::kFmfcOverlap);
  mod.priority = 11;
  Apply(mod);
  mod = AddFlow(10, Ipv4Dst(0x0b000000, 8), 1);
  mod.flags = kCheckOverlap;
  Apply(mod);
  EXPECT_EQ(tables_.flow_count(), 3u);
}

TEST_F(FlowModsTest, EmergencyFlowsAreRefused) {
  FlowMod mod = AddFlow(10, InPort(1));
  mod.flags = kEmergency;
  EXPECT_EQ(ErrorOf(tables_.Apply(mod, {})), OfError::kFmfcTableFull);
}

TEST_F(FlowModsTest, HiddenFlowsAreAboveAllAndTouchedByTheirOwnOnly) {
  FlowMod hidden = AddFlow(0, {}, 9);
  hidden.flags = kHiddenFlow;
  Apply(hidden);
  Add(65535, {}, 1);
  EXPECT_EQ(TakeNotices().size(), 1u);
  EXPECT_EQ(tables_.flow_count(), 1u);
  EXPECT_EQ(tables_.Collect({}, /*hidden=*/true).size(), 1u);
  EXPECT_TRUE(tables_.Lookup(tables_.version(), 0, OfFlow{}, nullptr)->hidden());
  tables_.Flush();
  EXPECT_EQ(tables_.flow_count(), 0u);
  EXPECT_TRUE(tables_.Lookup(tables_.version(), 0, OfFlow{}, nullptr)->hidden());
  FlowMod remove = Command(FlowCommand::kDelete, 0, {});
  remove.flags = kHiddenFlow;
  Apply(remove);
  EXPECT_EQ(tables_.Lookup(tables_.version(), 0, OfFlow{}, nullptr), nullptr);
}

TEST_F(FlowModsTest, TellsWhatChangedAndWhoAsked) {
  FlowMod mod = AddFlow(10, InPort(1), 1);
  ASSERT_EQ(tables_.Apply(mod, {.controller = 3, .xid = 77}), std::nullopt);
  auto notices = TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].event, FlowEvent::kAdded);
  EXPECT_EQ(notices[0].controller, 3u);
  EXPECT_EQ(notices[0].xid, 77u);
  EXPECT_EQ(notices[0].rule->controller, 3u);

  Apply(Command(FlowCommand::kModify, 10, {}, 1));  // the same actions
  EXPECT_TRUE(TakeNotices().empty());
  Apply(Command(FlowCommand::kModify, 10, {}, 2));
  notices = TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].event, FlowEvent::kModified);
  EXPECT_TRUE(notices[0].actions_changed);
  Apply(Command(FlowCommand::kDelete, 0, {}));
  notices = TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].event, FlowEvent::kRemoved);
  EXPECT_EQ(notices[0].reason, FlowRemoved::Reason::kDelete);
}

TEST_F(FlowModsTest, VersionsGrowWithChangesOnly) {
  const TableVersion before = tables_.version();
  Apply(Command(FlowCommand::kDelete, 0, {}));
  EXPECT_EQ(tables_.version(), before);
  Add(10, InPort(1), 1);
  EXPECT_GT(tables_.version(), before);
}

TEST_F(FlowModsTest, AnOldVersionIsSeenUntilItsReaderIsQuiescent) {
  Add(10, InPort(1), 1);
  const TableVersion before = tables_.version();
  const OfFlow packet = TcpPacket(1, 1, 2, 3, 4);
  std::weak_ptr<Rule> old = Find(InPort(1));
  Add(10, InPort(1), 2);
  notices_.clear();
  auto output_in = [&](TableVersion version) {
    return std::get<OfOutput>(tables_.Lookup(version, 0, packet, nullptr)->actions->at(0).value).port;
  };
  EXPECT_EQ(output_in(before), 1);
  EXPECT_EQ(output_in(tables_.version()), 2);
  {
    RcuOffline offline;
    RcuBarrier();  // it is out of the table
    RcuBarrier();  // and freed
  }
  EXPECT_TRUE(old.expired());
  EXPECT_EQ(output_in(tables_.version()), 2);
}

TEST_F(FlowModsTest, ABundleThatFailsLeavesNothing) {
  FlowMod first = AddFlow(10, InPort(1), 1);
  first.new_cookie = 4;
  first.idle_timeout = 5;
  Apply(first);
  Find(InPort(1))->counters->packets = 3;
  Add(10, InPort(2), 1);
  TakeNotices();
  const TableVersion before = tables_.version();

  FlowMod replace = AddFlow(10, InPort(1), 8);
  replace.idle_timeout = 50;
  FlowMod overlap = AddFlow(10, {}, 9);
  overlap.flags = kCheckOverlap;
  const std::vector<FlowMod> mods = {replace,
                                     AddFlow(10, InPort(3), 8),
                                     Command(FlowCommand::kModify, 0, {}, 9),
                                     Command(FlowCommand::kDelete, 0, InPort(2)),
                                     Command(FlowCommand::kDelete, 0, InPort(3)),
                                     overlap};
  size_t failed = 0;
  EXPECT_EQ(ErrorOf(tables_.ApplyAll(mods, {}, &failed)), OfError::kFmfcOverlap);
  EXPECT_EQ(failed, 5u);
  EXPECT_EQ(tables_.version(), before);
  EXPECT_TRUE(TakeNotices().empty());
  EXPECT_EQ(tables_.flow_count(), 2u);
  EXPECT_EQ(OutputOf(InPort(1)), 1);
  EXPECT_EQ(OutputOf(InPort(2)), 1);
  EXPECT_EQ(Find(InPort(1))->counters->packets, 3u);
  EXPECT_EQ(Find(InPort(1))->counters->idle_timeout, 5);
  FlowStatsRequest by_cookie;
  by_cookie.cookie = 4;
  by_cookie.cookie_mask = UINT64_MAX;
  EXPECT_EQ(tables_.Collect(by_cookie).size(), 1u);

  // Without the last it is carried out, in order.
  ASSERT_EQ(tables_.ApplyAll(absl::MakeSpan(mods).first(5), {}, nullptr), std::nullopt);
  EXPECT_EQ(tables_.version(), before + 1);
  EXPECT_EQ(tables_.flow_count(), 1u);
  EXPECT_EQ(OutputOf(InPort(1)), 9);
  EXPECT_EQ(Find(InPort(1))->counters->idle_timeout, 50);
}

TEST_F(FlowModsTest, FlowsGoWithTheirGroupOrMeter) {
  FlowMod with_group = AddFlow(10, InPort(1));
  with_group.actions = {{OfGroup{7}}, {OfGroup{7}}};
  Apply(with_group);
  FlowMod with_meter = AddFlow(10, InPort(2));
  with_meter.actions = {{OfMeter{7}}, Output(1)};
  Apply(with_meter);
  Add(10, InPort(3), 1);
  EXPECT_EQ(tables_.group_users(7), 1u);
  EXPECT_EQ(tables_.meter_users(7), 1u);
  TakeNotices();
  tables_.RemoveUsersOfGroup(7);
  EXPECT_EQ(Find(InPort(1)), nullptr);
  tables_.RemoveUsersOfMeter(7);
  EXPECT_EQ(Find(InPort(2)), nullptr);
  const auto notices = TakeNotices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].reason, FlowRemoved::Reason::kGroupDelete);
  EXPECT_EQ(notices[1].reason, FlowRemoved::Reason::kMeterDelete);
  EXPECT_EQ(tables_.group_users(7), 0u);
  EXPECT_EQ(tables_.flow_count(), 1u);
}

}  // namespace
}  // namespace sluice
