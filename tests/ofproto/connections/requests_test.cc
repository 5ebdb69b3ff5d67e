// Requests and their answers: flows, groups, meters, ports, tables, configuration, Nicira's own.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class RequestsTest : public ConnectionsFixture {
 protected:
  RequestsTest() { Configure(); }
};

TEST_F(RequestsTest, FeaturesNameThePortsUpTo12) {
  auto old = Connect(OfVersion::k10);
  const auto features = Ask<OfFeaturesReply>(*old, OfFeaturesRequest{});
  EXPECT_EQ(features.n_tables, 254);
  EXPECT_THAT(features.ports, SizeIs(3));
  auto recent = Connect(OfVersion::k13);
  EXPECT_THAT(Ask<OfFeaturesReply>(*recent, OfFeaturesRequest{}).ports, SizeIs(0));
}

TEST_F(RequestsTest, AFlowIsAddedListedAndDeleted) {
  for (const OfVersion version : {OfVersion::k10, OfVersion::k13, OfVersion::k15}) {
    auto peer = Connect(version);
    peer->Send(Flow(77, 2));
    Barrier(*peer);
    EXPECT_THAT(Priorities(), ElementsAre(77));
    const auto stats = Ask<OfFlowStatsReply>(*peer, FlowStatsRequest{});
    ASSERT_THAT(stats.entries, SizeIs(1));
    EXPECT_EQ(stats.entries[0].priority, 77);
    EXPECT_TRUE(OutputsToPort(stats.entries[0].actions, 2));
    EXPECT_EQ(Ask<OfAggregateReply>(*peer, FlowStatsRequest{.aggregate = true}).aggregate.flows, 1u);
    peer->Send(FlowMod{.command = FlowCommand::kDelete});
    Barrier(*peer);
    EXPECT_THAT(Priorities(), ElementsAre());
  }
  EXPECT_GT(switch_.syncs, 0);
}

TEST_F(RequestsTest, AnEmptyTableIsAnsweredByOneMessage) {
  auto peer = Connect(OfVersion::k13);
  const auto stats = Ask<OfFlowStatsReply>(*peer, FlowStatsRequest{});
  EXPECT_THAT(stats.entries, SizeIs(0));
  EXPECT_FALSE(stats.more);
}

TEST_F(RequestsTest, AFlowNeedsItsGroupsAndMeters) {
  auto peer = Connect(OfVersion::k13);
  FlowMod mod{.table = 0};
  mod.actions.push_back({OfGroup{.group = 5}});
  EXPECT_EQ(AskError(*peer, mod), OfError::kBacBadOutGroup);
  FlowMod metered = Flow(1);
  metered.actions.insert(metered.actions.begin(), {OfMeter{.meter = 5}});
  EXPECT_EQ(AskError(*peer, metered), OfError::kMmfcInvalidMeter);
  EXPECT_THAT(Priorities(), ElementsAre());
  peer->Send(GroupMod{.group = 5});
  peer->Send(mod);
  Barrier(*peer);
  EXPECT_THAT(Priorities(), SizeIs(1));
}

TEST_F(RequestsTest, AFlowCannotBeAddedToAllTables) {
  constexpr size_t kTableOffset = 24;
  auto peer = Connect(OfVersion::k13);
  std::string bytes = EncodeMessage({.version = OfVersion::k13, .xid = 5, .body = Flow(1)});
  bytes[kTableOffset] = static_cast<char>(kTableAll);
  peer->SendBytes(bytes);
  EXPECT_EQ(ErrorOf(*peer, 5), OfError::kFmfcBadTableId);
}

TEST_F(RequestsTest, ABufferThatIsNotThereIsAnErrorButTheFlowIsAdded) {
  auto peer = Connect(OfVersion::k13);
  FlowMod mod = Flow(9);
  mod.buffer_id = 3;
  EXPECT_EQ(AskError(*peer, mod), OfError::kBrcBufferUnknown);
  EXPECT_THAT(Priorities(), ElementsAre(9));
  EXPECT_EQ(AskError(*peer, OfPacketOut{.buffer_id = 3}), OfError::kBrcBufferUnknown);
}

