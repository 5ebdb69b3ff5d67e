#include "netdev/vnet_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/netdev/frames.h"

namespace sluice {

std::ostream& operator<<(std::ostream& out, DropReason reason) { return out << DropReasonName(reason); }

namespace {

using testing::Frame;
using testing::FrameSpec;
using testing::MakeFrame;
using testing::MakePacket;

constexpr uint8_t kNeedsCsum = VnetHeader::kNeedsCsum;
constexpr uint8_t kDataValid = VnetHeader::kDataValid;
constexpr uint8_t kTcp4 = VnetHeader::kGsoTcp4;
constexpr uint8_t kTcp6 = VnetHeader::kGsoTcp6;
constexpr uint8_t kUdpL4 = VnetHeader::kGsoUdpL4;
constexpr uint8_t kEcn = VnetHeader::kGsoEcn;

class VnetHeaderTest : public ::testing::Test {
 protected:
  // nullopt: accepted, and packet_ holds the outcome.
  std::optional<DropReason> Decode(const VnetHeader& header, const FrameSpec& spec) {
    packet_ = MakePacket(pools_, MakeFrame(spec).bytes);
    DropReason reason{};
    if (DecodeVnetHeader(header, *packet_, reason)) return std::nullopt;
    return reason;
  }
  // The header that a well-behaved sender would put before a super-packet of this kind.
  static VnetHeader GsoHeader(const FrameSpec& spec, uint8_t gso_type, uint16_t gso_size = 1448) {
    Frame frame = MakeFrame(spec);
    uint16_t checksum_offset = spec.protocol == kIpProtoTcp ? 16 : 6;
    return {kNeedsCsum,     gso_type, static_cast<uint16_t>(frame.payload), gso_size, static_cast<uint16_t>(frame.l4),
            checksum_offset};
  }

