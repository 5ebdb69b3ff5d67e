// The control-socket commands of bridges. Expected texts are those of Open vSwitch 3.1, names and numbers apart.
#include "tests/ofproto/switch_fixture.h"

namespace sluice {
namespace {

using testing::BridgeOf;
using testing::DummyPort;
using testing::EthernetFrame;
using ::testing::HasSubstr;
using testing::kMacA;
using testing::kMacB;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::PatchPort;
using ::testing::StartsWith;

class OfprotoCommandsTest : public testing::SwitchFixture {
 protected:
  void SetUp() override {
    config_.bridges = {BridgeOf("br0", {DummyPort("p1"), DummyPort("p2"), PatchPort("pa", "pb")}),
                       BridgeOf("br1", {DummyPort("p3"), DummyPort("p4"), PatchPort("pb", "pa")})};
    config_.bridges[0].ports[1].mode = VlanMode::kAccess;
    config_.bridges[0].ports[1].tag = 5;
    switch_->Configure(config_);
  }
};

TEST_F(OfprotoCommandsTest, FdbShowsAddsAndDeletes) {
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_EQ(Command("fdb/add", {"br0", "p2", "5", "02:00:00:00:00:0b"}), "");
  EXPECT_EQ(Command("fdb/show", {"br0"}),
            " port  VLAN  MAC                Age\n"
            "    2     5  02:00:00:00:00:0b  static\n"
            "    1     0  02:00:00:00:00:0a    0\n");
  EXPECT_THAT(Command("fdb/show", {"br0", "--format=json"}), HasSubstr(R"("mac":"02:00:00:00:00:0a")"));
  EXPECT_EQ(Command("fdb/stats-show", {"br0"}),
            "Statistics for bridge \"br0\":\n"
            "  Current/maximum MAC entries in the table: 2/8192\n"
            "  Current static MAC entries in the table : 1\n"
            "  Total number of learned MAC entries     : 1\n"
            "  Total number of expired MAC entries     : 0\n"
            "  Total number of evicted MAC entries     : 0\n"
            "  Total number of port moved MAC entries  : 0\n");
  EXPECT_EQ(Command("fdb/stats-clear", {"br0"}), "statistics successfully cleared\n");
  EXPECT_THAT(Command("fdb/stats-show", {"br0"}), HasSubstr("learned MAC entries     : 0\n"));
  EXPECT_EQ(Command("fdb/del", {"br0", "5", "02:00:00:00:00:0b"}), "");
  EXPECT_EQ(CommandError("fdb/del", {"br0", "5", "02:00:00:00:00:0b"}), "could not find static mac entry");
  EXPECT_EQ(Command("fdb/flush"), "table successfully flushed\n");
  EXPECT_EQ(Command("fdb/show", {"br0"}), " port  VLAN  MAC                Age\n");
}

TEST_F(OfprotoCommandsTest, FdbErrorsSayWhatIsWrong) {
  EXPECT_EQ(CommandError("fdb/show", {"br9"}), "no such bridge");
  EXPECT_EQ(CommandError("fdb/flush", {"br9"}), "no such bridge");
  EXPECT_EQ(CommandError("fdb/add", {"br0", "p9", "5", "02:00:00:00:00:0b"}), "bridge br0 has no port p9");
  EXPECT_EQ(CommandError("fdb/add", {"br0", "p2", "5000", "02:00:00:00:00:0b"}),
            "bad VLAN \"5000\": expected 0 to 4095");
  EXPECT_EQ(CommandError("fdb/add", {"br0", "p2", "5", "zz"}), "bad MAC address");
}

TEST_F(OfprotoCommandsTest, FlushedAddressesAreForgottenByFlowsToo) {
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  Send("p3", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  EXPECT_EQ(SentCount("p4"), 1u) << "the first frame was flooded";
  Command("fdb/flush");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Send("p3", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  EXPECT_EQ(SentCount("p4"), 2u) << "and so is one to an address that was flushed";
}

TEST_F(OfprotoCommandsTest, DpifShowsPortsAndFlows) {
  EXPECT_EQ(Command("dpif/show"),
            "netdev@ovs-netdev: hit:0 missed:0\n"
            "  br0:\n"
            "    p1 1/1: (dummy)\n"
            "    p2 2/2: (dummy)\n"
            "    pa 3/none: (patch: peer=pb)\n"
            "  br1:\n"
            "    p3 1/3: (dummy)\n"
            "    p4 2/4: (dummy)\n"
            "    pb 3/none: (patch: peer=pa)\n");
  EXPECT_EQ(Command("dpif/dump-dps"), "netdev@br0\nnetdev@br1\n");
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_THAT(Command("dpif/dump-flows", {"br0"}),
              MatchesRegex(R"(recirc_id\(0\),in_port\(1\),eth\(src=02:00:00:00:00:0a,dst=02:00:00:00:00:0b\),)"
                           R"(eth_type\(0x88b5\), packets:1, bytes:60, used:[0-9.]+s, actions:.*)"
                           "\n"));
  EXPECT_THAT(Command("dpif/dump-flows", {"-m", "br0"}), MatchesRegex("ufid:.*in_port\\(p1\\).*\n"));
  EXPECT_EQ(Command("dpif/dump-flows", {"br1"}), "");
  EXPECT_EQ(CommandError("dpif/dump-flows", {"br9"}), "no such bridge");
  EXPECT_THAT(Command("dpif/show-dp-features", {"br0"}), HasSubstr("Masked set action: Yes\n"));
}

TEST_F(OfprotoCommandsTest, UpcallAndRevalidator) {
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  Command("revalidator/wait");
  EXPECT_THAT(Command("upcall/show"),
              MatchesRegex("netdev@ovs-netdev:\n"
                           "  flows         : \\(current 1\\) \\(avg [0-9]+\\) \\(max 1\\) \\(limit 200000\\)\n"
                           "  dump duration : [0-9]+ms\n"
                           "  ufid enabled : true\n"
                           "\n"
                           "  0: \\(keys 1\\)\n"));
  Command("revalidator/purge");
  EXPECT_EQ(FlowCount(), 0u);
}

TEST_F(OfprotoCommandsTest, TracesOpenflowFlows) {
  EXPECT_EQ(Command("ofproto/trace", {"br1", "in_port=1,dl_src=02:00:00:00:00:0a,dl_dst=01:80:c2:00:00:00"}),
            "Flow: in_port=1,vlan_tci=0x0000,dl_src=02:00:00:00:00:0a,dl_dst=01:80:c2:00:00:00,dl_type=0x0000\n"
            "\n"
            "bridge(\"br1\")\n"
            "-------------\n"
            " 0. priority 0\n"
            "    NORMAL\n"
            "     >> packet has reserved destination MAC, dropping\n"
            "\n"
            "Final flow: unchanged\n"
            "Megaflow: recirc_id=0,eth,in_port=1,dl_dst=01:80:c2:00:00:00,dl_type=0x0000\n"
            "Datapath actions: drop\n");
  std::string by_name = Command("ofproto/trace", {"br0", "in_port=p1,tcp,dl_src=02:00:00:00:00:0a"});
  EXPECT_THAT(by_name, StartsWith("Flow: tcp,in_port=1,"));
  EXPECT_THAT(by_name, HasSubstr("bridge(\"br1\")\n-------------\n"));
  EXPECT_THAT(by_name, HasSubstr("Datapath actions: 3,4\n"));
  EXPECT_EQ(Command("fdb/show", {"br0"}), " port  VLAN  MAC                Age\n") << "a trace teaches nothing";
  Command("ofproto/trace", {"br0", "in_port=p1,dl_src=02:00:00:00:00:0a", "-generate"});
  EXPECT_THAT(Command("fdb/show", {"br0"}), HasSubstr("02:00:00:00:00:0a"));
}

TEST_F(OfprotoCommandsTest, TracesDatapathFlows) {
  const std::string flow = "in_port(1),eth(src=02:00:00:00:00:0a,dst=02:00:00:00:00:0b),eth_type(0x0800),ipv4(frag=no)";
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{flow}, {"br0", flow}, {"netdev@ovs-netdev", flow}}) {
    EXPECT_THAT(Command("ofproto/trace", args),
                StartsWith("Flow: ip,in_port=1,vlan_tci=0x0000,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b,"));
  }
  EXPECT_THAT(CommandError("ofproto/trace", {"br1", flow}), HasSubstr("the port is in bridge br0"));
  EXPECT_THAT(CommandError("ofproto/trace", {"in_port(77),eth_type(0x1234)"}), HasSubstr("in_port(77)"));
}

TEST_F(OfprotoCommandsTest, TraceSaysWhatItCannotDo) {
  EXPECT_EQ(CommandError("ofproto/trace", {"br9", "in_port=1"}), "br9: unknown bridge");
  EXPECT_THAT(CommandError("ofproto/trace", {"br0", "in_port=1,foo=3"}), HasSubstr("unknown field foo"));
  EXPECT_THAT(CommandError("ofproto/trace", {"br0", "in_port=pa"}), HasSubstr("pa is a patch port"));
  EXPECT_THAT(Command("ofproto/trace", {"br0", "in_port=99"}),
              HasSubstr("     >>>> received packet on unknown port 99 <<<<\n     >> no input bundle, dropping\n"));
}

TEST_F(OfprotoCommandsTest, BridgesAndQos) {
  EXPECT_EQ(Command("ofproto/list"), "br0\nbr1\n");
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_THAT(Command("bridge/dump-flows", {"br0"}),
              MatchesRegex("duration=[0-9]+s, n_packets=1, n_bytes=60, priority=0,actions=NORMAL\n"));
  EXPECT_EQ(CommandError("bridge/dump-flows", {"br9"}), "Unknown bridge");
  EXPECT_EQ(Command("bridge/reconnect", {"br0"}), "");
  EXPECT_EQ(CommandError("bridge/reconnect", {"br9"}), "Unknown bridge");
  EXPECT_EQ(Command("qos/show-types", {"p1"}), "No QoS types supported for interface: p1\n");
  EXPECT_EQ(CommandError("qos/show-types", {"p9"}), "no such interface");
}

}  // namespace
}  // namespace sluice
