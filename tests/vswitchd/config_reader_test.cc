// What rows of the database mean. The rows come from a server in this process, so that the path is the daemon's.
#include "vswitchd/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/ovsdb/server.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ConfigReaderTest : public testing::Test {
 protected:
  ConfigReaderTest() {
    std::string path = fmt::format("{}/config_reader_{}.sock", testing::TempDir(), getpid());
    EXPECT_TRUE(server_.AddDatabase(std::make_unique<Database>(VswitchSchema()), nullptr).ok());
    EXPECT_TRUE(server_.SetRemotes({"punix:" + path}).ok());
    client_ = std::make_unique<OvsdbClient>(loop_, OvsdbClientOptions{.remotes = {"unix:" + path}});
    client_->OnChange([this] {
      if (!replicated_) loop_.Stop();
      replicated_ = true;
    });
    RunLoop();
  }

  // One turn of requests and answers, bounded.
  void RunLoop() {
    auto limit = loop_.RunAfter(std::chrono::seconds(10), [this] {
      ADD_FAILURE() << "the database did not answer within 10 s";
      loop_.Stop();
    });
    loop_.Run();
  }

  // Commits the operations, a JSON array. The reply comes behind the update of the replica.
  void Transact(std::string_view operations) {
    absl::StatusOr<Json> parsed = ParseJson(operations);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    client_->Transact(*parsed, [this](const absl::StatusOr<Json>& results) {
      loop_.Stop();
      ASSERT_TRUE(results.ok()) << results.status();
      EXPECT_TRUE(TransactionError(*results).ok()) << TransactionError(*results);
    });
    RunLoop();
  }

  // A bridge br0 with one port p0 of one interface p0, whose columns are given as JSON members.
  void MakeBridge(std::string_view root, std::string_view bridge = "", std::string_view port = "",
                  std::string_view interface = "") {
    auto more = [](std::string_view members) { return members.empty() ? "" : fmt::format(",{}", members); };
    Transact(fmt::format(
        R"([{{"op":"insert","table":"Interface","row":{{"name":"p0"{3}}},"uuid-name":"i"}},
            {{"op":"insert","table":"Port","row":{{"name":"p0","interfaces":["named-uuid","i"]{2}}},"uuid-name":"p"}},
            {{"op":"insert","table":"Bridge","row":{{"name":"br0","ports":["named-uuid","p"]{1}}},"uuid-name":"b"}},
            {{"op":"insert","table":"Open_vSwitch","row":{{"bridges":["named-uuid","b"]{0}}}}}])",
        more(root), more(bridge), more(port), more(interface)));
  }

  RowReader Root() { return *FindRoot(*client_); }
  SwitchConfig Config() { return ReadSwitchConfig(Root()); }
  const PortConfigRow& FirstPort(const SwitchConfig& config) { return config.bridges.at(0).ports.at(0); }

  bool replicated_ = false;
  EventLoop loop_;
  OvsdbServer server_{loop_};
  std::unique_ptr<OvsdbClient> client_;
};

TEST_F(ConfigReaderTest, AnEmptyDatabaseHasNoRoot) { EXPECT_FALSE(FindRoot(*client_).has_value()); }

TEST_F(ConfigReaderTest, DefaultsAreThoseOfTheManual) {
  MakeBridge("");
  GlobalConfig global = ReadGlobalConfig(Root());
  EXPECT_TRUE(global.tso);
  EXPECT_TRUE(global.isolate);
  EXPECT_FALSE(global.pmd_cores.has_value());
  EXPECT_EQ(global.stats_interval, std::chrono::milliseconds(5000));
  SwitchConfig config = Config();
  EXPECT_EQ(config.flow_limit, 200000u);
  EXPECT_EQ(config.max_idle, std::chrono::seconds(10));
  EXPECT_EQ(config.vlan_limit, 1u);
  ASSERT_EQ(config.bridges.size(), 1u);
  EXPECT_EQ(config.bridges[0].mac_aging, std::chrono::seconds(300));
  EXPECT_EQ(config.bridges[0].mac_table_size, 8192u);
  EXPECT_FALSE(config.bridges[0].secure);
  EXPECT_EQ(FirstPort(config).mode, VlanMode::kTrunk);
}

