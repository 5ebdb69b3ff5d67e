#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "lib/base/status.h"
#include "lib/flow/flow_text.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

const PortNames kNoNames;

PortNames TwoNames() {
  return {[](std::string_view name) -> absl::StatusOr<uint32_t> {
            if (name == "p0") return 1;
            if (name == "veth-a.7") return 2;
            return NotFound("no such port");
          },
          [](uint32_t number) -> std::string {
            return number == 1 ? "p0" : number == 2 ? "veth-a.7" : number == 3 ? "17" : number == 4 ? "drop" : "";
          }};
}

std::string RoundTrip(std::string_view text, const PortNames& names = kNoNames) {
  absl::StatusOr<ActionList> actions = ParseActions(text, names);
  return actions.ok() ? FormatActions(*actions, names) : Message(actions.status());
}

std::string ErrorOf(std::string_view text, const PortNames& names = kNoNames) {
  absl::StatusOr<ActionList> actions = ParseActions(text, names);
  return actions.ok() ? "" : Message(actions.status());
}

// What is printed as it was read.
const char* const kCanonical[] = {
    "drop",
    "1",
    "1,2,pop_vlan,push_vlan(vid=1,pcp=0),3",
    "push_vlan(tpid=0x88a8,vid=4095,pcp=7),1",
    "set(eth(src=00:11:22:33:44:55,dst=00:11:22:33:44:56)),1",
    "set(eth(src=00:11:22:00:00:00/ff:ff:ff:00:00:00)),1",
    "set(vlan(vid=5,pcp=1)),1",
    "set(vlan(pcp=1)),1",
    "set(ipv4(src=1.2.3.4,dst=5.6.7.8,tos=0x4,ttl=64)),1",
    "set(ipv4(src=1.2.0.0/255.255.0.0,tos=0x4/0xfc)),1",
    "set(ipv6(src=::1,dst=fe80::2,label=0x5,tclass=0x3,hlimit=255)),1",
    "set(ipv6(dst=ff00::/ff00::)),1",
    "set(tcp(src=80)),1",
    "set(udp(src=1,dst=53)),1",
    "set(sctp(dst=53/0xff)),1",
    "set(icmp(type=8,code=0)),1",
    "set(icmpv6(type=135)),1",
    "set(arp(sip=1.2.3.4,tip=1.1.1.1,op=2,sha=00:11:22:33:44:55,tha=00:11:22:33:44:55)),1",
    "set(nd(target=::1,sll=00:11:22:33:44:55,tll=00:11:22:33:44:56)),1",
    "set(mpls(label=5,tc=1,ttl=64,bos=1)),1",
    "set(mpls(label=5/0xff,tc=0/0,ttl=0/0x0,bos=0/0)),1",
    "set(skb_mark(0x5)),1",
    "set(skb_mark(0x5/0xf)),1",
    "set(skb_priority(0x5)),1",
    "push_mpls(label=5,tc=1,ttl=3,bos=1,eth_type=0x8847),1",
    "pop_mpls(eth_type=0x800),1",
    "hash(l4(0)),recirc(0x1)",
    "hash(sym_l4(5)),recirc(0x2)",
    "recirc(0)",
    "clone(1,2),3",
    "clone(drop),3",
    "sample(sample=50.0%,actions(1)),2",
    "sample(sample=100.0%,actions(drop)),2",
    "trunc(100),1",
    "check_pkt_len(size=200,gt(drop),le(2))",
    "userspace(pid=5),1",
    "userspace(pid=5,userdata(0102030405060708),actions,tunnel_out_port=3)",
    "clone(sample(sample=0.3%,actions(check_pkt_len(size=1,gt(1),le(clone(2))))))",
};

TEST(ActionsTextTest, PrintsWhatItReads) {
  for (const char* text : kCanonical) EXPECT_EQ(RoundTrip(text), text);
}

