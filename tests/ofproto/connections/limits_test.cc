// What is bounded: packet-ins by rate, and messages to peers that do not read.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

class LimitsTest : public ConnectionsFixture {
 protected:
  static PacketInEvent Event() {
    PacketInRecord record{.bridge = "br0", .reason = OfPacketIn::Reason::kAction};
    record.metadata.value.in_port = 1;
    record.metadata.mask.in_port = 0xffff;
    return {.record = std::make_shared<const PacketInRecord>(std::move(record)),
            .packet = std::string(1000, 'p'),
            .total_length = 1000};
  }
  std::unique_ptr<Peer> Listening(const std::string& socket) {
    auto peer = Connect(OfVersion::k13, socket);
    peer->Send(OfSwitchConfig{.miss_send_len = 128});
    Barrier(*peer);
    return peer;
  }
};

TEST_F(LimitsTest, PacketInsBeyondTheRateComeLater) {
  config_.controllers = {{.target = "punix:" + Path("limited"), .rate_limit = 100, .burst_limit = 25}};
  Configure();
  auto peer = Listening("limited");
  for (int i = 0; i < 30; ++i) manager_->PacketIn(Event());
  RunUntil([&] { return peer->All<OfPacketIn>().size() == 30; });
  const auto status = manager_->status().at(0).status;
  EXPECT_EQ(status.at("packet-in-action-dropped"), "0");
  EXPECT_NE(status.at("packet-in-action-bypassed"), "0");
}

TEST_F(LimitsTest, PacketInsForAPeerThatDoesNotReadAreDropped) {
  Configure();
  auto peer = Listening("br0.mgmt");
  peer->stream().SetReading(false);
  for (int i = 0; i < 20000; ++i) manager_->PacketIn(Event());
  EXPECT_LT(manager_->max_unsent_bytes(), 2u << 20);
  peer->stream().SetReading(true);
  Barrier(*peer);
  EXPECT_GT(peer->All<OfPacketIn>().size(), 0u);
}

TEST_F(LimitsTest, APeerThatNeverReadsIsLeft) {
  Configure();
  auto peer = Listening("br0.mgmt");
  peer->stream().SetReading(false);
  for (int i = 0; i < 3000; ++i) manager_->PacketIn(Event());
  ASSERT_GT(manager_->max_unsent_bytes(), 0u);
  const auto now = OfClock::now();
  manager_->Tick(now);
  EXPECT_EQ(manager_->connection_count(), 1u);
  manager_->Tick(now + std::chrono::seconds(120));
  EXPECT_EQ(manager_->connection_count(), 0u);
}

TEST_F(LimitsTest, WhatCannotBeDroppedEndsTheConnectionAtLast) {
  Configure();
  auto peer = Listening("br0.mgmt");
  peer->stream().SetReading(false);
  FlowMod mod = Flow(1);
  mod.flags = kSendFlowRem;
  ASSERT_FALSE(switch_.pipeline().tables.Apply(mod, {}));
  const RulePtr rule = switch_.Rules().at(0);
  std::vector<FlowNotice> notices(10000, FlowNotice{.event = FlowEvent::kRemoved, .rule = rule});
  for (int i = 0; i < 100; ++i) manager_->FlowsChanged(notices);
  EXPECT_LE(manager_->max_unsent_bytes(), 32u << 20);
  manager_->Tick(OfClock::now());
  EXPECT_EQ(manager_->connection_count(), 0u);
}

}  // namespace
}  // namespace sluice::testing
