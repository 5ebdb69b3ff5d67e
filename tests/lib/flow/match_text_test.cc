#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/flow/flow_text.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

const PortNames kNoNames;

Match Parse(std::string_view text) {
  absl::StatusOr<Match> match = ParseMatch(text, kNoNames);
  EXPECT_TRUE(match.ok()) << text << ": " << Message(match.status());
  return match.ok() ? *match : Match{};
}

std::string RoundTrip(std::string_view text) { return FormatMatch(Parse(text), kNoNames); }

std::string ErrorOf(std::string_view text) {
  absl::StatusOr<Match> match = ParseMatch(text, kNoNames);
  return match.ok() ? "" : Message(match.status());
}

TEST(MatchTextTest, PrintsWhatItReads) {
  const char* const texts[] = {
      "",
      "in_port(1)",
      "in_port(1/0xff)",
      "recirc_id(0),in_port(2),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),"
      "ipv4(src=10.0.0.1,dst=10.0.0.2,proto=6,tos=0,ttl=64,frag=no),tcp(src=80,dst=1024),tcp_flags(syn|ack)",
      "skb_priority(0x3),skb_mark(0x1/0xff),recirc_id(0x1f),dp_hash(0x2/0xf),in_port(7)",
      "recirc_id(0),in_port(2),eth_type(0x0800),ipv4(frag=no)",
      "eth(dst=01:00:00:00:00:00/01:00:00:00:00:00),eth_type(0x0800),ipv4(src=10.0.0.0/255.0.0.0,tos=0x4/"
      "0xfc,frag=later)",
      "eth_type(0x0800),ipv4(frag=0x1/0x1)",
      "eth_type(0x0800),ipv4(proto=6,frag=first),tcp(dst=80/0xfff0),tcp_flags(+syn-rst-ack)",
      "eth_type(0x0800),ipv4(proto=6),tcp_flags(0)",
      "eth_type(0x0800),ipv4(proto=6),tcp_flags(fin|ns|[800])",
      "eth_type(0x0800),ipv4(proto=17),udp(src=53)",
      "eth_type(0x0800),ipv4(proto=132),sctp(src=53,dst=54)",
      "eth_type(0x0800),ipv4(proto=1),icmp(type=8,code=0)",
      "eth_type(0x0800/0xff00)",
      "eth_type(0x86dd),ipv6(src=fe80::1,dst=ff00::/"
      "ff00::,label=0x12345,proto=6,tclass=0x3,hlimit=64,frag=no),tcp(src=1)",
      "eth_type(0x86dd),ipv6(label=0x5/0xff,proto=58),icmpv6(type=135,code=0),"
      "nd(target=fe80::9,sll=00:00:00:00:00:01,tll=00:00:00:00:00:02)",
      "eth_type(0x0806),arp(sip=1.2.3.4,tip=5.6.7.8,op=1,sha=00:00:00:00:00:01,tha=00:00:00:00:00:02)",
      "eth_type(0x8847),mpls(label=100,tc=3,ttl=64,bos=1)",
      "eth_type(0x8847),mpls(label=100/0xfffff,tc=0/0,ttl=0/0x0,bos=0/0)",
      "eth_type(0x8848),mpls(lse0=0x64140,lse1=0x65000/0xfffff000)",
      "eth_type(0x05ff)",
      "in_port(1),eth_type(0x8100),vlan(vid=5,pcp=0),encap(eth_type(0x0800),ipv4(proto=17,frag=no),udp(dst=53))",
      "eth_type(0x8100),vlan(vid=5/0xff),encap()",
      "eth_type(0x8100),vlan(),encap(eth_type(0x0806))",
      "eth_type(0x88a8),vlan(vid=5,pcp=1),encap(eth_type(0x8100),vlan(vid=6),encap(eth_type(0x86dd),ipv6(frag=no)))",
      "eth_type(0x8100),vlan(vid=5),encap(eth_type(0x8100),vlan(vid=6),encap(eth_type(0x8100)))",
      // What the usual form cannot say: any or no tag before a type, no tag before any type, bits of a tag.
      "eth_type(0x0800),vlan(tci=0/0),ipv4(proto=6)",
      "vlan(tci=0x0/0xffff)",
      "vlan(tci=0x5/0xfff)",
      "eth_type(0x0800),vlan(tci=0x1005/0x1fff,tpid=0x8100/0xffff)",
  };
  for (const char* text : texts) EXPECT_EQ(RoundTrip(text), text);
}

