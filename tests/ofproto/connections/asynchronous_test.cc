// Packet-in, flow-removed, port-status: to whom, in what form.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::SizeIs;

using Reason = OfPacketIn::Reason;

class AsynchronousTest : public ConnectionsFixture {
 protected:
  AsynchronousTest() { Configure(); }

  // A service connection that wants asynchronous messages.
  std::unique_ptr<Peer> Listening(OfVersion version, uint16_t miss_send_len = 128) {
    auto peer = Connect(version);
    peer->Send(OfSwitchConfig{.miss_send_len = miss_send_len});
    Barrier(*peer);
    return peer;
  }
  static PacketInEvent Event(Reason reason, uint16_t max_len = kNoMaxLen, uint16_t controller_id = 0) {
    PacketInRecord record{.bridge = "br0", .reason = reason, .table = 3, .cookie = 7};
    record.max_len = max_len;
    record.controller_id = controller_id;
    record.metadata.value.in_port = 2;
    record.metadata.mask.in_port = 0xffff;
    return {.record = std::make_shared<const PacketInRecord>(std::move(record)),
            .packet = std::string(500, 'p'),
            .total_length = 500};
  }
  // What has come until now.
  std::vector<const OfPacketIn*> PacketIns(Peer& peer) {
    Barrier(peer);
    return peer.All<OfPacketIn>();
  }
};

TEST_F(AsynchronousTest, AServiceConnectionMustAskForThem) {
  auto quiet = Connect(OfVersion::k13);
  auto listening = Listening(OfVersion::k13);
  manager_->PacketIn(Event(Reason::kAction));
  EXPECT_THAT(PacketIns(*quiet), SizeIs(0));
  EXPECT_THAT(PacketIns(*listening), SizeIs(1));
}

TEST_F(AsynchronousTest, PacketsAreCutToWhatTheActionOrTheConnectionSays) {
  auto peer = Listening(OfVersion::k13, 60);
  manager_->PacketIn(Event(Reason::kAction, 100));
  manager_->PacketIn(Event(Reason::kInvalidTtl, 100));
  manager_->PacketIn(Event(Reason::kAction));
  const auto packets = PacketIns(*peer);
  ASSERT_THAT(packets, SizeIs(2));  // nobody asked for those whose TTL is zero
  EXPECT_EQ(packets[0]->packet.size(), 100u);
  EXPECT_EQ(packets[0]->total_length, 500u);
  EXPECT_EQ(packets[0]->table, 3);
  EXPECT_EQ(packets[0]->cookie, 7u);
  EXPECT_EQ(packets[1]->packet.size(), 500u);
}

TEST_F(AsynchronousTest, MissesGoToOldVersionsOnly) {
  auto old = Listening(OfVersion::k10, 60);
  auto recent = Listening(OfVersion::k13, 60);
  manager_->PacketIn(Event(Reason::kImplicitMiss, 100));
  const auto packets = PacketIns(*old);
  ASSERT_THAT(packets, SizeIs(1));
  EXPECT_EQ(packets[0]->reason, Reason::kNoMatch);
  EXPECT_EQ(packets[0]->packet.size(), 60u);
  EXPECT_THAT(PacketIns(*recent), SizeIs(0));
}

TEST_F(AsynchronousTest, AControllerIdIsAnAddress) {
  auto zero = Listening(OfVersion::k10);
  auto five = Listening(OfVersion::k10);
  five->Send(NxSetControllerId{5});
  Barrier(*five);
  manager_->PacketIn(Event(Reason::kAction, kNoMaxLen, 5));
  EXPECT_THAT(PacketIns(*zero), SizeIs(0));
  EXPECT_THAT(PacketIns(*five), SizeIs(1));
}

TEST_F(AsynchronousTest, EveryFormatCarriesThePort) {
  for (const PacketInFormat format : {PacketInFormat::kStandard, PacketInFormat::kNxt, PacketInFormat::kNxt2}) {
    auto peer = Listening(OfVersion::k10);
    peer->Send(NxSetPacketInFormat{format});
    Barrier(*peer);
    manager_->PacketIn(Event(Reason::kAction));
    const auto packets = PacketIns(*peer);
    ASSERT_THAT(packets, SizeIs(1));
    EXPECT_EQ(packets[0]->metadata.value.in_port, 2u) << static_cast<int>(format);
    EXPECT_EQ(packets[0]->packet.size(), 500u);
  }
}

TEST_F(AsynchronousTest, ASecondaryControllerGetsPortStatusOnly) {
  auto peer = Listening(OfVersion::k13);
  peer->Send(OfRoleRequest{.role = OfRole::kSecondary, .generation_id = 1, .have_generation = true});
  Barrier(*peer);
  manager_->PacketIn(Event(Reason::kAction));
  switch_.port_list.erase(switch_.port_list.begin());
  manager_->PortsChanged();
  EXPECT_THAT(PacketIns(*peer), SizeIs(0));
  EXPECT_THAT(peer->All<OfPortStatus>(), SizeIs(1));
}

TEST_F(AsynchronousTest, FlowsThatAskForItAreReportedWhenTheyGo) {
  auto peer = Listening(OfVersion::k13);
  FlowMod quiet = Flow(1), loud = Flow(2);
  loud.flags = kSendFlowRem;
  loud.new_cookie = 0x77;
  peer->Send(quiet);
  peer->Send(loud);
  peer->Send(FlowMod{.command = FlowCommand::kDelete});
  Barrier(*peer);
  const auto removed = peer->All<FlowRemoved>();
  ASSERT_THAT(removed, SizeIs(1));
  EXPECT_EQ(removed[0]->priority, 2);
  EXPECT_EQ(removed[0]->cookie, 0x77u);
  EXPECT_EQ(removed[0]->reason, FlowRemoved::Reason::kDelete);
}

TEST_F(AsynchronousTest, PortsThatComeGoAndChangeAreTold) {
  auto peer = Listening(OfVersion::k13);
  switch_.port_list.insert(switch_.port_list.begin() + 2, FakeSwitch::Port(9, "p9"));
  switch_.port_list[0].state = 1;
  switch_.port_list.erase(switch_.port_list.begin() + 1);
  manager_->PortsChanged();
  manager_->PortsChanged();  // nothing new
  Barrier(*peer);
  const auto told = peer->All<OfPortStatus>();
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(told[0]->reason, OfPortStatus::Reason::kModify);
  EXPECT_EQ(told[0]->port.port, 1);
  EXPECT_EQ(told[1]->reason, OfPortStatus::Reason::kDelete);
  EXPECT_EQ(told[1]->port.port, 2);
  EXPECT_EQ(told[2]->reason, OfPortStatus::Reason::kAdd);
  EXPECT_EQ(told[2]->port.name, "p9");
}

}  // namespace
}  // namespace sluice::testing
