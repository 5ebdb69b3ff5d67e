// Connections to controllers: reconnecting, status, fail modes, snooping.
#include "ofproto/connections/fail_open.h"
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ControllersTest : public ConnectionsFixture {
 protected:
  // A controller that listens; it takes one connection after the other.
  void Listen(const std::string& name) {
    auto listener = ListenStream(loop_, "punix:" + Path(name), {}, [this](std::unique_ptr<Stream> stream) {
      controllers_.push_back(std::make_unique<Peer>(std::move(stream), OfVersion::k13));
      controllers_.back()->Send(OfHello{.versions = VersionBit(OfVersion::k13)});
    });
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  static ControllerConfig Controller(const std::string& target) {
    return {.target = target, .inactivity_probe = milliseconds(0)};
  }
  bool Connected() { return manager_->status().at(0).is_connected; }

  std::unique_ptr<StreamListener> listener_;
  std::vector<std::unique_ptr<Peer>> controllers_;
};

TEST_F(ControllersTest, TheStatusTellsOfTheConnection) {
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return manager_->status().at(0).status.count("last_error") != 0; });
  EXPECT_FALSE(Connected());
  EXPECT_EQ(manager_->status().at(0).status.at("state"), "BACKOFF");
  EXPECT_EQ(manager_->status().at(0).role, "");
  Listen("controller");
  RunUntil([&] { return Connected(); });
  EXPECT_EQ(manager_->status().at(0).status.at("state"), "ACTIVE");
  EXPECT_EQ(manager_->status().at(0).role, "other");
  Ask<OfRoleReply>(*controllers_.back(), OfRoleRequest{.role = OfRole::kPrimary});
  EXPECT_EQ(manager_->status().at(0).role, "master");
}

TEST_F(ControllersTest, AControllerThatComesBackIsFound) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return Connected(); });
  controllers_.back()->stream().Close();
  RunUntil([&] { return !Connected(); });
  RunUntil([&] { return Connected(); });
  EXPECT_THAT(controllers_, SizeIs(2));
}

TEST_F(ControllersTest, ReconnectDropsAndMakesTheConnectionAgain) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return Connected(); });
  manager_->Reconnect();
  EXPECT_FALSE(Connected());
  RunUntil([&] { return Connected(); });
  EXPECT_TRUE(controllers_.front()->closed());
}

TEST_F(ControllersTest, ControllersGetAsynchronousMessagesWithoutAsking) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return Connected(); });
  switch_.port_list.pop_back();
  manager_->PortsChanged();
  RunUntil([&] { return !controllers_.back()->All<OfPortStatus>().empty(); });
}

TEST_F(ControllersTest, UnlessTheirRowForbidsIt) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  config_.controllers[0].enable_async_messages = false;
  Configure();
  RunUntil([&] { return Connected(); });
  switch_.port_list.pop_back();
  manager_->PortsChanged();
  Barrier(*controllers_.back());
  EXPECT_THAT(controllers_.back()->All<OfPortStatus>(), SizeIs(0));
}

TEST_F(ControllersTest, APassiveTargetTakesSeveral) {
  config_.controllers = {Controller("punix:" + Path("passive"))};
  Configure();
  auto first = Connect(OfVersion::k13, "passive");
  auto second = Connect(OfVersion::k10, "passive");
  Barrier(*first);
  Barrier(*second);
  EXPECT_TRUE(Connected());
  EXPECT_EQ(manager_->status().at(0).status.at("n_connections"), "2");
}

TEST_F(ControllersTest, ControllersThatStayKeepTheirConnections) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return Connected(); });
  config_.controllers.push_back(Controller("punix:" + Path("other")));
  Configure();
  EXPECT_TRUE(Connected());
  EXPECT_THAT(controllers_, SizeIs(1));
  config_.controllers.erase(config_.controllers.begin());
  Configure();
  RunUntil([&] { return controllers_.front()->closed(); });
}

TEST_F(ControllersTest, OtherVersionsAreAgreedOnAnew) {
  Configure();
  auto peer = Connect(OfVersion::k10);
  config_.versions = VersionBit(OfVersion::k13);
  Configure();
  RunUntil([&] { return peer->closed(); });
  auto next = Connect(OfVersion::k13);
  Barrier(*next);
}

