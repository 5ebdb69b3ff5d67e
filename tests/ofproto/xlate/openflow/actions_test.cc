// What each action makes of a packet.
#include "ofproto/xlate/openflow/continuation.h"
#include "tests/ofproto/xlate/openflow/flow_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class FlowActionsTest : public FlowFixture {
 protected:
  // The datapath actions for `packet` if all packets have `actions`.
  std::string Do(std::string_view actions, std::string_view packet = "in_port=1,tcp,nw_ttl=64") {
    bridge_.pipeline->tables.Flush();
    Flow(fmt::format("actions={}", actions));
    return Actions(packet);
  }
};

TEST_F(FlowActionsTest, Outputs) {
  EXPECT_EQ(Do("output:2"), "2");
  EXPECT_EQ(Do("output:1"), "drop") << "not back where it came from";
  EXPECT_EQ(Do("in_port"), "1");
  EXPECT_EQ(Do("output:99"), "drop");
  EXPECT_EQ(Do("all"), "2,3,4");
  switch_.topology.by_dp_port[3]->config = kPortNoFlood;
  EXPECT_EQ(Do("flood"), "2,4");
  EXPECT_EQ(Do("all"), "2,3,4");
  switch_.topology.by_dp_port[3]->config = kPortNoFwd;
  EXPECT_EQ(Do("all"), "2,4");
  EXPECT_EQ(Do("output(port=2,max_len=100)"), "trunc(100),2");
  EXPECT_EQ(Do("set_field:4->reg1,output:NXM_NX_REG1[]"), "4");
  EXPECT_EQ(Do("normal", "in_port=1,dl_src=02:00:00:00:00:05,dl_dst=02:00:00:00:00:06"), "2,4");
}

TEST_F(FlowActionsTest, Queues) {
  EXPECT_EQ(Do("set_queue:7,output:2,pop_queue,output:3"), "set(skb_priority(0x7)),2,set(skb_priority(0)),3");
  EXPECT_EQ(Do("enqueue:2:7,output:3"), "set(skb_priority(0x7)),2,set(skb_priority(0)),3");
}

TEST_F(FlowActionsTest, SetsOnlyWhatChanges) {
  EXPECT_EQ(Do("set_field:02:00:00:00:00:09->eth_src,output:2"), "set(eth(src=02:00:00:00:00:09)),2");
  EXPECT_EQ(Do("set_field:0.0.0.0->ip_src,output:2"), "2");
  EXPECT_EQ(Do("set_field:10.0.0.1->ip_src,output:2,set_field:10.0.0.2->ip_src,output:3"),
            "set(ipv4(src=10.0.0.1)),2,set(ipv4(src=10.0.0.2)),3");
  EXPECT_EQ(Do("mod_nw_dst:10.0.0.1,mod_tp_dst:80,output:2"), "set(ipv4(dst=10.0.0.1)),set(tcp(dst=80)),2");
  EXPECT_EQ(Do("mod_nw_tos:16,output:2"), "set(ipv4(tos=0x10/0xfc)),2");
  EXPECT_EQ(Do("set_field:7->pkt_mark,output:2"), "set(skb_mark(0x7)),2");
  EXPECT_EQ(Do("set_field:10.0.0.1->ip_src,output:2", "in_port=1,arp"), "2") << "it has no such field";
}

TEST_F(FlowActionsTest, MasksSetBits) {
  EXPECT_EQ(Do("set_field:0.0.0.9/0.0.0.255->ip_dst,output:2", "in_port=1,ip,nw_dst=10.1.2.3"),
            "set(ipv4(dst=0.0.0.9/0.0.0.255)),2");
  EXPECT_EQ(Megaflow("in_port=1,ip,nw_dst=10.1.2.3"),
            "recirc_id=0,eth,ip,in_port=1,nw_dst=0.0.0.3/0.0.0.255");
}

TEST_F(FlowActionsTest, MovesAndStacks) {
  EXPECT_EQ(Do("move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],output:2", "in_port=1,dl_src=02:00:00:00:00:05"),
            "set(eth(dst=02:00:00:00:00:05)),2");
  EXPECT_EQ(Do("push:NXM_OF_ETH_SRC[],push:NXM_OF_ETH_DST[],pop:NXM_OF_ETH_SRC[],pop:NXM_OF_ETH_DST[],output:2",
               "in_port=1,dl_src=02:00:00:00:00:05,dl_dst=02:00:00:00:00:06"),
            "set(eth(src=02:00:00:00:00:06,dst=02:00:00:00:00:05)),2");
}