TEST_F(RequestsTest, GroupsComeAndGoWithTheirFlows) {
  auto peer = Connect(OfVersion::k13);
  GroupMod group{.group = 5};
  group.buckets.push_back({.actions = {OfAction{OfOutput{.port = 1}}}});
  peer->Send(group);
  FlowMod mod{.priority = 3, .table = 0};
  mod.actions.push_back({OfGroup{.group = 5}});
  peer->Send(mod);
  const auto descs = Ask<OfGroupDescReply>(*peer, OfGroupDescRequest{});
  ASSERT_THAT(descs.entries, SizeIs(1));
  EXPECT_EQ(descs.entries[0].group, 5u);
  const auto stats = Ask<OfGroupStatsReply>(*peer, OfGroupStatsRequest{});
  ASSERT_THAT(stats.entries, SizeIs(1));
  EXPECT_EQ(stats.entries[0].ref_count, 1u);
  EXPECT_EQ(AskError(*peer, group), OfError::kGmfcGroupExists);
  peer->Send(GroupMod{.command = GroupCommand::kDelete, .group = 5});
  Barrier(*peer);
  EXPECT_THAT(Priorities(), ElementsAre());
  EXPECT_GE(switch_.pipeline_changes, 2);
}

TEST_F(RequestsTest, AGroupCannotLeadToItself) {
  auto peer = Connect(OfVersion::k13);
  GroupMod group{.group = 5};
  group.buckets.push_back({.actions = {OfAction{OfGroup{.group = 5}}}});
  EXPECT_EQ(AskError(*peer, group), OfError::kGmfcLoop);
}

TEST_F(RequestsTest, MetersComeAndGo) {
  auto peer = Connect(OfVersion::k13);
  MeterMod mod{.config = {.meter = 4, .flags = kMeterKbps, .bands = {{.rate = 100}}}};
  peer->Send(mod);
  const auto configs = Ask<OfMeterConfigReply>(*peer, OfMeterConfigRequest{});
  ASSERT_THAT(configs.entries, SizeIs(1));
  EXPECT_EQ(configs.entries[0], mod.config);
  EXPECT_EQ(AskError(*peer, OfMeterStatsRequest{.meter = 9}), OfError::kMmfcUnknownMeter);
  EXPECT_GT(Ask<OfMeterFeaturesReply>(*peer, OfMeterFeaturesRequest{}).features.max_meters, 0u);
}

TEST_F(RequestsTest, PortsAreDescribedCountedAndModified) {
  auto peer = Connect(OfVersion::k13);
  const auto ports = Ask<OfPortDescReply>(*peer, OfPortDescRequest{});
  ASSERT_THAT(ports.entries, SizeIs(3));
  EXPECT_EQ(ports.entries[0].name, "p1");
  EXPECT_THAT(Ask<OfPortStatsReply>(*peer, OfPortStatsRequest{}).entries, SizeIs(3));
  EXPECT_THAT(Ask<OfPortStatsReply>(*peer, OfPortStatsRequest{.port = 2}).entries, SizeIs(1));
  EXPECT_EQ(AskError(*peer, OfPortStatsRequest{.port = 9}), OfError::kBrcBadPort);
  peer->Send(OfPortMod{.port = 2, .config = 16, .mask = 16});
  Barrier(*peer);
  ASSERT_THAT(switch_.modified_ports, SizeIs(1));
  EXPECT_EQ(switch_.modified_ports[0].port, 2);
}

TEST_F(RequestsTest, ThereAreNoQueues) {
  auto peer = Connect(OfVersion::k13);
  EXPECT_THAT(Ask<OfQueueStatsReply>(*peer, OfQueueStatsRequest{}).entries, SizeIs(0));
  EXPECT_EQ(AskError(*peer, OfQueueStatsRequest{.port = 1, .queue = 3}), OfError::kQofcBadQueue);
  EXPECT_EQ(AskError(*peer, OfQueueStatsRequest{.port = 9}), OfError::kQofcBadPort);
  EXPECT_THAT(Ask<OfQueueGetConfigReply>(*peer, OfQueueGetConfigRequest{.port = 1}).queues, SizeIs(0));
}