TEST_F(ControllersTest, FlowsAreResetWhenTheFirstControllerComesAndTheLastGoes) {
  Configure();
  EXPECT_EQ(switch_.resets, 1);
  config_.controllers = {Controller("punix:" + Path("passive"))};
  Configure();
  EXPECT_EQ(switch_.resets, 1);  // one that listens is a guest
  config_.controllers.push_back(Controller("unix:" + Path("controller")));
  Configure();
  EXPECT_EQ(switch_.resets, 2);
  config_.controllers.pop_back();
  Configure();
  EXPECT_EQ(switch_.resets, 3);
}

class FailOpenTest : public ControllersTest {
 protected:
  FailOpenTest() { config_.secure = false; }

  bool IsOpen() const {
    for (const RulePtr& rule : switch_.Rules()) {
      if (rule->priority == FailOpen::kPriority && (rule->flags & kHiddenFlow) != 0) return true;
    }
    return false;
  }
};

TEST_F(FailOpenTest, StandsInAfterThreeProbesAndHandsBack) {
  config_.controllers = {{.target = "unix:" + Path("controller"), .inactivity_probe = seconds(5)}};
  const auto start = OfClock::now();
  Configure();
  ASSERT_FALSE(switch_.pipeline().tables.Apply(Flow(3), {}));
  manager_->Tick(start + seconds(10));
  EXPECT_FALSE(IsOpen());
  EXPECT_THAT(Priorities(), ElementsAre(3));
  manager_->Tick(OfClock::now() + seconds(15));
  EXPECT_TRUE(IsOpen());
  EXPECT_THAT(Priorities(), ElementsAre(FailOpen::kPriority));
  Listen("controller");
  RunUntil([&] { return Connected(); });
  Barrier(*controllers_.back());
  EXPECT_FALSE(IsOpen());
  manager_->Tick(OfClock::now() + seconds(100));
  EXPECT_FALSE(IsOpen());
}

TEST_F(FailOpenTest, SecureKeepsItsFlows) {
  config_.secure = true;
  config_.controllers = {{.target = "unix:" + Path("controller"), .inactivity_probe = seconds(5)}};
  Configure();
  ASSERT_FALSE(switch_.pipeline().tables.Apply(Flow(3), {}));
  manager_->Tick(OfClock::now() + seconds(100));
  EXPECT_THAT(Priorities(), ElementsAre(3));
}

TEST_F(FailOpenTest, WithoutControllersThereIsNothingToStandInFor) {
  Configure();
  manager_->Tick(OfClock::now() + seconds(100));
  EXPECT_FALSE(IsOpen());
}

TEST_F(FailOpenTest, EndsWhenTheBridgeBecomesSecure) {
  config_.controllers = {{.target = "unix:" + Path("controller"), .inactivity_probe = seconds(5)}};
  Configure();
  manager_->Tick(OfClock::now() + seconds(15));
  ASSERT_TRUE(IsOpen());
  config_.secure = true;
  Configure();
  EXPECT_FALSE(IsOpen());
}

TEST_F(ControllersTest, SnoopersSeeBothDirections) {
  Listen("controller");
  config_.controllers = {Controller("unix:" + Path("controller"))};
  Configure();
  RunUntil([&] { return Connected(); });
  // It may be able to speak many versions: the controller's is agreed on.
  auto snooper = std::make_unique<Peer>(ConnectTo("unix:" + Path("br0.snoop")), OfVersion::k15);
  snooper->Send(OfHello{.versions = kAllOfVersions});
  RunUntil([&] { return !snooper->received().empty(); });
  ASSERT_NE(snooper->All<OfHello>().front(), nullptr);
  Peer& controller = *controllers_.back();
  // The snooper has been taken in when its hello has been read, of which nothing tells: ask until it hears.
  RunUntil([&] {
    controller.Send(OfFeaturesRequest{});
    return !snooper->All<OfFeaturesRequest>().empty() && !snooper->All<OfFeaturesReply>().empty();
  });
}

}  // namespace
}  // namespace sluice::testing
