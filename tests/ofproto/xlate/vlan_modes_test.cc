// What each VLAN mode makes of each kind of frame: expected results written by hand from ovs-vswitchd.conf.db(5), "VLAN
// Configuration".
#include <gtest/gtest.h>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

class VlanModesTest : public ::testing::Test {
 protected:
  VlanModesTest() {
    XBridge& bridge = switch_.AddBridge("br0");
    switch_.topology.vlan_limit = 2;
    switch_.AddPort(bridge, 1);
    switch_.AddPort(bridge, 2, VlanMode::kAccess, 10);
    switch_.AddPort(bridge, 3).trunks = Vlans({10, 20});
    switch_.AddPort(bridge, 4, VlanMode::kNativeUntagged, 10).trunks = Vlans({20});
    switch_.AddPort(bridge, 5, VlanMode::kNativeTagged, 10).trunks = Vlans({20});
    switch_.AddPort(bridge, 6, VlanMode::kDot1qTunnel, 10);
    XBundle& customer7 = switch_.AddPort(bridge, 7, VlanMode::kDot1qTunnel, 10);
    customer7.cvlans = Vlans({7});
    customer7.qinq_ethtype = 0x8100;
    switch_.AddPort(bridge, 8, VlanMode::kAccess, 20);
    switch_.AddPort(bridge, 9, VlanMode::kAccess, 10).priority_tags = PriorityTags::kIfNonzero;
    switch_.AddPort(bridge, 10, VlanMode::kAccess, 10).priority_tags = PriorityTags::kAlways;
    switch_.AddPort(bridge, 11).priority_tags = PriorityTags::kIfNonzero;
    switch_.AddPort(bridge, 12).priority_tags = PriorityTags::kAlways;
    switch_.AddPort(bridge, 13, VlanMode::kNativeUntagged, 10).priority_tags = PriorityTags::kAlways;
  }

  TestSwitch switch_;
};

struct Row {
  uint32_t in_port;
  const char* tags;
  const char* leaves;
};

