// The switch's small parts, each by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/flow/flow_text.h"
#include "ofproto/actions_equal.h"
#include "lib/flow/mac_text.h"
#include "ofproto/ofport_text.h"
#include "ofproto/flow_limit.h"
#include "ofproto/ofports.h"
#include "ofproto/trace_flow.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

ActionList Parse(const std::string& text) {
  auto actions = ParseActions(text, {});
  EXPECT_TRUE(actions.ok()) << text << ": " << actions.status();
  return actions.value_or(ActionList{});
}

TEST(ActionsEqualTest, TellsEveryActionApart) {
  const std::vector<std::string> lists = {
      "drop",
      "1",
      "2",
      "1,2",
      "push_vlan(vid=5,pcp=0),1",
      "push_vlan(vid=6,pcp=0),1",
      "pop_vlan,1",
      "set(eth(src=00:00:00:00:00:01)),1",
      "set(eth(src=00:00:00:00:00:02)),1",
      "set(ipv4(ttl=3)),1",
      "recirc(0x1)",
      "recirc(0x2)",
      "trunc(100),1",
      "trunc(101),1",
      "clone(1),2",
      "clone(2),2",
      "sample(sample=50.0%,actions(1))",
      "sample(sample=50.0%,actions(2))",
      "check_pkt_len(size=200,gt(1),le(2))",
      "check_pkt_len(size=200,gt(1),le(3))",
      "userspace(pid=1)",
      "userspace(pid=2)",
  };
  for (const std::string& a : lists) {
    for (const std::string& b : lists) EXPECT_EQ(ActionsEqual(Parse(a), Parse(b)), a == b) << a << " and " << b;
  }
}

TEST(ActionsEqualTest, FindsOutputsInNestedLists) {
  auto is_seven = [](uint32_t port) { return port == 7; };
  for (const char* text : {"7", "1,7", "clone(2,7),1", "sample(sample=50.0%,actions(7))",
                           "check_pkt_len(size=200,gt(7),le(2))", "check_pkt_len(size=200,gt(2),le(7))"}) {
    EXPECT_TRUE(OutputsTo(Parse(text), is_seven)) << text;
  }
  for (const char* text : {"drop", "1", "clone(1),2", "check_pkt_len(size=7,gt(1),le(2))"}) {
    EXPECT_FALSE(OutputsTo(Parse(text), is_seven)) << text;
  }
}