TEST(ActionsTextTest, ReadsOtherSpellings) {
  EXPECT_EQ(RoundTrip(""), "drop");
  EXPECT_EQ(RoundTrip(" 1 2,  0x3 "), "1,2,3");
  EXPECT_EQ(RoundTrip("recirc(5)"), "recirc(0x5)");
  EXPECT_EQ(RoundTrip("hash(hash_l4(7))"), "hash(l4(7))");
  EXPECT_EQ(RoundTrip("clone()"), "clone(drop)");
  EXPECT_EQ(RoundTrip("push_vlan(pcp=3,vid=0x5,cfi=1)"), "push_vlan(vid=5,pcp=3)");
  EXPECT_EQ(RoundTrip("set(tcp(src=80/0xffff,dst=1/0xffff))"), "set(tcp(src=80,dst=1))");
  EXPECT_EQ(RoundTrip("set(ipv4(src=10.1.2.3/8))"), "set(ipv4(src=10.0.0.0/255.0.0.0))");
  EXPECT_EQ(RoundTrip("set(ipv4(src=1.2.3.4,proto=6,ttl=9,frag=no))"), "set(ipv4(src=1.2.3.4,ttl=9))");
}

TEST(ActionsTextTest, ReadsValuesIntoTheAction) {
  ActionList actions = *ParseActions(
      "set(ipv4(dst=10.0.0.9,tos=0xff/"
      "0x03)),push_vlan(vid=5,pcp=3),push_mpls(label=16,tc=5,ttl=64,bos=1,eth_type=0x8847),"
      "sample(sample=50.0%,actions(7))",
      kNoNames);
  ASSERT_EQ(actions.size(), 4u);
  const auto& set = std::get<SetAction>(actions[0].value);
  EXPECT_EQ(set.header, SetAction::Header::kIpv4);
  EXPECT_EQ(set.value.ipv4_dst.Get(), 0x0a000009u);
  EXPECT_EQ(set.mask.ipv4_dst.Get(), 0xffffffffu);
  EXPECT_EQ(set.value.ip_tos, 3);
  EXPECT_EQ(set.mask.ip_tos, 3);
  EXPECT_EQ(set.mask.ipv4_src, Be32());
  const auto& vlan = std::get<PushVlanAction>(actions[1].value);
  EXPECT_EQ(vlan.tpid.Get(), 0x8100);
  EXPECT_EQ(vlan.tci.Get(), 5 | 3 << 13);
  const auto& mpls = std::get<PushMplsAction>(actions[2].value);
  EXPECT_EQ(mpls.lse.Get(), 16u << 12 | 5u << 9 | 1u << 8 | 64u);
  const auto& sample = std::get<SampleAction>(actions[3].value);
  EXPECT_EQ(sample.probability, 0x80000000u);
  EXPECT_EQ(std::get<OutputAction>(sample.actions[0].value).port, 7u);
  EXPECT_TRUE(std::holds_alternative<DropAction>((*ParseActions("drop", kNoNames))[0].value));
}

TEST(ActionsTextTest, TranslatesPortNames) {
  PortNames names = TwoNames();
  EXPECT_EQ(RoundTrip("p0,veth-a.7,9", names), "p0,veth-a.7,9");
  EXPECT_EQ(RoundTrip("1,2", names), "p0,veth-a.7");
  // A name that would be read as something else is not printed.
  EXPECT_EQ(RoundTrip("3,4", names), "3,4");
  EXPECT_EQ(ErrorOf("1,nope", names), "column 3: 'nope': expected a port's number or name (no such port)");
}

