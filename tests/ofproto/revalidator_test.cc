// What becomes of installed flows.
#include "lib/flow/flow_text.h"
#include "tests/ofproto/switch_fixture.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using testing::EthernetFrame;
using ::testing::HasSubstr;
using testing::kMacA;
using testing::kMacB;
using testing::kMacC;

class RevalidatorTest : public testing::SwitchFixture {
 protected:
  std::vector<std::string> Flows() {
    std::vector<std::string> texts;
    datapath().flows().ForEach([&](DpFlow& flow) {
      texts.push_back(FormatMatch(flow.match(), {}) + " actions:" + FormatActions(flow.actions(), {}));
    });
    return texts;
  }
  // A number out of upcall/show as JSON.
  uint64_t Shown(const std::string& key) {
    std::string json = Command("upcall/show", {"--format=json"});
    size_t at = json.find("\"" + key + "\":");
    EXPECT_NE(at, std::string::npos) << json;
    return std::stoull(json.substr(at + key.size() + 3));
  }
};

TEST_F(RevalidatorTest, IdleFlowsGoAndBusyOnesStay) {
  config_.max_idle = milliseconds(500);
  ConfigureBridge({"p1", "p2"});
  Send("p1", EthernetFrame(kMacA, kMacC));
  Received("p2", 1);
  for (int i = 0; i < 20; ++i) {
    Send("p2", EthernetFrame(kMacB, kMacC));
    std::this_thread::sleep_for(milliseconds(100));
  }
  Received("p1", 20);
  EXPECT_THAT(Flows(), ElementsAre(HasSubstr("in_port(2)")));
  EXPECT_TRUE(WaitFor([&] { return FlowCount() == 0; }, std::chrono::seconds(3)));
}

TEST_F(RevalidatorTest, OverTheLimitPacketsAreForwardedWithoutFlows) {
  config_.flow_limit = 5;
  ConfigureBridge({"p1", "p2"});
  for (uint8_t i = 0; i < 50; ++i) Send("p1", EthernetFrame({2, 0, 0, 0, 1, i}, kMacB));
  Received("p2", 50);
  EXPECT_LE(FlowCount(), 5u);
  EXPECT_GE(Shown("upcalls_over_limit"), 40u);
  EXPECT_EQ(Shown("flow_limit"), 5u);
}

TEST_F(RevalidatorTest, SleepsWhileThereIsNothingToDo) {
  ConfigureBridge({"p1", "p2"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  Command("revalidator/purge");
  // What has been woken by the packet ends.
  std::this_thread::sleep_for(milliseconds(700));
  const uint64_t before = Shown("passes");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(Shown("passes"), before);
}

TEST_F(RevalidatorTest, LooksAfterFlowsThatItDidNotInstall) {
  ConfigureBridge({"p1", "p2", "p3"});
  auto match = ParseMatch("in_port(1),eth(src=02:00:00:00:00:0a,dst=02:00:00:00:00:0b),eth_type(0x88b5)", {});
  ASSERT_TRUE(match.ok()) << match.status();
  match->mask.recirc_id = UINT32_MAX;
  FlowTable& flows = datapath().flows();
  ASSERT_TRUE(flows.Insert(*match, *ParseActions("2", {}), FlowTable::MakeUfid(*match)).ok());
  auto broad = ParseMatch("in_port(2)", {});
  ASSERT_TRUE(flows.Insert(*broad, *ParseActions("1", {}), FlowTable::MakeUfid(*broad)).ok());
  Command("revalidator/wait");
  Command("revalidator/wait");
  EXPECT_THAT(Flows(), ElementsAre(HasSubstr("actions:2,3")))
      << "one is what it should be, the other looks at too little";
}

TEST_F(RevalidatorTest, FollowsAMoveWithoutAnotherMiss) {
  ConfigureBridge({"p1", "p2", "p3"});
  Send("p1", EthernetFrame(kMacA, kMacB));
  Send("p2", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  Send("p1", EthernetFrame(kMacA, kMacB));
  // B is behind p3 now. Its flow from there is new; the flow to it has to follow.
  Send("p3", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Dummy("p2").TakeSent();
  Dummy("p3").TakeSent();
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p3", 1);
  EXPECT_EQ(SentCount("p2"), 0u);
  // And back to p2, whose flow is still there: no packet misses.
  const uint64_t upcalls = Shown("upcalls");
  Send("p2", EthernetFrame(kMacB, kMacA));
  Received("p1", 1);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Send("p1", EthernetFrame(kMacA, kMacB));
  Received("p2", 1);
  EXPECT_EQ(Shown("upcalls"), upcalls);
}

TEST_F(RevalidatorTest, RemembersTheLargestTable) {
  ConfigureBridge({"p1", "p2"});
  for (uint8_t i = 0; i < 10; ++i) Send("p1", EthernetFrame({2, 0, 0, 0, 1, i}, kMacB));
  Received("p2", 10);
  Command("revalidator/wait");
  Command("revalidator/purge");
  Command("revalidator/wait");
  EXPECT_EQ(Shown("max_flows"), 10u);
  EXPECT_EQ(Shown("flows"), 0u);
}

}  // namespace
}  // namespace sluice
