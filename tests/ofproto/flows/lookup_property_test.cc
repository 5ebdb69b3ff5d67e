// Lookup against a linear search, and its wildcards against flows that differ only where they may.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "lib/base/rcu.h"
#include "tests/ofproto/flows/flow_maker.h"

namespace sluice {
namespace {

// Fields take few values, so that rules and flows meet.
class RandomTables {
 public:
  explicit RandomTables(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random_); }
  bool OneIn(uint32_t count) { return Below(count) == 0; }

  OfFlow Flow() {
    OfFlow flow = TcpPacket(static_cast<OfPort>(Below(4)), Address(), Address(), Port(), Port());
    flow.metadata = Below(3);
    flow.regs[3] = Below(4);
    flow.packet.eth_dst[5] = static_cast<uint8_t>(Below(4));
    flow.packet.ip_tos = static_cast<uint8_t>(Below(4));
    if (OneIn(3)) flow.packet.ip_proto = 17;
    if (OneIn(4)) flow.packet.vlan_tci = Be16(static_cast<uint16_t>(kVlanPresent | Below(3)));
    if (OneIn(4)) {
      flow.packet.eth_type = Be16(0x86dd);
      flow.packet.ipv4_src = flow.packet.ipv4_dst = Be32();
      flow.packet.ipv6_src = Ipv6();
      flow.packet.ipv6_dst = Ipv6();
    }
    return flow;
  }

  OfMatch Match() {
    OfFlow value = Flow();
    OfMask mask;
    if (OneIn(2)) mask.packet.eth_type = Be16(0xffff);
    if (OneIn(4)) mask.in_port = 0xffff;
    if (OneIn(8)) mask.metadata = Below(4);
    if (OneIn(8)) mask.regs[3] = Below(4);
    if (OneIn(4)) mask.packet.eth_dst[5] = static_cast<uint8_t>(Below(4));
    if (OneIn(8)) mask.packet.vlan_tci = Be16(static_cast<uint16_t>(Below(0x2000)));
    if (OneIn(8)) mask.packet.ip_tos = 3;
    if (OneIn(3)) mask.packet.ip_proto = 0xff;
    if (value.packet.eth_type == Be16(0x0800)) {
      if (OneIn(2)) mask.packet.ipv4_dst = Prefix();
      if (OneIn(4)) mask.packet.ipv4_src = OneIn(4) ? Be32(Below(0xffffffff)) : Prefix();
    } else {
      if (OneIn(2)) mask.packet.ipv6_dst = Ipv6Prefix();
      if (OneIn(4)) mask.packet.ipv6_src = Ipv6Prefix();
    }
    if (OneIn(3)) mask.packet.tp_dst = PortMask();
    if (OneIn(6)) mask.packet.tp_src = PortMask();
    return {ApplyOfMask(value, mask), mask};
  }

  std::mt19937& random() { return random_; }

 private:
  uint32_t Address() { return 0x0a000000 | (Below(4) << 16) | (Below(2) << 8) | Below(8); }
  uint16_t Port() { return static_cast<uint16_t>(OneIn(2) ? 80 + Below(4) : 0x8000 + Below(2)); }
  Be32 Prefix() {
    const uint32_t bits = 8 + Below(25);
    return Be32(~uint32_t{0} << (32 - bits));
  }
  Be16 PortMask() { return Be16(static_cast<uint16_t>(OneIn(4) ? Below(0x10000) : 0xffff << Below(16))); }
  Ipv6Address Ipv6() {
    Ipv6Address address{0x20, 0x01};
    address[6] = static_cast<uint8_t>(Below(2));
    address[15] = static_cast<uint8_t>(Below(4));
    return address;
  }
  Ipv6Address Ipv6Prefix() {
    Ipv6Address mask{};
    const uint32_t bits = 1 + Below(128);
    for (uint32_t i = 0; i < bits; ++i) mask[i / 8] = static_cast<uint8_t>(mask[i / 8] | (0x80 >> (i % 8)));
    return mask;
  }

  std::mt19937 random_;
};

struct LinearRule {
  OfMatch match;
  uint16_t priority;
};

// What is matched by what the rules say, one after the other.
std::optional<uint16_t> LinearSearch(const std::vector<LinearRule>& rules, const OfFlow& flow) {
  std::optional<uint16_t> best;
  for (const LinearRule& rule : rules) {
    if (rule.match.Matches(flow) && (!best || rule.priority > *best)) best = rule.priority;
  }
  return best;
}

std::optional<uint16_t> PriorityOf(const RulePtr& rule) {
  return rule == nullptr ? std::nullopt : std::optional<uint16_t>(rule->priority);
}

class LookupPropertyTest : public testing::TestWithParam<size_t> {};

// The priorities are different, so that there is one right answer. Rules come and go between the rounds.
TEST_P(LookupPropertyTest, FindsWhatALinearSearchFindsAndLooksAtEnough) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomTables random(seed);
  RcuThread reader;
  FlowTables tables;
  std::vector<LinearRule> rules;
  uint16_t next_priority = 1;
  for (int round = 0; round < 10; ++round) {
    while (rules.size() < GetParam()) {
      const OfMatch match = random.Match();
      const auto priority = static_cast<uint16_t>(next_priority++ * 7919u);  // all differ: 7919 is odd
      rules.push_back({match, priority});
      ASSERT_EQ(tables.Apply(AddFlow(priority, match), {}), std::nullopt);
    }
    ASSERT_EQ(tables.flow_count(), rules.size());
    for (int i = 0; i < 200; ++i) {
      const OfFlow flow = random.Flow();
      OfMask wildcards;
      const auto expected = LinearSearch(rules, flow);
      ASSERT_EQ(PriorityOf(tables.Lookup(tables.version(), 0, flow, &wildcards)), expected);
      ASSERT_EQ(PriorityOf(tables.Lookup(tables.version(), 0, flow, nullptr)), expected);
      for (int other = 0; other < 20; ++other) {
        OfFlow similar = random.Flow();
        if (random.OneIn(2)) {
          // Bits that no packet has: all that counts is what was looked at.
          for (size_t word = 0; word < OfFlow::kWords; ++word) {
            similar.SetWord(word, (uint64_t{random.random()()} << 32) | random.random()());
          }
        }
        for (size_t word = 0; word < OfFlow::kWords; ++word) {
          const uint64_t mask = wildcards.Word(word);
          similar.SetWord(word, (flow.Word(word) & mask) | (similar.Word(word) & ~mask));
        }
        ASSERT_EQ(LinearSearch(rules, similar), expected) << "flows alike in what was looked at find other rules";
      }
    }
    // A third of them goes.
    for (size_t i = 0; i < rules.size(); i += 2) {
      FlowMod remove = AddFlow(rules[i].priority, rules[i].match);
      remove.command = FlowCommand::kDeleteStrict;
      ASSERT_EQ(tables.Apply(remove, {}), std::nullopt);
      rules.erase(rules.begin() + static_cast<ptrdiff_t>(i));
    }
    RcuQuiescent();
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LookupPropertyTest, testing::Values(1, 5, 40, 400));

}  // namespace
}  // namespace sluice
