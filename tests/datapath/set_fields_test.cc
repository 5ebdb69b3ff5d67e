#include "datapath/actions/set_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "lib/packet/headers.h"
#include "lib/packet/parse.h"
#include "tests/datapath/execute_support.h"

namespace sluice::testing {
namespace {

struct FrameCase {
  std::string what;
  Bytes frame;
};

std::vector<FrameCase> AllFrames() {
  std::vector<FrameCase> cases;
  for (int version : {4, 6}) {
    for (uint8_t protocol : {6, 17, 132, version == 4 ? 1 : 58}) {
      for (size_t payload : {0, 33}) {
        FrameOptions options{.version = version, .protocol = protocol};
        auto add = [&](std::string_view what) {
          cases.push_back({fmt::format("IPv{} protocol {} payload {} {}", version, protocol, payload, what),
                           MakeFrame(options, MakeTransport(protocol, payload))});
        };
        add("plain");
        options.vlan_tpids = {0x88a8, 0x8100};
        options.ip_options = 8;
        options.hop_by_hop = true;
        add("with tags and options");
        options.segments_left = 1;
        if (version == 6) add("with a routing header");
      }
    }
  }
  cases.push_back(
      {"UDP without checksum", MakeFrame({.protocol = 17, .udp_without_checksum = true}, MakeTransport(17, 10))});
  cases.push_back({"ARP", kArpFrame});
  return cases;
}

// Which set(...) may apply to the frame, and what it may touch.
std::vector<std::pair<SetAction::Header, std::string>> SettersFor(const Bytes& frame) {
  using Header = SetAction::Header;
  Layout layout = LayoutOf(frame);
  std::vector<std::pair<Header, std::string>> setters = {{Header::kEthernet, "eth"}};
  if (layout.l3 > 14) setters.push_back({Header::kVlan, "vlan"});
  if (layout.version == 4) setters.push_back({Header::kIpv4, "ipv4"});
  if (layout.version == 6) setters.push_back({Header::kIpv6, "ipv6"});
  if (layout.version == 0) setters.push_back({Header::kArp, "arp"});
  if (layout.protocol == 6) setters.push_back({Header::kTcp, "tcp"});
  if (layout.protocol == 17) setters.push_back({Header::kUdp, "udp"});
  if (layout.protocol == 132) setters.push_back({Header::kSctp, "sctp"});
  if (layout.protocol == 1) setters.push_back({Header::kIcmp, "icmp"});
  if (layout.protocol == 58) {
    setters.push_back({Header::kIcmpv6, "icmpv6"});
    setters.push_back({Header::kNd, "nd"});
  }
  return setters;
}

// A set action with random value and mask over the fields of its header.
SetAction RandomSet(SetAction::Header header, std::mt19937& random) {
  using Header = SetAction::Header;
  SetAction set{header};
  auto field = [&](auto& value, auto& mask) {
    if (random() % 3 == 0) return;
    for (size_t i = 0; i < sizeof value; ++i) {
      reinterpret_cast<uint8_t*>(&value)[i] = static_cast<uint8_t>(random());
      reinterpret_cast<uint8_t*>(&mask)[i] = random() % 2 ? 0xff : static_cast<uint8_t>(random());
    }
  };
  FlowKey& v = set.value;
  FlowMask& m = set.mask;
  switch (header) {
    case Header::kEthernet:
      field(v.eth_src, m.eth_src);
      field(v.eth_dst, m.eth_dst);
      break;
    case Header::kVlan:
      field(v.vlan_tci, m.vlan_tci);
      v.vlan_tci = v.vlan_tci | Be16(kVlanPresent);
      break;
    case Header::kIpv4:
      field(v.ipv4_src, m.ipv4_src);
      field(v.ipv4_dst, m.ipv4_dst);
      field(v.ip_tos, m.ip_tos);
      field(v.ip_ttl, m.ip_ttl);
      break;
    case Header::kIpv6:
      field(v.ipv6_src, m.ipv6_src);
      field(v.ipv6_dst, m.ipv6_dst);
      field(v.ipv6_label, m.ipv6_label);
      v.ipv6_label = v.ipv6_label & Be32(0xfffff);
      m.ipv6_label = m.ipv6_label & Be32(0xfffff);
      field(v.ip_tos, m.ip_tos);
      field(v.ip_ttl, m.ip_ttl);
      break;
    case Header::kArp:
      field(v.ip_proto, m.ip_proto);
      field(v.ipv4_src, m.ipv4_src);
      field(v.ipv4_dst, m.ipv4_dst);
      field(v.arp_sha, m.arp_sha);
      field(v.arp_tha, m.arp_tha);
      break;
    case Header::kIcmp:
    case Header::kIcmpv6:
      // Type of a neighbour message or not: what the key says of the rest would change with it.
      v.tp_dst = Be16(random() & 0xff);
      m.tp_dst = Be16(0xff);
      if (header == Header::kIcmp) {
        v.tp_src = Be16(random() & 0xff);
        m.tp_src = Be16(random() & 0xff);
      } else {
        v.tp_dst = Be16(0);
        v.tp_src = Be16(136);
        m.tp_src = Be16(0xff);
      }
      break;
    case Header::kNd:
      field(v.nd_target, m.nd_target);
      field(v.arp_sha, m.arp_sha);
      field(v.arp_tha, m.arp_tha);
      break;
    default:
      field(v.tp_src, m.tp_src);
      field(v.tp_dst, m.tp_dst);
  }
  return set;
}

class SetFieldsTest : public ::testing::Test {
 protected:
  SetFieldsTest() : pools_(*PacketPools::Create(64, 4)) {}

