// NORMAL apart from VLANs: learning, flooding, what is not forwarded, bonds.
#include <gtest/gtest.h>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

class NormalTest : public ::testing::Test {
 protected:
  NormalTest() : bridge_(switch_.AddBridge("br0")) {
    for (uint32_t port = 1; port <= 4; ++port) ports_[port] = &switch_.AddPort(bridge_, port);
  }

  std::string DropReason(const TestFrame& frame) {
    XlateOut out = switch_.Translate(frame);
    EXPECT_TRUE(out.actions.empty());
    return out.drop_reason;
  }

  TestSwitch switch_;
  XBridge& bridge_;
  XBundle* ports_[5] = {};
};

TEST_F(NormalTest, FloodsToAllButTheInputPortUntilTheAddressIsLearned) {
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1), .dst = Mac(2)}), "2(-) 3(-) 4(-)");
  EXPECT_EQ(switch_.Send({.in_port = 2, .src = Mac(2), .dst = Mac(1)}), "1(-)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1), .dst = Mac(2)}), "2(-)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1), .dst = Mac(0xffffffffffff)}), "2(-) 3(-) 4(-)");
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1), .dst = Mac(0x01005e000001)}), "2(-) 3(-) 4(-)");
}

TEST_F(NormalTest, FollowsAnAddressThatMoves) {
  switch_.Send({.in_port = 1, .src = Mac(1)});
  switch_.Send({.in_port = 3, .src = Mac(1)});
  EXPECT_EQ(switch_.Send({.in_port = 2, .src = Mac(2), .dst = Mac(1)}), "3(-)");
  EXPECT_EQ(bridge_.macs->statistics().moved, 1u);
}

TEST_F(NormalTest, LearnsPerVlan) {
  switch_.Send({.in_port = 1, .tags = "10", .src = Mac(1)});
  switch_.Send({.in_port = 3, .tags = "20", .src = Mac(1)});
  EXPECT_EQ(switch_.Send({.in_port = 2, .tags = "10", .src = Mac(2), .dst = Mac(1)}), "1(10)");
  EXPECT_EQ(switch_.Send({.in_port = 2, .tags = "20", .src = Mac(2), .dst = Mac(1)}), "3(20)");
  EXPECT_EQ(switch_.Send({.in_port = 2, .tags = "30", .src = Mac(2), .dst = Mac(1)}), "1(30) 3(30) 4(30)");
}

TEST_F(NormalTest, NeverSendsBackToTheInputPort) {
  switch_.Send({.in_port = 1, .src = Mac(1)});
  EXPECT_EQ(DropReason({.in_port = 1, .src = Mac(3), .dst = Mac(1)}), "learned port is input port, dropping");
}

TEST_F(NormalTest, DoesNotLearnMulticastSources) {
  switch_.Send({.in_port = 1, .src = Mac(0x01005e000001)});
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
  EXPECT_TRUE(switch_.Translate(TestFrame{.in_port = 1, .src = Mac(0x01005e000001)}).effects.empty());
}

TEST_F(NormalTest, LearnsOnlyWhenAsked) {
  XlateOut dry = switch_.Translate(TestFrame{.in_port = 1}, /*learn=*/false);
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
  XlateOut wet = switch_.Translate(TestFrame{.in_port = 1}, /*learn=*/true);
  EXPECT_EQ(bridge_.macs->statistics().entries, 1u);
  EXPECT_EQ(dry.wildcards, wet.wildcards);
  ASSERT_EQ(dry.effects.size(), 1u);
  EXPECT_EQ(dry.effects[0].kind, XlateEffect::Kind::kLearn);
  EXPECT_EQ(dry.effects[0].macs, bridge_.macs);
  EXPECT_EQ(dry.effects[0].mac, Mac(1));
  EXPECT_EQ(dry.effects[0].bundle, ports_[1]->id);
}

