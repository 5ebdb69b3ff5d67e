// Roles, generation ids and asynchronous configuration.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class RolesTest : public ConnectionsFixture {
 protected:
  RolesTest() { Configure(); }

  static OfRoleRequest Request(OfRole role, uint64_t generation) {
    return {.role = role, .generation_id = generation, .have_generation = true};
  }
  std::unique_ptr<Peer> Listening(OfVersion version) {
    auto peer = Connect(version);
    peer->Send(OfSwitchConfig{.miss_send_len = 128});
    Barrier(*peer);
    return peer;
  }
};

TEST_F(RolesTest, ThereIsOnePrimaryController) {
  auto first = Listening(OfVersion::k14);
  auto second = Listening(OfVersion::k13);
  EXPECT_EQ(Ask<OfRoleReply>(*first, Request(OfRole::kPrimary, 1)).role, OfRole::kPrimary);
  EXPECT_EQ(Ask<OfRoleReply>(*second, Request(OfRole::kPrimary, 2)).role, OfRole::kPrimary);
  RunUntil([&] { return !first->All<OfRoleStatus>().empty(); });
  EXPECT_EQ(first->All<OfRoleStatus>()[0]->role, OfRole::kSecondary);
  EXPECT_EQ(first->All<OfRoleStatus>()[0]->generation_id, 2u);
  const auto now = Ask<OfRoleReply>(*first, OfRoleRequest{});
  EXPECT_EQ(now.role, OfRole::kSecondary);
  EXPECT_EQ(now.generation_id, 2u);
}

TEST_F(RolesTest, AnOldGenerationIsStale) {
  auto peer = Connect(OfVersion::k13);
  Ask<OfRoleReply>(*peer, Request(OfRole::kPrimary, 5));
  EXPECT_EQ(AskError(*peer, Request(OfRole::kSecondary, 4)), OfError::kRrfcStale);
  EXPECT_EQ(Ask<OfRoleReply>(*peer, Request(OfRole::kSecondary, 5)).role, OfRole::kSecondary);
}

TEST_F(RolesTest, TheGenerationMayGoRound) {
  auto peer = Connect(OfVersion::k13);
  Ask<OfRoleReply>(*peer, Request(OfRole::kPrimary, UINT64_MAX));
  EXPECT_EQ(Ask<OfRoleReply>(*peer, Request(OfRole::kPrimary, 1)).generation_id, 1u);
}

TEST_F(RolesTest, ASecondaryControllerOnlyReads) {
  auto peer = Connect(OfVersion::k13);
  Ask<OfRoleReply>(*peer, Request(OfRole::kSecondary, 1));
  EXPECT_EQ(AskError(*peer, Flow(1)), OfError::kBrcIsSlave);
  EXPECT_EQ(AskError(*peer, GroupMod{.group = 1}), OfError::kBrcIsSlave);
  EXPECT_EQ(AskError(*peer, OfPacketOut{}), OfError::kBrcIsSlave);
  EXPECT_EQ(AskError(*peer, OfPortMod{.port = 1}), OfError::kBrcIsSlave);
  EXPECT_THAT(Ask<OfFlowStatsReply>(*peer, FlowStatsRequest{}).entries, SizeIs(0));
  EXPECT_THAT(Priorities(), ElementsAre());
}

TEST_F(RolesTest, AsynchronousMasksAreKept) {
  auto peer = Connect(OfVersion::k13);
  OfSetAsync set;
  set.config.masks[0][OfAsyncConfig::kPacketIn] = 1;
  set.config.masks[1][OfAsyncConfig::kPortStatus] = 2;
  for (auto& side : set.given) side.fill(true);
  peer->Send(set);
  const auto reply = Ask<OfGetAsyncReply>(*peer, OfGetAsyncRequest{});
  EXPECT_EQ(reply.config.masks[0][OfAsyncConfig::kPacketIn], 1u);
  EXPECT_EQ(reply.config.masks[1][OfAsyncConfig::kPortStatus], 2u);
  EXPECT_EQ(reply.config.masks[0][OfAsyncConfig::kFlowRemoved], 0u);
}

}  // namespace
}  // namespace sluice::testing
