#include "datapath/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/base/status.h"
#include "netdev/dummy/dummy_netdev.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kArp =
    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002";

class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() : manager_({.small_buffers = 512, .large_buffers = 32}), server_(loop_) {
    RegisterDatapathCommands(server_, manager_);
  }

  // The output of a command that works, or "error: ..." of one that does not.
  std::string Run(std::string_view command, std::vector<std::string> args = {}) {
    auto output = server_.Execute(command, std::move(args));
    return output.ok() ? *output : "error: " + Message(output.status());
  }
  Json RunJson(std::string_view command, std::vector<std::string> args = {}) {
    args.insert(args.begin(), "--format=json");
    return Json::parse(Run(command, std::move(args)));
  }
  void TwoPorts() {
    ASSERT_EQ(Run("dpctl/add-dp", {"netdev@dp0"}), "");
    ASSERT_EQ(Run("dpctl/add-if", {"netdev@dp0", "p1,type=dummy", "p2,type=dummy"}), "");
  }
  void WaitForFrames(uint64_t count) {
    for (int i = 0; i < 5000 && RunJson("sluice/conservation")["received"] < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  EventLoop loop_;
  DatapathManager manager_;
  UnixctlServer server_;
};

TEST_F(CommandsTest, MakesAndShowsDatapaths) {
  EXPECT_EQ(Run("dpctl/dump-dps"), "");
  EXPECT_EQ(Run("dpctl/add-dp", {"dp1"}), "");
  TwoPorts();
  EXPECT_EQ(Run("dpctl/dump-dps"), "netdev@dp0\nnetdev@dp1\n");
  EXPECT_EQ(Run("dpctl/show", {"netdev@dp0"}),
            "netdev@dp0:\n"
            "  lookups: hit:0 missed:0 lost:0\n"
            "  flows: 0\n"
            "  masks: 0\n"
            "  port 1: p1 (dummy)\n"
            "  port 2: p2 (dummy)\n");
  EXPECT_EQ(Run("dpctl/del-dp", {"netdev@dp1"}), "");
  EXPECT_EQ(Run("dpctl/dump-dps"), "netdev@dp0\n");
}

TEST_F(CommandsTest, GivesADeviceToOneDatapath) {
  TwoPorts();
  ASSERT_EQ(Run("dpctl/add-dp", {"netdev@dp1"}), "");
  EXPECT_EQ(Run("dpctl/add-if", {"netdev@dp1", "p3,type=dummy", "p1,type=dummy"}),
            "error: port p1 is in datapath dp0 already: delete it there first");
  EXPECT_EQ(Run("dpctl/show", {"netdev@dp1"}),
            "netdev@dp1:\n"
            "  lookups: hit:0 missed:0 lost:0\n"
            "  flows: 0\n"
            "  masks: 0\n");
  EXPECT_EQ(Run("dpctl/del-if", {"netdev@dp0", "p1"}), "");
  EXPECT_EQ(Run("dpctl/add-if", {"netdev@dp1", "p1,type=dummy"}), "");
}

TEST_F(CommandsTest, ShowsStatisticsAndOptions) {
  TwoPorts();
  ASSERT_EQ(Run("dpctl/set-if", {"p1,n_rxq=2,pmd-rxq-affinity=0:0,1:0"}), "");
  EXPECT_EQ(Run("dpctl/show", {"-s"}),
            "netdev@dp0:\n"
            "  lookups: hit:0 missed:0 lost:0\n"
            "  flows: 0\n"
            "  masks: 0\n"
            "  port 1: p1 (dummy: n_rxq=2, pmd-rxq-affinity=0:0,1:0)\n"
            "    RX packets:0 errors:0 dropped:0 overruns:0 frame:0\n"
            "    TX packets:0 errors:0 dropped:0 aborted:0 carrier:0\n"
            "    collisions:0\n"
            "    RX bytes:0  TX bytes:0\n"
            "    RX super-packets:0  TX super-packets:0\n"
            "  port 2: p2 (dummy)\n"
            "    RX packets:0 errors:0 dropped:0 overruns:0 frame:0\n"
            "    TX packets:0 errors:0 dropped:0 aborted:0 carrier:0\n"
            "    collisions:0\n"
            "    RX bytes:0  TX bytes:0\n"
            "    RX super-packets:0  TX super-packets:0\n");
}

TEST_F(CommandsTest, AddsModifiesAndDeletesFlows) {
  TwoPorts();
  EXPECT_EQ(Run("dpctl/add-flow", {"in_port(p1)", "p2"}), "");
  EXPECT_EQ(Run("dpctl/dump-flows"), "in_port(1), packets:0, bytes:0, used:never, actions:2\n");
  EXPECT_EQ(Run("dpctl/dump-flows", {"--names"}), "in_port(p1), packets:0, bytes:0, used:never, actions:p2\n");
  std::string more = Run("dpctl/dump-flows", {"-m"});
  EXPECT_THAT(more, MatchesRegex("ufid:[0-9a-f-]+, in_port\\(1\\), packets:0, frames:0, bytes:0, used:never, "
                                 "actions:2\n"));
  std::string ufid = more.substr(0, more.find(','));
  EXPECT_EQ(Run("dpctl/get-flow", {ufid}), "in_port(1), packets:0, bytes:0, used:never, actions:2\n");
  EXPECT_THAT(Run("dpctl/add-flow", {"in_port(1)", "drop"}), StartsWith("error: flow"));
  EXPECT_EQ(Run("dpctl/mod-flow", {"in_port(1)", "drop"}), "");
  EXPECT_EQ(Run("dpctl/dump-flows"), "in_port(1), packets:0, bytes:0, used:never, actions:drop\n");
  EXPECT_THAT(Run("dpctl/mod-flow", {"in_port(2)", "1"}), StartsWith("error: no flow"));
  EXPECT_EQ(Run("dpctl/mod-flow", {"--may-create", "in_port(2)", "1"}), "");
  EXPECT_EQ(Run("dpctl/del-flow", {"-s", "in_port(1)"}), "packets:0, bytes:0, used:never\n");
  EXPECT_EQ(Run("dpctl/del-flows"), "");
  EXPECT_EQ(Run("dpctl/dump-flows"), "");
}

TEST_F(CommandsTest, CountsWhatPasses) {
  TwoPorts();
  ASSERT_EQ(Run("dpctl/add-flow", {"in_port(1)", "2"}), "");
  ASSERT_EQ(Run("netdev-dummy/receive", {"p1", kArp, kArp}), "");
  ASSERT_EQ(Run("netdev-dummy/receive", {"p2", kArp}), "");
  WaitForFrames(3);
  EXPECT_THAT(Run("dpctl/dump-flows"), MatchesRegex("in_port\\(1\\), packets:2, bytes:84, used:[0-9.]+s, actions:2\n"));
  EXPECT_EQ(Run("sluice/port-stats"),
            "port      frames  packets  supers  bytes  drops  syscalls\n"
            "p1    rx       2        2       0     84      0         0\n"
            "p1    tx       0        0       0      0      0         0\n"
            "p2    rx       1        1       0     42      1         0\n"
            "p2    tx       2        2       0     84      0         0\n");
  EXPECT_EQ(Run("sluice/port-drops"),
            "port  reason   frames  what happened\n"
            "p2    no_flow       1  no flow matches and the upcall handler dropped it\n");
  EXPECT_EQ(Run("sluice/segment-histogram", {"p1"}),
            "port      segments  packets\n"
            "p1    rx  1               2\n"
            "p1    rx  segments        2\n");
  EXPECT_EQ(Run("sluice/conservation"),
            "frames\n"
            "     3  received\n"
            "     0  copies made\n"
            "     2  sent\n"
            "     0  consumed by upcalls\n"
            "     1  dropped, of them\n"
            "     1    no_flow\n"
            "balanced\n");
  Json json = RunJson("sluice/conservation");
  EXPECT_EQ(json["drops"]["no_flow"], 1);
  EXPECT_EQ(json["balanced"], true);
  EXPECT_EQ(RunJson("sluice/port-stats")["p2"]["tx"]["bytes"], 84);
  EXPECT_EQ(RunJson("sluice/segment-histogram")["p1"]["rx"]["packets_by_segments"]["1"], 2);
  EXPECT_EQ(RunJson("sluice/port-drops")["p2"]["rx"]["no_flow"], 1);
}

TEST_F(CommandsTest, SwitchesTso) {
  TwoPorts();
  EXPECT_EQ(Run("sluice/tso"), "userspace-tso-enable: on\n  p1: on\n  p2: on\n");
  EXPECT_EQ(Run("sluice/tso", {"off"}), "");
  EXPECT_EQ(Run("sluice/tso", {"p1", "on"}), "");
  EXPECT_EQ(Run("sluice/tso"), "userspace-tso-enable: off\n  p1: on (set for this port)\n  p2: off\n");
  EXPECT_EQ(RunJson("sluice/tso")["ports"]["p2"]["tso"], false);
  EXPECT_EQ(Run("sluice/tso", {"p1", "default"}), "");
  EXPECT_EQ(Run("sluice/tso"), "userspace-tso-enable: off\n  p1: off\n  p2: off\n");
  EXPECT_EQ(Run("sluice/tso", {"maybe"}), "error: sluice/tso: \"maybe\": expected on or off");
  EXPECT_THAT(Run("sluice/tso", {"p9", "on"}), StartsWith("error: sluice/tso: no datapath has a port p9"));
}

TEST_F(CommandsTest, ShowsCapabilities) {
  TwoPorts();
  Json p1 = RunJson("sluice/capabilities", {"p1"})["p1"];
  EXPECT_EQ(p1["tx_mtu"], "1500");
  EXPECT_EQ(p1["tx_segmentations"], "tcp4,tcp6,udp4,udp6");
  EXPECT_EQ(p1["userspace_tso_enable"], "true");
  EXPECT_THAT(Run("sluice/capabilities", {"p1"}), HasSubstr("p1    tx_mtu"));
}

TEST_F(CommandsTest, PlacesThreads) {
  TwoPorts();
  EXPECT_EQ(Run("sluice/pmd-cpu-mask"), "default (one thread, on the first processor)\n");
  int first = *CpuSet::Allowed().begin();
  EXPECT_THAT(Run("dpif-netdev/pmd-rxq-show"),
              MatchesRegex("Displaying last 60 seconds pmd usage %\n"
                           "pmd thread numa_id 0 core_id " +
                           std::to_string(first) +
                           ":\n"
                           "  isolated : false\n"
                           "  port: p1                queue-id:  0 .enabled.  pmd usage:  0 %\n"
                           "  port: p2                queue-id:  0 .enabled.  pmd usage:  0 %\n"
                           "  overhead: [ 0-9]+ %\n"));
  std::string mask = CpuSet({first}).ToMask();
  EXPECT_EQ(Run("sluice/pmd-cpu-mask", {mask}), "");
  EXPECT_EQ(Run("sluice/pmd-cpu-mask"), mask + "\n");
  EXPECT_THAT(Run("dpif-netdev/pmd-stats-show"), StartsWith(fmt::format("pmd thread numa_id 0 core_id {}:\n"
                                                                        "  packets received: 0\n",
                                                                        first)));
  EXPECT_THAT(Run("sluice/pmd-cpu-mask", {CpuSet({4000}).ToMask()}), HasSubstr("processor 4000"));
  EXPECT_EQ(Run("sluice/pmd-cpu-mask"), mask + "\n");
  EXPECT_EQ(Run("sluice/pmd-cpu-mask", {"default"}), "");
  EXPECT_EQ(Run("dpif-netdev/pmd-rxq-rebalance"), "pmd rxq rebalance requested.\n0 receive queues moved.\n");
  EXPECT_EQ(Run("sluice/pmd-rxq-assign", {"group", "--no-isolate"}), "");
  EXPECT_EQ(Run("sluice/pmd-rxq-assign"), "group, not isolating\n");
  EXPECT_EQ(Run("dpif-netdev/pmd-stats-clear"), "");
  EXPECT_EQ(RunJson("dpif-netdev/pmd-perf-show")[0]["packets_received"], 0);
  EXPECT_EQ(RunJson("dpif-netdev/pmd-sleep-show")[0]["core_id"], first);
}

TEST_F(CommandsTest, ErrorsSayWhatWouldBeRightAndChangeNothing) {
  EXPECT_THAT(Run("dpctl/dump-flows"), HasSubstr("error: there is no datapath: add one first"));
  EXPECT_THAT(Run("dpctl/add-dp", {"system@dp0"}), HasSubstr("unknown type system, expected netdev"));
  EXPECT_THAT(Run("dpctl/add-dp", {"netdev@"}), HasSubstr("expected a name"));
  TwoPorts();
  EXPECT_THAT(Run("dpctl/add-dp", {"netdev@dp0"}), HasSubstr("netdev@dp0 exists already"));
  EXPECT_THAT(Run("dpctl/add-if", {"p3,type=dummy", "p4,type=warp"}), StartsWith("error: "));
  EXPECT_THAT(Run("dpctl/show"), Not(HasSubstr("p3")));
  EXPECT_THAT(Run("dpctl/add-if", {"p3,type"}), HasSubstr("port p3: \"type\": expected option=value"));
  EXPECT_THAT(Run("dpctl/add-if", {"p3,type=dummy,port_no=x"}), HasSubstr("port_no=x: expected a number"));
  EXPECT_THAT(Run("dpctl/del-if", {"p1", "p9"}), HasSubstr("has no port p9: expected one of p1, p2"));
  EXPECT_THAT(Run("dpctl/show"), HasSubstr("port 1: p1"));
  EXPECT_THAT(Run("dpctl/set-if", {"p1,type=tap"}), HasSubstr("the port is of type dummy"));
  EXPECT_THAT(Run("dpctl/set-if", {"p1,color=red"}), HasSubstr("color"));
  EXPECT_THAT(Run("dpctl/show", {"-x"}), HasSubstr("unknown option -x: expected --statistics"));
  EXPECT_THAT(Run("dpctl/add-flow", {"in_port(1)", "fly(1)"}), StartsWith("error: "));
  EXPECT_THAT(Run("dpctl/get-flow", {"in_port(1)"}), HasSubstr("has no flow in_port(1)"));
  EXPECT_THAT(Run("netdev-dummy/receive", {"p9", kArp}), HasSubstr("no dummy port p9"));
  EXPECT_THAT(Run("dpif-netdev/pmd-stats-show", {"-pmd", "77"}), HasSubstr("no PMD thread on core 77"));
  ASSERT_EQ(Run("dpctl/add-dp", {"dp1"}), "");
  EXPECT_THAT(Run("dpctl/dump-flows"), HasSubstr("there are 2 datapaths: name one"));
}

}  // namespace
}  // namespace sluice