TEST_F(NormalTest, DoesNotLearnInFloodVlans) {
  bridge_.flood_vlans = Vlans({10});
  switch_.Send({.in_port = 1, .tags = "10", .src = Mac(1)});
  bridge_.macs->AddStatic(10, Mac(2), ports_[2]->id);
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10", .src = Mac(1), .dst = Mac(2)}), "2(10) 3(10) 4(10)");
  EXPECT_EQ(bridge_.macs->statistics().learned, 0u);
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .tags = "10"}).wildcards.eth_src, MacAddress{});
}

TEST_F(NormalTest, SkipsPortsThatAreNotFloodedButForwardsToThem) {
  ports_[3]->floodable = false;
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(3)}), "2(-) 4(-)");
  switch_.Send({.in_port = 3, .src = Mac(3)});
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(3)}), "3(-)");
}

TEST_F(NormalTest, ForwardsNothingBetweenProtectedPorts) {
  ports_[1]->is_protected = ports_[2]->is_protected = true;
  EXPECT_EQ(switch_.Send({.in_port = 1, .src = Mac(1)}), "3(-) 4(-)");
  EXPECT_EQ(DropReason({.in_port = 2, .src = Mac(2), .dst = Mac(1)}),
            "Flow is between protected ports, skipping output.");
  EXPECT_EQ(switch_.Send({.in_port = 3, .src = Mac(3), .dst = Mac(1)}), "1(-)");
}

TEST_F(NormalTest, KeepsControlProtocolsOnTheirLinkUnlessForwardBpduIsSet) {
  constexpr uint64_t kReserved[] = {0x0180c2000000, 0x0180c2000001, 0x0180c2000002, 0x0180c200000e, 0x0180c200000f,
                                    0x00e02b000000, 0x00e02b000004, 0x00e02b000006, 0x01000c000000, 0x01000ccccccc,
                                    0x01000ccccccd, 0x01000ccccccf, 0x01000cccccc0, 0x01000ccdcdcd};
  constexpr uint64_t kOthers[] = {0x0180c2000010,     0x0180c2000020, 0x00e02b000001, 0x01000c000001,
                                  0x01000ccccccf + 1, 0x01000ccdcdce, 0x0180c3000000};
  for (uint64_t address : kReserved) {
    EXPECT_EQ(DropReason({.in_port = 1, .dst = Mac(address)}), "packet has reserved destination MAC, dropping")
        << std::hex << address;
  }
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
  for (uint64_t address : kOthers) {
    EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(address)}), "2(-) 3(-) 4(-)") << std::hex << address;
  }
  bridge_.forward_bpdu = true;
  for (uint64_t address : kReserved) {
    EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(address)}), "2(-) 3(-) 4(-)") << std::hex << address;
  }
}

TEST_F(NormalTest, SendsToTheFirstPortOfABondThatIsUp) {
  XPort& backup = switch_.AddMember(*ports_[2], 12);
  EXPECT_EQ(switch_.Send({.in_port = 1}), "2(-) 3(-) 4(-)");
  ports_[2]->ports[0]->up = false;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "3(-) 4(-) 12(-)");
  backup.up = false;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "3(-) 4(-)");
  // A single port is not asked: what it cannot send it drops and counts.
  ports_[3]->ports[0]->up = false;
  EXPECT_EQ(switch_.Send({.in_port = 1}), "3(-) 4(-)");
}

TEST_F(NormalTest, TakesFromABondOnlyWhatItsActivePortReceives) {
  switch_.AddMember(*ports_[2], 12);
  EXPECT_EQ(DropReason({.in_port = 12, .src = Mac(5)}), "bonding refused admissibility, dropping");
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
  EXPECT_EQ(switch_.Send({.in_port = 2, .src = Mac(5)}), "1(-) 3(-) 4(-)");
}