TEST(MatchTextTest, ReadsOtherSpellings) {
  EXPECT_EQ(RoundTrip(" in_port(0x1) , eth(),eth_type(2048) ipv4()"), "in_port(1),eth_type(0x0800)");
  EXPECT_EQ(RoundTrip("packet_type(ns=0,id=0),recirc_id(0x0)"), "recirc_id(0)");
  EXPECT_EQ(RoundTrip("eth_type(0x0800),ipv4(src=10.1.2.3/24)"), "eth_type(0x0800),ipv4(src=10.1.2.0/255.255.255.0)");
  EXPECT_EQ(RoundTrip("eth_type(0x86dd),ipv6(src=fe80::1/16)"), "eth_type(0x86dd),ipv6(src=fe80::/ffff::)");
  EXPECT_EQ(RoundTrip("eth_type(0x0800),ipv4(proto=6),tcp_flags(0x12)"),
            "eth_type(0x0800),ipv4(proto=6),tcp_flags(syn|ack)");
  EXPECT_EQ(RoundTrip("eth_type(0x0800),ipv4(proto=6),tcp_flags(0x2/0x12)"),
            "eth_type(0x0800),ipv4(proto=6),tcp_flags(+syn-ack)");
  EXPECT_EQ(RoundTrip("eth_type(0/0xffff)"), "eth_type(0x05ff)");
  EXPECT_EQ(RoundTrip("eth_type(0x8100),vlan(vid=5,cfi=1)"), "eth_type(0x8100),vlan(vid=5),encap()");
}

TEST(MatchTextTest, ReadsAVerboseDumpOfOpenVSwitch) {
  EXPECT_EQ(
      RoundTrip("skb_priority(0/0),skb_mark(0/0),ct_state(0/0),ct_zone(0/0),ct_mark(0/0),ct_label(0/0),recirc_id(0),"
                "dp_hash(0/0),in_port(1),packet_type(ns=0,id=0),eth(src=00:00:00:00:00:01/00:00:00:00:00:00,"
                "dst=00:00:00:00:00:02),eth_type(0x0800),ipv4(src=10.0.0.1/0.0.0.0,dst=10.0.0.2,proto=6/0,tos=0/0,"
                "ttl=64/0,frag=no)"),
      "recirc_id(0),in_port(1),eth(dst=00:00:00:00:00:02),eth_type(0x0800),ipv4(dst=10.0.0.2,frag=no)");
}

TEST(MatchTextTest, PutsFieldsWhereTheParserPutsThem) {
  Match match = Parse(
      "in_port(9),eth_type(0x8100),vlan(vid=5,pcp=3),encap(eth_type(0x86dd),ipv6(src=::1,proto=6,tclass=0x2,hlimit=7),"
      "tcp(src=80/0xf0))");
  EXPECT_EQ(match.key.in_port, 9u);
  EXPECT_EQ(match.key.vlan_tci.Get(), 5 | 3 << 13 | kVlanPresent);
  EXPECT_EQ(match.mask.vlan_tci.Get(), 0xffff);
  EXPECT_EQ(match.key.vlan_tpid.Get(), 0x8100);
  EXPECT_EQ(match.mask.vlan_tpid.Get(), 0xffff);
  EXPECT_EQ(match.key.inner_vlan_tci, Be16());
  EXPECT_EQ(match.mask.inner_vlan_tci.Get(), 0xffff);
  EXPECT_EQ(match.key.eth_type.Get(), 0x86dd);
  EXPECT_EQ(match.key.ipv6_src[15], 1);
  EXPECT_EQ(match.mask.ipv6_src[0], 0xff);
  EXPECT_EQ(match.mask.ipv6_dst, Ipv6Address{});
  EXPECT_EQ(match.key.ip_proto, 6);
  EXPECT_EQ(match.key.ip_tos, 2);
  EXPECT_EQ(match.key.ip_ttl, 7);
  EXPECT_EQ(match.key.tp_src.Get(), 0x50 & 0xf0);
  EXPECT_EQ(match.mask.tp_src.Get(), 0xf0);
}

// As in Open vSwitch: the outermost type is 0x0800, so there is no tag. A flow that names no type takes both.
TEST(MatchTextTest, ATypeWithoutTagMatchesNoTag) {
  Match match = Parse("eth_type(0x0800)");
  EXPECT_EQ(match.key.vlan_tci, Be16());
  EXPECT_EQ(match.mask.vlan_tci.Get(), 0xffff);
  EXPECT_EQ(Parse("in_port(1)").mask.vlan_tci, Be16());
}

TEST(MatchTextTest, OmitsWhatThePacketCannotHave) {
  Match match;
  for (size_t i = 0; i < FlowKey::kWords; ++i) match.mask.SetWord(i, ~uint64_t{0});
  match.key.eth_type = Be16(0x88cc);
  EXPECT_EQ(FormatMatch(match, kNoNames),
            "skb_priority(0),skb_mark(0),recirc_id(0),dp_hash(0),in_port(0),"
            "eth(src=00:00:00:00:00:00,dst=00:00:00:00:00:00),eth_type(0x88cc)");
}

