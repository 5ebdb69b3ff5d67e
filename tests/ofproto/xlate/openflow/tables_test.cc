// The way through the tables: lookup, misses, resubmit, goto_table, action sets, limits, what is counted.
#include "tests/ofproto/xlate/openflow/flow_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class TablesTest : public FlowFixture {};

TEST_F(TablesTest, TheRuleOfHighestPriorityActs) {
  Flow("priority=1,actions=output:2");
  Flow("priority=5,ip,nw_dst=10.0.0.0/8,actions=output:3");
  EXPECT_EQ(Actions("in_port=1,ip,nw_dst=10.1.2.3"), "3");
  EXPECT_EQ(Actions("in_port=1,ip,nw_dst=11.1.2.3"), "2");
  EXPECT_EQ(Actions("in_port=1,arp"), "2");
}

TEST_F(TablesTest, WhatNoFlowMatchesIsDropped) {
  Flow("priority=5,ip,actions=output:3");
  XlateOut out = Translate("in_port=1,arp");
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "table 0 of bridge br0 has no flow for this packet");
}

TEST_F(TablesTest, AMissIsToldWhenSomebodyWantsIt) {
  bridge_.pipeline->SetMissesWanted(true);
  EXPECT_EQ(RecordOf(Translate("in_port=1,arp").actions).reason, OfPacketIn::Reason::kNoMatch);
  switch_.topology.by_dp_port[1]->config = kPortNoPacketIn;
  EXPECT_TRUE(Translate("in_port=1,arp").actions.empty());
}

TEST_F(TablesTest, ATableMaySayWhatBecomesOfAMiss) {
  Flow("table=1,actions=output:2");
  EXPECT_EQ(Actions("in_port=1"), "drop");
  ASSERT_FALSE(bridge_.pipeline->tables.SetTableConfig({.table = 0, .miss = 1}));
  EXPECT_EQ(Actions("in_port=1"), "2");
  ASSERT_FALSE(bridge_.pipeline->tables.SetTableConfig({.table = 0, .miss = 0}));
  EXPECT_EQ(RecordOf(Translate("in_port=1").actions).reason, OfPacketIn::Reason::kNoMatch);
  bridge_.pipeline->SetMissesWanted(true);
  ASSERT_FALSE(bridge_.pipeline->tables.SetTableConfig({.table = 0, .miss = 2}));
  EXPECT_EQ(Actions("in_port=1"), "drop");
}

TEST_F(TablesTest, ResubmitGoesOnBehindTheOtherTable) {
  Flow("actions=resubmit(,1),output:4");
  Flow("table=1,ip,actions=output:2,output:3");
  EXPECT_EQ(Actions("in_port=1,ip"), "2,3,4");
  EXPECT_EQ(Actions("in_port=1,arp"), "4");
}

TEST_F(TablesTest, ResubmitLooksUpWithAnotherPortButOutputsWithItsOwn) {
  Flow("in_port=1,actions=resubmit(3,1)");
  Flow("table=1,in_port=3,actions=output:1,output:2,output:3");
  EXPECT_EQ(Actions("in_port=1"), "2,3");
}

TEST_F(TablesTest, GotoTableAndTheActionSet) {
  Flow("actions=write_actions(output:2,set_field:02:00:00:00:00:09->eth_dst),goto_table:3");
  Flow("table=3,ip,actions=write_actions(output:3)");
  Flow("table=3,arp,actions=clear_actions");
  EXPECT_EQ(Actions("in_port=1,ip"), "set(eth(dst=02:00:00:00:00:09)),3");
  EXPECT_EQ(Actions("in_port=1,arp"), "drop");
}

TEST_F(TablesTest, MetadataAndRegistersSteer) {
  Flow("in_port=1,actions=set_field:7->reg3,write_metadata:0x50/0xf0,goto_table:1");
  Flow("table=1,reg3=7,metadata=0x50/0xf0,actions=output:2");
  Flow("table=1,priority=1,actions=output:3");
  EXPECT_EQ(Actions("in_port=1"), "2");
}

TEST_F(TablesTest, ExitEndsAllLists) {
  Flow("actions=resubmit(,1),output:4");
  Flow("table=1,actions=output:2,exit,output:3");
  EXPECT_EQ(Actions("in_port=1"), "2");
}

TEST_F(TablesTest, ALoopIsGivenUp) {
  Flow("actions=output:2,resubmit(,0)");
  XlateOut out = Translate("in_port=1");
  EXPECT_TRUE(out.failed);
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "over max translation depth 64");
}

TEST_F(TablesTest, ATreeOfResubmitsIsGivenUp) {
  for (int table = 0; table < 20; ++table) {
    Flow(fmt::format("table={},actions=resubmit(,{}),resubmit(,{})", table, table + 1, table + 1));
  }
  XlateOut out = Translate("in_port=1");
  EXPECT_TRUE(out.failed);
  EXPECT_EQ(out.drop_reason, "over 4096 resubmit actions");
}