  // The frame after the action. Expects that nothing but the fields that it names changed in the key.
  Bytes Apply(const SetAction& set, const Bytes& frame, const Offload& offload) {
    DpPacketPtr packet = Load(frame, pools_);
    packet->offload = offload;
    FlowKey expected;
    ParsePacket(*packet, expected);
    uint16_t offsets[] = {packet->l3_offset, packet->l4_offset, packet->payload_offset};
    EXPECT_TRUE(ApplySet(*packet, set));
    for (size_t i = 0; i < FlowKey::kWords; ++i) {
      uint64_t mask = set.mask.Word(i);
      expected.SetWord(i, (expected.Word(i) & ~mask) | (set.value.Word(i) & mask));
    }
    EXPECT_EQ(packet->l3_offset, offsets[0]);
    EXPECT_EQ(packet->l4_offset, offsets[1]);
    EXPECT_EQ(packet->payload_offset, offsets[2]);
    FlowKey key;
    ParsePacket(*packet, key);
    EXPECT_EQ(key, expected);
    Bytes after = BytesOf(*packet);
    EXPECT_EQ(after.size(), frame.size());
    return after;
  }

  PacketPools pools_;
};

unsigned RandomSeed() {
  unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  return seed;
}

// Ones'-complement sums have two zeros.
uint16_t SameZero(uint16_t sum) { return sum == 0xffff ? 0 : sum; }

TEST_F(SetFieldsTest, KeepsFullChecksumsAsRightOrWrongAsTheyWere) {
  std::mt19937 random(RandomSeed());
  for (const FrameCase& c : AllFrames()) {
    for (const auto& [header, name] : SettersFor(c.frame)) {
      for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(fmt::format("{} set({})", c.what, name));
        Bytes frame = c.frame;
        Layout layout = LayoutOf(frame);
        bool wrong = round % 2 == 1 && layout.version != 0 && c.what != "UDP without checksum";
        if (wrong) {
          size_t at = ChecksumAt(frame);
          frame[at] ^= static_cast<uint8_t>(1 + random() % 200);
          if ((frame[at] | frame[at + 1]) == 0) frame[at] = 1;  // zero would say that there is none
          if (layout.version == 4) frame[layout.l3 + 11] ^= static_cast<uint8_t>(1 + random() % 200);
        }
        Offload offload{.l4 = wrong ? ChecksumState::kBad : ChecksumState::kGood};
        Bytes after = Apply(RandomSet(header, random), frame, offload);
        if (layout.version == 4) {
          EXPECT_EQ(SameZero(Ipv4HeaderSum(after)), SameZero(Ipv4HeaderSum(frame)));
        }
        if (layout.version == 0) continue;
        size_t at = ChecksumAt(after);
        if (c.what == "UDP without checksum") {
          EXPECT_EQ(after[at] | after[at + 1], 0);
        } else if (layout.protocol == 132) {
          auto stored = [at](const Bytes& b) {
            return uint32_t{b[at]} | uint32_t{b[at + 1]} << 8 | uint32_t{b[at + 2]} << 16 | uint32_t{b[at + 3]} << 24;
          };
          EXPECT_EQ(stored(after) ^ SctpCrc(after), stored(frame) ^ SctpCrc(frame));
        } else {
          EXPECT_EQ(SameZero(TransportSum(after)), SameZero(TransportSum(frame)));
          if (layout.protocol == 17) {
            EXPECT_NE(after[at] | after[at + 1], 0);
          }
        }
      }
    }
  }
}

TEST_F(SetFieldsTest, KeepsAPostponedChecksumTheSumOfThePseudoHeader) {
  std::mt19937 random(RandomSeed());
  for (const FrameCase& c : AllFrames()) {
    Layout layout = LayoutOf(c.frame);
    if (layout.version == 0 || layout.protocol == 132 || layout.protocol == 1) continue;
    for (const auto& [header, name] : SettersFor(c.frame)) {
      for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(fmt::format("{} set({})", c.what, name));
        Bytes frame = c.frame;
        size_t at = ChecksumAt(frame);
        uint16_t pseudo = PseudoSum(frame);
        frame[at] = static_cast<uint8_t>(pseudo >> 8);
        frame[at + 1] = static_cast<uint8_t>(pseudo);
        Offload offload{.l4 = ChecksumState::kPartial,
                        .csum_start = static_cast<uint16_t>(layout.l4),
                        .csum_offset = static_cast<uint16_t>(at - layout.l4)};
        Bytes after = Apply(RandomSet(header, random), frame, offload);
        EXPECT_EQ(SameZero(static_cast<uint16_t>(after[at] << 8 | after[at + 1])), SameZero(PseudoSum(after)));
      }
    }
  }
}