TEST_F(ConfigReaderTest, ABridgeWithoutItsLocalPortGetsOne) {
  MakeBridge("");
  SwitchConfig config = Config();
  ASSERT_EQ(config.bridges[0].ports.size(), 2u);
  EXPECT_EQ(config.bridges[0].ports[1].name, "br0");
  EXPECT_EQ(config.bridges[0].ports[1].interfaces.at(0).type, "internal");
}

TEST_F(ConfigReaderTest, ReadsTheSwitchsSettings) {
  MakeBridge(R"("next_cfg":7,"other_config":["map",[["userspace-tso-enable","false"],["pmd-cpu-mask","0x3"],
      ["pmd-rxq-assign","group"],["flow-limit","1000"],["max-idle","500"],["max-revalidator","200"],
      ["vlan-limit","2"],["stats-update-interval","9000"]]])");
  GlobalConfig global = ReadGlobalConfig(Root());
  EXPECT_EQ(global.next_cfg, 7);
  EXPECT_FALSE(global.tso);
  EXPECT_EQ(global.pmd_cores, (CpuSet{0, 1}));
  EXPECT_EQ(global.assignment, RxqAssignment::kGroup);
  EXPECT_EQ(global.stats_interval, std::chrono::milliseconds(9000));
  SwitchConfig config = Config();
  EXPECT_EQ(config.flow_limit, 1000u);
  EXPECT_EQ(config.max_idle, std::chrono::milliseconds(500));
  EXPECT_EQ(config.max_revalidator, std::chrono::milliseconds(200));
  EXPECT_EQ(config.vlan_limit, 2u);
}

TEST_F(ConfigReaderTest, WhatCannotBeUsedGetsItsDefault) {
  MakeBridge(R"("other_config":["map",[["userspace-tso-enable","maybe"],["flow-limit","-3"],["pmd-cpu-mask","xyz"],
      ["pmd-rxq-assign","fairly"]]])",
             R"("other_config":["map",[["hwaddr","01:00:00:00:00:01"],["datapath-id","12"],["mac-aging-time","9"]]])",
             R"("other_config":["map",[["priority-tags","sometimes"],["qinq-ethtype","9100"]]])",
             R"("mac":"not an address")");
  GlobalConfig global = ReadGlobalConfig(Root());
  EXPECT_TRUE(global.tso);
  EXPECT_FALSE(global.pmd_cores.has_value());
  EXPECT_EQ(global.assignment, RxqAssignment::kCycles);
  SwitchConfig config = Config();
  EXPECT_EQ(config.flow_limit, 200000u);
  EXPECT_FALSE(config.bridges[0].hwaddr.has_value());
  EXPECT_FALSE(config.bridges[0].datapath_id.has_value());
  EXPECT_EQ(config.bridges[0].mac_aging, std::chrono::seconds(300));
  EXPECT_EQ(FirstPort(config).priority_tags, PriorityTags::kNever);
  EXPECT_EQ(FirstPort(config).qinq_ethtype, 0x88a8);
  EXPECT_FALSE(FirstPort(config).interfaces.at(0).mac.has_value());
}

TEST_F(ConfigReaderTest, ReadsABridge) {
  MakeBridge("", R"("fail_mode":"secure","other_config":["map",[["hwaddr","02:00:00:00:00:07"],
      ["datapath-id","00000000000000ab"],["mac-aging-time","60"],["mac-table-size","100"],["forward-bpdu","true"]]])");
  BridgeConfig bridge = Config().bridges.at(0);
  EXPECT_TRUE(bridge.secure);
  EXPECT_EQ(bridge.hwaddr, (MacAddress{2, 0, 0, 0, 0, 7}));
  EXPECT_EQ(bridge.datapath_id, 0xabu);
  EXPECT_EQ(bridge.mac_aging, std::chrono::seconds(60));
  EXPECT_EQ(bridge.mac_table_size, 100u);
  EXPECT_TRUE(bridge.forward_bpdu);
}

