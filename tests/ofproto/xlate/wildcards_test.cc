// The mask of a translation: it has what decided (any packet equal under it is translated the same), and little else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

constexpr uint16_t kVlans[] = {0, 5, 10, 20};

class RandomSwitch {
 public:
  explicit RandomSwitch(uint32_t seed) : random_(seed) {
    switch_.topology.vlan_limit = Below(3);
    uint32_t bridges = 1 + Below(3);
    for (uint32_t i = 0; i < bridges; ++i) AddBridge(i);
    for (XBundle& bundle : switch_.topology.bundles) Configure(bundle);
    for (XBridge& bridge : switch_.topology.bridges) {
      for (uint32_t i = Below(3); i > 0; --i) AddMirror(bridge);
      for (uint32_t i = Below(8); i > 0; --i) {
        XBundle* bundle = bridge.bundles[Below(static_cast<uint32_t>(bridge.bundles.size()))];
        bridge.macs->Learn(kVlans[Below(4)], Mac(1 + Below(4)), bundle->id, false, switch_.now);
      }
    }
  }

  bool Chance(uint32_t percent) { return Below(100) < percent; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  FlowKey RandomKey() {
    FlowKey key;
    for (size_t i = 0; i < FlowKey::kWords; ++i) key.SetWord(i, uint64_t{random_()} << 32 | random_());
    auto port = switch_.topology.by_dp_port.begin();
    std::advance(port, Below(static_cast<uint32_t>(switch_.topology.by_dp_port.size())));
    key.in_port = port->first;
    key.recirc_id = 0;
    constexpr uint64_t kDestinations[] = {1, 2, 3, 4, 0xffffffffffff, 0x0180c2000000, 0x01005e000001};
    key.eth_src = Mac(Chance(95) ? 1 + Below(4) : 0x010000000000);
    key.eth_dst = Mac(kDestinations[Below(7)]);
    constexpr uint16_t kTypes[] = {0x0800, 0x0806, 0x86dd, 0x8100};
    key.eth_type = Be16(kTypes[Below(4)]);
    key.ip_proto = static_cast<uint8_t>(1 + Below(3));
    key.ipv4_src = Be32(Below(2));
    key.ipv4_dst = Be32(Below(2));
    key.vlan_tci = key.inner_vlan_tci = key.vlan_tpid = key.inner_vlan_tpid = Be16(0);
    if (Chance(70)) RandomTag(key.vlan_tpid, key.vlan_tci);
    if (key.vlan_tci != Be16(0) && Chance(50)) RandomTag(key.inner_vlan_tpid, key.inner_vlan_tci);
    return key;
  }

  TestSwitch switch_;

 private:
  void AddBridge(uint32_t number) {
    XBridge& bridge = switch_.AddBridge(fmt::format("br{}", number));
    bridge.forward_bpdu = Chance(50);
    bridge.drops_all = Chance(5);
    if (Chance(20)) bridge.flood_vlans = Vlans({10});
    for (uint32_t i = 2 + Below(5); i > 0; --i) {
      XBundle& bundle = switch_.AddPort(bridge, ++ports_);
      if (Chance(15)) switch_.AddMember(bundle, ++ports_);
    }
    // A tree of bridges.
    if (number > 0) switch_.Connect(switch_.topology.bridges[Below(number)], bridge, fmt::format("patch{}", number));
  }

  void Configure(XBundle& bundle) {
    bundle.mode = static_cast<VlanMode>(Below(5));
    bundle.tag = kVlans[Below(4)];
    if (Chance(40)) bundle.trunks = Vlans({kVlans[Below(4)], kVlans[Below(4)]});
    if (Chance(40)) bundle.cvlans = Vlans({kVlans[Below(4)], kVlans[Below(4)]});
    if (Chance(30)) bundle.qinq_ethtype = 0x8100;
    bundle.priority_tags = static_cast<PriorityTags>(Below(3));
    bundle.is_protected = Chance(20);
    bundle.floodable = Chance(90);
    for (XPort* port : bundle.ports) port->up = Chance(80);
  }

  void AddMirror(XBridge& bridge) {
    XMirror& mirror = switch_.AddMirror(bridge, {}, {});
    MirrorMask bit = mirror.duplicates;
    for (XBundle* bundle : bridge.bundles) {
      if (Chance(50)) bundle->src_mirrors |= bit;
      if (Chance(50)) bundle->dst_mirrors |= bit;
    }
    if (Chance(50)) mirror.vlans = Vlans({kVlans[Below(4)], kVlans[Below(4)]});
    if (Chance(30)) mirror.snaplen = 64;
    if (Chance(50)) {
      switch_.MirrorToVlan(mirror, kVlans[1 + Below(3)]);
      has_mirror_vlan_ = true;
    } else {
      switch_.MirrorTo(bridge, mirror, *bridge.bundles[Below(static_cast<uint32_t>(bridge.bundles.size()))]);
    }
  }

  void RandomTag(Be16& tpid, Be16& tci) {
    tpid = Be16(Chance(80) ? 0x8100 : 0x88a8);
    tci = Be16(static_cast<uint16_t>(kVlans[Below(4)] | kVlanPresent | (Chance(50) ? Below(8) << 13 : 0)));
  }

  std::mt19937 random_;
  uint32_t ports_ = 0;

 public:
  bool has_mirror_vlan_ = false;
};

std::string EffectsText(const XlateOut& out) {
  std::string text;
  for (const XlateEffect& effect : out.effects) {
    text += fmt::format("{}:{}:{}:{}:{}:{} ", static_cast<int>(effect.kind), fmt::ptr(effect.macs.get()), effect.vlan,
                        effect.bundle, fmt::ptr(effect.mirror.get()), fmt::ptr(effect.patch.get()));
    for (uint8_t byte : effect.mac) text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::string Text(const XlateOut& out) {
  return FormatActions(out.actions, PortNames()) + " | " + EffectsText(out) + "| " + out.drop_reason;
}

FlowKey Mix(const FlowKey& matched, const FlowMask& mask, const FlowKey& other) {
  FlowKey mixed;
  for (size_t i = 0; i < FlowKey::kWords; ++i) {
    mixed.SetWord(i, (matched.Word(i) & mask.Word(i)) | (other.Word(i) & ~mask.Word(i)));
  }
  return mixed;
}

TEST(WildcardsPropertyTest, KeysEqualUnderTheMaskAreTranslatedTheSame) {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    RandomSwitch random(seed);
    for (int i = 0; i < 20; ++i) {
      FlowKey key = random.RandomKey();
      XlateOut out = random.switch_.Translate(key, /*learn=*/false);
      for (int j = 0; j < 20; ++j) {
        FlowKey other = Mix(key, out.wildcards, random.RandomKey());
        XlateOut again = random.switch_.Translate(other, /*learn=*/false);
        Match match{ApplyMask(key, out.wildcards), out.wildcards};
        ASSERT_EQ(Text(again), Text(out))
            << "seed " << seed << " key " << i << " pair " << j << ", matching " << FormatMatch(match, PortNames());
        ASSERT_EQ(again.wildcards, out.wildcards) << "seed " << seed << " key " << i << " pair " << j;
      }
    }
  }
}

TEST(WildcardsPropertyTest, NothingLeavesByThePortItCameFromOrTwiceButMirrorsCopies) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    RandomSwitch random(seed);
    FlowKey key = random.RandomKey();
    XlateOut out = random.switch_.Translate(key, /*learn=*/false);
    if (random.has_mirror_vlan_) continue;
    std::map<uint32_t, int> outputs;
    for (const Action& action : out.actions) {
      if (const auto* output = std::get_if<OutputAction>(&action.value)) ++outputs[output->port];
    }
    ASSERT_FALSE(outputs.contains(key.in_port)) << "seed " << seed;
    for (const auto& [port, count] : outputs) {
      // A mirror's output port may get a copy of what arrived and of what departed, in either of two mirrors.
      bool is_mirrored = random.switch_.topology.by_dp_port.at(port)->bundle->mirror_out != 0;
      bool behind_mirror = random.switch_.topology.bridges.size() > 1;
      if (!is_mirrored && !behind_mirror) {
        ASSERT_EQ(count, 1) << "seed " << seed << " port " << port;
      }
    }
  }
}