TEST_F(SetFieldsTest, LeavesAPostponedSctpChecksumAlone) {
  Bytes frame = MakeFrame({.protocol = 132}, MakeTransport(132, 8));
  size_t at = ChecksumAt(frame);
  Offload offload{.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 8};
  Bytes after = Apply(std::get<SetAction>(Actions("set(sctp(src=1))")[0].value), frame, offload);
  EXPECT_TRUE(std::equal(&frame[at], &frame[at] + 4, &after[at]));
}

// A tunnel whose inner checksum is postponed: the outer one is a full one.
TEST_F(SetFieldsTest, UpdatesAFullOuterChecksumBesideAPostponedInnerOne) {
  Bytes frame = MakeFrame({.protocol = 17}, MakeTransport(17, 60));
  Offload offload{.inner_l4 = ChecksumState::kPartial, .csum_start = 80, .csum_offset = 6};
  Bytes after = Apply(std::get<SetAction>(Actions("set(ipv4(src=9.9.9.9))")[0].value), frame, offload);
  EXPECT_EQ(TransportSum(after), 0xffff);
}

TEST_F(SetFieldsTest, UpdatesTheChecksumOfADatagramInItsFirstFragmentOnly) {
  Bytes whole = MakeFrame({.protocol = 17}, MakeTransport(17, 40));
  Layout layout = LayoutOf(whole);
  // 16 bytes of transport in the first fragment, the rest in the second.
  Bytes first(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(layout.l4) + 16);
  Bytes second(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(layout.l4));
  second.insert(second.end(), whole.begin() + static_cast<ptrdiff_t>(layout.l4) + 16, whole.end());
  first[layout.l3 + 3] = 36;
  first[layout.l3 + 6] = 0x20;
  second[layout.l3 + 3] = 20 + 32;
  second[layout.l3 + 6] = 0;
  second[layout.l3 + 7] = 2;
  for (std::string_view text : {"set(ipv4(dst=1.2.3.4))", "set(udp(src=999))"}) {
    for (Bytes* fragment : {&first, &second}) {
      DpPacketPtr packet = Load(*fragment, pools_);
      EXPECT_TRUE(ApplySet(*packet, std::get<SetAction>(Actions(text)[0].value)));
      *fragment = BytesOf(*packet);
    }
  }
  Bytes joined = first;
  joined.insert(joined.end(), second.begin() + static_cast<ptrdiff_t>(layout.l4), second.end());
  joined[layout.l3 + 3] = static_cast<uint8_t>(joined.size() - layout.l3);
  EXPECT_EQ(TransportSum(joined), 0xffff);
  EXPECT_EQ(joined[layout.l4] << 8 | joined[layout.l4 + 1], 999);
  EXPECT_TRUE(std::equal(second.begin() + static_cast<ptrdiff_t>(layout.l4), second.end(),
                         whole.begin() + static_cast<ptrdiff_t>(layout.l4) + 16));
}