TEST_F(FlowActionsTest, Tags) {
  EXPECT_EQ(Do("mod_vlan_vid:5,output:2"), "push_vlan(vid=5,pcp=0),2");
  EXPECT_EQ(Do("mod_vlan_vid:5,output:2", "in_port=1,dl_vlan=9,dl_vlan_pcp=3"), "pop_vlan,push_vlan(vid=5,pcp=3),2");
  EXPECT_EQ(Do("mod_vlan_vid:9,output:2", "in_port=1,dl_vlan=9"), "2");
  EXPECT_EQ(Do("strip_vlan,output:2", "in_port=1,dl_vlan=9"), "pop_vlan,2");
  EXPECT_EQ(Do("push_vlan:0x88a8,set_field:0x1007->vlan_vid,output:2"),
            "push_vlan(tpid=0x88a8,vid=7,pcp=0),2");
  EXPECT_EQ(Do("output:2,strip_vlan,output:3", "in_port=1,dl_vlan=9"), "2,pop_vlan,3");
}

TEST_F(FlowActionsTest, Labels) {
  EXPECT_EQ(Do("push_mpls:0x8847,set_field:10->mpls_label,output:2", "in_port=1,ip,nw_ttl=9"),
            "push_mpls(label=10,tc=0,ttl=9,bos=1,eth_type=0x8847),2");
  EXPECT_EQ(Do("push_mpls:0x8847,output:2,output:3", "in_port=1,ip,nw_ttl=9"),
            "push_mpls(label=0,tc=0,ttl=9,bos=1,eth_type=0x8847),2,3");
  const std::string labelled = "in_port=1,mpls,mpls_label=7,mpls_bos=1,mpls_ttl=5";
  EXPECT_EQ(Do("pop_mpls:0x0800,output:2", labelled), "pop_mpls(eth_type=0x800),2");
  EXPECT_EQ(Do("dec_mpls_ttl,output:2", labelled), "set(mpls(label=7,tc=0,ttl=4,bos=1)),2");
}

TEST_F(FlowActionsTest, WhatIsUnderLabelsIsSeenAfterRecirculation) {
  Flow("mpls,actions=pop_mpls:0x0800,resubmit(,1)");
  Flow("table=1,ip,nw_dst=10.0.0.1,actions=output:2");
  XlateOut out = Translate("in_port=1,mpls,mpls_label=7,mpls_bos=1,mpls_ttl=5");
  EXPECT_THAT(Text(out.actions), MatchesRegex("pop_mpls\\(eth_type=0x800\\),recirc\\(0x[0-9a-f]+\\)"));
  FlowKey again = Key("in_port=1,ip,nw_dst=10.0.0.1");
  again.recirc_id = RecircId(out.actions);
  EXPECT_EQ(Text(Translate(again).actions), "2");
  out = {};
  EXPECT_FALSE(Translate(again).in_known_port) << "nobody holds the number any more";
}

TEST_F(FlowActionsTest, TimesToLive) {
  EXPECT_EQ(Do("dec_ttl,output:2"), "set(ipv4(ttl=63)),2");
  Do("dec_ttl,output:2", "in_port=1,ip,nw_ttl=1");
  XlateOut out = Translate("in_port=1,ip,nw_ttl=1");
  ASSERT_EQ(out.actions.size(), 1u);
  EXPECT_EQ(RecordOf(out.actions).reason, OfPacketIn::Reason::kInvalidTtl);
  EXPECT_EQ(Do("dec_ttl,output:2", "in_port=1,arp"), "2");
}