TEST(FlowLimitTest, FollowsTheTimeOfAPass) {
  struct Case {
    uint32_t limit, configured;
    size_t flows;
    int pass_ms;
    uint32_t expected;
  };
  const Case cases[] = {
      {200000, 200000, 200000, 400, 200000},   // the configured limit is the highest
      {100000, 200000, 100000, 4000, 25000},   // in proportion
      {100000, 200000, 100000, 1500, 75000},   // by a quarter
      {100000, 200000, 100000, 1200, 100000},  // just right
      {100000, 200000, 100000, 500, 105000},   // there is room
      {10000, 200000, 10000, 500, 11000},      // at least 1,000
      {100000, 200000, 40000, 500, 100000},    // 80,000 in a second: no need to know more
      {100000, 200000, 0, 0, 100000},
      {1500, 200000, 3000, 9000, 1000},  // not below the lowest
      {100000, 500, 100, 10, 500},
      {0, 0, 0, 0, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(AdaptFlowLimit(c.limit, c.configured, c.flows, milliseconds(c.pass_ms)), c.expected)
        << c.limit << " of " << c.configured << ", " << c.flows << " flows in " << c.pass_ms << " ms";
  }
}

class OfportsTest : public ::testing::Test {
 protected:
  uint16_t Get(const std::string& name, std::optional<uint16_t> request = std::nullopt) {
    return ofports_.Allocate(name, request, moved_);
  }
  OfportAllocator ofports_;
  std::optional<std::string> moved_;
};

TEST_F(OfportsTest, NumbersCountFromOneAndComeAgainLast) {
  EXPECT_EQ(Get("a"), 1);
  EXPECT_EQ(Get("b"), 2);
  EXPECT_EQ(Get("a"), 1);
  ofports_.Release("a");
  EXPECT_EQ(Get("c"), 3);
  EXPECT_EQ(ofports_.Find("a"), 0);
}

TEST_F(OfportsTest, RequestsTakeAutomaticNumbersButNotRequestedOnes) {
  EXPECT_EQ(Get("a"), 1);
  EXPECT_EQ(Get("b", 1), 1);
  EXPECT_EQ(moved_, "a");
  EXPECT_EQ(ofports_.Find("a"), 2);
  EXPECT_EQ(Get("c", 1), 3) << "the number was requested by another first";
  EXPECT_EQ(moved_, std::nullopt);
  EXPECT_EQ(Get("d", 65279), 65279);
  EXPECT_EQ(Get("e", 65280), 4) << "not a number that can be requested";
}

TEST_F(OfportsTest, ALaterRequestMovesThePort) {
  EXPECT_EQ(Get("a"), 1);
  EXPECT_EQ(Get("a", 100), 100);
  EXPECT_EQ(Get("b", 1), 1);
  EXPECT_EQ(Get("a"), 100) << "without a request it keeps what it has";
  EXPECT_EQ(Get("c", 100), 100) << "which another may request then";
  EXPECT_EQ(moved_, "a");
}

TEST(AddressTextTest, ReadsOnlyAddresses) {
  EXPECT_EQ(ParseMac("02:00:00:00:aB:0c"), (MacAddress{2, 0, 0, 0, 0xab, 0xc}));
  for (const char* bad :
       {"", "02:00:00:00:00", "02:00:00:00:00:0", "02-00-00-00-00-00", "02:00:00:00:00:0g", "02:00:00:00:00:00:"}) {
    EXPECT_FALSE(ParseMac(bad).has_value()) << bad;
  }
  EXPECT_EQ(FormatMac({2, 0, 0, 0, 0xab, 0xc}), "02:00:00:00:ab:0c");
  EXPECT_EQ(OfportText(65534), "LOCAL");
}

// What Open vSwitch 3.1 prints after "Flow: " for the flow on the left.
TEST(TraceFlowTest, ReadsAsOpenVSwitchPrints) {
  const std::pair<std::string, std::string> cases[] = {
      {"in_port=1,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b",
       "in_port=1,vlan_tci=0x0000,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b,dl_type=0x0000"},
      {"in_port=3,tcp,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=80",
       "tcp,in_port=3,vlan_tci=0x0000,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b,nw_src=10.0.0.1,nw_dst=10.0.0."
       "2,"
       "nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no,tp_src=0,tp_dst=80,tcp_flags=0"},
      {"in_port=1,dl_vlan=7",
       "in_port=1,dl_vlan=7,dl_vlan_pcp=0,vlan_tci1=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,dl_type="
       "0x0000"},
      {"in_port=3,arp,arp_op=1",
       "arp,in_port=3,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,arp_spa=0.0.0.0,arp_tpa=0.0.0."
       "0,"
       "arp_op=1,arp_sha=00:00:00:00:00:00,arp_tha=00:00:00:00:00:00"},
      {"in_port=3,ip",
       "ip,in_port=3,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,nw_src=0.0.0.0,"
       "nw_dst=0.0.0.0,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no"},
  };
  for (const auto& [text, expected] : cases) {
    auto flow = ParseTraceFlow(text);
    ASSERT_TRUE(flow.ok()) << flow.status();
    EXPECT_EQ(FormatTraceFlow(flow->key, flow->in_port), expected);
    auto again = ParseTraceFlow(expected);
    if (expected.find("vlan_tci1") != std::string::npos) continue;  // printed only
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(FormatTraceFlow(again->key, again->in_port), expected);
  }
}

TEST(TraceFlowTest, ErrorsNameTheField) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"in_port=1,foo=3", "Bad openflow flow syntax: in_port=1,foo=3: unknown field foo"},
           {"bar", "unknown field bar"},
           {"dl_src=1", "dl_src=1: expected an Ethernet address"},
           {"nw_src=10.0.0", "nw_src=10.0.0: expected an IPv4 address"},
           {"dl_vlan=4096", "dl_vlan=4096: expected a number up to 4095"},
       }) {
    auto flow = ParseTraceFlow(text);
    ASSERT_FALSE(flow.ok());
    EXPECT_THAT(std::string(flow.status().message()), HasSubstr(expected));
  }
}

TEST(TraceFlowTest, MegaflowsHaveWhatWasLookedAt) {
  auto flow = ParseTraceFlow("in_port=3,tcp,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b");
  ASSERT_TRUE(flow.ok());
  FlowMask mask;
  mask.eth_type = Be16(0xffff);
  mask.eth_src.fill(0xff);
  mask.eth_dst.fill(0xff);
  mask.ip_frag = 0xff;
  EXPECT_EQ(FormatMegaflow(ApplyMask(flow->key, mask), mask, "3"),
            "recirc_id=0,eth,ip,in_port=3,dl_src=02:00:00:00:00:0a,dl_dst=02:00:00:00:00:0b,nw_frag=no");
}

}  // namespace
}  // namespace sluice