TEST_F(RequestsTest, TablesAreDescribed) {
  auto peer = Connect(OfVersion::k13);
  size_t tables = 0;
  const uint32_t xid = peer->Send(OfTableStatsRequest{});
  Await(*peer, xid);
  Barrier(*peer);
  for (const auto* reply : peer->All<OfTableStatsReply>()) tables += reply->entries.size();
  EXPECT_EQ(tables, 254u);

  peer->Send(OfTableFeaturesRequest{});
  Barrier(*peer);
  std::vector<OfTableFeatures> features;
  for (const auto* reply : peer->All<OfTableFeaturesReply>()) {
    features.insert(features.end(), reply->entries.begin(), reply->entries.end());
  }
  ASSERT_THAT(features, SizeIs(254));
  EXPECT_EQ(features[0].name, "table0");
  EXPECT_THAT(features[0].sides[0].next_tables, SizeIs(253));
  EXPECT_EQ(features[0].max_entries, switch_.pipeline().tables.table_stats(0).max_entries);
}

TEST_F(RequestsTest, ConfigurationIsKept) {
  auto peer = Connect(OfVersion::k13);
  peer->Send(OfSwitchConfig{.flags = 1, .miss_send_len = 99});
  const auto reply = Ask<OfConfigReply>(*peer, OfGetConfigRequest{});
  EXPECT_EQ(reply.config.flags, 1);
  EXPECT_EQ(reply.config.miss_send_len, 99);
  EXPECT_EQ(switch_.pipeline().fragments.load(), 1);
  EXPECT_EQ(switch_.pipeline_changes, 1);
  EXPECT_EQ(AskError(*peer, OfSwitchConfig{.flags = 2}), OfError::kScfcBadFlags);
}

TEST_F(RequestsTest, DescriptionIsTheSwitchs) {
  auto peer = Connect(OfVersion::k10);
  EXPECT_EQ(Ask<OfDescReply>(*peer, OfDescRequest{}).desc.manufacturer, "M");
}

TEST_F(RequestsTest, PacketOutsAreCarriedOutInOrder) {
  auto peer = Connect(OfVersion::k10);
  for (const char* packet : {"first packet", "second packet"}) {
    OfPacketOut out{.packet = packet};
    out.metadata.value.in_port = 1;
    out.metadata.mask.in_port = 0xffff;
    out.actions.push_back({OfOutput{.port = 2}});
    peer->Send(out);
  }
  Barrier(*peer);
  ASSERT_THAT(switch_.packet_outs, SizeIs(2));
  EXPECT_EQ(switch_.packet_outs[0].packet, "first packet");
  EXPECT_EQ(switch_.packet_outs[1].packet, "second packet");
}

TEST_F(RequestsTest, TunnelOptionsAreKeptAndAnswered) {
  auto peer = Connect(OfVersion::k10);
  peer->Send(
      NxTlvTableMod{.command = 0, .maps = {{.option_class = 3, .option_type = 4, .option_length = 8, .index = 5}}});
  const auto reply = Ask<NxTlvTableReply>(*peer, NxTlvTableRequest{});
  EXPECT_EQ(reply.max_fields, 64);
  ASSERT_THAT(reply.maps, SizeIs(1));
  EXPECT_EQ(reply.maps[0].index, 5);
}

TEST_F(RequestsTest, WhatIsNotBuiltIsRefused) {
  auto peer = Connect(OfVersion::k13);
  EXPECT_EQ(AskError(*peer, NxCtFlush{.zone = 3}), OfError::kBrcBadExpType);
}

TEST_F(RequestsTest, NxmStatisticsAreAnsweredInNxm) {
  auto peer = Connect(OfVersion::k10);
  peer->Send(Flow(3), true);
  const OfMessage& reply = Await(*peer, peer->Send(FlowStatsRequest{}, true));
  EXPECT_TRUE(reply.nxm);
  EXPECT_THAT(std::get<OfFlowStatsReply>(reply.body).entries, SizeIs(1));
}

}  // namespace
}  // namespace sluice::testing
