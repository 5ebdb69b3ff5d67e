// What ovs-ofctl 3.1 makes of the same text (parse-flow), and what we refuse that it changes silently.
#include <gtest/gtest.h>

#include "tests/lib/openflow/match/match_text.h"

namespace sluice {
namespace {

struct Row {
  std::string_view text;
  std::string_view printed;
};

void Check(absl::Span<const Row> rows) {
  for (const Row& row : rows) {
    OfMatch match = MatchOf(row.text);
    NormalizeMatch(match);
    EXPECT_EQ(TextOf(match), row.printed) << row.text;
    OfMatch again = MatchOf(row.printed);
    EXPECT_TRUE(again == match) << row.printed;
  }
}

TEST(MatchTextTest, AbbreviatesProtocols) {
  constexpr Row kRows[] = {
      {"dl_type=0x800", "ip"},
      {"ip4,nw_proto=6", "tcp"},
      {"ip,nw_proto=58", "ip,nw_proto=58"},
      {"ipv6,nw_proto=58", "icmp6"},
      {"ip6,nw_proto=1", "ipv6,nw_proto=1"},
      {"ip,nw_proto=2", "ip,nw_proto=2"},
      {"ip_proto=6,ip", "tcp"},
      {"tcp,ip", "tcp"},
      {"tcp,udp", "udp"},
      {"arp,nw_proto=2", "arp,arp_op=2"},
      {"rarp,nw_proto=2", "rarp,arp_op=2"},
      {"eth_type=0x1234", "dl_type=0x1234"},
      {"dl_type=0x05ff", "dl_type=0x05ff"},
      {"sctp6,sctp_dst=3", "sctp6,tp_dst=3"},
      {"dl_type=0x8847", "mpls"},
      {"dl_type=0x8848", "mplsm"},
      {"eth", ""},
  };
  Check(kRows);
}

TEST(MatchTextTest, PrintsInTheOrderOfOvsOfctl) {
  constexpr Row kRows[] = {
      {"dp_hash=4/0xff,recirc_id=3,pkt_mark=5,conj_id=7", "pkt_mark=0x5,recirc_id=0x3,dp_hash=0x4/0xff,conj_id=7"},
      {"dl_src=1:2:3:4:5:6,dl_dst=1:2:3:4:5:6/01:00:00:00:00:00,dl_type=0x88cc,reg0=0,reg1=0x5/0xf,reg15=7,dl_vlan=5,"
       "dl_vlan_pcp=3,metadata=0,in_port=5",
       "reg0=0,reg1=0x5/0xf,reg15=0x7,metadata=0,in_port=5,dl_vlan=5,dl_vlan_pcp=3,dl_src=01:02:03:04:05:06,"
       "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,dl_type=0x88cc"},
      {"tp_src=5,tp_dst=6/0xf0,tcp_flags=+syn-ack,nw_tos=32,nw_ecn=2,nw_ttl=64,ip_frag=no,nw_dst=1.2.3.4/255.0.255.0,"
       "nw_src=1.2.3.4/24,tcp",
       "tcp,nw_src=1.2.3.0/24,nw_dst=1.0.3.0/255.0.255.0,nw_tos=32,nw_ecn=2,nw_ttl=64,nw_frag=no,tp_src=5,"
       "tp_dst=0x0/0xf0,tcp_flags=+syn-ack"},
      {"arp,arp_op=1,nw_src=1.2.3.4,arp_tpa=1.2.3.4,arp_sha=1:1:1:1:1:1,arp_tha=1:1:1:1:1:2",
       "arp,arp_spa=1.2.3.4,arp_tpa=1.2.3.4,arp_op=1,arp_sha=01:01:01:01:01:01,arp_tha=01:01:01:01:01:02"},
      {"mpls,mpls_label=5,mpls_tc=2,mpls_bos=1,mpls_ttl=5", "mpls,mpls_label=5,mpls_tc=2,mpls_ttl=5,mpls_bos=1"},
      {"dl_type=0x894f,nsh_flags=1/1,nsh_ttl=5,nsh_mdtype=1,nsh_np=3,nsh_spi=0x123456,nsh_si=5,nsh_c1=1/0xff,nsh_c2=0,"
       "nsh_c3=3,nsh_c4=4",
       "dl_type=0x894f,nsh_flags=0x01/0x01,nsh_ttl=5,nsh_mdtype=1,nsh_np=3,nsh_spi=0x123456,nsh_si=5,nsh_c1=0x1/0xff,"
       "nsh_c2=0x0,nsh_c3=0x3,nsh_c4=0x4"},
      {"packet_type=(1,0x800),nw_src=1.2.3.4,metadata=6,reg0=5,pkt_mark=5",
       "pkt_mark=0x5,packet_type=(1,0x800),reg0=0x5,metadata=0x6,nw_src=1.2.3.4"},
      {"packet_type=(1,0x86dd),nw_proto=58,icmp_type=135,icmp_code=0,nd_target=1::1,ipv6_src=1::1",
       "packet_type=(1,0x86dd),ipv6_src=1::1,nw_proto=58,icmp_type=135,icmp_code=0,nd_target=1::1"},
      {"icmp6,nd_sll=1:1:1:1:1:1,icmp_type=135,icmp_code=0,nd_target=1::/32,nw_ttl=255",
       "icmp6,nw_ttl=255,icmp_type=135,icmp_code=0,nd_target=1::/32,nd_sll=01:01:01:01:01:01"},
  };
  Check(kRows);
}

TEST(MatchTextTest, VlansHaveTheirShortestForm) {
  constexpr Row kRows[] = {
      {"vlan_tci=0", "vlan_tci=0x0000"},
      {"dl_vlan=0xffff", "vlan_tci=0x0000"},
      {"vlan_tci=0x1000/0x1000", "vlan_tci=0x1000/0x1000"},
      {"vlan_vid=0x1000/0x1000", "vlan_tci=0x1000/0x1000"},
      {"vlan_tci=0x1005/0x1fff", "dl_vlan=5"},
      {"vlan_vid=0x1005", "dl_vlan=5"},
      {"vlan_vid=0x1005/0xffff", "dl_vlan=5"},
      {"vlan_vid=0x1005/0x1005", "vlan_tci=0x1005/0x1005"},
      {"vlan_vid=5/0xfff", "vlan_tci=0x0005/0x0fff"},
      {"vlan_tci=0x3005/0xefff", "vlan_tci=0x2005/0xefff"},
      {"vlan_tci=0xf123", "dl_vlan=291,dl_vlan_pcp=7"},
      {"vlan_tci=0x7000/0xf000", "dl_vlan_pcp=3"},
      {"vlan_tci=0x1003/0x100f", "vlan_tci=0x1003/0x100f"},
      {"dl_vlan=5,vlan_pcp=2", "dl_vlan=5,dl_vlan_pcp=2"},
      {"vlan_pcp=2", "dl_vlan_pcp=2"},
      {"dl_vlan=0", "dl_vlan=0"},
      {"vlan_tci=0x1000/0xffff", "dl_vlan=0,dl_vlan_pcp=0"},
      {"vlan_pcp=3,vlan_vid=0/0x1000", "vlan_tci=0x6000/0xf000"},
      {"dl_vlan=5,dl_vlan=0xffff", "vlan_tci=0x0000"},
      {"dl_vlan=5,vlan_tci=0x1/0x1", "vlan_tci=0x0001/0x0001"},
  };
  Check(kRows);
}

TEST(MatchTextTest, ValuesHaveTheFormOfTheirKind) {
  constexpr Row kRows[] = {
      {"tcp6,ipv6_src=1::2/64,ipv6_dst=::/0,ipv6_label=5/0xff,tcp_flags=5",
       "tcp6,ipv6_src=1::/64,ipv6_label=0x00005/0x000ff,tcp_flags=fin|rst"},
      {"tcp,tcp_flags=5/7", "tcp,tcp_flags=+fin-syn+rst"},
      {"tcp,tcp_flags=0", "tcp,tcp_flags=0"},
      {"tcp,tcp_flags=0xfff", "tcp,tcp_flags=fin|syn|rst|psh|ack|urg|ece|cwr|ns|[200]|[400]|[800]"},
      {"tcp,tcp_flags=+[800]-[200]+ns", "tcp,tcp_flags=+ns-[200]+[800]"},
      {"tcp,tcp_flags=0x12/0x0", "tcp"},
      {"ip,nw_frag=yes", "ip,nw_frag=yes"},
      {"ip,ip_frag=not_later", "ip,nw_frag=not_later"},
      {"ip,ip_dscp=5", "ip,nw_tos=20"},
      {"ip,nw_tos=0xff", "ip,nw_tos=252"},
      {"icmp,tp_src=3,icmp_code=2", "icmp,icmp_type=3,icmp_code=2"},
      {"icmp6,icmpv6_type=3", "icmp6,icmp_type=3"},
      {"xreg0=5", "reg0=0,reg1=0x5"},
      {"xreg1=5/7", "reg3=0x5/0x7"},
      {"xxreg0=0x123/0xfff", "reg3=0x123/0xfff"},
      {"xxreg0=0x100000002", "reg0=0,reg1=0,reg2=0x1,reg3=0x2"},
      {"metadata=18446744073709551615", "metadata=0xffffffffffffffff"},
      {"reg0=010", "reg0=0x8"},
      {"reg0=0X5", "reg0=0x5"},
      {"reg0=1,reg0=2", "reg0=0x2"},
      {"reg0=1/1,reg0=2/2", "reg0=0x2/0x2"},
      {"reg0=*", ""},
      {"dl_vlan=5,dl_vlan=*", ""},
      {"dl_vlan=5,dl_vlan_pcp=1,dl_vlan=*", "dl_vlan_pcp=1"},
      {"dl_vlan", ""},
      {"reg0", ""},
      {"ipv6,ipv6_src=::ffff:1.2.3.4", "ipv6,ipv6_src=::ffff:1.2.3.4"},
      {"ipv6,ipv6_src=1::1/ffff::ffff", "ipv6,ipv6_src=1::1/ffff::ffff"},
      {"ip,nw_src=1.2.3.4/0", "ip"},
      {"ip,nw_src=1.2.3.4/32", "ip,nw_src=1.2.3.4"},
      {"in_port=local", "in_port=LOCAL"},
      {"in_port_oxm=4294967294", "in_port=LOCAL"},
      {"in_port=65535", "in_port=ANY"},
      {"actset_output=3", "actset_output=3"},
      {"dl_dst=FF:fF:ff:ff:ff:ff", "dl_dst=ff:ff:ff:ff:ff:ff"},
      {"dl_src=00:00:00:00:00:00/00:00:00:00:00:00", ""},
  };
  Check(kRows);
}

TEST(MatchTextTest, NormalizingLeavesOutWhatThePacketDoesNotHave) {
  constexpr Row kRows[] = {
      {"tp_src=5", ""},
      {"arp,tp_src=5", "arp"},
      {"nw_src=1.2.3.4", ""},
      {"arp,nw_tos=4", "arp"},
      {"icmp6,nd_target=1::1", "icmp6"},
      {"ip,tcp_flags=+syn", "ip"},
      {"nw_proto=6", ""},
      {"ipv6,nw_src=1.2.3.4", "ipv6"},
      {"icmp6,icmp_type=136,icmp_code=0,nd_sll=1:1:1:1:1:1", "icmp6,icmp_type=136,icmp_code=0"},
  };
  Check(kRows);
}

TEST(MatchTextTest, PriorityIsPrintedUnlessItIsTheDefault) {
  EXPECT_EQ(FormatMatch(OfMatch(), 32768, {}), "");
  EXPECT_EQ(FormatMatch(OfMatch(), 5, {}), "priority=5");
  EXPECT_EQ(FormatMatch(MatchOf("ip,in_port=1"), 0, {}), "priority=0,ip,in_port=1");
}

TEST(MatchTextTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("reg0=abc"), "abc: bad syntax for reg0 value");
  EXPECT_EQ(ErrorOf("reg0=5/"), "5/: bad syntax for reg0 mask");
  EXPECT_EQ(ErrorOf("reg0=0x1ffffffff"), "0x1ffffffff: value too large for 4-byte field reg0");
  EXPECT_EQ(ErrorOf("reg0=-1"), "-1: value too large for 4-byte field reg0");
  EXPECT_EQ(ErrorOf("reg0=5/0xfffffffff"), "5/0xfffffffff: mask too large for 4-byte field reg0");
  EXPECT_EQ(ErrorOf("ip,nw_ttl=1/1"), "1/1: invalid mask for field nw_ttl");
  EXPECT_EQ(ErrorOf("ip,nw_src=1.2.3.4/33"), "1.2.3.4/33: network prefix bits not between 0 and 32, inclusive");
  EXPECT_EQ(ErrorOf("in_port=eth0"), "eth0: invalid or unknown port for in_port");
  EXPECT_EQ(ErrorOf("tcp,tcp_flags=+syn+foo"), "+syn+foo: foo: unknown TCP flag(s)");
  EXPECT_EQ(ErrorOf("tcp,tcp_flags=+syn-syn"), "+syn-syn: syn: Each TCP flag can be specified only once");
  EXPECT_EQ(ErrorOf("tcp,tcp_flags=0x1fff"), "0x1fff: unknown TCP flag(s)");
  EXPECT_EQ(ErrorOf("dl_vlan=4096"), "4096 is not a valid value for field dl_vlan");
  EXPECT_EQ(ErrorOf("mpls,mpls_label=1048576"), "1048576 is not a valid value for field mpls_label");
  EXPECT_EQ(ErrorOf("zork=5"), "unknown keyword zork=5");
  EXPECT_EQ(ErrorOf("NXM_NX_REG0=5"), "unknown keyword NXM_NX_REG0=5");
  EXPECT_EQ(ErrorOf("ct_state=+trk"), "ct_state: matching on tunnels and connection tracking is not supported yet");
  EXPECT_EQ(ErrorOf("tun_id=5"), "tun_id: matching on tunnels and connection tracking is not supported yet");
  EXPECT_EQ(ErrorOf("tcp=5"), "tcp=5: tcp takes no value");
  for (const char* text : {"dl_src=1:2:3:4:5", "dl_src=1:2:3:4:5:6/ff", "dl_src=1:2:3:4:5:666", "dl_src=::::::",
                           "ip,nw_src=1.2.3", "ip,nw_src=1.2.3.4/foo", "ipv6,ipv6_src=1::/129", "ipv6,ipv6_src=x",
                           "ip,nw_frag=3", "packet_type=5", "packet_type=(1)", "packet_type=(65536,1)", "reg0=0x",
                           "reg0=08", "ip,nw_tos=256", "ip,nw_tos=4/4", "reg0=5/7/7", "tcp,tcp_flags=+"}) {
    EXPECT_NE(ErrorOf(text), "") << text;
  }
}

TEST(MatchTextTest, PrerequisitesAreNamed) {
  EXPECT_EQ(
      ErrorOf("tp_src=5,ip"),
      "match: tcp_src needs tcp or tcp6, udp_src needs udp or udp6, sctp_src needs sctp or sctp6, icmp_type needs "
      "icmp, icmpv6_type needs icmp6");
  EXPECT_EQ(ErrorOf("ip,mpls_label=5"), "match: mpls_label needs mpls or mplsm");
  EXPECT_EQ(ErrorOf("nw_src=1.2.3.4"), "match: ip_src needs ip, arp_spa needs arp or rarp");
  EXPECT_EQ(ErrorOf("packet_type=(1,0x800),dl_src=1:1:1:1:1:1"), "match: eth_src needs an Ethernet packet_type");
  EXPECT_EQ(ErrorOf("tcp,nw_frag=later,tp_dst=5").substr(0, 29), "match: tcp_dst needs tcp or t");
  EXPECT_EQ(ErrorOf("nsh_c1=5"), "match: nsh_c1 needs dl_type=0x894f");
  EXPECT_EQ(ErrorOf("tp_src=5,tcp"), "");
  EXPECT_EQ(ErrorOf("icmp,tp_src=256"),
            "match: ICMP types and codes are numbers from 0 to 255, which cannot be masked");
  EXPECT_EQ(ErrorOf("icmp6,tp_dst=1/3"),
            "match: ICMP types and codes are numbers from 0 to 255, which cannot be masked");
  EXPECT_EQ(ErrorOf("tcp,tp_src=256"), "");
  EXPECT_EQ(ErrorOf("icmp6,icmp_type=135,nd_target=1::1"), "");
}

}  // namespace
}  // namespace sluice
