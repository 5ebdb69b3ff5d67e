// Groups: who gets what, who is alive, and that packets stay where they are.
#include <random>

#include "tests/ofproto/xlate/openflow/flow_fixture.h"

namespace sluice::testing {
namespace {

class GroupActionsTest : public FlowFixture {
 protected:
  GroupActionsTest() { Flow("actions=group:1"); }
};

TEST_F(GroupActionsTest, AllGetACopyEach) {
  Group("group_id=1,type=all,bucket=set_field:02:00:00:00:00:09->eth_dst,output:2,bucket=output:3");
  EXPECT_EQ(Actions("in_port=1"), "set(eth(dst=02:00:00:00:00:09)),2,set(eth(dst=00:00:00:00:00:00)),3");
}

TEST_F(GroupActionsTest, FastFailoverTakesTheFirstThatIsAlive) {
  Group("group_id=1,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3");
  EXPECT_EQ(Actions("in_port=1"), "2");
  switch_.topology.by_dp_port[2]->up = false;
  EXPECT_EQ(Actions("in_port=1"), "3");
  switch_.topology.by_dp_port[3]->up = false;
  EXPECT_EQ(Actions("in_port=1"), "drop");
}

TEST_F(GroupActionsTest, AGroupThatIsNotThereDrops) { EXPECT_EQ(Actions("in_port=1"), "drop"); }

TEST_F(GroupActionsTest, SelectByFieldsKeepsPacketsWhereTheyAre) {
  Group("group_id=1,type=select,selection_method=hash,fields(ip_src),bucket=bucket_id:1,output:2,"
        "bucket=bucket_id:2,output:3,bucket=bucket_id:3,output:4");
  std::map<std::string, std::string> before;
  std::map<std::string, int> counts;
  for (int i = 0; i < 600; ++i) {
    const std::string packet = fmt::format("in_port=1,ip,nw_src=10.0.{}.{}", i / 256, i % 256);
    before[packet] = Actions(packet);
    ++counts[before[packet]];
  }
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [port, count] : counts) EXPECT_GT(count, 100) << port;
  Group("group_id=1,command_bucket_id=2", GroupCommand::kRemoveBucket);
  for (const auto& [packet, actions] : before) {
    if (actions != "3") {
      EXPECT_EQ(Actions(packet), actions) << packet;
    }
  }
}

TEST_F(GroupActionsTest, SelectByDatapathHashGoesRound) {
  Group("group_id=1,type=select,bucket=bucket_id:1,weight:1,output:2,bucket=bucket_id:2,weight:3,output:3");
  XlateOut out = Translate("in_port=1,ip");
  ASSERT_EQ(out.actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<HashAction>(out.actions[0].value));
  FlowKey key = Key("in_port=1,ip");
  key.recirc_id = RecircId(out.actions);
  std::map<std::string, int> counts;
  for (uint32_t hash = 1; hash <= 1600; ++hash) {
    key.dp_hash = hash;
    ++counts[Text(Translate(key).actions)];
  }
  EXPECT_EQ(counts["2"], 400);
  EXPECT_EQ(counts["3"], 1200);
  EXPECT_EQ(Translate(key).wildcards.ipv4_src, Be32()) << "the hash is all that counts";
}

TEST_F(GroupActionsTest, BucketsAreCounted) {
  Group("group_id=1,type=indirect,bucket=output:2");
  XlateOut out = Translate("in_port=1");
  int groups = 0;
  for (const XlateEffect& effect : out.effects) groups += effect.kind == XlateEffect::Kind::kGroup ? 1 : 0;
  EXPECT_EQ(groups, 2) << "the group and its bucket";
}

}  // namespace
}  // namespace sluice::testing