TEST(WildcardsPropertyTest, TheFinalTagsAreThoseThatEachOutputNamed) {
  // Outcome() plays pops and pushes: no pop of an untagged packet in any of them.
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomSwitch random(seed);
    FlowKey key = random.RandomKey();
    TestSwitch::Outcome(key, random.switch_.Translate(key, /*learn=*/false).actions);
    if (testing::Test::HasFailure()) break;
  }
}

class WildcardsTest : public ::testing::Test {
 protected:
  WildcardsTest() {
    XBridge& bridge = switch_.AddBridge("br0");
    switch_.AddPort(bridge, 1);
    switch_.AddPort(bridge, 2, VlanMode::kAccess, 10);
    switch_.AddPort(bridge, 3);
    always_.in_port = always_.recirc_id = UINT32_MAX;
    always_.eth_type = always_.vlan_tpid = Be16(0xffff);
    always_.vlan_tci = Be16(0x1fff);
    addresses_ = always_;
    addresses_.eth_src = addresses_.eth_dst = Mac(0xffffffffffff);
  }

  std::string MaskOf(const FlowKey& key) {
    FlowMask mask = switch_.Translate(key).wildcards;
    return FormatMatch({mask, mask}, PortNames());
  }
  static std::string Text(const FlowMask& mask) { return FormatMatch({mask, mask}, PortNames()); }

