#include "lib/packet/parse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lib/packet/headers.h"

namespace sluice {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  std::string digits;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <typename T>
std::string ToHex(const T& bytes) {
  std::string hex;
  for (uint8_t byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Each buffer is an allocation of exactly its size, so that a sanitizer sees every byte read beyond.
class ExactPool final : public PacketPool {
 public:
  DpPacketPtr Make(const Bytes& bytes) {
    auto* memory = static_cast<uint8_t*>(std::malloc(bytes.size()));
    if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
    auto* packet = new DpPacket(this, memory, static_cast<uint32_t>(bytes.size()));
    packet->Reset(0);
    packet->SetHeadLength(static_cast<uint32_t>(bytes.size()));
    return DpPacketPtr(packet);
  }
  // The first `head` bytes in a first buffer, the rest in a second one.
  DpPacketPtr MakeSplit(const Bytes& bytes, size_t head) {
    DpPacketPtr packet = Make(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(head)));
    DpPacketPtr rest = Make(Bytes(bytes.begin() + static_cast<ptrdiff_t>(head), bytes.end()));
    packet->AppendChain(packet.get(), rest.release());
    return packet;
  }
  void Free(DpPacket* buffer) override {
    // The buffer starts at data(): it has no headroom and nothing was pulled.
    std::free(buffer->data());
    delete buffer;
  }
};

struct Parsed {
  FlowKey key;
  int l3, l4, payload;
  Layers layers;
};

int OffsetOrNone(uint16_t offset) { return offset == kNoOffset ? -1 : offset; }

// Parses with and without a key and expects both to agree.
Parsed Parse(DpPacket& packet) {
  Parsed parsed;
  parsed.layers = ParseLayers(packet);
  uint16_t offsets[] = {packet.l3_offset, packet.l4_offset, packet.payload_offset};
  ParsePacket(packet, parsed.key);
  EXPECT_EQ(offsets[0], packet.l3_offset);
  EXPECT_EQ(offsets[1], packet.l4_offset);
  EXPECT_EQ(offsets[2], packet.payload_offset);
  EXPECT_EQ(parsed.layers.eth_type, parsed.key.eth_type.Get());
  if (packet.l4_offset != kNoOffset) {
    EXPECT_EQ(parsed.layers.ip_proto, parsed.key.ip_proto);
  }
  if (packet.l4_offset == kNoOffset) {
    EXPECT_EQ(parsed.layers.ip_proto, 0);
  }
  parsed.l3 = OffsetOrNone(packet.l3_offset);
  parsed.l4 = OffsetOrNone(packet.l4_offset);
  parsed.payload = OffsetOrNone(packet.payload_offset);
  return parsed;
}

Parsed Parse(const Bytes& frame) {
  ExactPool pool;
  DpPacketPtr packet = pool.Make(frame);
  return Parse(*packet);
}

// The line that parse_scapy.py prints behind the frame.
std::string Describe(const Parsed& parsed) {
  const FlowKey& key = parsed.key;
  std::string source, destination;
  if (key.eth_type.Get() == kEthTypeIpv6) {
    source = ToHex(key.ipv6_src);
    destination = ToHex(key.ipv6_dst);
  } else if (parsed.l3 >= 0) {
    source = fmt::format("{:08x}", key.ipv4_src.Get());
    destination = fmt::format("{:08x}", key.ipv4_dst.Get());
  }
  return fmt::format(
      "dst={} src={} type={} tci0={} tpid0={} tci1={} tpid1={} proto={} tos={} ttl={} frag={} nw_src={} nw_dst={} "
      "label={} tp_src={} tp_dst={} flags={} target={} sha={} tha={} mpls={}.{}.{} l3={} l4={} payload={}",
      ToHex(key.eth_dst), ToHex(key.eth_src), key.eth_type.Get(), key.vlan_tci.Get(), key.vlan_tpid.Get(),
      key.inner_vlan_tci.Get(), key.inner_vlan_tpid.Get(), key.ip_proto, key.ip_tos, key.ip_ttl, key.ip_frag, source,
      destination, key.ipv6_label.Get(), key.tp_src.Get(), key.tp_dst.Get(), key.tcp_flags.Get(), ToHex(key.nd_target),
      ToHex(key.arp_sha), ToHex(key.arp_tha), key.mpls_lse[0].Get(), key.mpls_lse[1].Get(), key.mpls_lse[2].Get(),
      parsed.l3, parsed.l4, parsed.payload);
}

const std::string kEth = "0a0000000001 0a0000000002 ";
const std::string kTcpSegment = "0050 c350 00000001 00000002 5012 ffff 0000 0000 ";
const std::string kIpv4Tcp = kEth + "0800 45b8 002c 0001 4000 40 06 0000 0a000001 0a000002 " + kTcpSegment + "deadbeef";
const std::string kIpv6Addresses = "20010db8000000000000000000000001 20010db8000000000000000000000002 ";
const std::string kIpv6Tcp = kEth + "86dd 6ab12345 0018 06 3f " + kIpv6Addresses + kTcpSegment + "deadbeef";

TEST(ParseTest, ReadsIpv4Tcp) {
  Parsed parsed = Parse(FromHex(kIpv4Tcp));
  EXPECT_EQ(
      Describe(parsed),
      "dst=0a0000000001 src=0a0000000002 type=2048 tci0=0 tpid0=0 tci1=0 tpid1=0 proto=6 tos=184 ttl=64 frag=0 "
      "nw_src=0a000001 nw_dst=0a000002 label=0 tp_src=80 tp_dst=50000 flags=18 "
      "target=00000000000000000000000000000000 sha=000000000000 tha=000000000000 mpls=0.0.0 l3=14 l4=34 payload=54");
}

TEST(ParseTest, ReadsIpv6Tcp) {
  Parsed parsed = Parse(FromHex(kIpv6Tcp));
  EXPECT_EQ(Describe(parsed),
            "dst=0a0000000001 src=0a0000000002 type=34525 tci0=0 tpid0=0 tci1=0 tpid1=0 proto=6 tos=171 ttl=63 frag=0 "
            "nw_src=20010db8000000000000000000000001 nw_dst=20010db8000000000000000000000002 label=74565 tp_src=80 "
            "tp_dst=50000 flags=18 target=00000000000000000000000000000000 sha=000000000000 tha=000000000000 "
            "mpls=0.0.0 l3=14 l4=54 payload=74");
}

TEST(ParseTest, PutsMetadataIntoTheKey) {
  ExactPool pool;
  DpPacketPtr packet = pool.Make(FromHex(kIpv4Tcp));
  packet->in_port = 3;
  packet->recirc_id = 4;
  packet->dp_hash = 5;
  packet->skb_mark = 6;
  packet->skb_priority = 7;
  FlowKey key;
  for (size_t i = 0; i < FlowKey::kWords; ++i) key.SetWord(i, ~uint64_t{0});
  ParsePacket(*packet, key);
  EXPECT_EQ(key.in_port, 3u);
  EXPECT_EQ(key.recirc_id, 4u);
  EXPECT_EQ(key.dp_hash, 5u);
  EXPECT_EQ(key.skb_mark, 6u);
  EXPECT_EQ(key.skb_priority, 7u);
  EXPECT_EQ(key.ipv6_src, Ipv6Address{});
  EXPECT_EQ(key.arp_reserved, 0u);
}

struct OffsetCase {
  const char* what;
  std::string frame;
  int l3, l4, payload;
  uint16_t eth_type;
  uint8_t ip_proto;
  uint8_t ip_frag;
};

// What a malformed or unusual header still allows.
TEST(ParseTest, GivesTheKeyOfTheValidPart) {
  const std::string v4 = kEth + "0800 ";
  const std::string v4_tail = " 0001 0000 40 ";
  const std::string v4_addresses = " 0000 0a000001 0a000002 ";
  const std::string tcp = "06" + v4_addresses + kTcpSegment;
  const std::string v6 = kEth + "86dd 60000000 ";
  const OffsetCase cases[] = {
      {"802.2", kEth + "0008 4242 0300 00000000", -1, -1, -1, 0x05ff, 0, 0},
      {"802.2 of no length", kEth + "0000", -1, -1, -1, 0x05ff, 0, 0},
      {"SNAP with an old type", kEth + "0008 aaaa03000000 0500 00000000", -1, -1, -1, 0x05ff, 0, 0},
      {"a tag without its type", kEth + "8100 0001 08", -1, -1, -1, 0x8100, 0, 0},
      {"three tags", kEth + "8100 0001 8100 0002 8100 0003 0800", -1, -1, -1, 0x8100, 0, 0},
      {"IPv4 version 5", v4 + "5500 0028" + v4_tail + tcp, -1, -1, -1, 0x0800, 0, 0},
      {"IPv4 header of 4 words", v4 + "4400 0028" + v4_tail + tcp, -1, -1, -1, 0x0800, 0, 0},
      {"IPv4 options beyond the frame", v4 + "4f00 0050" + v4_tail + tcp, -1, -1, -1, 0x0800, 0, 0},
      {"IPv4 total length within the header", v4 + "4500 0013" + v4_tail + tcp, -1, -1, -1, 0x0800, 0, 0},
      {"IPv4 total length beyond the frame", v4 + "4500 0029" + v4_tail + tcp, 14, -1, -1, 0x0800, 6, 0},
      {"IPv4 total length within TCP", v4 + "4500 0027" + v4_tail + tcp, 14, -1, -1, 0x0800, 6, 0},
      {"IPv4 total length at the end of TCP", v4 + "4500 0028" + v4_tail + tcp + "0000", 14, 34, 54, 0x0800, 6, 0},
      {"IPv4 first fragment", v4 + "4500 0028 0001 2000 40 " + tcp, 14, 34, 54, 0x0800, 6, 1},
      {"IPv4 later fragment", v4 + "4500 0028 0001 2001 40 " + tcp, 14, -1, -1, 0x0800, 6, 3},
      {"IPv4 last fragment", v4 + "4500 0028 0001 0001 40 " + tcp, 14, -1, -1, 0x0800, 6, 3},
      {"TCP header of 4 words",
       v4 + "4500 0028" + v4_tail + "06" + v4_addresses + "0050 c350 00000001 00000002 4012 ffff 0000 0000", 14, -1, -1,
       0x0800, 6, 0},
      {"TCP options beyond the datagram",
       v4 + "4500 0028" + v4_tail + "06" + v4_addresses + "0050 c350 00000001 00000002 6012 ffff 0000 0000 00000000",
       14, -1, -1, 0x0800, 6, 0},
      {"UDP", v4 + "4500 001c" + v4_tail + "11" + v4_addresses + "0001 0002 0008 0000", 14, 34, 42, 0x0800, 17, 0},
      {"UDP of length 7", v4 + "4500 001c" + v4_tail + "11" + v4_addresses + "0001 0002 0007 0000", 14, -1, -1, 0x0800,
       17, 0},
      {"UDP longer than IP", v4 + "4500 001c" + v4_tail + "11" + v4_addresses + "0001 0002 0009 0000 00", 14, -1, -1,
       0x0800, 17, 0},
      {"UDP first fragment", v4 + "4500 001c 0001 2000 40 11" + v4_addresses + "0001 0002 0100 0000", 14, 34, 42,
       0x0800, 17, 1},
      {"ICMPv6 over IPv4", v4 + "4500 001c" + v4_tail + "3a" + v4_addresses + "8000 0000 0001 0001", 14, -1, -1, 0x0800,
       58, 0},
      {"IGMP", v4 + "4500 001c" + v4_tail + "02" + v4_addresses + "1600 0000 e0000001", 14, -1, -1, 0x0800, 2, 0},
      {"IPv6 version 4", kEth + "86dd 40000000 0014 06 40" + kIpv6Addresses + kTcpSegment, -1, -1, -1, 0x86dd, 0, 0},
      {"IPv6 longer than the frame", v6 + "0015 06 40" + kIpv6Addresses + kTcpSegment, 14, -1, -1, 0x86dd, 6, 0},
      {"IPv6 without payload length", v6 + "0000 06 40" + kIpv6Addresses + kTcpSegment, 14, -1, -1, 0x86dd, 6, 0},
      {"IPv6 no next header", v6 + "0000 3b 40" + kIpv6Addresses, 14, -1, -1, 0x86dd, 59, 0},
      {"IPv6 hop-by-hop of 16 bytes",
       v6 + "0024 00 40" + kIpv6Addresses + "0601000000000000 0000000000000000" + kTcpSegment, 14, 70, 90, 0x86dd, 6,
       0},
      {"IPv6 hop-by-hop cut off", v6 + "0010 00 40" + kIpv6Addresses + "0602000000000000 0000000000000000", 14, -1, -1,
       0x86dd, 0, 0},
      {"IPv6 authentication",
       v6 + "002c 33 40" + kIpv6Addresses + "0604000000000000 0000000000000000 0000000000000000" + kTcpSegment, 14, 78,
       98, 0x86dd, 6, 0},
      {"IPv6 mobility", v6 + "0008 87 40" + kIpv6Addresses + "3b00000000000000", 14, -1, -1, 0x86dd, 59, 0},
      {"IPv6 later fragment", v6 + "001c 2c 40" + kIpv6Addresses + "0600000900000001" + kTcpSegment, 14, -1, -1, 0x86dd,
       44, 3},
      {"IPv6 first fragment", v6 + "001c 2c 40" + kIpv6Addresses + "0600000100000001" + kTcpSegment, 14, 62, 82, 0x86dd,
       6, 1},
      {"IPv6 atomic fragment", v6 + "001c 2c 40" + kIpv6Addresses + "0600000000000001" + kTcpSegment, 14, 62, 82,
       0x86dd, 6, 0},
      {"ARP of another hardware", kEth + "0806 0006 0800 0604 0001 0a0000000002 0a000001 000000000000 0a000002", -1, -1,
       -1, 0x0806, 0, 0},
      {"ARP cut off", kEth + "0806 0001 0800 0604 0001 0a0000000002 0a000001 000000000000 0a0000", -1, -1, -1, 0x0806,
       0, 0},
      {"RARP", kEth + "8035 0001 0800 0604 0003 0a0000000002 0a000001 000000000000 0a000002", 14, -1, -1, 0x8035, 3, 0},
  };
  for (const OffsetCase& c : cases) {
    SCOPED_TRACE(c.what);
    Parsed parsed = Parse(FromHex(c.frame));
    EXPECT_EQ(parsed.l3, c.l3);
    EXPECT_EQ(parsed.l4, c.l4);
    EXPECT_EQ(parsed.payload, c.payload);
    EXPECT_EQ(parsed.key.eth_type.Get(), c.eth_type);
    EXPECT_EQ(parsed.key.ip_proto, c.ip_proto);
    EXPECT_EQ(parsed.key.ip_frag, c.ip_frag);
    if (c.l4 < 0) {
      EXPECT_EQ(parsed.key.tp_src, Be16());
      EXPECT_EQ(parsed.key.tp_dst, Be16());
      EXPECT_EQ(parsed.key.tcp_flags, Be16());
    }
  }
}

TEST(ParseTest, TakesNeighbourOptionsOnlyFromValidMessages) {
  const std::string target = "fe800000000000000000000000000009 ";
  struct {
    const char* what;
    std::string message;  // ICMPv6
    bool has_target;
    const char* sll;
    const char* tll;
  } const cases[] = {
      {"solicitation", "8700 0000 00000000" + target + "0101 020000000001", true, "020000000001", "000000000000"},
      {"advertisement", "8800 0000 00000000" + target + "0201 020000000002", true, "000000000000", "020000000002"},
      {"both", "8800 0000 00000000" + target + "0101 020000000001 0201 020000000002", true, "020000000001",
       "020000000002"},
      {"unknown before", "8700 0000 00000000" + target + "0502 0000000000000000000000000000 0101 020000000001", true,
       "020000000001", "000000000000"},
      {"option of length 0", "8700 0000 00000000" + target + "0100 020000000001", true, "000000000000", "000000000000"},
      {"option of length 2", "8700 0000 00000000" + target + "0102 0200000000010000000000000000", true, "000000000000",
       "000000000000"},
      {"option beyond the end", "8700 0000 00000000" + target + "0504 020000000001", true, "000000000000",
       "000000000000"},
      {"said twice", "8700 0000 00000000" + target + "0101 020000000001 0101 020000000002", false, "000000000000",
       "000000000000"},
      {"code 1", "8701 0000 00000000" + target + "0101 020000000001", false, "000000000000", "000000000000"},
      {"another type", "8500 0000 00000000" + target + "0101 020000000001", false, "000000000000", "000000000000"},
      {"target cut off", "8700 0000 00000000 fe800000000000000000000000000", false, "000000000000", "000000000000"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    Bytes message = FromHex(c.message);
    Bytes frame = FromHex(kEth + fmt::format("86dd 60000000 {:04x} 3a ff", message.size()) + kIpv6Addresses);
    frame.insert(frame.end(), message.begin(), message.end());
    Parsed parsed = Parse(frame);
    EXPECT_EQ(parsed.l4, 54);
    EXPECT_EQ(parsed.key.tp_src.Get(), message[0]);
    EXPECT_EQ(parsed.key.tp_dst.Get(), message[1]);
    EXPECT_EQ(ToHex(parsed.key.nd_target) == "fe800000000000000000000000000009", c.has_target);
    if (!c.has_target) {
      EXPECT_EQ(parsed.key.nd_target, Ipv6Address{});
    }
    EXPECT_EQ(ToHex(parsed.key.arp_sha), c.sll);
    EXPECT_EQ(ToHex(parsed.key.arp_tha), c.tll);
  }
}

TEST(ParseTest, TakesAnyUdpLengthOfASuperPacket) {
  ExactPool pool;
  DpPacketPtr packet =
      pool.Make(FromHex(kEth + "0800 4500 001e 0001 0000 40 11 0000 0a000001 0a000002 0001 0002 0000 0000 aabb"));
  EXPECT_EQ(Parse(*packet).l4, -1);
  packet->offload.segmentation = Segmentation::kUdp4;
  packet->offload.segment_size = 1;
  EXPECT_EQ(Parse(*packet).l4, 34);
}

// Its number of segments is the same whatever hides its layers, or what is dropped would not add up.
TEST(ParseTest, FindsThePayloadOfASuperPacketBehindTooManyTags) {
  const std::string tags = "8100 0001 8100 0002 8100 0003 ";
  const std::string ip = "0800 4500 002c 0001 0000 40 06 0000 0a000001 0a000002 ";
  const std::string tcp = "0001 0002 00000001 00000001 5010 0000 0000 0000 ";
  ExactPool pool;
  for (size_t bytes : {66, 65, 58}) {
    Bytes frame = FromHex(kEth + tags + ip + tcp + "aabbccdd");
    frame.resize(bytes);
    DpPacketPtr packet = pool.Make(frame);
    EXPECT_EQ(Parse(*packet).payload, -1);
    packet->offload.segmentation = Segmentation::kTcp4;
    packet->offload.segment_size = 1;
    packet->offload.csum_start = 46;
    Parsed parsed = Parse(*packet);
    EXPECT_EQ(parsed.l4, -1);
    EXPECT_EQ(parsed.payload, bytes < 66 ? -1 : 66);
    ParseLayers(*packet);
    EXPECT_EQ(packet->payload_offset, bytes < 66 ? kNoOffset : 66);
  }
}

// Frames as scapy builds them, and what it reads in them, for one seed.
std::vector<std::pair<Bytes, std::string>> ScapyFrames(unsigned seed, int count) {
  std::vector<std::pair<Bytes, std::string>> frames;
  std::string command = fmt::format("{} {} {} 2>&1", PARSE_SCAPY, seed, count);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return frames;
  char* line = nullptr;
  size_t size = 0;
  while (getline(&line, &size, pipe) > 0) {
    std::string text(line);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    size_t space = text.find(' ');
    EXPECT_NE(text.find(" l3="), std::string::npos) << text;
    if (space == std::string::npos || text.find(" l3=") == std::string::npos) break;
    frames.emplace_back(FromHex(text.substr(0, space)), text.substr(space + 1));
  }
  std::free(line);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return frames;
}

unsigned RandomSeed() {
  unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  return seed;
}

TEST(ParseTest, AgreesWithScapy) {
  constexpr int kCount = 3000;
  auto frames = ScapyFrames(RandomSeed(), kCount);
  ASSERT_EQ(frames.size(), static_cast<size_t>(kCount));
  for (const auto& [frame, expected] : frames) {
    ASSERT_EQ(Describe(Parse(frame)), expected) << ToHex(frame);
  }
}

// Each word of `part` is what it is in `whole` or lacks bits that were not there to be read.
void ExpectPartOf(const FlowKey& part, const FlowKey& whole) {
  auto same_or_zero = [](const auto& a, const auto& b) { return a == b || a == std::decay_t<decltype(a)>{}; };
  EXPECT_TRUE(same_or_zero(part.eth_dst, whole.eth_dst));
  EXPECT_TRUE(same_or_zero(part.eth_src, whole.eth_src));
  EXPECT_TRUE(same_or_zero(part.ipv4_src, whole.ipv4_src));
  EXPECT_TRUE(same_or_zero(part.ipv4_dst, whole.ipv4_dst));
  EXPECT_TRUE(same_or_zero(part.ipv6_src, whole.ipv6_src));
  EXPECT_TRUE(same_or_zero(part.ipv6_dst, whole.ipv6_dst));
  EXPECT_TRUE(same_or_zero(part.ipv6_label, whole.ipv6_label));
  EXPECT_TRUE(same_or_zero(part.ip_tos, whole.ip_tos));
  EXPECT_TRUE(same_or_zero(part.ip_ttl, whole.ip_ttl));
  EXPECT_TRUE(same_or_zero(part.ip_frag, whole.ip_frag));
  EXPECT_TRUE(same_or_zero(part.vlan_tci, whole.vlan_tci));
  EXPECT_TRUE(same_or_zero(part.inner_vlan_tci, whole.inner_vlan_tci));
  EXPECT_TRUE(same_or_zero(part.tp_src, whole.tp_src));
  EXPECT_TRUE(same_or_zero(part.tp_dst, whole.tp_dst));
  EXPECT_TRUE(same_or_zero(part.tcp_flags, whole.tcp_flags));
  EXPECT_TRUE(same_or_zero(part.nd_target, whole.nd_target));
  EXPECT_TRUE(same_or_zero(part.arp_sha, whole.arp_sha));
  EXPECT_TRUE(same_or_zero(part.arp_tha, whole.arp_tha));
  EXPECT_TRUE(same_or_zero(part.mpls_lse, whole.mpls_lse) || part.mpls_lse[1] == Be32() || part.mpls_lse[2] == Be32());
}

// Bytes of the frame up to the end of its IP datagram.
size_t DatagramEnd(const Bytes& frame, const Parsed& parsed) {
  auto l3 = static_cast<size_t>(parsed.l3);
  if (parsed.key.eth_type.Get() == kEthTypeIpv4) return l3 + static_cast<size_t>(frame[l3 + 2] << 8 | frame[l3 + 3]);
  return l3 + 40 + static_cast<size_t>(frame[l3 + 4] << 8 | frame[l3 + 5]);
}

TEST(ParseTest, ReadsOfATruncatedFrameOnlyWhatIsThere) {
  ExactPool pool;
  for (const auto& [frame, expected] : ScapyFrames(RandomSeed(), 150)) {
    Parsed whole = Parse(frame);
    for (size_t size = 0; size < frame.size(); ++size) {
      SCOPED_TRACE(fmt::format("{} bytes of {}", size, ToHex(frame)));
      Parsed cut = Parse(Bytes(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size)));
      if (size < sizeof(EthernetHeader)) {
        EXPECT_EQ(cut.key, FlowKey{});
        EXPECT_EQ(cut.l3, -1);
        continue;
      }
      ExpectPartOf(cut.key, whole.key);
      if (whole.l4 >= 0) {
        EXPECT_EQ(cut.l4, size >= DatagramEnd(frame, whole) ? whole.l4 : -1);
        EXPECT_EQ(cut.payload, cut.l4 < 0 ? -1 : whole.payload);
      }
      if (whole.l3 >= 0 && cut.l3 >= 0) {
        EXPECT_EQ(cut.l3, whole.l3);
      }
    }
  }
}

TEST(ParseTest, ReadsNoFurtherThanTheFirstBuffer) {
  ExactPool pool;
  for (const auto& [frame, expected] : ScapyFrames(RandomSeed(), 150)) {
    Parsed whole = Parse(frame);
    for (size_t head = sizeof(EthernetHeader); head < frame.size(); ++head) {
      SCOPED_TRACE(fmt::format("{} bytes in the first buffer, of {}", head, ToHex(frame)));
      DpPacketPtr packet = pool.MakeSplit(frame, head);
      Parsed cut = Parse(*packet);
      ExpectPartOf(cut.key, whole.key);
      // The datagram is whole: what counts is whether the headers can be read.
      if (whole.l4 >= 0) {
        EXPECT_EQ(cut.l4, static_cast<int>(head) >= whole.payload ? whole.l4 : -1);
      }
    }
  }
}

FlowKey KeyOf(const std::string& hex) { return Parse(FromHex(hex)).key; }

TEST(FlowHashTest, DependsOnTheFiveTupleAlone) {
  for (const std::string& frame : {kIpv4Tcp, kIpv6Tcp}) {
    FlowKey key = KeyOf(frame);
    uint32_t hash = FlowHash(key);
    FlowKey other = key;
    other.ip_ttl = 1;
    other.ip_tos = 1;
    other.tcp_flags = Be16(1);
    other.in_port = 9;
    EXPECT_EQ(FlowHash(other), hash);
    other = key;
    other.tp_src = Be16(81);
    EXPECT_NE(FlowHash(other), hash);
    other = key;
    other.ip_proto = kIpProtoUdp;
    EXPECT_NE(FlowHash(other), hash);
    other = key;
    other.ipv4_dst = Be32(1);
    other.ipv6_dst[15] ^= 1;
    EXPECT_NE(FlowHash(other), hash);
    EXPECT_NE(FlowHash(key, 1), hash);
  }
}

TEST(FlowHashTest, SymmetricHashIsTheSameInBothDirections) {
  for (const std::string& frame : {kIpv4Tcp, kIpv6Tcp}) {
    FlowKey key = KeyOf(frame);
    FlowKey back = key;
    std::swap(back.eth_src, back.eth_dst);
    std::swap(back.ipv4_src, back.ipv4_dst);
    std::swap(back.ipv6_src, back.ipv6_dst);
    std::swap(back.tp_src, back.tp_dst);
    EXPECT_EQ(SymmetricFlowHash(key), SymmetricFlowHash(back));
    EXPECT_NE(FlowHash(key), FlowHash(back));
    back.tp_src = Be16(1);
    EXPECT_NE(SymmetricFlowHash(key), SymmetricFlowHash(back));
    EXPECT_NE(SymmetricFlowHash(key), SymmetricFlowHash(key, 1));
  }
}

TEST(FlowHashTest, IsNeverZero) {
  FlowKey key;
  for (uint32_t basis = 0; basis < 1000; ++basis) {
    EXPECT_NE(FlowHash(key, basis), 0u);
    EXPECT_NE(SymmetricFlowHash(key, basis), 0u);
  }
}

}  // namespace
}  // namespace sluice