TEST_F(SetFieldsTest, RefusesAHeaderThatIsNotThereAndChangesNothing) {
  Bytes tcp4 = MakeFrame({}, MakeTransport(6, 4));
  Bytes udp6 = MakeFrame({.version = 6, .protocol = 17}, MakeTransport(17, 4));
  Bytes echo6 = MakeFrame({.version = 6, .protocol = 58}, FromHex("8000 0000 00010001"));
  const struct {
    const char* text;
    const Bytes& frame;
  } cases[] = {
      {"set(vlan(vid=1))", tcp4},         {"set(ipv6(hlimit=1))", tcp4},  {"set(udp(src=1))", tcp4},
      {"set(sctp(src=1))", tcp4},         {"set(arp(op=1))", tcp4},       {"set(icmp(type=1))", tcp4},
      {"set(mpls(label=1))", tcp4},       {"set(ipv4(ttl=1))", udp6},     {"set(tcp(src=1))", udp6},
      {"set(nd(target=::1))", udp6},      {"set(nd(target=::1))", echo6}, {"set(ipv4(ttl=1))", kArpFrame},
      {"set(ipv6(hlimit=1))", kArpFrame}, {"set(tcp(src=1))", kArpFrame},
  };
  for (const auto& c : cases) {
    DpPacketPtr packet = Load(c.frame, pools_);
    EXPECT_FALSE(ApplySet(*packet, std::get<SetAction>(Actions(c.text)[0].value))) << c.text;
    EXPECT_EQ(BytesOf(*packet), c.frame) << c.text;
  }
}

TEST_F(SetFieldsTest, SetsMarks) {
  DpPacketPtr packet = Load(kArpFrame, pools_);
  packet->skb_mark = 0xff;
  for (const Action& action : Actions("set(skb_mark(0x5/0xf)),set(skb_priority(0x7)),1")) {
    if (const auto* set = std::get_if<SetAction>(&action.value)) {
      EXPECT_TRUE(ApplySet(*packet, *set));
    }
  }
  EXPECT_EQ(packet->skb_mark, 0xf5u);
  EXPECT_EQ(packet->skb_priority, 7u);
}

TEST_F(SetFieldsTest, SetsAnOpcodeThatTheKeyCannotHold) {
  Bytes frame = kArpFrame;
  frame[20] = 3;  // opcode 0x0301
  DpPacketPtr packet = Load(frame, pools_);
  ASSERT_TRUE(ApplySet(*packet, std::get<SetAction>(Actions("set(arp(op=2))")[0].value)));
  EXPECT_EQ(packet->data()[20], 0);
  EXPECT_EQ(packet->data()[21], 2);
}

}  // namespace
}  // namespace sluice::testing