TEST(MatchTextTest, TranslatesPortNames) {
  PortNames names{[](std::string_view name) -> absl::StatusOr<uint32_t> {
                    if (name == "p-1.5") return 4;
                    return NotFound("no such port");
                  },
                  [](uint32_t number) { return number == 4 ? std::string("p-1.5") : std::string(); }};
  absl::StatusOr<Match> match = ParseMatch("in_port(p-1.5)", names);
  ASSERT_TRUE(match.ok());
  EXPECT_EQ(match->key.in_port, 4u);
  EXPECT_EQ(FormatMatch(*match, names), "in_port(p-1.5)");
  EXPECT_EQ(FormatMatch(*match, kNoNames), "in_port(4)");
  EXPECT_EQ(Message(ParseMatch("in_port(p2)", names).status()),
            "column 9: 'p2': expected a port's number or name (no such port)");
}

TEST(MatchTextTest, SaysWhereAndWhatWasExpected) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"in_prt(1)", "column 1: 'in_prt': expected recirc_id, dp_hash"},
      {"in_port", "column 1: 'in_port': expected a field such as in_port(1)"},
      {"in_port(p1)", "column 9: 'p1': expected a port number"},
      {"in_port(1", "column 10: end of text: expected ')'"},
      {"in_port(1),in_port(2)", "column 12: 'in_port': expected in_port once"},
      {"in_port(1))", "column 11: ')': expected the end"},
      {"eth_type(0x10000)", "column 10: '0x10000': expected a number from 0 to 65535"},
      {"eth_type(0x0800),ipv4(sr=1.2.3.4)", "column 23: 'sr': expected src=, dst="},
      {"eth_type(0x0800),ipv4(frag=maybe)", "column 28: 'maybe': expected no, first or later"},
      {"ipv4(frag=no)", "column 1: 'ipv4': expected eth_type(0x0800) beside it"},
      {"eth_type(0x0800),tcp(dst=80)", "column 18: 'tcp': expected ipv4(proto=6) or ipv6(proto=6) beside it"},
      {"eth_type(0x0800),ipv4(proto=17),tcp(dst=80)", "column 33: 'tcp': expected ipv4(proto=6)"},
      {"eth_type(0x86dd),ipv6(proto=58),icmp(type=8)", "expected ipv4(proto=1) beside it"},
      {"eth_type(0x0800),ipv4(proto=6),tcp_flags(syn|foo)", "column 46: 'foo': expected TCP flags"},
      {"vlan(vid=1)", "column 1: 'vlan': expected eth_type(0x8100) or eth_type(0x88a8) beside vlan"},
      {"eth_type(0x8100),vlan(vid=1,cfi=0)", "expected 1, as the tag is there"},
      {"eth_type(0x8100),vlan(vid=1),encap(eth_type(0x8100),vlan(vid=2),encap(eth_type(0x8100),vlan(vid=3)))",
       "expected no more than two tags"},
      {"packet_type(ns=1,id=2)", "column 13: 'ns': expected ns=0,id=0"},
      {"ct_state(+trk)", "expected 0/0, as there is no connection tracking"},
      {"eth_type(0x0806),arp(op=300)", "expected a number from 0 to 255"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorOf(c.text), HasSubstr(c.error)) << c.text;
}

TEST(MatchTextTest, BoundsNesting) {
  std::string hostile;
  for (int i = 0; i < 100000; ++i) hostile += "encap(";
  EXPECT_THAT(ErrorOf(hostile), HasSubstr("no more than two tags"));
}

