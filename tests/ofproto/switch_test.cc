#include "ofproto/switch.h"

#include "tests/ofproto/switch_fixture.h"

namespace sluice {
namespace {

using testing::BridgeOf;
using ::testing::Contains;
using testing::DummyPort;
using ::testing::ElementsAre;
using testing::EthernetFrame;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMacA;
using testing::kMacB;
using testing::kMacC;
using ::testing::Pair;
using testing::PatchPort;

class SwitchTest : public testing::SwitchFixture {};

TEST_F(SwitchTest, LearnsAndForwards) {
  ConfigureBridge({"p1", "p2", "p3"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  Received("p3", 1);
  Send("p2", EthernetFrame(kMacB, kMacA));
  EXPECT_EQ(Received("p1", 1)[0].bytes, EthernetFrame(kMacB, kMacA));
  EXPECT_EQ(SentCount("p3"), 0u);
  EXPECT_EQ(SentCount("p2"), 0u);
}

TEST_F(SwitchTest, InstalledFloodsFollowWhatIsLearned) {
  ConfigureBridge({"p1", "p2", "p3"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  Received("p3", 1);
  Send("p2", EthernetFrame(kMacB, kMacC));
  Received("p3", 1);
  Received("p1", 1);
  // The first flow floods as yet; a second after B was learned it must not.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  EXPECT_EQ(SentCount("p3"), 0u);
}

TEST_F(SwitchTest, PortsGetOfportsFromOneAndKeepThem) {
  ConfigureBridge({"p1", "p2", "p3"});
  EXPECT_EQ(switch_->interface_status("p1")->ofport, 1);
  EXPECT_EQ(switch_->interface_status("p2")->ofport, 2);
  EXPECT_EQ(switch_->interface_status("p3")->ofport, 3);
  ConfigureBridge({"p1", "p3"});
  ConfigureBridge({"p1", "p3", "p4"});
  EXPECT_EQ(switch_->interface_status("p3")->ofport, 3);
  EXPECT_EQ(switch_->interface_status("p4")->ofport, 4);
  EXPECT_EQ(switch_->interface_status("p2"), nullptr);
}

TEST_F(SwitchTest, RequestedOfportsAreHonoured) {
  ConfigureBridge({"p1", "p2"});
  config_.bridges[0].ports.push_back(DummyPort("p3"));
  config_.bridges[0].ports[2].interfaces[0].ofport_request = 1;
  switch_->Configure(config_);
  EXPECT_EQ(switch_->interface_status("p3")->ofport, 1);
  EXPECT_EQ(switch_->interface_status("p1")->ofport, 3) << "its own number was requested by another";
  EXPECT_EQ(switch_->interface_status("p2")->ofport, 2);
}

TEST_F(SwitchTest, WhatCannotBeMadeFailsForItselfOnly) {
  config_.bridges = {BridgeOf("br0", {DummyPort("p1"), DummyPort("p2"), DummyPort("bad", {{"n_rxq", "x"}})})};
  config_.bridges[0].ports.push_back({.name = "odd", .interfaces = {{.name = "odd", .type = "strange"}}});
  config_.bridges[0].ports.push_back({.name = "absent0", .interfaces = {{.name = "absent0"}}});
  switch_->Configure(config_);
  EXPECT_EQ(switch_->interface_status("bad")->ofport, -1);
  EXPECT_THAT(switch_->interface_status("bad")->error, HasSubstr("n_rxq"));
  EXPECT_THAT(switch_->interface_status("odd")->error, HasSubstr("unknown type \"strange\""));
  EXPECT_EQ(switch_->interface_status("absent0")->error, "could not open network device absent0 (No such device)");
  EXPECT_EQ(switch_->interface_status("p1")->error, "");
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
}

TEST_F(SwitchTest, RetryMakesWhatHasBecomePossible) {
  auto taken = DummyNetdev::Open("p2", {});
  ASSERT_TRUE(taken.ok());
  ConfigureBridge({"p1", "p2"});
  EXPECT_EQ(switch_->interface_status("p2")->ofport, -1);
  int told = 0;
  switch_->OnStatusChange([&] { ++told; });
  EXPECT_FALSE(switch_->Retry());
  EXPECT_EQ(told, 0);
  taken->reset();
  EXPECT_TRUE(switch_->Retry());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(switch_->interface_status("p2")->ofport, 2);
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
}

TEST_F(SwitchTest, UnchangedPortsLoseNothingWhileOthersChange) {
  ConfigureBridge({"p1", "p2"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Send("p2", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  Received("p2", 1);
  std::atomic<bool> stop{false};
  size_t sent = 0;
  std::thread sender([&] {
    while (!stop) {
      Send("p1", EthernetFrame(kMacA, kMacB));
      ++sent;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int i = 0; i < 20; ++i) {
    ConfigureBridge({"p1", "p2", "other1", "other2"});
    ConfigureBridge({"p1", "p2"});
  }
  stop = true;
  sender.join();
  Received("p2", sent);
}

TEST_F(SwitchTest, FlowsOfARemovedPortAreGoneWhenConfigureReturns) {
  ConfigureBridge({"p1", "p2", "p3"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  Send("p2", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  uint32_t gone = datapath().FindPort("p2")->number();
  ConfigureBridge({"p1", "p3"});
  datapath().flows().ForEach([&](DpFlow& flow) {
    EXPECT_NE(flow.key().in_port, gone);
    EXPECT_THAT(FormatActions(flow.actions(), {}), ::testing::Not(HasSubstr(std::to_string(gone))));
  });
  Dummy("p3").TakeSent();
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
}

TEST_F(SwitchTest, FloodsReachANewPortAtOnce) {
  ConfigureBridge({"p1", "p2"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  ConfigureBridge({"p1", "p2", "p3"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  Received("p3", 1);
}

TEST_F(SwitchTest, BridgesAreApartUnlessPatched) {
  config_.bridges = {BridgeOf("br0", {DummyPort("p1")}), BridgeOf("br1", {DummyPort("p2"), DummyPort("p3")})};
  switch_->Configure(config_);
  Send("p2", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_EQ(SentCount("p1"), 0u);

  config_.bridges[0].ports.push_back(PatchPort("to1", "to0"));
  config_.bridges[1].ports.push_back(PatchPort("to0", "to1"));
  switch_->Configure(config_);
  EXPECT_TRUE(switch_->interface_status("to1")->is_patch);
  EXPECT_EQ(switch_->interface_status("to1")->ofport, 2);
  EXPECT_EQ(switch_->interface_status("to1")->error, "");
  for (int i = 0; i < 3; ++i) Send("p2", EthernetFrame(kMacA, kMacB));
  Received("p3", 3);
  EXPECT_EQ(Received("p1", 3)[0].bytes, EthernetFrame(kMacA, kMacB));
  EXPECT_TRUE(WaitFor([&] {
    auto out = switch_->interface_statistics("to0").values;
    auto in = switch_->interface_statistics("to1").values;
    return out["tx_packets"] == 3 && out["tx_bytes"] == 180 && in["rx_packets"] == 3 && in["rx_bytes"] == 180;
  }));
}

TEST_F(SwitchTest, PatchPortsSayWhatIsWrongWithTheirPeer) {
  config_.bridges = {BridgeOf("br0", {PatchPort("lone", ""), PatchPort("self", "self")})};
  switch_->Configure(config_);
  EXPECT_EQ(switch_->interface_status("lone")->error, "lone: patch type requires valid 'peer' argument");
  EXPECT_EQ(switch_->interface_status("self")->error, "self: patch peer must not be self");
  EXPECT_EQ(switch_->interface_status("self")->ofport, -1);
}

TEST_F(SwitchTest, APortMovesToAnotherBridge) {
  config_.bridges = {BridgeOf("br0", {DummyPort("p1"), DummyPort("p2")}), BridgeOf("br1", {DummyPort("p3")})};
  switch_->Configure(config_);
  std::swap(config_.bridges[0].ports[1], config_.bridges[1].ports[0]);
  switch_->Configure(config_);
  EXPECT_EQ(switch_->interface_status("p2")->ofport, 2) << "a number just given back waits for the next round";
  EXPECT_EQ(switch_->interface_status("p3")->ofport, 3);
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_EQ(SentCount("p2"), 0u);
}

TEST_F(SwitchTest, TheLastBridgeTakesTheDatapathWithIt) {
  ConfigureBridge({"p1"});
  EXPECT_TRUE(datapaths_.Find("ovs-netdev").ok());
  config_.bridges.clear();
  switch_->Configure(config_);
  EXPECT_FALSE(datapaths_.Find("ovs-netdev").ok());
  EXPECT_EQ(FindDummy("p1"), nullptr);
  ConfigureBridge({"p1", "p2"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
}

TEST_F(SwitchTest, NobodyElseRemovesTheDatapath) {
  ConfigureBridge({"p1"});
  absl::Status removed = datapaths_.Remove("netdev@ovs-netdev");
  EXPECT_THAT(std::string(removed.message()), HasSubstr("datapath netdev@ovs-netdev is in use by bridges"));
}

TEST_F(SwitchTest, APortThatTheDatapathLostIsMadeAgain) {
  ConfigureBridge({"p1", "p2"});
  ASSERT_TRUE(datapath().RemovePort(2).ok());
  switch_->Tick();
  EXPECT_EQ(switch_->interface_status("p2")->ofport, -1);
  switch_->Tick();
  EXPECT_EQ(switch_->interface_status("p2")->ofport, 2);
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
}

TEST_F(SwitchTest, WithoutADatapathEveryInterfaceSaysWhy) {
  ASSERT_TRUE(datapaths_.Add("ovs-netdev").ok());
  ConfigureBridge({"p1"});
  EXPECT_THAT(switch_->interface_status("p1")->error, HasSubstr("datapath netdev@ovs-netdev exists already"));
}

TEST_F(SwitchTest, PolicingDropsWhatIsTooFast) {
  ConfigureBridge({"p1", "p2"});
  config_.bridges[0].ports[0].interfaces[0].policing = {.rate_kbps = 1, .burst_kb = 48};
  switch_->Configure(config_);
  for (int i = 0; i < 1000; ++i) Send("p1", EthernetFrame(kMacA, kMacB));
  EXPECT_TRUE(WaitFor([&] { return switch_->interface_statistics("p1").values["rx_packets"] == 1000; }));
  EXPECT_TRUE(WaitFor([&] { return switch_->interface_statistics("p1").values["rx_policed_drops"] > 0; }));
  EXPECT_NEAR(static_cast<double>(SentCount("p2")), 100, 5);
  config_.bridges[0].ports[0].interfaces[0].policing = {};
  switch_->Configure(config_);
  Dummy("p2").TakeSent();
  for (int i = 0; i < 1000; ++i) Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1000);
}

TEST_F(SwitchTest, SecureBridgesForwardNothing) {
  ConfigureBridge({"p1", "p2"});
  config_.bridges[0].secure = true;
  switch_->Configure(config_);
  Send("p1", EthernetFrame(kMacA, kMacB));
  EXPECT_TRUE(WaitFor([&] { return switch_->interface_statistics("p1").values["rx_dropped"] == 1; }));
  EXPECT_EQ(SentCount("p2"), 0u);
}

TEST_F(SwitchTest, MtuAndAddressesAreSetAsRequested) {
  ConfigureBridge({"p1", "p2"});
  config_.bridges[0].ports[0].interfaces[0].mtu_request = 4000;
  switch_->Configure(config_);
  EXPECT_EQ(switch_->interface_status("p1")->device.mtu, 4000u);
  EXPECT_EQ(switch_->interface_status("p2")->device.mtu, 1500u);
}

TEST_F(SwitchTest, BridgesHaveAnAddressAndADatapathId) {
  ConfigureBridge({"p1"});
  const BridgeStatus* status = switch_->bridge_status("br0");
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->mac[0] & 3, 2) << "a local unicast address";
  MacAddress own = status->mac;
  config_.bridges[0].hwaddr = MacAddress{0x02, 1, 2, 3, 4, 5};
  switch_->Configure(config_);
  EXPECT_EQ(switch_->bridge_status("br0")->datapath_id, 0x020102030405u);
  config_.bridges[0].hwaddr.reset();
  config_.bridges[0].datapath_id = 7;
  switch_->Configure(config_);
  EXPECT_EQ(switch_->bridge_status("br0")->mac, own);
  EXPECT_EQ(switch_->bridge_status("br0")->datapath_id, 7u);
  EXPECT_EQ(switch_->bridge_status("br1"), nullptr);
}

TEST_F(SwitchTest, StatisticsNameTheReasonsOfDrops) {
  ConfigureBridge({"p1", "p2"});
  Dummy("p2").SetSendBudget(0);
  Send("p1", EthernetFrame(kMacA, kMacB));
  EXPECT_TRUE(WaitFor([&] { return switch_->interface_statistics("p2").values["tx_dropped"] == 1; }));
  EXPECT_THAT(switch_->interface_statistics("p2").values, Contains(Pair("tx_full_drops", 1)));
  auto values = switch_->interface_statistics("p1").values;
  EXPECT_THAT(values, Contains(Pair("rx_packets", 1)));
  EXPECT_THAT(values, Contains(Pair("rx_bytes", 60)));
  EXPECT_THAT(switch_->interface_statistics("p9").values, IsEmpty());
}

TEST_F(SwitchTest, MirrorsCountWhatTheyCopy) {
  ConfigureBridge({"p1", "p2", "tap"});
  config_.bridges[0].mirrors = {{.name = "m", .select_all = true, .output_port = "tap"}};
  switch_->Configure(config_);
  for (int i = 0; i < 5; ++i) Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 5);
  Received("tap", 5);
  EXPECT_TRUE(WaitFor([&] { return switch_->mirror_statistics("br0", "m")["tx_packets"] == 5; }));
  EXPECT_EQ(switch_->mirror_statistics("br0", "m")["tx_bytes"], 300);
}

TEST_F(SwitchTest, KnowsItsTypes) {
  EXPECT_THAT(Switch::InterfaceTypes(), Contains("system"));
  EXPECT_THAT(Switch::InterfaceTypes(), Contains("internal"));
  EXPECT_THAT(Switch::InterfaceTypes(), Contains("patch"));
}

}  // namespace
}  // namespace sluice
