// Versions, malformed messages, and peers that are silent or do not read.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

std::string HelloBytes(uint8_t version, OfVersions bitmap) {
  WireWriter out;
  out.U8(version);
  out.U8(0);
  out.U16(bitmap != 0 ? 16 : 8);
  out.U32(1);
  if (bitmap != 0) {
    out.U16(1);  // OFPHET_VERSIONBITMAP
    out.U16(8);
    out.U32(bitmap);
  }
  return out.Release();
}

class ChannelTest : public ConnectionsFixture {
 protected:
  // A peer that has said nothing yet.
  std::unique_ptr<Peer> Silent(OfVersion version) {
    return std::make_unique<Peer>(ConnectTo("unix:" + Path("br0.mgmt")), version);
  }
};

TEST_F(ChannelTest, EveryVersionIsServed) {
  Configure();
  for (int version = 1; version <= 6; ++version) {
    auto peer = Connect(static_cast<OfVersion>(version));
    EXPECT_EQ(Ask<OfFeaturesReply>(*peer, OfFeaturesRequest{}).datapath_id, 0x23u) << version;
    EXPECT_EQ(Ask<OfEchoReply>(*peer, OfEchoRequest{"ping"}).data, "ping") << version;
  }
}

TEST_F(ChannelTest, TheHighestCommonVersionOfTheBitmapsIsTaken) {
  config_.versions = VersionBit(OfVersion::k10) | VersionBit(OfVersion::k13);
  Configure();
  auto peer = Silent(OfVersion::k13);
  peer->SendBytes(HelloBytes(6, VersionBit(OfVersion::k13) | VersionBit(OfVersion::k15)));
  EXPECT_EQ(Ask<OfFeaturesReply>(*peer, OfFeaturesRequest{}).datapath_id, 0x23u);
}

TEST_F(ChannelTest, AHelloOfANewerVersionThanWeKnowMeansAllBelow) {
  Configure();
  auto peer = Silent(OfVersion::k15);
  peer->SendBytes(HelloBytes(9, 0));
  EXPECT_EQ(Ask<OfFeaturesReply>(*peer, OfFeaturesRequest{}).datapath_id, 0x23u);
}

TEST_F(ChannelTest, WithoutACommonVersionThePeerIsToldAndLeft) {
  config_.versions = VersionBit(OfVersion::k13);
  Configure();
  auto peer = Silent(OfVersion::k10);
  peer->SendBytes(HelloBytes(1, 0));
  RunUntil([&] { return peer->closed(); });
  const auto errors = peer->All<OfErrorMessage>();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(FindError(errors[0]->code, OfVersion::k10), OfError::kHfcIncompatible);
  EXPECT_THAT(errors[0]->data, HasSubstr("0x04"));
}

TEST_F(ChannelTest, TheFirstMessageMustBeAHello) {
  Configure();
  auto peer = Silent(OfVersion::k13);
  peer->Send(OfFeaturesRequest{});
  RunUntil([&] { return peer->closed(); });
  EXPECT_EQ(manager_->connection_count(), 0u);
}

TEST_F(ChannelTest, ALengthBelowTheHeadersEndsTheConnectionOnly) {
  Configure();
  auto good = Connect(OfVersion::k13);
  auto bad = Connect(OfVersion::k13);
  bad->SendBytes(std::string("\x04\x05\x00\x07\x00\x00\x00\x01", 8));
  RunUntil([&] { return bad->closed(); });
  EXPECT_EQ(Ask<OfEchoReply>(*good, OfEchoRequest{"still"}).data, "still");
}

TEST_F(ChannelTest, AnotherVersionThanAgreedOnIsAnError) {
  Configure();
  auto peer = Connect(OfVersion::k13);
  peer->SendBytes(EncodeMessage({.version = OfVersion::k10, .xid = 7, .body = OfBarrierRequest{}}));
  EXPECT_EQ(ErrorOf(*peer, 7), OfError::kBrcBadVersion);
  Barrier(*peer);
}

TEST_F(ChannelTest, ErrorsCarryTheOffendingBytes) {
  Configure();
  auto peer = Connect(OfVersion::k13);
  std::string unknown("\x04\xc8\x00\x64\x00\x00\x00\x09", 8);
  unknown.resize(100, 'x');
  peer->SendBytes(unknown);
  const OfMessage& reply = Await(*peer, 9);
  const auto* error = std::get_if<OfErrorMessage>(&reply.body);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(FindError(error->code, OfVersion::k13), OfError::kBrcBadType);
  EXPECT_GE(error->data.size(), 64u);
  EXPECT_EQ(error->data, unknown.substr(0, error->data.size()));
}