TEST(ActionsTextTest, SaysWhereAndWhatWasExpected) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"1,foo", "column 3: 'foo': expected a port, drop, set, push_vlan,"},
      {"foo(1)", "column 1: 'foo': expected a port, drop, set"},
      {"1)", "column 2: ')': expected the end, or ',' and another action"},
      {"1(2)", "column 1: '1': expected a port, drop"},
      {"1/2", "column 2: '/': expected ',' and another action"},
      {"4294967296", "column 1: '4294967296': expected a number from 0 to 4294967295"},
      {"set(eth(src=zz))", "column 13: 'zz': expected an Ethernet address such as 00:11:22:33:44:55"},
      {"set(eth(src=00:11:22:33:44))", "column 13: '00:11:22:33:44': expected an Ethernet address"},
      {"set(ipv4(src=1.2.3))", "column 14: '1.2.3': expected an IPv4 address such as 10.0.0.1"},
      {"set(ipv4(src=1.2.3.4/33))", "column 22: '33': expected a number from 0 to 32"},
      {"set(ipv4(ttl=256))", "column 14: '256': expected a number from 0 to 255"},
      {"set(ipv4(size=1))", "column 10: 'size': expected src=, dst=, proto=, tos=, ttl=, frag=, or ')' in ipv4(...)"},
      {"set(ipv4())", "column 5: 'ipv4': expected a field to set in ipv4(...)"},
      {"set(tcp(src=80)", "column 16: end of text: expected ')'"},
      {"set(recirc_id(1))", "column 5: 'recirc_id': expected one of eth(...), vlan(...),"},
      {"push_vlan(vid=4096)", "column 15: '4096': expected a number from 0 to 4095"},
      {"push_vlan(pcp=1)", "expected vid="},
      {"push_vlan(vid=1,tpid=0x1234)", "expected tpid=0x8100 or tpid=0x88a8"},
      {"push_mpls(label=1,eth_type=0x800)", "expected eth_type=0x8847 or eth_type=0x8848"},
      {"hash(crc(0))", "column 6: 'crc': expected l4(BASIS) or sym_l4(BASIS)"},
      {"sample(sample=101%,actions(1))", "column 15: '101%': expected a percentage from 0% to 100%"},
      {"sample(sample=nan%,actions(1))", "expected a percentage"},
      {"trunc(13)", "column 7: '13': expected at least 14 bytes"},
      {"check_pkt_len(size=70000,gt(1),le(2))", "expected a number from 0 to 65535"},
      {"userspace(pid=1,userdata(abc))", "column 26: 'abc': expected bytes of two hexadecimal digits"},
      {"userspace(pid=1,foo)", "column 16: ',': expected ',userdata(HEX)'"},
      {"clone(1", "column 8: end of text: expected ')'"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorOf(c.text), HasSubstr(c.error)) << c.text;
}

TEST(ActionsTextTest, BoundsNesting) {
  std::string deep, closing;
  for (int i = 0; i < 12; ++i) deep += "clone(", closing += ")";
  EXPECT_EQ(ErrorOf(deep + "1" + closing), "");
  EXPECT_THAT(ErrorOf("clone(" + deep + "1)" + closing), HasSubstr("no more than 12 lists inside lists"));
  std::string hostile;
  for (int i = 0; i < 100000; ++i) hostile += "clone(";
  EXPECT_THAT(ErrorOf(hostile), HasSubstr("no more than 12 lists inside lists"));
}

TEST(ActionsTextTest, SurvivesAnyText) {
  unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string text = kCanonical[random() % std::size(kCanonical)];
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0 && !text.empty(); --changes) {
      size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1 + random() % 3);
      } else {
        text.insert(at, 1, "(),=/0x1%:.a\xff"[random() % 13]);
      }
    }
    absl::StatusOr<ActionList> actions = ParseActions(text, kNoNames);
    if (!actions.ok()) {
      EXPECT_THAT(Message(actions.status()), HasSubstr("expected"));
      continue;
    }
    std::string printed = FormatActions(*actions, kNoNames);
    EXPECT_EQ(RoundTrip(printed), printed) << text;
  }
}

// Debian's ovs-dpctl prints the same, where it knows the action.
TEST(ActionsTextTest, AgreesWithOpenVSwitch) {
  ASSERT_EQ(std::system("ovs-dpctl --version >/dev/null 2>&1"), 0)
      << "needs ovs-dpctl: utilities/install-deps brings it";
  int compared = 0;
  for (std::string text : kCanonical) {
    // It cannot read these itself; and userdata it pads or invents.
    if (text.find("mpls(eth") != text.npos || text.find("push_mpls") != text.npos || text.find("hash") != text.npos ||
        text.find("recirc") != text.npos || text.find("userspace") != text.npos ||
        text.find("clone(drop") != text.npos || text.find("actions(drop") != text.npos) {
      continue;
    }
    FILE* pipe = popen(fmt::format("ovs-dpctl parse-actions '{}' 2>&1", text).c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    char line[512] = "";
    ASSERT_NE(fgets(line, sizeof line, pipe), nullptr);
    pclose(pipe);
    EXPECT_EQ(RoundTrip(text) + "\n", line);
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace sluice