  TestSwitch switch_;
  FlowMask always_;
  FlowMask addresses_;
};

TEST_F(WildcardsTest, ForwardingLooksAtAddressesAndTheTagOnly) {
  EXPECT_EQ(MaskOf(TestFrame{.in_port = 1, .tags = "10"}.Key()), Text(addresses_));
  EXPECT_EQ(MaskOf(TestFrame{.in_port = 2}.Key()), Text(addresses_));
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .tags = "10.5/7"}).wildcards, addresses_);
}

TEST_F(WildcardsTest, ARefusedVlanLooksAtTheTagOnly) {
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 2, .tags = "20"}).wildcards, always_);
}

TEST_F(WildcardsTest, AReservedAddressIsDroppedWhoeverSentIt) {
  FlowMask mask = always_;
  mask.eth_dst = Mac(0xffffffffffff);
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .dst = Mac(0x0180c2000000)}).wildcards, mask);
}

TEST_F(WildcardsTest, ThePriorityCountsOnlyWhereItIsWrittenAgain) {
  switch_.Send({.in_port = 3, .tags = "10", .src = Mac(3)});
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .tags = "10.5", .dst = Mac(3)}).wildcards, addresses_);
  FlowMask with_priority = addresses_;
  with_priority.vlan_tci = Be16(0xffff);
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 2, .tags = "0.5", .dst = Mac(3)}).wildcards, with_priority);
}

TEST_F(WildcardsTest, ArpIsLookedIntoIfItMayBeGratuitous) {
  FlowKey arp = TestFrame{.in_port = 1, .eth_type = 0x0806}.Key();
  arp.ip_proto = 1;
  EXPECT_EQ(switch_.Translate(arp).wildcards, addresses_);
  arp.eth_dst = Mac(0xffffffffffff);
  FlowMask mask = addresses_;
  mask.ip_proto = 0xff;
  arp.ip_proto = 2;
  EXPECT_EQ(switch_.Translate(arp).wildcards, mask);
  mask.ipv4_src = mask.ipv4_dst = Be32(UINT32_MAX);
  arp.ip_proto = 1;
  EXPECT_EQ(switch_.Translate(arp).wildcards, mask);
}

TEST_F(WildcardsTest, TwoTagsAreLookedAtIfTheLimitAllows) {
  FlowMask both = addresses_;
  both.inner_vlan_tci = Be16(0x1fff);
  both.inner_vlan_tpid = Be16(0xffff);
  switch_.topology.vlan_limit = 2;
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .tags = "10/7"}).wildcards, both);
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1, .tags = "10"}).wildcards, both);
  EXPECT_EQ(switch_.Translate(TestFrame{.in_port = 1}).wildcards, addresses_);
}

}  // namespace
}  // namespace sluice