TEST_F(TablesTest, MegaflowsHaveWhatDecided) {
  Flow("priority=5,tcp,tp_dst=80,actions=output:2");
  Flow("priority=1,actions=output:3");
  EXPECT_EQ(Actions("in_port=1,arp"), "3");
  EXPECT_EQ(Megaflow("in_port=1,arp"), "recirc_id=0,eth,arp,in_port=1");
  EXPECT_EQ(Actions("in_port=1,tcp,tp_dst=80"), "2");
  EXPECT_EQ(Megaflow("in_port=1,tcp,tp_dst=80"), "recirc_id=0,eth,tcp,in_port=1,nw_frag=no,tp_dst=80");
}

TEST_F(TablesTest, EachLookupIsCounted) {
  Flow("actions=resubmit(,1)");
  Flow("table=1,ip,actions=output:2");
  XlateOut out = Translate("in_port=1,arp");
  ASSERT_EQ(out.effects.size(), 2u);
  EXPECT_EQ(out.effects[0].kind, XlateEffect::Kind::kRule);
  ASSERT_NE(out.effects[0].rule, nullptr);
  EXPECT_EQ(out.effects[0].table, 0);
  EXPECT_EQ(out.effects[1].rule, nullptr);
  EXPECT_EQ(out.effects[1].table, 1);
}

TEST_F(TablesTest, TheVersionsOfTheTablesAreKept) {
  Flow("actions=output:2");
  XlateOut out = Translate("in_port=1");
  ASSERT_EQ(out.tables.size(), 1u);
  EXPECT_EQ(out.tables[0].version, bridge_.pipeline->version());
  Flow("priority=7,actions=output:3");
  EXPECT_NE(out.tables[0].version, bridge_.pipeline->version());
}

TEST_F(TablesTest, ATagBeyondTheLimitHidesWhatIsBehindIt) {
  Flow("priority=5,ip,actions=output:2");
  Flow("priority=1,actions=output:3");
  FlowKey key = Key("in_port=1,ip,dl_vlan=7");
  EXPECT_EQ(Text(Translate(key).actions), "2");
  const FlowMask mask = Translate(key).wildcards;
  EXPECT_NE(mask.inner_vlan_tci.Get() & kVlanPresent, 0) << "or packets with a second tag fell into this flow";
  key.inner_vlan_tci = Be16(kVlanPresent | 9);
  key.inner_vlan_tpid = Be16(0x8100);
  EXPECT_EQ(Text(Translate(key).actions), "3");
  switch_.topology.vlan_limit = 2;
  EXPECT_EQ(Text(Translate(key).actions), "2");
}

TEST_F(TablesTest, FragmentsHaveNoPortsUnlessAskedFor) {
  Flow("priority=5,udp,tp_dst=53,actions=output:2");
  Flow("priority=1,actions=output:3");
  FlowKey first = Key("in_port=1,udp,tp_dst=53");
  first.ip_frag = kFragAny;
  EXPECT_EQ(Text(Translate(first).actions), "3");
  bridge_.pipeline->fragments = 3;
  EXPECT_EQ(Text(Translate(first).actions), "2");
  bridge_.pipeline->fragments = 1;
  EXPECT_EQ(Text(Translate(first).actions), "drop");
  EXPECT_EQ(Actions("in_port=1,udp,tp_dst=53"), "2");
}

TEST_F(TablesTest, TheTraceTellsTheWay) {
  Flow("priority=0,actions=resubmit(,1),output:2");
  Flow("table=1,priority=5,cookie=0x10,ip,nw_dst=10.0.0.0/8,actions=set_field:1->reg0,resubmit(,2)");
  Flow("table=2,ip,actions=output:3");
  EXPECT_EQ(Trace("in_port=1,ip,nw_dst=10.0.0.1"), R"(
bridge("br0")
-------------
 0. priority 0
    resubmit(,1)
     1. ip,nw_dst=10.0.0.0/8, priority 5, cookie 0x10
            set_field:0x1->reg0
            resubmit(,2)
         2. ip, priority 32768
            output:3
    output:2
)");
  EXPECT_THAT(Trace("in_port=1,arp"), HasSubstr("     1. No match.\n            drop\n"));
}

TEST_F(TablesTest, APatchPortLeadsIntoTheTablesOfTheOtherBridge) {
  XBridge& far = switch_.AddBridge("far");
  switch_.AddTables(far);
  auto [near_end, far_end] = switch_.Connect(bridge_, far, "patch");
  near_end->ports[0]->ofport = 10;
  bridge_.by_ofport[10] = near_end->ports[0];
  far_end->ports[0]->ofport = 20;
  far.by_ofport[20] = far_end->ports[0];
  switch_.AddPort(far, 7);
  Flow("actions=set_field:1->reg0,set_field:02:00:00:00:00:09->eth_dst,output:10,output:2");
  Flow(far, "in_port=20,reg0=0,actions=set_field:02:00:00:00:00:0a->eth_dst,output:7");
  EXPECT_EQ(Actions("in_port=1"), "set(eth(dst=02:00:00:00:00:0a)),7,set(eth(dst=02:00:00:00:00:09)),2");
}

}  // namespace
}  // namespace sluice::testing
