// Mirrors: expected results written by hand from ovs-vswitchd.conf.db(5), "Mirror TABLE".
#include <gtest/gtest.h>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest() : bridge_(switch_.AddBridge("br0")) {
    access_ = &switch_.AddPort(bridge_, 1, VlanMode::kAccess, 10);
    other_ = &switch_.AddPort(bridge_, 2, VlanMode::kAccess, 10);
    trunk_ = &switch_.AddPort(bridge_, 3);
    span_ = &switch_.AddPort(bridge_, 9);
    switch_.topology.vlan_limit = 2;
  }

  XMirror& MirrorToSpan(std::initializer_list<XBundle*> src, std::initializer_list<XBundle*> dst) {
    XMirror& mirror = switch_.AddMirror(bridge_, src, dst);
    switch_.MirrorTo(bridge_, mirror, *span_);
    return mirror;
  }
  XMirror& MirrorAllToVlan(uint16_t vlan) {
    XMirror& mirror = switch_.AddMirror(bridge_, {access_, other_, trunk_}, {access_, other_, trunk_});
    switch_.MirrorToVlan(mirror, vlan);
    return mirror;
  }
  size_t CountOf(const XMirror& mirror, const TestFrame& frame) {
    size_t count = 0;
    for (const XlateEffect& effect : switch_.Translate(frame).effects) {
      if (effect.kind == XlateEffect::Kind::kMirror && effect.mirror == mirror.counters) ++count;
    }
    return count;
  }

  TestSwitch switch_;
  XBridge& bridge_;
  XBundle *access_, *other_, *trunk_, *span_;
};

TEST_F(MirrorTest, CopiesWhatArrivesAtASelectedPort) {
  XMirror& mirror = MirrorToSpan({access_}, {});
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
  EXPECT_EQ(switch_.Send({.in_port = 2, .src = Mac(5)}), "1(-) 3(10)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "10", .src = Mac(6)}), "1(-) 2(-)");
  EXPECT_EQ(CountOf(mirror, {.in_port = 1}), 1u);
  EXPECT_EQ(CountOf(mirror, {.in_port = 2, .src = Mac(5)}), 0u);
}

TEST_F(MirrorTest, CopiesWhatDepartsFromASelectedPort) {
  MirrorToSpan({}, {access_});
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "10.3"}), "1(-) 2(-) 9(10)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "20", .src = Mac(5)}), "");
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(6)}), "2(-) 3(10)");
}

TEST_F(MirrorTest, AMirrorOfATrunkShowsTheTagsOfTheWire) {
  MirrorToSpan({trunk_}, {trunk_});
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "10.3"}), "1(-) 2(-) 9(10.3)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "30a/7"}), "9(30a/7)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "0.3", .src = Mac(5)}), "2(-) 3(10.3) 9(10.3)");
}

TEST_F(MirrorTest, MirrorsAPacketOncePerDestination) {
  XMirror& first = MirrorToSpan({access_, other_, trunk_}, {access_, other_, trunk_});
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
  XMirror& second = MirrorToSpan({access_}, {trunk_});
  first.duplicates = second.duplicates = 3;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
  EXPECT_EQ(CountOf(first, {.in_port = 1}), 1u);
  EXPECT_EQ(CountOf(second, {.in_port = 1}), 0u);
}

TEST_F(MirrorTest, MirrorsToEachOfSeveralDestinations) {
  MirrorToSpan({access_}, {});
  XBundle& untagged = switch_.AddPort(bridge_, 8, VlanMode::kAccess, 99);
  switch_.MirrorTo(bridge_, switch_.AddMirror(bridge_, {}, {trunk_}), untagged);
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 8(-) 9(10)");
}

TEST_F(MirrorTest, SelectsByVlan) {
  MirrorToSpan({access_, trunk_}, {}).vlans = Vlans({10});
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "10"}), "1(-) 2(-) 9(10)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "20", .src = Mac(5)}), "");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "-", .src = Mac(5)}), "");
}