constexpr Row kTwoTags[] = {
    // A trunk: VLAN 0 if there is no header. Native ports do not have VLAN 0.
    {1, "-", "11(-) 12(-)"},
    {1, "10", "2(-) 3(10) 4(-) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {1, "10.5", "2(-) 3(10.5) 4(-) 5(10.5) 6(-) 9(0.5) 10(0.5) 11(10.5) 12(10.5) 13(0.5)"},
    {1, "20", "3(20) 4(20) 5(20) 8(-) 11(20) 12(20) 13(20)"},
    {1, "30", "11(30) 12(30) 13(30)"},
    {1, "4095", "11(4095) 12(4095) 13(4095)"},
    // Priority-tagged frames are in VLAN 0. "if-nonzero" drops a header that says nothing, "always" retains it.
    {1, "0", "11(-) 12(0)"},
    {1, "0.5", "11(0.5) 12(0.5)"},
    // The TPID stays.
    {1, "10a", "2(-) 3(10a) 4(-) 5(10a) 6(-) 9(-) 10(-) 11(10a) 12(10a) 13(-)"},
    // Double-tagged frames: not at access ports; a tunnel exposes the customer's tag, if the port has that VLAN.
    {1, "10/7", "3(10/7) 4(7) 5(10/7) 6(7) 7(7) 11(10/7) 12(10/7) 13(7)"},
    {1, "10a/7.3", "3(10a/7.3) 4(7.3) 5(10a/7.3) 6(7.3) 7(7.3) 11(10a/7.3) 12(10a/7.3) 13(7.3)"},
    {1, "10.5/7", "3(10.5/7) 4(7) 5(10.5/7) 6(7) 7(7) 11(10.5/7) 12(10.5/7) 13(7)"},
    {1, "10/8", "3(10/8) 4(8) 5(10/8) 6(8) 11(10/8) 12(10/8) 13(8)"},
    {1, "30/7", "11(30/7) 12(30/7) 13(30/7)"},
    // Access: no header, or one with VLAN id 0.
    {2, "-", "1(10) 3(10) 4(-) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {2, "0", "1(10) 3(10) 4(-) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {2, "0.5", "1(10.5) 3(10.5) 4(-) 5(10.5) 6(-) 9(0.5) 10(0.5) 11(10.5) 12(10.5) 13(0.5)"},
    {2, "10", ""},
    {2, "7", ""},
    {2, "10/7", ""},
    {8, "-", "1(20) 3(20) 4(20) 5(20) 11(20) 12(20) 13(20)"},
    {8, "20", ""},
    {9, "0.5", "1(10.5) 2(-) 3(10.5) 4(-) 5(10.5) 6(-) 10(0.5) 11(10.5) 12(10.5) 13(0.5)"},
    // A trunk of some VLANs.
    {3, "10", "1(10) 2(-) 4(-) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {3, "20.7", "1(20.7) 4(20.7) 5(20.7) 8(-) 11(20.7) 12(20.7) 13(20.7)"},
    {3, "-", ""},
    {3, "0.5", ""},
    {3, "30", ""},
    // Native-untagged: its own VLAN without a header, whether it is among the trunks or not; accepted with one.
    {4, "-", "1(10) 2(-) 3(10) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {4, "0.5", "1(10.5) 2(-) 3(10.5) 5(10.5) 6(-) 9(0.5) 10(0.5) 11(10.5) 12(10.5) 13(0.5)"},
    {4, "10", "1(10) 2(-) 3(10) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {4, "20", "1(20) 3(20) 5(20) 8(-) 11(20) 12(20) 13(20)"},
    {4, "30", ""},
    {13, "-", "1(10) 2(-) 3(10) 4(-) 5(10) 6(-) 9(-) 10(-) 11(10) 12(10)"},
    {13, "30", "1(30) 11(30) 12(30)"},
    // Native-tagged: as native-untagged on the way in.
    {5, "-", "1(10) 2(-) 3(10) 4(-) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {5, "10", "1(10) 2(-) 3(10) 4(-) 6(-) 9(-) 10(-) 11(10) 12(10) 13(-)"},
    {5, "20", "1(20) 3(20) 4(20) 8(-) 11(20) 12(20) 13(20)"},
    {5, "30", ""},
    // Tunnels: a service tag above what there is, whatever that is.
    {6, "-", "1(10a) 2(-) 3(10a) 4(-) 5(10a) 9(-) 10(-) 11(10a) 12(10a) 13(-)"},
    {6, "7", "1(10a/7) 3(10a/7) 4(7) 5(10a/7) 7(7) 11(10a/7) 12(10a/7) 13(7)"},
    {6, "10", "1(10a/10) 3(10a/10) 4(10) 5(10a/10) 11(10a/10) 12(10a/10) 13(10)"},
    {6, "7.5", "1(10a/7.5) 3(10a/7.5) 4(7.5) 5(10a/7.5) 7(7.5) 11(10.5a/7.5) 12(10.5a/7.5) 13(7.5)"},
    {6, "7/8", "1(10a/7/8) 3(10a/7/8) 4(7/8) 5(10a/7/8) 7(7/8) 11(10a/7/8) 12(10a/7/8) 13(7/8)"},
    {6, "0.5", "1(10a/0.5) 2(-) 3(10a/0.5) 4(-) 5(10a/0.5) 9(0.5) 10(0.5) 11(10.5a/0.5) 12(10.5a/0.5) 13(0.5)"},
    {7, "7", "1(10/7) 3(10/7) 4(7) 5(10/7) 6(7) 11(10/7) 12(10/7) 13(7)"},
    {7, "8", ""},
    {7, "-", ""},
};

TEST_F(VlanModesTest, EachModeTreatsEachKindOfFrameAsTheManualSays) {
  for (const Row& row : kTwoTags) {
    TestFrame frame{.in_port = row.in_port, .tags = row.tags};
    EXPECT_EQ(switch_.Send(frame), row.leaves) << "in " << row.in_port << " with tags " << row.tags;
  }
}

TEST_F(VlanModesTest, ATagBeyondTheLimitIsPayload) {
  switch_.topology.vlan_limit = 1;
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10/7"}),
            "2(7) 3(10/7) 4(7) 5(10/7) 6(7) 9(7) 10(7) 11(10/7) 12(10/7) 13(7)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10.5/7"}),
            "2(7) 3(10.5/7) 4(7) 5(10.5/7) 6(7) 9(0.5/7) 10(0.5/7) 11(10.5/7) 12(10.5/7) 13(0.5/7)");
  EXPECT_EQ(switch_.Send({.in_port = 6, .tags = "7/8"}),
            "1(10a/7/8) 3(10a/7/8) 4(7/8) 5(10a/7/8) 7(7/8) 11(10a/7/8) 12(10a/7/8) 13(7/8)");
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1, .tags = "10/7"});
  EXPECT_EQ(out.wildcards.inner_vlan_tci, Be16(0));
  EXPECT_EQ(out.wildcards.inner_vlan_tpid, Be16(0));
}

TEST_F(VlanModesTest, ZeroLimitLooksAtAllTags) {
  switch_.topology.vlan_limit = 0;
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10/7"}), "3(10/7) 4(7) 5(10/7) 6(7) 7(7) 11(10/7) 12(10/7) 13(7)");
}

TEST_F(VlanModesTest, DropsTagsThatAreCutOffOrLackTheirPresenceBit) {
  // What is parsed of a frame that ends within its tag: the TPID as type, and no tag.
  for (uint16_t tpid : {0x8100, 0x88a8}) {
    for (uint32_t in_port : {1, 2, 4, 6}) {
      XlateOut out = switch_.Translate(TestFrame{.in_port = in_port, .eth_type = tpid});
      EXPECT_TRUE(out.actions.empty());
      EXPECT_EQ(out.drop_reason, "partial VLAN tag, dropping");
    }
  }
  FlowKey key = TestFrame{.tags = "10"}.Key();
  key.vlan_tci = Be16(10);  // without the bit
  key.eth_type = Be16(0x8100);
  EXPECT_TRUE(switch_.Translate(key).actions.empty());
  // Three tags: the third is the type behind two, and harmless.
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "30/7", .eth_type = 0x8100}), "11(30/7) 12(30/7) 13(30/7)");
}

