// Patch ports: translation goes on in the next bridge.
#include <gtest/gtest.h>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

class PatchTest : public ::testing::Test {
 protected:
  TestSwitch switch_;
};

TEST_F(PatchTest, GoesOnInTheNextBridgeAsIfReceivedThere) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  switch_.AddPort(near, 2);
  auto [patch, peer] = switch_.Connect(near, far, "patch");
  switch_.AddPort(far, 3);
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1)}), "2(-) 3(-)");
  EXPECT_EQ(far.macs->Lookup(0, Mac(1)), peer->id);
  EXPECT_EQ(switch_.Send({.in_port = 3, .src = Mac(3), .dst = Mac(1)}), "1(-)");
  EXPECT_EQ(near.macs->Lookup(0, Mac(3)), patch->id);
}

TEST_F(PatchTest, CountsOnBothEndsOfEachPatch) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  auto [patch, peer] = switch_.Connect(near, far, "patch");
  switch_.AddPort(far, 3);
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1});
  std::vector<std::pair<XlateEffect::Kind, PatchCounters*>> counted;
  for (const XlateEffect& effect : out.effects) {
    if (effect.patch != nullptr) counted.emplace_back(effect.kind, effect.patch.get());
  }
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_EQ(counted[0], std::make_pair(XlateEffect::Kind::kPatchOutput, patch->ports[0]->patch_counters.get()));
  EXPECT_EQ(counted[1], std::make_pair(XlateEffect::Kind::kPatchInput, peer->ports[0]->patch_counters.get()));
}

TEST_F(PatchTest, TagsChangeOnTheWayAndAreUndoneForWhatFollows) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  auto [patch, peer] = switch_.Connect(near, far, "patch");
  patch->mode = VlanMode::kAccess;
  patch->tag = 10;
  switch_.AddPort(near, 2);
  peer->mode = VlanMode::kAccess;
  peer->tag = 20;
  switch_.AddPort(far, 3);
  switch_.AddPort(far, 4, VlanMode::kAccess, 20);
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10.5"}), "2(10.5) 3(20) 4(-)");
  EXPECT_EQ(switch_.Send({.in_port = 3, .tags = "20", .src = Mac(3)}), "1(10) 2(10) 4(-)");
  EXPECT_EQ(switch_.Actions({.in_port = 1, .tags = "10", .src = Mac(5)}), "2,pop_vlan,4,push_vlan(vid=20,pcp=0),3");
}

TEST_F(PatchTest, StacksServiceTagsAcrossBridges) {
  switch_.topology.vlan_limit = 2;
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1, VlanMode::kDot1qTunnel, 100);
  auto [patch, peer] = switch_.Connect(near, far, "patch");
  peer->mode = VlanMode::kDot1qTunnel;
  peer->tag = 200;
  switch_.AddPort(far, 2);
  switch_.AddPort(far, 3, VlanMode::kDot1qTunnel, 200);
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "7"}), "2(200a/100a/7) 3(100a/7)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "7/8"}), "2(200a/100a/7/8) 3(100a/7/8)");
  EXPECT_EQ(switch_.Send({.in_port = 2, .tags = "200a/100a", .src = Mac(9)}), "1(-) 3(100a)");
}

TEST_F(PatchTest, RefusesATagThatDoesNotFit) {
  // Each bridge adds a service tag.
  XBridge* bridge = &switch_.AddBridge("b0");
  switch_.AddPort(*bridge, 1);
  for (uint32_t i = 1; i <= 10; ++i) {
    XBridge& next = switch_.AddBridge("b" + std::to_string(i));
    auto [patch, peer] = switch_.Connect(*bridge, next, "patch" + std::to_string(i));
    peer->mode = VlanMode::kDot1qTunnel;
    peer->tag = 50;
    switch_.AddPort(next, i + 1);
    bridge = &next;
  }
  EXPECT_EQ(switch_.Send({.in_port = 1}),
            "2(50a) 3(50a/50a) 4(50a/50a/50a) 5(50a/50a/50a/50a) 6(50a/50a/50a/50a/50a) "
            "7(50a/50a/50a/50a/50a/50a) 8(50a/50a/50a/50a/50a/50a/50a) 9(50a/50a/50a/50a/50a/50a/50a/50a)");
}