TEST_F(ChannelTest, MessagesMayComeInPiecesAndTogether) {
  Configure();
  auto peer = Connect(OfVersion::k13);
  std::string bytes;
  for (uint32_t xid = 1; xid <= 3; ++xid) {
    bytes += EncodeMessage({.version = OfVersion::k13, .xid = xid, .body = OfEchoRequest{"data"}});
  }
  for (const char byte : bytes) {
    peer->SendBytes(std::string(1, byte));
    loop_.Post([this] { loop_.Stop(); });
    loop_.Run();
  }
  peer->SendBytes(bytes);
  RunUntil([&] { return peer->All<OfEchoReply>().size() == 6; });
}

TEST_F(ChannelTest, ASilentPeerIsProbedAndThenLeft) {
  config_.controllers = {{.target = "ptcp:0:127.0.0.1", .inactivity_probe = std::chrono::milliseconds(50)}};
  config_.controllers[0].target = "punix:" + Path("probed");
  Configure();
  auto peer = Connect(OfVersion::k13, "probed");
  RunUntil([&] { return !peer->All<OfEchoRequest>().empty(); });
  RunUntil([&] { return peer->closed(); });
}

TEST_F(ChannelTest, APeerThatAnswersProbesStays) {
  config_.controllers = {{.target = "punix:" + Path("probed"), .inactivity_probe = std::chrono::milliseconds(200)}};
  Configure();
  auto peer = Connect(OfVersion::k13, "probed");
  for (size_t probes = 1; probes <= 3; ++probes) {
    RunUntil([&] { return peer->All<OfEchoRequest>().size() == probes || peer->closed(); });
    peer->Send(OfEchoReply{});
    Barrier(*peer);
  }
  EXPECT_FALSE(peer->closed());
}

TEST_F(ChannelTest, ALongAnswerIsMadeAsItIsRead) {
  Configure();
  for (uint16_t priority = 1; priority <= 20000; ++priority) {
    ASSERT_FALSE(switch_.pipeline().tables.Apply(Flow(priority), {}));
  }
  auto reader = Connect(OfVersion::k13);
  auto sleeper = Connect(OfVersion::k13);
  sleeper->stream().SetReading(false);
  for (int i = 0; i < 50; ++i) sleeper->Send(FlowStatsRequest{});
  // Others are served meanwhile, and the sleeper's answers do not fill the memory.
  for (int i = 0; i < 20; ++i) Barrier(*reader);
  EXPECT_LT(manager_->max_unsent_bytes(), 2u << 20);
  size_t flows = 0;
  const uint32_t xid = reader->Send(FlowStatsRequest{});
  auto last = [&] {
    if (reader->received().empty()) return false;
    const auto* reply = std::get_if<OfFlowStatsReply>(&reader->received().back().body);
    return reply != nullptr && !reply->more;
  };
  RunUntil(last);
  for (const OfMessage& message : reader->received()) {
    if (message.xid != xid) continue;
    if (const auto* reply = std::get_if<OfFlowStatsReply>(&message.body)) flows += reply->entries.size();
  }
  EXPECT_EQ(flows, 20000u);
  // And it gets everything when it reads.
  sleeper->stream().SetReading(true);
  auto ends = [&] {
    size_t count = 0;
    for (const auto* reply : sleeper->All<OfFlowStatsReply>()) count += reply->more ? 0 : 1;
    return count;
  };
  RunUntil([&] { return sleeper->undecoded() > 0 || ends() >= 2; });
  EXPECT_EQ(sleeper->undecoded(), 0u);
}

TEST_F(ChannelTest, SocketsGoWithTheBridge) {
  Configure();
  EXPECT_TRUE(std::filesystem::exists(Path("br0.mgmt")));
  EXPECT_TRUE(std::filesystem::exists(Path("br0.snoop")));
  manager_.reset();
  EXPECT_FALSE(std::filesystem::exists(Path("br0.mgmt")));
  EXPECT_FALSE(std::filesystem::exists(Path("br0.snoop")));
}

}  // namespace
}  // namespace sluice::testing