TEST_F(VlanModesTest, ChangesTagsOncePerKindOfTags) {
  EXPECT_EQ(switch_.Actions({.in_port = 2}), "4,6,9,10,13,push_vlan(vid=10,pcp=0),1,3,5,11,12");
  EXPECT_EQ(switch_.Actions({.in_port = 1, .tags = "10"}), "3,5,11,12,pop_vlan,2,4,6,9,10,13");
  EXPECT_EQ(switch_.Actions({.in_port = 1, .tags = "20"}), "3,4,5,11,12,13,pop_vlan,8");
  EXPECT_EQ(switch_.Actions({.in_port = 6, .tags = "7"}), "4,7,13,push_vlan(tpid=0x88a8,vid=10,pcp=0),1,3,5,11,12");
  EXPECT_EQ(switch_.Actions({.in_port = 2, .tags = "0.5"}),
            "9,10,13,pop_vlan,4,6,push_vlan(vid=10,pcp=5),1,3,5,11,12");
}

TEST_F(VlanModesTest, LearnsAndForwardsInTheVlanWhateverTheTags) {
  switch_.Send({.in_port = 6, .tags = "7", .src = Mac(0xa)});  // VLAN 10
  EXPECT_EQ(switch_.Send({.in_port = 2, .dst = Mac(0xa)}), "6(-)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10/7", .dst = Mac(0xa)}), "6(7)");
  // In VLAN 20 that address is another.
  EXPECT_EQ(switch_.Send({.in_port = 8, .dst = Mac(0xa)}), "1(20) 3(20) 4(20) 5(20) 11(20) 12(20) 13(20)");
}

}  // namespace
}  // namespace sluice