  PacketPools pools_ = PacketPools::Create(8, 8).value();
  DpPacketPtr packet_;
};

TEST_F(VnetHeaderTest, TellsWhatIsKnownOfAnOrdinaryChecksum) {
  struct {
    uint8_t flags;
    ChecksumState l4;
  } const cases[] = {
      {0, ChecksumState::kUnknown},
      {kDataValid, ChecksumState::kGood},
      {kNeedsCsum, ChecksumState::kPartial},
      {kNeedsCsum | kDataValid, ChecksumState::kPartial},
  };
  for (const auto& c : cases) {
    ASSERT_EQ(Decode({c.flags, 0, 0, 0, 34, 16}, {}), std::nullopt);
    EXPECT_EQ(packet_->offload.l4, c.l4) << int{c.flags};
    EXPECT_EQ(packet_->offload.inner_l4, ChecksumState::kUnknown);
    EXPECT_FALSE(packet_->offload.IsSuper());
  }
}

TEST_F(VnetHeaderTest, RefusesWithTheReasonOfTheRuleThatIsBroken) {
  const FrameSpec big = {.payload = 10000};
  const FrameSpec udp = {.protocol = kIpProtoUdp, .payload = 10000};
  const FrameSpec six = {.ip_version = 6, .payload = 10000};
  constexpr uint16_t kWhole = 14 + 20 + 32 + 10000;
  struct {
    const char* what;
    VnetHeader header;  // flags, type, hdr_len, gso_size, csum_start, csum_offset
    FrameSpec spec;
    DropReason reason;
  } const cases[] = {
      {"RSC flag", {4, 0, 0, 0, 0, 0}, big, DropReason::kRxVnetFlags},
      {"flag 0x80", {0x81, kTcp4, 66, 1448, 34, 16}, big, DropReason::kRxVnetFlags},
      {"UFO", {kNeedsCsum, 3, 42, 1448, 34, 6}, udp, DropReason::kRxVnetUfo},
      {"UFO with ECN", {kNeedsCsum, 3 | kEcn, 42, 1448, 34, 6}, udp, DropReason::kRxVnetUfo},
      {"type 2", {kNeedsCsum, 2, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoType},
      {"type 6", {kNeedsCsum, 6, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoType},
      {"tunnel bit", {kNeedsCsum, kTcp4 | 0x20, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoType},
      {"ECN alone", {kNeedsCsum, kEcn, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoType},
      {"ECN with UDP", {kNeedsCsum, kUdpL4 | kEcn, 42, 1448, 34, 6}, udp, DropReason::kRxVnetGsoType},
      {"hdr_len beyond", {0, 0, kWhole + 1, 0, 0, 0}, big, DropReason::kRxVnetHdrLen},
      {"hdr_len 65535", {kNeedsCsum, kTcp4, 65535, 1448, 34, 16}, big, DropReason::kRxVnetHdrLen},
      {"sum one byte out", {kNeedsCsum, 0, 0, 0, 34, 131}, {}, DropReason::kRxVnetCsumRange},
      {"start 65535", {kNeedsCsum, 0, 0, 0, 65535, 1}, {}, DropReason::kRxVnetCsumRange},
      {"offset 65535", {kNeedsCsum, 0, 0, 0, 34, 65535}, {}, DropReason::kRxVnetCsumRange},
      {"both 65535", {kNeedsCsum, 0, 0, 0, 65535, 65535}, {}, DropReason::kRxVnetCsumRange},
      {"second buffer", {kNeedsCsum, 0, 0, 0, 2047, 0}, big, DropReason::kRxVnetCsumRange},
      {"no sum", {0, kTcp4, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoNoCsum},
      {"valid sum", {kDataValid, kTcp4, 66, 1448, 34, 16}, big, DropReason::kRxVnetGsoNoCsum},
      {"size 0", {kNeedsCsum, kTcp4, 66, 0, 34, 16}, big, DropReason::kRxVnetGsoSize},
      {"TCPV6 on IPv4", {kNeedsCsum, kTcp6, 66, 1448, 34, 16}, big, DropReason::kRxGsoMismatch},
      {"TCPV4 on IPv6", {kNeedsCsum, kTcp4, 86, 1448, 54, 16}, six, DropReason::kRxGsoMismatch},
      {"TCPV4 on UDP", {kNeedsCsum, kTcp4, 42, 1448, 34, 16}, udp, DropReason::kRxGsoMismatch},
      {"UDP_L4 on TCP", {kNeedsCsum, kUdpL4, 66, 1448, 34, 6}, big, DropReason::kRxGsoMismatch},
      {"start in IP", {kNeedsCsum, kTcp4, 66, 1448, 30, 16}, big, DropReason::kRxGsoMismatch},
      {"start behind TCP", {kNeedsCsum, kTcp4, 66, 1448, 66, 16}, big, DropReason::kRxGsoMismatch},
      {"offset of UDP", {kNeedsCsum, kTcp4, 66, 1448, 34, 6}, big, DropReason::kRxGsoMismatch},
      {"not IP",
       {kNeedsCsum, kTcp4, 66, 1448, 14, 16},
       {.ip_version = 0, .payload = 10000},
       DropReason::kRxGsoMismatch},
      {"three tags",
       {kNeedsCsum, kTcp4, 66, 1448, 46, 16},
       {.vlan_tags = 3, .payload = 10000},
       DropReason::kRxGsoMismatch},
      {"fragment",
       {kNeedsCsum, kTcp4, 66, 1448, 34, 16},
       {.fragment = true, .payload = 10000},
       DropReason::kRxGsoMismatch},
  };
  for (const auto& c : cases) EXPECT_EQ(Decode(c.header, c.spec), c.reason) << c.what;
}

// Otherwise parsing, counting and segmenting would each see a different number of segments.
TEST_F(VnetHeaderTest, RefusesASuperPacketThatIsNotAsLongAsItsIpHeaderSays) {
  for (int version : {4, 6}) {
    const FrameSpec spec = {.vlan_tags = 1, .ip_version = version, .payload = 10000};
    const Frame frame = MakeFrame(spec);
    const size_t length_field = 18 + (version == 4 ? 2 : 4);
    for (int change : {-10000, -1, 0, 1, 50000}) {
      std::vector<uint8_t> bytes = frame.bytes;
      const int length = (bytes[length_field] << 8 | bytes[length_field + 1]) + change;
      bytes[length_field] = static_cast<uint8_t>(length >> 8);
      bytes[length_field + 1] = static_cast<uint8_t>(length);
      DpPacketPtr packet = MakePacket(pools_, bytes);
      DropReason reason{};
      EXPECT_EQ(DecodeVnetHeader(GsoHeader(spec, version == 4 ? kTcp4 : kTcp6), *packet, reason), change == 0);
      if (change != 0) {
        EXPECT_EQ(reason, DropReason::kRxGsoMismatch) << change;
      }
    }
  }
}

TEST_F(VnetHeaderTest, AcceptsTheChecksumInTheLastTwoBytes) {
  EXPECT_EQ(Decode({kNeedsCsum, 0, 0, 0, 34, 130}, {}), std::nullopt);
  EXPECT_EQ(packet_->length(), 34u + 130 + 2);
}

TEST_F(VnetHeaderTest, ReadsEverySegmentationTypeBehindEveryHeader) {
  struct {
    uint8_t gso_type;
    FrameSpec spec;
    Segmentation segmentation;
  } const cases[] = {
      {kTcp4, {.payload = 60000}, Segmentation::kTcp4},
      {kTcp4, {.vlan_tags = 1, .payload = 60000}, Segmentation::kTcp4},
      {kTcp4, {.vlan_tags = 2, .tcp_options = 40, .payload = 60000}, Segmentation::kTcp4},
      {kTcp4 | kEcn, {.payload = 60000}, Segmentation::kTcp4},
      {kTcp6, {.ip_version = 6, .payload = 60000}, Segmentation::kTcp6},
      {kTcp6 | kEcn, {.vlan_tags = 2, .ip_version = 6, .payload = 60000}, Segmentation::kTcp6},
      {kTcp6, {.ip_version = 6, .hop_by_hop = true, .payload = 60000}, Segmentation::kTcp6},
      {kUdpL4, {.protocol = kIpProtoUdp, .payload = 60000}, Segmentation::kUdp4},
      {kUdpL4, {.vlan_tags = 1, .ip_version = 6, .protocol = kIpProtoUdp, .payload = 60000}, Segmentation::kUdp6},
  };
  for (const auto& c : cases) {
    ASSERT_EQ(Decode(GsoHeader(c.spec, c.gso_type), c.spec), std::nullopt) << int{c.gso_type};
    const Offload& offload = packet_->offload;
    EXPECT_EQ(offload.segmentation, c.segmentation);
    EXPECT_EQ(offload.segment_size, 1448);
    EXPECT_EQ(offload.ecn, (c.gso_type & kEcn) != 0);
    EXPECT_EQ(offload.l4, ChecksumState::kPartial);
    EXPECT_EQ(offload.csum_start, MakeFrame(c.spec).l4);
  }
}

TEST_F(VnetHeaderTest, DoesNotTrustTheHeaderLengthHint) {
  const FrameSpec spec = {.payload = 5000};
  for (uint16_t hint : {0, 1, 14, 54, 1500, 5066}) {
    VnetHeader header = GsoHeader(spec, kTcp4);
    header.hdr_len = hint;
    ASSERT_EQ(Decode(header, spec), std::nullopt) << hint;
    EXPECT_EQ(packet_->offload.segmentation, Segmentation::kTcp4);
  }
}

TEST_F(VnetHeaderTest, TakesOneSegmentForAnOrdinaryFrame) {
  struct {
    uint32_t payload;
    bool super;
  } const cases[] = {{0, false}, {1, false}, {1447, false}, {1448, false}, {1449, true}, {2896, true}};
  for (const auto& c : cases) {
    const FrameSpec spec = {.payload = c.payload};
    ASSERT_EQ(Decode(GsoHeader(spec, kTcp4 | kEcn), spec), std::nullopt);
    EXPECT_EQ(packet_->offload.IsSuper(), c.super) << c.payload;
    EXPECT_EQ(packet_->offload.segment_size, c.super ? 1448 : 0);
    EXPECT_EQ(packet_->offload.l4, ChecksumState::kPartial);
  }
}

TEST_F(VnetHeaderTest, FindsThatAChecksumIsInsideATunnel) {
  const FrameSpec spec = {.protocol = kIpProtoUdp, .payload = 200};
  const uint16_t inner_tcp = 14 + 20 + 8 + 8 + 14 + 20;
  ASSERT_EQ(Decode({kNeedsCsum, 0, 0, 0, inner_tcp, 16}, spec), std::nullopt);
  EXPECT_EQ(packet_->offload.l4, ChecksumState::kUnknown);
  EXPECT_EQ(packet_->offload.inner_l4, ChecksumState::kPartial);

  VnetHeader header;
  EncodeVnetHeader(*packet_, header);
  EXPECT_EQ(header.flags, kNeedsCsum);
  EXPECT_EQ(header.csum_start, inner_tcp);

  const FrameSpec big = {.protocol = kIpProtoUdp, .payload = 20000};
  EXPECT_EQ(Decode({kNeedsCsum, kTcp4, 104, 1400, inner_tcp, 16}, big), DropReason::kRxGsoMismatch);
}

TEST_F(VnetHeaderTest, NeverReadsBeyondATruncatedFrame) {
  const FrameSpec specs[] = {
      {.payload = 0},
      {.vlan_tags = 2, .ip_version = 6, .hop_by_hop = true, .payload = 0},
      {.ip_version = 6, .protocol = kIpProtoUdp, .payload = 0},
  };
  for (const FrameSpec& spec : specs) {
    Frame frame = MakeFrame(spec);
    for (size_t length = 0; length < frame.bytes.size(); ++length) {
      DpPacketPtr packet = MakePacket(pools_, {frame.bytes.begin(), frame.bytes.begin() + length});
      for (uint16_t start = 0; start + 2u <= length; ++start) {
        for (uint8_t type : {kTcp4, kTcp6, kUdpL4}) {
          DropReason reason{};
          VnetHeader header = {kNeedsCsum, type, 0, 1, start, 0};
          EXPECT_FALSE(DecodeVnetHeader(header, *packet, reason));
          EXPECT_EQ(reason, DropReason::kRxGsoMismatch);
        }
      }
    }
  }
}

// What decodes, encodes into a header that decodes to the same state.
TEST_F(VnetHeaderTest, RoundTripsRandomStates) {
  constexpr uint32_t kSeed = 20261130;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  auto pick = [&random](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    FrameSpec spec = {.vlan_tags = static_cast<int>(pick(3)),
                      .ip_version = pick(2) != 0 ? 4 : 6,
                      .protocol = pick(2) != 0 ? kIpProtoTcp : kIpProtoUdp,
                      .hop_by_hop = pick(4) == 0,
                      .tcp_options = static_cast<uint8_t>(pick(11) * 4),
                      .payload = pick(8) == 0 ? pick(60000) : pick(300)};
    uint8_t type = spec.protocol == kIpProtoUdp ? kUdpL4 : spec.ip_version == 4 ? kTcp4 : kTcp6;
    VnetHeader header = GsoHeader(spec, type, static_cast<uint16_t>(1 + pick(2000)));
    if (pick(2) == 0) header.gso_type = static_cast<uint8_t>(pick(8));
    if (pick(2) == 0) header.flags = static_cast<uint8_t>(pick(4));
    if (pick(4) == 0) header.csum_start = static_cast<uint16_t>(pick(200));
    if (pick(4) == 0) header.csum_offset = static_cast<uint16_t>(pick(40));
    if (pick(8) == 0) header.gso_type ^= kEcn;
    if (Decode(header, spec).has_value()) continue;
    ++accepted;
    Offload before = packet_->offload;
    VnetHeader again;
    EncodeVnetHeader(*packet_, again);
    DropReason reason{};
    ASSERT_TRUE(DecodeVnetHeader(again, *packet_, reason)) << DropReasonName(reason) << " in iteration " << i;
    ASSERT_EQ(std::memcmp(&before, &packet_->offload, sizeof before), 0) << "iteration " << i;
  }
  EXPECT_GT(accepted, 50000);
}

}  // namespace
}  // namespace sluice