TEST_F(NormalTest, AGratuitousArpLocksTheAddressAgainstWhatABondReflects) {
  switch_.AddMember(*ports_[2], 12);
  FlowKey announcement = TestFrame{.in_port = 1, .src = Mac(7), .dst = Mac(0xffffffffffff), .eth_type = 0x0806}.Key();
  announcement.ip_proto = 1;  // a request for its own address
  announcement.ipv4_src = announcement.ipv4_dst = Be32(0x0a000001);
  switch_.Translate(announcement);

  FlowKey reflected = announcement;
  reflected.in_port = 2;
  switch_.Translate(reflected);
  EXPECT_EQ(switch_.Send({.in_port = 3, .src = Mac(3), .dst = Mac(7)}), "1(-)");
  switch_.now += MacTable::kGratuitousLock;
  switch_.Translate(reflected);
  EXPECT_EQ(switch_.Send({.in_port = 3, .src = Mac(3), .dst = Mac(7)}), "2(-)");
}

TEST_F(NormalTest, OnlyGratuitousArpLocks) {
  switch_.AddMember(*ports_[2], 12);
  FlowKey key = TestFrame{.in_port = 1, .src = Mac(7), .dst = Mac(0xffffffffffff), .eth_type = 0x0806}.Key();
  struct {
    uint8_t operation;
    uint32_t sender, target;
    bool locks;
  } cases[] = {{1, 5, 5, true}, {1, 5, 6, false}, {2, 5, 6, true}, {3, 5, 5, false}};
  for (const auto& arp : cases) {
    bridge_.macs->Flush();
    key.in_port = 1;
    key.ip_proto = arp.operation;
    key.ipv4_src = Be32(arp.sender);
    key.ipv4_dst = Be32(arp.target);
    switch_.Translate(key);
    key.in_port = 2;
    switch_.Translate(key);
    EXPECT_EQ(bridge_.macs->Lookup(0, Mac(7)), arp.locks ? ports_[1]->id : ports_[2]->id) << int{arp.operation};
  }
}

TEST_F(NormalTest, DropsEverythingInASecureBridge) {
  bridge_.drops_all = true;
  EXPECT_EQ(DropReason({.in_port = 1}), "bridge br0 is secure and has no flow for this packet");
  EXPECT_EQ(bridge_.macs->statistics().entries, 0u);
}

TEST_F(NormalTest, SaysWhenNoBridgeHasThePort) {
  XlateOut out = switch_.Translate(TestFrame{.in_port = 99});
  EXPECT_FALSE(out.in_known_port);
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.drop_reason, "no bridge has a port with datapath port number 99");
  EXPECT_EQ(out.wildcards.in_port, UINT32_MAX);
}

TEST_F(NormalTest, FloodsWhatIsForAPortThatIsGoneOrHasLeftTheVlan) {
  bridge_.macs->AddStatic(0, Mac(9), 1000);
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(9)}), "2(-) 3(-) 4(-)");
  bridge_.macs->AddStatic(10, Mac(9), ports_[3]->id);
  ports_[3]->trunks = Vlans({20});
  EXPECT_EQ(switch_.Send({.in_port = 1, .tags = "10", .dst = Mac(9)}), "2(10) 4(10)");
}

TEST_F(NormalTest, FindsBundlesByIndexIfThereIsOne) {
  switch_.Send({.in_port = 2, .src = Mac(2)});
  for (XBundle* bundle : bridge_.bundles) bridge_.by_bundle_id[bundle->id] = bundle;
  EXPECT_EQ(switch_.Send({.in_port = 1, .dst = Mac(2)}), "2(-)");
}

TEST_F(NormalTest, AOnePortBridgeDropsWithAReason) {
  XBridge& lonely = switch_.AddBridge("br1");
  switch_.AddPort(lonely, 50);
  EXPECT_EQ(DropReason({.in_port = 50}), "no other port carries VLAN 0");
}

TEST_F(NormalTest, FindsBridgesAndPortsByName) {
  const XBridge* bridge = switch_.topology.FindBridge("br0");
  ASSERT_EQ(bridge, &bridge_);
  ASSERT_NE(switch_.topology.FindPort(*bridge, "p3"), nullptr);
  EXPECT_EQ(switch_.topology.FindPort(*bridge, "p3")->dp_port, 3u);
  EXPECT_EQ(switch_.topology.FindPort(*bridge, "p9"), nullptr);
  EXPECT_EQ(switch_.topology.FindBridge("br9"), nullptr);
}

}  // namespace
}  // namespace sluice
