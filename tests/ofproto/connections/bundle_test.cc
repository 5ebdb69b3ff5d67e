// Bundles: all or nothing.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using Type = OfBundleControl::Type;

constexpr uint16_t kFlags = 3;  // atomic, ordered

class BundleTest : public ConnectionsFixture {
 protected:
  BundleTest() {
    Configure();
    peer_ = Connect(OfVersion::k14);
  }

  static OfBundleControl Control(Type type, uint16_t flags = kFlags) {
    return {.bundle = 1, .type = static_cast<uint16_t>(type), .flags = flags};
  }
  void Open() { Ask<OfBundleControl>(*peer_, Control(Type::kOpenRequest)); }
  // The transaction id of the message and of the request that carries it.
  uint32_t Add(OfBody body) {
    const uint32_t xid = next_xid_++;
    std::string inner = EncodeMessage({.version = OfVersion::k14, .xid = xid, .body = std::move(body)});
    peer_->SendBytes(EncodeMessage({.version = OfVersion::k14,
                                    .xid = xid,
                                    .body = OfBundleAdd{.bundle = 1, .flags = kFlags, .message = std::move(inner)}}));
    return xid;
  }
  static GroupMod Group(uint32_t id) {
    GroupMod mod{.group = id};
    mod.buckets.push_back({.actions = {OfAction{OfOutput{.port = 1}}}});
    return mod;
  }
  static FlowMod FlowToGroup(uint16_t priority, uint32_t group) {
    FlowMod mod{.priority = priority, .table = 0};
    mod.actions.push_back({OfGroup{.group = group}});
    return mod;
  }

  std::unique_ptr<Peer> peer_;
  uint32_t next_xid_ = 1;
};

TEST_F(BundleTest, NothingHappensBeforeTheCommit) {
  Open();
  Add(Flow(1));
  Add(Flow(2));
  Ask<OfBundleControl>(*peer_, Control(Type::kCloseRequest));
  EXPECT_THAT(Priorities(), ElementsAre());
  const auto reply = Ask<OfBundleControl>(*peer_, Control(Type::kCommitRequest));
  EXPECT_EQ(reply.type, static_cast<uint16_t>(Type::kCommitReply));
  EXPECT_THAT(Priorities(), ElementsAre(1, 2));
}

TEST_F(BundleTest, OneThatFailsUndoesAll) {
  ASSERT_FALSE(switch_.pipeline().tables.Apply(Flow(9), {}));
  Open();
  Add(Group(1));
  Add(FlowToGroup(5, 1));
  Add(FlowMod{.command = FlowCommand::kDelete});
  const uint32_t culprit = Add(FlowToGroup(6, 2));
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest)), OfError::kBfcMsgFailed);
  EXPECT_EQ(ErrorOf(*peer_, culprit), OfError::kBacBadOutGroup);
  EXPECT_THAT(Priorities(), ElementsAre(9));
  EXPECT_EQ(switch_.pipeline().groups.Find(1), nullptr);
}

TEST_F(BundleTest, TablesFailingUndoesGroupsToo) {
  ASSERT_FALSE(switch_.pipeline().tables.Apply(Flow(9), {}));
  Open();
  Add(Group(1));
  FlowMod overlapping = Flow(9);
  overlapping.flags = kCheckOverlap;
  overlapping.match.value.in_port = 1;
  overlapping.match.mask.in_port = 0xffff;
  const uint32_t culprit = Add(overlapping);
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest)), OfError::kBfcMsgFailed);
  EXPECT_EQ(ErrorOf(*peer_, culprit), OfError::kFmfcOverlap);
  EXPECT_EQ(switch_.pipeline().groups.Find(1), nullptr);
}

TEST_F(BundleTest, AGroupGoesWithItsFlowsInOrder) {
  ASSERT_FALSE(switch_.pipeline().groups.Apply(Group(1), {}));
  ASSERT_FALSE(switch_.pipeline().tables.Apply(FlowToGroup(9, 1), {}));
  Open();
  Add(GroupMod{.command = GroupCommand::kDelete, .group = 1});
  Add(Group(1));
  Add(FlowToGroup(5, 1));
  Ask<OfBundleControl>(*peer_, Control(Type::kCommitRequest));
  EXPECT_THAT(Priorities(), ElementsAre(5));
}

TEST_F(BundleTest, PortModsAndPacketOutsFollow) {
  Open();
  Add(OfPortMod{.port = 1, .mac = switch_.port_list[0].mac, .config = 16, .mask = 16});
  OfPacketOut out{.packet = std::string(60, 'p')};
  out.metadata.value.in_port = kOfpController;
  out.metadata.mask.in_port = 0xffff;
  Add(out);
  EXPECT_THAT(switch_.modified_ports, SizeIs(0));
  Ask<OfBundleControl>(*peer_, Control(Type::kCommitRequest));
  EXPECT_THAT(switch_.modified_ports, SizeIs(1));
  EXPECT_THAT(switch_.packet_outs, SizeIs(1));
}

TEST_F(BundleTest, APortThatIsNotThereUndoesTheFlows) {
  Open();
  Add(Flow(1));
  Add(OfPortMod{.port = 77});
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest)), OfError::kBfcMsgFailed);
  EXPECT_THAT(Priorities(), ElementsAre());
}

TEST_F(BundleTest, WrongUseIsTold) {
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest)), OfError::kBfcBadId);
  EXPECT_EQ(AskError(*peer_, Control(Type::kDiscardRequest)), OfError::kBfcBadId);
  Open();
  EXPECT_EQ(AskError(*peer_, Control(Type::kOpenRequest)), OfError::kBfcBadId);
  Open();
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest, 0)), OfError::kBfcBadFlags);
  Open();
  Ask<OfBundleControl>(*peer_, Control(Type::kCloseRequest));
  EXPECT_EQ(ErrorOf(*peer_, Add(Flow(1))), OfError::kBfcBundleClosed);
  Open();
  EXPECT_EQ(ErrorOf(*peer_, Add(OfEchoRequest{})), OfError::kBfcMsgUnsup);
  const auto reply = Ask<OfBundleControl>(*peer_, Control(Type::kDiscardRequest));
  EXPECT_EQ(reply.type, static_cast<uint16_t>(Type::kDiscardReply));
}

TEST_F(BundleTest, ABundleThatIsForgottenEnds) {
  Open();
  Add(Flow(1));
  Barrier(*peer_);
  manager_->Tick(OfClock::now() + PendingBundle::kTimeout + std::chrono::seconds(1));
  RunUntil([&] { return !peer_->All<OfErrorMessage>().empty(); });
  EXPECT_EQ(AskError(*peer_, Control(Type::kCommitRequest)), OfError::kBfcBadId);
}

}  // namespace
}  // namespace sluice::testing