TEST_F(ConfigReaderTest, VlanModes) {
  struct Case {
    std::string_view columns;
    VlanMode mode;
    uint16_t tag;
  };
  const Case cases[] = {
      {R"("tag":5)", VlanMode::kAccess, 5},
      {R"("trunks":["set",[1,2]])", VlanMode::kTrunk, 0},
      {R"("vlan_mode":"trunk","tag":5)", VlanMode::kTrunk, 5},
      {R"("vlan_mode":"native-tagged","tag":5)", VlanMode::kNativeTagged, 5},
      {R"("vlan_mode":"native-untagged","tag":5)", VlanMode::kNativeUntagged, 5},
      {R"("vlan_mode":"dot1q-tunnel","tag":5)", VlanMode::kDot1qTunnel, 5},
      {R"("vlan_mode":"access")", VlanMode::kAccess, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.columns);
    MakeBridge("", "", c.columns);
    SwitchConfig config = Config();
    EXPECT_EQ(FirstPort(config).mode, c.mode);
    EXPECT_EQ(FirstPort(config).tag, c.tag);
    Transact(R"([{"op":"delete","table":"Open_vSwitch","where":[]}])");
  }
}

TEST_F(ConfigReaderTest, ReadsAnInterface) {
  MakeBridge("", "", "",
             R"("type":"patch","options":["map",[["peer","q0"],["n_rxq","2"]]],"ofport_request":9,"mtu_request":9000,
                "mac":"02:00:00:00:00:01","ingress_policing_rate":1000,"ingress_policing_kpkts_rate":5,
                "other_config":["map",[["userspace-tso-enable","false"],["unknown","x"]]])");
  SwitchConfig config = Config();
  InterfaceConfig interface = FirstPort(config).interfaces.at(0);
  EXPECT_EQ(interface.type, "patch");
  EXPECT_EQ(interface.patch_peer, "q0");
  EXPECT_THAT(interface.options,
              ElementsAre(testing::Pair("n_rxq", "2"), testing::Pair("userspace-tso-enable", "false")));
  EXPECT_EQ(interface.ofport_request, 9);
  EXPECT_EQ(interface.mtu_request, 9000u);
  EXPECT_EQ(interface.mac, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(interface.policing.rate_kbps, 1000u);
  EXPECT_EQ(interface.policing.rate_kpkts, 5u);
}

TEST_F(ConfigReaderTest, AnInterfaceKeepsTheNumberItHadUnlessAnotherAsksForIt) {
  MakeBridge("", "", "", R"("ofport":12)");
  SwitchConfig config = Config();
  EXPECT_EQ(FirstPort(config).interfaces.at(0).ofport_request, 12);
  Transact(R"([{"op":"insert","table":"Interface","row":{"name":"p1","ofport_request":12},"uuid-name":"i"},
      {"op":"insert","table":"Port","row":{"name":"p1","interfaces":["named-uuid","i"]},"uuid-name":"p"},
      {"op":"mutate","table":"Bridge","where":[],"mutations":[["ports","insert",["named-uuid","p"]]]}])");
  config = Config();
  for (const PortConfigRow& port : config.bridges.at(0).ports) {
    if (port.name == "br0") continue;
    EXPECT_EQ(port.interfaces.at(0).ofport_request, port.name == "p1" ? std::optional<uint16_t>(12) : std::nullopt);
  }
}

TEST_F(ConfigReaderTest, OptionsThatTheTypeDoesNotHaveAreLeftOut) {
  MakeBridge("", "", "",
             R"("type":"internal","options":["map",[["foo","bar"],["n_rxq","2"],["rx-socket-buffer","1"]]])");
  SwitchConfig config = Config();
  EXPECT_THAT(FirstPort(config).interfaces.at(0).options, ElementsAre(testing::Pair("n_rxq", "2")));
}

TEST_F(ConfigReaderTest, ReadsAMirror) {
  MakeBridge("");
  Transact(R"([{"op":"select","table":"Port","where":[["name","==","p0"]]},
      {"op":"insert","table":"Mirror","row":{"name":"m","select_all":true,"select_vlan":["set",[5]],"output_vlan":7,
       "snaplen":100},"uuid-name":"m"},
      {"op":"mutate","table":"Bridge","where":[],"mutations":[["mirrors","insert",["named-uuid","m"]]]}])");
  std::vector<MirrorConfig> mirrors = Config().bridges.at(0).mirrors;
  ASSERT_EQ(mirrors.size(), 1u);
  EXPECT_TRUE(mirrors[0].select_all);
  EXPECT_TRUE(mirrors[0].selects_vlans);
  EXPECT_TRUE(mirrors[0].vlans.test(5));
  EXPECT_EQ(mirrors[0].output_vlan, 7);
  EXPECT_EQ(mirrors[0].snaplen, 100u);
  EXPECT_THAT(mirrors[0].src_ports, IsEmpty());
}

}  // namespace
}  // namespace sluice