TEST_F(PatchTest, DropsATagBeyondTheLimitThatIsLaidBare) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  auto [patch, peer] = switch_.Connect(near, far, "patch");
  patch->mode = VlanMode::kDot1qTunnel;
  patch->tag = 10;
  switch_.AddPort(far, 3);
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10"}), "3(-)");
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1, .tags = "10/7"});
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "partial VLAN tag, dropping");
  // The flow for one tag does not match two.
  EXPECT_NE(switch_.Translate(TestFrame{.in_port = 1, .tags = "10"}).wildcards.inner_vlan_tci, Be16(0));
  switch_.topology.vlan_limit = 2;
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10/7"}), "3(7)");
}

TEST_F(PatchTest, NeverLeavesByThePortItEnteredBy) {
  // In VLAN 10 to the other bridge, back in VLAN 20.
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  auto [there, there_peer] = switch_.Connect(near, far, "there");
  auto [back, back_peer] = switch_.Connect(far, near, "back");
  there->mode = back_peer->mode = VlanMode::kAccess;
  there->tag = 10;
  back_peer->tag = 20;
  switch_.AddPort(near, 2, VlanMode::kAccess, 20);
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10"}), "2(-)");
  XlateOut out = switch_.Translate(TestFrame{.in_port = 2, .src = Mac(5), .dst = Mac(6)});
  EXPECT_EQ(TestSwitch::Outcome(TestFrame{.in_port = 2}.Key(), out.actions), "1(10) 1(20)");
}

TEST_F(PatchTest, ALoopIsDropped) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  switch_.Connect(near, far, "a");
  switch_.Connect(near, far, "b");
  switch_.AddPort(far, 2);
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1});
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "over max translation depth 64");
  for (const XlateEffect& effect : out.effects) EXPECT_EQ(effect.kind, XlateEffect::Kind::kLearn);
}

TEST_F(PatchTest, AWideLoopEndsSoon) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  for (int i = 0; i < 8; ++i) switch_.Connect(near, far, std::string(1, static_cast<char>('a' + i)));
  EXPECT_TRUE(switch_.Translate(TestFrame{.in_port = 1}).actions.empty());
}

// Bridges in a row; the first has port 1, the last has port 2.
void BuildChain(TestSwitch& chain, int patches) {
  XBridge* bridge = &chain.AddBridge("first");
  chain.AddPort(*bridge, 1);
  for (int i = 0; i < patches; ++i) {
    XBridge& next = chain.AddBridge("next" + std::to_string(i));
    chain.Connect(*bridge, next, "patch" + std::to_string(i));
    bridge = &next;
  }
  chain.AddPort(*bridge, 2);
}

TEST_F(PatchTest, PassesAsManyBridgesAsAllowedAndNoMore) {
  BuildChain(switch_, kMaxPatchDepth);
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-)");
  TestSwitch longer;
  BuildChain(longer, kMaxPatchDepth + 1);
  EXPECT_EQ(longer.Send({.in_port = 1}), "");
}

TEST_F(PatchTest, ATreeThatIsTooWideIsDropped) {
  // Each bridge has two behind it, twelve deep: more than 4096 in all.
  std::vector<XBridge*> level = {&switch_.AddBridge("root")};
  switch_.AddPort(*level[0], 1);
  for (int depth = 0; depth < 12; ++depth) {
    std::vector<XBridge*> next;
    for (XBridge* bridge : level) {
      for (int i = 0; i < 2; ++i) {
        next.push_back(&switch_.AddBridge("b"));
        switch_.Connect(*bridge, *next.back(), "p");
      }
    }
    level = next;
  }
  for (size_t i = 0; i < level.size(); ++i) switch_.AddPort(*level[i], static_cast<uint32_t>(100 + i));
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1});
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "over 4096 passes through bridges");
}

TEST_F(PatchTest, WithoutAPeerNothingLeaves) {
  XBridge& bridge = switch_.AddBridge("br0");
  XBridge& other = switch_.AddBridge("br1");
  switch_.AddPort(bridge, 1);
  auto [patch, peer] = switch_.Connect(bridge, other, "patch");
  patch->ports[0]->peer = nullptr;
  XlateOut out = switch_.Translate(TestFrame{.in_port = 1});
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "patch port patch has no peer, skipping output");
}

TEST_F(PatchTest, ASecureBridgeDropsWhatComesThrough) {
  XBridge& near = switch_.AddBridge("near");
  XBridge& far = switch_.AddBridge("far");
  switch_.AddPort(near, 1);
  switch_.AddPort(near, 2);
  switch_.Connect(near, far, "patch");
  switch_.AddPort(far, 3);
  far.drops_all = true;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-)");
}

}  // namespace
}  // namespace sluice
