// Conjunctive matches, as ovs-fields(7) describes them.
#include "tests/ofproto/flows/tables_fixture.h"

namespace sluice {
namespace {

class ConjunctionTest : public FlowTablesTest {
 protected:
  // A flow that is clause `clause` (from 1) of `count` of the conjunctions with the ids.
  void AddClause(uint16_t priority, const OfMatch& match, std::vector<uint32_t> ids, uint8_t clause,
                 uint8_t count = 2) {
    FlowMod mod = AddFlow(priority, match);
    mod.actions.clear();
    for (uint32_t id : ids) mod.actions.push_back({OfConjunction{id, static_cast<uint8_t>(clause - 1), count}});
    Apply(mod);
  }
  void AddResult(uint32_t id, OfPort output, uint16_t priority = 5) {
    OfMatch match;
    match.mask.conj_id = UINT32_MAX;
    match.value.conj_id = id;
    Add(priority, match, output);
  }
  static OfMatch TcpDst(uint16_t port) {
    OfMatch match;
    MatchTcpDst(match, port);
    return match;
  }
  // Where a packet goes; 0: no flow matches.
  OfPort Send(uint32_t destination, uint16_t tp_dst, OfMask* wildcards = nullptr) {
    RulePtr rule = tables_.Lookup(tables_.version(), 0, TcpPacket(1, 0x01010101, destination, 1000, tp_dst), wildcards);
    return rule == nullptr ? 0 : std::get<OfOutput>(rule->actions->at(0).value).port;
  }
};

TEST_F(ConjunctionTest, MatchesWhatAllClausesMatch) {
  AddClause(20, Ipv4Dst(0x0a000001, 32), {1}, 1);
  AddClause(20, Ipv4Dst(0x0a000002, 32), {1}, 1);
  AddClause(20, TcpDst(80), {1}, 2);
  AddClause(20, TcpDst(443), {1}, 2);
  AddResult(1, 7);
  Add(1, {}, 9);
  EXPECT_EQ(Send(0x0a000001, 80), 7);
  EXPECT_EQ(Send(0x0a000002, 443), 7);
  EXPECT_EQ(Send(0x0a000003, 80), 9);
  EXPECT_EQ(Send(0x0a000001, 81), 9);
  OfMask wildcards;
  Send(0x0a000001, 80, &wildcards);
  EXPECT_EQ(wildcards.packet.ipv4_dst, Be32(0xffffffff));
  EXPECT_EQ(wildcards.packet.tp_dst, Be16(0xffff));
  EXPECT_EQ(wildcards.conj_id, 0u);
}

TEST_F(ConjunctionTest, AFlowMayBeAClauseOfSeveral) {
  AddClause(20, Ipv4Dst(0x0a000001, 32), {1, 2}, 1);
  AddClause(20, TcpDst(80), {1}, 2);
  AddClause(20, TcpDst(443), {2}, 2);
  AddResult(1, 7);
  AddResult(2, 8);
  EXPECT_EQ(Send(0x0a000001, 80), 7);
  EXPECT_EQ(Send(0x0a000001, 443), 8);
  EXPECT_EQ(Send(0x0a000001, 22), 0);
}

TEST_F(ConjunctionTest, AnOrdinaryFlowOfHigherPriorityWins) {
  AddClause(20, Ipv4Dst(0x0a000001, 32), {1}, 1);
  AddClause(20, TcpDst(80), {1}, 2);
  AddResult(1, 7, 15);
  Add(30, InPort(1), 3);
  EXPECT_EQ(Send(0x0a000001, 80), 3);
  Apply(Command(FlowCommand::kDelete, 0, InPort(1)));
  Add(10, InPort(1), 4);
  EXPECT_EQ(Send(0x0a000001, 80), 7);
  // The search with the id is one like any other.
  Add(16, InPort(1), 5);
  EXPECT_EQ(Send(0x0a000001, 80), 5);
}

// A conjunction that is not whole, or has no flow for its id, does not hide lower priorities.
TEST_F(ConjunctionTest, FallsBackToLowerPriorities) {
  AddClause(40, Ipv4Dst(0x0a000000, 8), {1}, 1);
  AddClause(40, TcpDst(22), {1}, 2);
  AddClause(30, Ipv4Dst(0x0a000001, 32), {2}, 1);
  AddClause(30, TcpDst(80), {2}, 2);
  AddClause(20, Ipv4Dst(0x0a000001, 32), {3}, 1);
  AddClause(20, TcpDst(80), {3}, 2);
  AddResult(1, 6);
  AddResult(3, 8);
  EXPECT_EQ(Send(0x0a000001, 80), 8) << "the first is not whole, the second has no flow";
  AddResult(2, 7);
  EXPECT_EQ(Send(0x0a000001, 80), 7);
  EXPECT_EQ(Send(0x0a000001, 22), 6);
}

// The same match with a lower priority is an ordinary flow.
TEST_F(ConjunctionTest, AClauseDoesNotHideAFlowWithItsMatch) {
  AddClause(20, TcpDst(80), {1}, 1);
  Add(10, TcpDst(80), 4);
  EXPECT_EQ(Send(0x0a000001, 80), 4);
}

}  // namespace
}  // namespace sluice