// Random matches as the datapath could have them: printing and reading gives the same key and mask back.
TEST(MatchTextTest, RandomMatchesComeBack) {
  unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  auto half = [&random] { return random() % 2 == 0; };
  for (int i = 0; i < 20000; ++i) {
    Match match;
    FlowMask& mask = match.mask;
    auto randomize = [&](auto& value, auto& bits) {
      if (half()) return;
      for (size_t b = 0; b < sizeof value; ++b) {
        reinterpret_cast<uint8_t*>(&value)[b] = static_cast<uint8_t>(random());
        reinterpret_cast<uint8_t*>(&bits)[b] = half() ? 0xff : static_cast<uint8_t>(random());
      }
    };
    FlowKey& key = match.key;
    randomize(key.in_port, mask.in_port);
    randomize(key.recirc_id, mask.recirc_id);
    randomize(key.dp_hash, mask.dp_hash);
    randomize(key.skb_mark, mask.skb_mark);
    randomize(key.skb_priority, mask.skb_priority);
    randomize(key.eth_src, mask.eth_src);
    randomize(key.eth_dst, mask.eth_dst);
    randomize(key.vlan_tci, mask.vlan_tci);
    if (half()) {
      key.vlan_tci = key.vlan_tci | Be16(kVlanPresent);
      mask.vlan_tci = mask.vlan_tci | Be16(kVlanPresent);
      key.vlan_tpid = half() ? Be16(0x8100) : Be16(0x88a8);
      mask.vlan_tpid = Be16(0xffff);
    }
    randomize(key.inner_vlan_tci, mask.inner_vlan_tci);
    randomize(key.inner_vlan_tpid, mask.inner_vlan_tpid);
    constexpr uint16_t kTypes[] = {0x0800, 0x86dd, 0x0806, 0x8847, 0x8100, 0x88cc, 0x05ff};
    key.eth_type = Be16(kTypes[random() % std::size(kTypes)]);
    mask.eth_type = Be16(0xffff);
    uint16_t type = key.eth_type.Get();
    if (type == 0x0800 || type == 0x86dd) {
      constexpr uint8_t kProtos[] = {6, 17, 132, 47};
      key.ip_proto = kProtos[random() % std::size(kProtos)];
      mask.ip_proto = 0xff;
      randomize(key.ip_tos, mask.ip_tos);
      randomize(key.ip_ttl, mask.ip_ttl);
      key.ip_frag = static_cast<uint8_t>(random() % 4);
      mask.ip_frag = static_cast<uint8_t>(random() % 4);
      if (key.ip_proto != 47) {
        randomize(key.tp_src, mask.tp_src);
        randomize(key.tp_dst, mask.tp_dst);
      }
      if (key.ip_proto == 6) {
        key.tcp_flags = Be16(random() & 0xfff);
        mask.tcp_flags = Be16(half() ? 0xfff : random() & 0xfff);
      }
    }
    if (type == 0x0800 || type == 0x0806) {
      randomize(key.ipv4_src, mask.ipv4_src);
      randomize(key.ipv4_dst, mask.ipv4_dst);
    }
    if (type == 0x86dd) {
      randomize(key.ipv6_src, mask.ipv6_src);
      randomize(key.ipv6_dst, mask.ipv6_dst);
      key.ipv6_label = Be32(random() & 0xfffff);
      mask.ipv6_label = Be32(random() & 0xfffff);
    }
    if (type == 0x8847) randomize(key.mpls_lse, mask.mpls_lse);
    if (type == 0x0806) {
      randomize(key.arp_sha, mask.arp_sha);
      randomize(key.arp_tha, mask.arp_tha);
    }
    key = ApplyMask(key, mask);
    std::string text = FormatMatch(match, kNoNames);
    absl::StatusOr<Match> again = ParseMatch(text, kNoNames);
    ASSERT_TRUE(again.ok()) << text << ": " << Message(again.status());
    // A tag that is looked at and absent may come back with more mask bits: with it, the whole tag is zero.
    EXPECT_EQ(FormatMatch(*again, kNoNames), text);
    for (size_t w = 0; w < FlowKey::kWords; ++w) {
      if (w == 5) continue;
      EXPECT_EQ(again->key.Word(w), key.Word(w)) << text << " word " << w;
      EXPECT_EQ(again->mask.Word(w), mask.Word(w)) << text << " word " << w;
    }
  }
}

TEST(UfidTest, RoundTrips) {
  const char* text = "ufid:f745e2c4-b92f-4072-ad11-980114e3b9b3";
  absl::StatusOr<Ufid> ufid = ParseUfid(text);
  ASSERT_TRUE(ufid.ok());
  EXPECT_EQ(ufid->high, 0xf745e2c4b92f4072u);
  EXPECT_EQ(ufid->low, 0xad11980114e3b9b3u);
  EXPECT_EQ(FormatUfid(*ufid), text);
}

TEST(UfidTest, RefusesAnythingElse) {
  for (const char* text : {"", "ufid:", "f745e2c4-b92f-4072-ad11-980114e3b9b3",
                           "ufid:f745e2c4-b92f-4072-ad11-980114e3b9b", "ufid:f745e2c4-b92f-4072-ad11-980114e3b9b31",
                           "ufid:f745e2c4b92f-4072-ad11-980114e3b9b3-", "ufid:g745e2c4-b92f-4072-ad11-980114e3b9b3"}) {
    EXPECT_FALSE(ParseUfid(text).ok()) << text;
  }
}

TEST(TcpFlagLettersTest, AreThoseOfDumpFlows) {
  EXPECT_EQ(FormatTcpFlagLetters(0), "none");
  EXPECT_EQ(FormatTcpFlagLetters(0x02), "S");
  EXPECT_EQ(FormatTcpFlagLetters(0x10), ".");
  EXPECT_EQ(FormatTcpFlagLetters(0x1b), "SFP.");
  EXPECT_EQ(FormatTcpFlagLetters(0xfff), "SFPRU.ECN[200][400][800]");
}

}  // namespace
}  // namespace sluice
