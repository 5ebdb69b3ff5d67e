// How much of a packet lookups look at: what makes datapath flows many or few.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/base/rcu.h"
#include "tests/ofproto/flows/flow_maker.h"

namespace sluice {
namespace {

class MegaflowWidthTest : public testing::Test {
 protected:
  void Add(uint16_t priority, const OfMatch& match) {
    ASSERT_EQ(tables_.Apply(AddFlow(priority, match), {}), std::nullopt);
  }
  OfMask LookedAt(const OfFlow& flow) {
    OfMask wildcards;
    tables_.Lookup(tables_.version(), 0, flow, &wildcards);
    return wildcards;
  }

  RcuThread reader_;
  FlowTables tables_;
};

TEST_F(MegaflowWidthTest, AMissInAnEarlyStageLeavesLaterOnesAlone) {
  OfMatch first, second;
  MatchTcpDst(first, 80);
  MatchTcpDst(second, 443);
  MatchInPort(first, 1);
  MatchInPort(second, 2);
  Add(10, first);
  Add(10, second);
  OfMask expected;
  expected.in_port = 0xffff;
  EXPECT_EQ(LookedAt(TcpPacket(3, 1, 2, 3, 80)), expected);
}

TEST_F(MegaflowWidthTest, AMatchLooksAtItsFieldsOnly) {
  OfMatch match;
  MatchTcpDst(match, 80);
  Add(10, match);
  EXPECT_EQ(LookedAt(TcpPacket(3, 1, 2, 3, 80)), match.mask);
  // The port tells them apart: its first bit that differs, and what says that it is a port.
  OfMask wildcards = LookedAt(TcpPacket(3, 1, 2, 3, 0x8050));
  OfMask expected = match.mask;
  expected.packet.tp_dst = Be16(0x8000);
  EXPECT_EQ(wildcards, expected);
}

TEST_F(MegaflowWidthTest, PrefixesAreToldApartByTheirFirstBits) {
  OfMatch ten, eleven;
  MatchIpv4Dst(ten, 0x0a000000, 8);
  MatchIpv4Dst(eleven, 0x0b000000, 8);
  Add(10, ten);
  Add(10, eleven);
  EXPECT_EQ(LookedAt(TcpPacket(1, 1, 0xc0000001, 3, 4)).packet.ipv4_dst, Be32(0x80000000));
  EXPECT_EQ(LookedAt(TcpPacket(1, 1, 0x0a000001, 3, 4)).packet.ipv4_dst, Be32(0xff000000));
}

// Without the trie of the address the whole prefix is looked at.
TEST_F(MegaflowWidthTest, TriesAreOfTheConfiguredFields) {
  OfMatch ten, eleven;
  MatchIpv4Dst(ten, 0x0a000000, 8);
  MatchIpv4Dst(eleven, 0x0b000000, 8);
  Add(10, ten);
  Add(10, eleven);
  FlowTableConfig config;
  config.has_prefixes = true;
  config.prefixes = {FieldId::kIpv4Src};
  tables_.Configure(0, config);
  EXPECT_EQ(LookedAt(TcpPacket(1, 1, 0xc0000001, 3, 4)).packet.ipv4_dst, Be32(0xff000000));
  config.prefixes = {FieldId::kIpv4Src, FieldId::kIpv4Dst};
  tables_.Configure(0, config);
  EXPECT_EQ(LookedAt(TcpPacket(1, 1, 0xc0000001, 3, 4)).packet.ipv4_dst, Be32(0x80000000));
}

TEST_F(MegaflowWidthTest, LowerPriorityIsNotLookedFor) {
  OfMatch port, address;
  MatchInPort(port, 1);
  MatchIpv4Dst(address, 0x0a000000, 8);
  Add(20, port);
  Add(10, address);
  EXPECT_EQ(LookedAt(TcpPacket(1, 1, 0x0a000001, 3, 4)), port.mask);
}

// An access list of 10,000 prefixes: without tries every packet would be a flow of its own.
TEST_F(MegaflowWidthTest, AnAccessListMakesFewFlows) {
  std::mt19937 random(20261201);
  for (int i = 0; i < 10'000; ++i) {
    OfMatch match;
    MatchIpv4Dst(match, static_cast<uint32_t>(random()), 8 + static_cast<int>(random() % 25));
    Add(static_cast<uint16_t>(random()), match);
  }
  std::set<std::string> flows, masks;
  for (int i = 0; i < 100'000; ++i) {
    const OfFlow packet = TcpPacket(1, static_cast<uint32_t>(random()), static_cast<uint32_t>(random()),
                                    static_cast<uint16_t>(random()), static_cast<uint16_t>(random()));
    const OfMask mask = LookedAt(packet);
    const OfFlow masked = ApplyOfMask(packet, mask);
    masks.emplace(reinterpret_cast<const char*>(&mask), sizeof mask);
    flows.emplace(reinterpret_cast<const char*>(&masked), sizeof masked);
    RcuQuiescent();
  }
  EXPECT_LT(flows.size(), 30'000u);
  EXPECT_LE(masks.size(), 33u);
}

}  // namespace
}  // namespace sluice