TEST_F(FlowActionsTest, Controllers) {
  Flow("cookie=0x77,actions=set_field:5->reg2,controller(max_len=100,id=3,userdata=01.02),output:2");
  XlateOut out = Translate("in_port=1");
  EXPECT_EQ(out.actions.size(), 2u);
  const PacketInRecord record = RecordOf(out.actions);
  EXPECT_EQ(record.bridge, "br0");
  EXPECT_EQ(record.cookie, 0x77u);
  EXPECT_EQ(record.max_len, 100);
  EXPECT_EQ(record.controller_id, 3);
  EXPECT_EQ(record.userdata, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(record.metadata.value.in_port, 1u);
  EXPECT_EQ(record.metadata.value.regs[2], 5u);
  EXPECT_EQ(Text(Translate("in_port=1").actions), Text(out.actions)) << "the same record has the same number";
}

TEST_F(FlowActionsTest, APausedPacketGoesOnWhereItStopped) {
  Flow("actions=set_field:5->reg2,controller(pause),output:2,resubmit(,1)");
  Flow("table=1,reg2=5,actions=output:3");
  XlateOut out = Translate("in_port=1");
  EXPECT_EQ(out.actions.size(), 1u);
  const PacketInRecord record = RecordOf(out.actions);
  auto state = DecodeContinuation(record.continuation);
  ASSERT_TRUE(state.ok());
  const FlowKey key = Key("in_port=1");
  const XlateStart start{.bridge = bridge_, .pipeline = state->pipeline, .resumed = &*state};
  EXPECT_EQ(Text(sluice::Translate({.topology = switch_.topology, .key = key, .now = switch_.now, .start = &start}).actions),
            "2,3");
  for (size_t length = 0; length < record.continuation.size(); ++length) {
    EXPECT_FALSE(DecodeContinuation(record.continuation.substr(0, length)).ok()) << length;
  }
}

TEST_F(FlowActionsTest, PacketOutsHaveNoTable) {
  Flow("actions=output:3");
  const FlowKey key = Key("in_port=0");
  OfFlow pipeline;
  pipeline.in_port = kOfpController;
  auto run = [&](std::string_view text) {
    auto actions = ParseActions(text, OfNames{});
    EXPECT_TRUE(actions.ok()) << actions.status();
    const XlateStart start{.bridge = bridge_, .pipeline = pipeline, .actions = &*actions};
    return Text(sluice::Translate({.topology = switch_.topology, .key = key, .now = switch_.now, .start = &start}).actions);
  };
  EXPECT_EQ(run("output:2"), "2");
  EXPECT_EQ(run("table"), "3");
  EXPECT_EQ(run("normal"), "1,2,3,4");
  EXPECT_EQ(run("all"), "1,2,3,4");
  pipeline.in_port = 1;
  EXPECT_EQ(run("all"), "2,3,4");
}

TEST_F(FlowActionsTest, ClonesLeaveNothingBehind) {
  EXPECT_EQ(Do("clone(set_field:02:00:00:00:00:09->eth_dst,output:2),output:3"),
            "set(eth(dst=02:00:00:00:00:09)),2,set(eth(dst=00:00:00:00:00:00)),3");
  EXPECT_EQ(Do("clone(output(port=2,max_len=100)),output:3"), "clone(trunc(100),2),3");
}

TEST_F(FlowActionsTest, LargerPacketsGoAnotherWay) {
  EXPECT_EQ(Do("check_pkt_larger(1000)->NXM_NX_REG0[0],resubmit(,1)"), "check_pkt_len(size=1000,gt(drop),le(drop))");
  Flow("table=1,reg0=1,actions=output:2");
  Flow("table=1,reg0=0,actions=output:3");
  EXPECT_EQ(Actions("in_port=1"), "check_pkt_len(size=1000,gt(2),le(3))");
}

TEST_F(FlowActionsTest, Meters) {
  Meter("meter=5 pktps bands=type=drop rate=10");
  EXPECT_EQ(Do("meter:5,output:2"), "meter(1),2");
}

TEST_F(FlowActionsTest, LearnsFlows) {
  Flow("actions=learn(table=1,idle_timeout=60,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,1)");
  XlateOut dry = Translate(Key("in_port=1,dl_src=02:00:00:00:00:05"), /*learn=*/false);
  EXPECT_EQ(bridge_.pipeline->tables.flow_count(1), 0u);
  ASSERT_FALSE(dry.effects.empty());
  Translate("in_port=1,dl_src=02:00:00:00:00:05");
  EXPECT_EQ(bridge_.pipeline->tables.flow_count(1), 1u);
  EXPECT_EQ(Actions("in_port=3,dl_src=02:00:00:00:00:06,dl_dst=02:00:00:00:00:05"), "1");
  EXPECT_EQ(bridge_.pipeline->tables.flow_count(1), 2u);
}

TEST_F(FlowActionsTest, BundleFallsBackToWhatIsUp) {
  const std::string_view actions = "bundle(symmetric_l4,0,active_backup,ofport,members:2,3)";
  EXPECT_EQ(Do(actions), "2");
  switch_.topology.by_dp_port[2]->up = false;
  EXPECT_EQ(Do(actions), "3");
}

TEST_F(FlowActionsTest, MultipathStaysWithinItsLinks) {
  Flow("actions=multipath(symmetric_l4,0,hrw,3,0,NXM_NX_REG0[0..15]),resubmit(,1)");
  for (int link = 0; link < 3; ++link) Flow(fmt::format("table=1,reg0={},actions=output:{}", link, link + 2));
  std::map<std::string, int> counts;
  for (int port = 0; port < 300; ++port) ++counts[Actions(fmt::format("in_port=1,tcp,tp_src={}", port))];
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.count("drop"), 0u);
}

}  // namespace
}  // namespace sluice::testing