TEST_F(MirrorTest, AnOutputPortCarriesNothingElse) {
  MirrorToSpan({access_}, {});
  XlateOut out = switch_.Translate(TestFrame{.in_port = 9});
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "dropping packet received on port p9, which is reserved exclusively for mirroring");
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
  bridge_.macs->AddStatic(10, Mac(9), span_->id);
  EXPECT_EQ(switch_.Send({.in_port = 2, .dst = Mac(9)}), "1(-) 3(10)");
}

TEST_F(MirrorTest, MirrorsToAVlanOnAllPortsThatCarryIt) {
  XMirror& mirror = MirrorAllToVlan(12);
  switch_.AddPort(bridge_, 5, VlanMode::kAccess, 12);
  switch_.AddPort(bridge_, 6).trunks = Vlans({10});
  // The trunk gets the packet, and the copy.
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 3(12) 5(-) 6(10) 9(10) 9(12)");
  // So does the trunk that it came from: only the copy. The tag is replaced, its priority stays.
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "20.6", .src = Mac(5)}), "3(12.6) 5(-) 9(12.6) 9(20.6)");
  EXPECT_EQ(CountOf(mirror, {.in_port = 1}), 1u);
}

TEST_F(MirrorTest, DoesNotMirrorIntoAVlanWhatIsInItOrControlsLinks) {
  XMirror& mirror = MirrorAllToVlan(12);
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "12"}), "9(12)");
  bridge_.forward_bpdu = true;
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(0x0180c2000000)}), "2(-) 3(10) 9(10)");
  EXPECT_EQ(CountOf(mirror, {.in_port = 1, .dst = Mac(0x0180c2000000)}), 0u);
}

TEST_F(MirrorTest, CutsCopiesToTheirLength) {
  MirrorToSpan({access_}, {}).snaplen = 64;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)<64");
  EXPECT_EQ(switch_.Actions({.in_port = 1, .src = Mac(5)}), "push_vlan(vid=10,pcp=0),trunc(64),9,3,pop_vlan,2");
}

TEST_F(MirrorTest, CutsEachCopyInAVlan) {
  MirrorAllToVlan(12).snaplen = 100;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 3(12)<100 9(10) 9(12)<100");
}

TEST_F(MirrorTest, MirrorsWhatIsNotForwardedIfItMayComeIn) {
  MirrorToSpan({access_}, {});
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(0x0180c2000000)}), "9(10)");
  switch_.Send({.in_port = 1, .src = Mac(7)});
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(7)}), "9(10)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "30"}), "");
  bridge_.drops_all = true;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "9(10)");
}

TEST_F(MirrorTest, CopiesBetweenBridgesAreSelectedInEach) {
  XBridge& next = switch_.AddBridge("br1");
  auto [patch, peer] = switch_.Connect(bridge_, next, "patch");
  switch_.AddPort(next, 21);
  XBundle& next_span = switch_.AddPort(next, 29);
  MirrorToSpan({}, {patch});
  switch_.MirrorTo(next, switch_.AddMirror(next, {peer}, {}), next_span);
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10) 21(10) 29(10)");
}

TEST_F(MirrorTest, CopiesGoThroughPatchPortsUncutOnly) {
  XBridge& monitor = switch_.AddBridge("monitor");
  auto [patch, peer] = switch_.Connect(bridge_, monitor, "patch");
  switch_.AddPort(monitor, 31);
  XMirror& mirror = switch_.AddMirror(bridge_, {access_}, {});
  switch_.MirrorTo(bridge_, mirror, *patch);
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10) 31(10)");
  mirror.snaplen = 64;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
}

TEST_F(MirrorTest, AMirrorWithoutDestinationDoesNothing) {
  XMirror& mirror = switch_.AddMirror(bridge_, {access_}, {});
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(10) 9(10)");
  EXPECT_EQ(CountOf(mirror, {.in_port = 1}), 0u);
}

}  // namespace
}  // namespace sluice
