// For random tables and packets: every packet that a megaflow covers is translated as the one that it was made for.
#include <random>

#include "tests/ofproto/xlate/openflow/flow_fixture.h"

namespace sluice::testing {
namespace {

class RandomTables : public FlowFixture {
 protected:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  template <size_t kCount>
  std::string Pick(const char* const (&choices)[kCount]) {
    return choices[Below(kCount)];
  }

  std::string RandomMatch() {
    return Pick({"", "in_port=1,", "in_port=2,", "ip,", "ip,nw_dst=10.0.0.0/8,", "ip,nw_dst=10.0.0.1,",
                 "ip,nw_src=10.1.0.0/16,", "tcp,tp_dst=80,", "tcp,tp_dst=0x50/0xfff0,", "udp,tp_src=53,",
                 "dl_vlan=5,", "dl_vlan=5,dl_vlan_pcp=3,", "vlan_tci=0,", "dl_dst=02:00:00:00:00:01,",
                 "dl_src=02:00:00:00:00:00/ff:00:00:00:00:00,", "arp,arp_tpa=10.0.0.1,", "ipv6,", "reg0=1,", "reg0=2,",
                 "ip,nw_ttl=1,", "ip,nw_tos=16,", "icmp,icmp_type=8,"});
  }
  std::string RandomAction(uint32_t table) {
    const std::string next = std::to_string(std::min(table + 1 + Below(2), 3u));
    const std::string text =
        Pick({"output:1", "output:2", "output:3", "in_port", "normal", "flood", "set_field:1->reg0",
              "set_field:2->reg0", "dec_ttl", "mod_nw_dst:10.0.0.1", "mod_nw_tos:16", "mod_dl_dst:02:00:00:00:00:01",
              "mod_vlan_vid:5", "mod_vlan_pcp:3", "strip_vlan", "mod_tp_dst:80", "NEXT", "NEXT", "NEXT",
              "move:NXM_OF_IP_SRC[0..7]->NXM_NX_REG0[0..7]", "set_field:10.0.0.9/0.0.0.255->ip_src",
              "push_vlan:0x8100", "clone(mod_nw_dst:10.0.0.2,output:2)", "exit", "set_field:3->pkt_mark",
              "check_pkt_larger(900)->NXM_NX_REG0[0]", "move:NXM_OF_VLAN_TCI[0..11]->NXM_NX_REG0[0..11]"});
    return text == "NEXT" ? "resubmit(," + next + ")" : text;
  }
  void RandomFlows() {
    for (uint32_t i = 12 + Below(20); i > 0; --i) {
      const uint32_t table = Below(4);
      std::string actions;
      for (uint32_t n = 1 + Below(4); n > 0; --n) actions += RandomAction(table) + (n > 1 ? "," : "");
      Flow(fmt::format("table={},priority={},{}actions={}", table, Below(4), RandomMatch(), actions));
    }
    Flow("table=0,priority=0,actions=resubmit(,1)");
  }
  FlowKey RandomKey() {
    FlowKey key = Key(fmt::format(
        "in_port={},{},{}dl_dst=02:00:00:00:00:0{}", 1 + Below(3),
        Pick({"tcp,nw_dst=10.0.0.1,tp_dst=80,nw_ttl=1", "tcp,nw_dst=10.0.0.2,tp_dst=81,nw_ttl=9,nw_tos=16",
              "udp,nw_src=10.1.0.3,nw_dst=11.0.0.1,tp_src=53", "arp,arp_tpa=10.0.0.1", "ipv6,nw_ttl=3", "icmp,icmp_type=8",
              "ip,nw_src=10.1.2.1,nw_proto=50"}),
        Pick({"", "dl_vlan=5,", "dl_vlan=5,dl_vlan_pcp=3,", "dl_vlan=6,"}), Below(3)));
    if (key.vlan_tci != Be16() && Below(3) == 0) {
      key.inner_vlan_tci = Be16(kVlanPresent | 5);
      key.inner_vlan_tpid = Be16(0x8100);
    }
    if (key.eth_type == Be16(0x0800) && Below(6) == 0) key.ip_frag = kFragAny;
    return key;
  }
  std::string Outcome(const FlowKey& key) {
    XlateOut out = Translate(key, /*learn=*/false);
    holds_.push_back(out.holds);
    return Text(out.actions) + " | " + out.drop_reason;
  }

  std::mt19937 random_;
  std::vector<std::vector<std::shared_ptr<const void>>> holds_;  // so that equal records keep their numbers
};

TEST_F(RandomTables, PacketsOfOneMegaflowAreTranslatedTheSame) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    random_.seed(seed);
    bridge_.pipeline->tables.Flush();
    holds_.clear();
    switch_.topology.vlan_limit = Below(3);
    RandomFlows();
    if (HasFatalFailure()) return;
    for (int i = 0; i < 30; ++i) {
      const FlowKey key = RandomKey();
      const FlowMask mask = Translate(key, /*learn=*/false).wildcards;
      const std::string expected = Outcome(key);
      for (int other = 0; other < 20; ++other) {
        const FlowKey wild = RandomKey();
        FlowKey mixed;
        for (size_t word = 0; word < FlowKey::kWords; ++word) {
          mixed.SetWord(word, (key.Word(word) & mask.Word(word)) | (wild.Word(word) & ~mask.Word(word)));
        }
        ASSERT_EQ(Outcome(mixed), expected) << FormatMatch({key, mask}, PortNames{}) << "\nas made for\n"
                                            << FormatMatch({key, key}, PortNames{}) << "\nand\n"
                                            << FormatMatch({mixed, mixed}, PortNames{});
      }
    }
  }
}

}  // namespace
}  // namespace sluice::testing
