#include "lib/packet/gso.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/packet/parse.h"
#include "lib/packet/slab_pool.h"
#include "tests/lib/packet/super_packet.h"

namespace sluice {
namespace {

using testing::LoadSuper;
using testing::MakeSuper;
using testing::SuperOptions;
using testing::SuperPacket;
using Segments = std::vector<std::vector<uint8_t>>;

constexpr Segmentation kTypes[] = {Segmentation::kTcp4, Segmentation::kTcp6, Segmentation::kUdp4, Segmentation::kUdp6};

class GsoTest : public ::testing::Test {
 protected:
  SuperPacket Super(SuperOptions options) { return MakeSuper(options, random_); }
  SuperPacket TcpSuper(uint8_t flags, uint32_t payload_bytes, uint16_t segment_size) {
    SuperOptions options;
    options.tcp_flags = flags;
    options.payload_bytes = payload_bytes;
    options.segment_size = segment_size;
    return Super(options);
  }
  // As a receive queue lays it out: a small buffer and, where that is too small, a large one behind it.
  DpPacketPtr Load(const SuperPacket& super) { return LoadSuper(super, pools_, 2048); }

  Segments Write(const DpPacket& packet, SegmentChecksum checksum) {
    Segments segments;
    GsoSegmenter segmenter(packet, checksum);
    EXPECT_TRUE(segmenter.ok());
    if (!segmenter.ok()) return segments;
    while (!segmenter.done()) {
      EXPECT_LE(segmenter.next_length(), segmenter.longest_length());
      // Exactly as long as promised, so that a sanitizer sees a byte too many.
      std::vector<uint8_t> out(segmenter.next_length());
      segmenter.WriteNext(out.data());
      segments.push_back(std::move(out));
    }
    EXPECT_EQ(segments.size(), segmenter.segment_count());
    EXPECT_EQ(segmenter.next_index(), segmenter.segment_count());
    return segments;
  }
  std::string WriteAndCompare(const SuperPacket& super, const DpPacket& packet) {
    std::string difference = CompareWithSuper(super, Write(packet, SegmentChecksum::kCompute), false);
    if (difference.empty()) difference = CompareWithSuper(super, Write(packet, SegmentChecksum::kPostpone), true);
    return difference;
  }
  bool Accepts(const DpPacket& packet) { return GsoSegmenter(packet, SegmentChecksum::kCompute).ok(); }

  PacketPools pools_ = PacketPools::Create(600, 80).value();
  std::mt19937 random_{20261130};
};

TEST_F(GsoTest, CutsPayloadIntoSegments) {
  for (Segmentation type : kTypes) {
    for (uint32_t payload : {1, 8, 63, 64, 65, 1447, 1448, 1449, 1460, 2896, 4080, 4096, 9000, 65160, 65400}) {
      for (uint16_t size : {1, 8, 1448, 8960, 65535}) {
        if (payload / size > 5000) continue;
        SuperOptions options;
        options.type = type;
        options.payload_bytes = payload;
        options.segment_size = size;
        const SuperPacket super = Super(options);
        EXPECT_EQ(WriteAndCompare(super, *Load(super)), "") << static_cast<int>(type) << " " << payload << "/" << size;
      }
    }
  }
}

TEST_F(GsoTest, CutsTheLargestPackets) {
  // IP total length 65,535 behind two tags, and IPv6's 65,535 behind its header.
  SuperOptions options;
  options.vlan_tpids = {0x88a8, 0x8100};
  options.tcp_option_bytes = 12;
  options.segment_size = 1448;
  options.payload_bytes = 65535 - 20 - 32;
  const SuperPacket four = Super(options);
  EXPECT_EQ(four.frame.size(), 65535u + 22);
  EXPECT_EQ(WriteAndCompare(four, *Load(four)), "");

  options.type = Segmentation::kTcp6;
  options.vlan_tpids = {};
  options.payload_bytes = 65535 - 32;
  const SuperPacket six = Super(options);
  EXPECT_EQ(six.frame.size(), 65589u);
  EXPECT_EQ(WriteAndCompare(six, *Load(six)), "");
}

TEST_F(GsoTest, KeepsFinAndPshForLastSegment) {
  const Segments segments = Write(*Load(TcpSuper(0x19, 300, 100)), SegmentChecksum::kCompute);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0][47], 0x10);
  EXPECT_EQ(segments[1][47], 0x10);
  EXPECT_EQ(segments[2][47], 0x19);
}

TEST_F(GsoTest, ClearsCwrAfterFirstSegment) {
  const Segments segments = Write(*Load(TcpSuper(0xd0, 300, 100)), SegmentChecksum::kCompute);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0][47], 0xd0);
  EXPECT_EQ(segments[1][47], 0x50);  // ECE stays
  EXPECT_EQ(segments[2][47], 0x50);
}

TEST_F(GsoTest, KeepsAllFlagsOfASingleSegment) {
  const Segments segments = Write(*Load(TcpSuper(0xff, 100, 100)), SegmentChecksum::kCompute);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0][47], 0xff);
}

TEST_F(GsoTest, CountsIpIdsAndSequencesRoundZero) {
  SuperOptions options;
  options.ip_id = 0xfffe;
  options.sequence = 0xffffff9c;  // 100 before the end
  options.payload_bytes = 400;
  options.segment_size = 100;
  const Segments segments = Write(*Load(Super(options)), SegmentChecksum::kCompute);
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_EQ(segments[1][18] << 8 | segments[1][19], 0xffff);
  EXPECT_EQ(segments[2][18] << 8 | segments[2][19], 0);
  EXPECT_EQ(segments[1][38] | segments[1][39] | segments[1][40] | segments[1][41], 0);
  EXPECT_EQ(segments[2][41], 100);
}

TEST_F(GsoTest, CountsIdsAlsoFromZeroWithDontFragment) {
  SuperOptions options;
  options.ip_id = 0;
  options.dont_fragment = true;
  options.payload_bytes = 300;
  options.segment_size = 100;
  const Segments segments = Write(*Load(Super(options)), SegmentChecksum::kCompute);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[2][19], 2);
}

TEST_F(GsoTest, WritesAZeroUdpChecksumAsOnes) {
  SuperOptions options;
  options.type = Segmentation::kUdp4;
  options.payload_bytes = 200;
  options.segment_size = 100;
  SuperPacket super = Super(options);
  // Make the first segment's data sum to zero: its last word takes up what the checksum would be.
  const Segments before = Write(*Load(super), SegmentChecksum::kCompute);
  const size_t word = super.payload_offset + 98;
  const uint32_t checksum = before[0][40] << 8 | before[0][41];
  uint32_t adjusted = (super.frame[word] << 8 | super.frame[word + 1]) + checksum;
  adjusted = (adjusted & 0xffff) + (adjusted >> 16);
  super.frame[word] = static_cast<uint8_t>(adjusted >> 8);
  super.frame[word + 1] = static_cast<uint8_t>(adjusted);
  const DpPacketPtr packet = Load(super);
  const Segments segments = Write(*packet, SegmentChecksum::kCompute);
  EXPECT_EQ(segments[0][40] << 8 | segments[0][41], 0xffff);
  EXPECT_EQ(WriteAndCompare(super, *packet), "");
}

TEST_F(GsoTest, RandomPacketsInRandomChainsMatchTheRules) {
  const uint32_t seed = std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const SuperPacket super = MakeSuper(testing::RandomSuperOptions(random), random);
    const auto size = static_cast<uint32_t>(super.frame.size());
    const uint32_t first = super.payload_offset + random() % (size - super.payload_offset + 1);
    uint32_t other = 1 + random() % 3000;
    if (size / other > 60) other = 0;
    const DpPacketPtr packet = LoadSuper(super, pools_, first, other);
    ASSERT_EQ(WriteAndCompare(super, *packet), "") << "seed " << seed << " round " << round;
    // The offsets that the builder knows are those that the parser finds.
    const Layers layers = ParseLayers(*packet);
    ASSERT_EQ(layers.ip_proto, IsTcp(super.options.type) ? 6 : 17);
    ASSERT_EQ(packet->payload_offset, super.payload_offset);
  }
}

TEST_F(GsoTest, ResumesAfterAnyPause) {
  const SuperPacket super = TcpSuper(0x99, 20'000, 700);
  const DpPacketPtr packet = LoadSuper(super, pools_, 100, 999);
  const Segments expected = Write(*packet, SegmentChecksum::kCompute);
  for (uint32_t pause = 0; pause <= expected.size(); ++pause) {
    GsoSegmenter segmenter(*packet, SegmentChecksum::kCompute);
    Segments segments;
    const auto write = [&] {
      std::vector<uint8_t> out(segmenter.next_length());
      segmenter.WriteNext(out.data());
      segments.push_back(out);
    };
    while (segmenter.next_index() < pause) write();
    GsoSegmenter resumed = segmenter;  // the state is all in the object
    EXPECT_EQ(resumed.next_index(), pause);
    while (!segmenter.done()) write();
    EXPECT_EQ(segments, expected);
    if (!resumed.done()) {
      std::vector<uint8_t> out(resumed.next_length());
      resumed.WriteNext(out.data());
      EXPECT_EQ(out, expected[pause]);
    }
  }
}

TEST_F(GsoTest, EmitsPacketsWithTheirMetadata) {
  for (Segmentation type : kTypes) {
    for (SegmentChecksum checksum : {SegmentChecksum::kCompute, SegmentChecksum::kPostpone}) {
      SuperOptions options;
      options.type = type;
      options.vlan_tpids = {0x8100};
      options.tcp_flags = 0x90;
      options.payload_bytes = 4000;
      options.segment_size = 1448;
      const SuperPacket super = Super(options);
      const DpPacketPtr packet = Load(super);
      packet->in_port = 11;
      packet->recirc_id = 12;
      packet->flow_hash = 13;
      packet->dp_hash = 14;
      packet->skb_mark = 15;
      packet->skb_priority = 16;
      packet->coalesced = true;
      GsoSegmenter segmenter(*packet, checksum);
      Segments segments;
      while (!segmenter.done()) {
        const uint32_t length = segmenter.next_length();
        const DpPacketPtr out = pools_.small->Allocate();
        segmenter.EmitNext(*out);
        EXPECT_EQ(out->length(), length);
        EXPECT_TRUE(out->IsLinear());
        segments.emplace_back(out->data(), out->data() + out->length());
        EXPECT_EQ(out->offload.segmentation, Segmentation::kNone);
        EXPECT_EQ(out->offload.segment_size, 0);
        EXPECT_FALSE(out->offload.ecn);
        if (checksum == SegmentChecksum::kCompute) {
          EXPECT_EQ(out->offload.l4, ChecksumState::kGood);
        } else {
          EXPECT_EQ(out->offload.l4, ChecksumState::kPartial);
          EXPECT_EQ(out->offload.csum_start, super.l4_offset);
          EXPECT_EQ(out->offload.csum_offset, IsTcp(type) ? 16 : 6);
        }
        EXPECT_EQ(out->offload.inner_l4, ChecksumState::kUnknown);
        EXPECT_EQ(out->l3_offset, super.l3_offset);
        EXPECT_EQ(out->l4_offset, super.l4_offset);
        EXPECT_EQ(out->payload_offset, super.payload_offset);
        EXPECT_EQ(out->in_port, 11u);
        EXPECT_EQ(out->recirc_id, 12u);
        EXPECT_EQ(out->flow_hash, 13u);
        EXPECT_EQ(out->dp_hash, 14u);
        EXPECT_EQ(out->skb_mark, 15u);
        EXPECT_EQ(out->skb_priority, 16u);
        EXPECT_FALSE(out->coalesced);
      }
      EXPECT_EQ(CompareWithSuper(super, segments, checksum == SegmentChecksum::kPostpone), "");
    }
  }
}

TEST_F(GsoTest, TakesNoPaddingBehindTheIpLengthForPayload) {
  const SuperPacket super = TcpSuper(0x18, 3000, 1448);
  SuperPacket padded = super;
  padded.frame.insert(padded.frame.end(), 50, 0xee);
  EXPECT_EQ(CompareWithSuper(super, Write(*Load(padded), SegmentChecksum::kCompute), false), "");
}

TEST_F(GsoTest, DoesNotTrustThePostponedSum) {
  const SuperPacket super = TcpSuper(0x18, 3000, 1448);
  SuperPacket wrong = super;
  wrong.frame[super.l4_offset + 16] ^= 0x5a;
  EXPECT_EQ(CompareWithSuper(super, Write(*Load(wrong), SegmentChecksum::kCompute), false), "");
}

TEST_F(GsoTest, KeepsTheSendersPseudoHeaderBehindARoutingHeader) {
  SuperOptions options;
  options.type = Segmentation::kTcp6;
  options.ipv6_extensions = {43};
  options.payload_bytes = 3000;
  options.segment_size = 1448;
  const SuperPacket super = Super(options);
  // The packet is on its way to a waypoint; the sums are those of the final destination, already in the field.
  SuperPacket on_the_way = super;
  on_the_way.frame[super.l3_offset + 39] ^= 0xff;
  Segments segments = Write(*Load(on_the_way), SegmentChecksum::kCompute);
  for (std::vector<uint8_t>& segment : segments) segment[super.l3_offset + 39] ^= 0xff;
  EXPECT_EQ(CompareWithSuper(super, segments, false), "");
}

// Each entry spoils a packet that would be segmented otherwise.
struct Spoil {
  const char* what;
  Segmentation type;
  std::function<void(DpPacket&)> spoil;
};

TEST_F(GsoTest, RefusesWhatCannotBeSegmented) {
  const Spoil spoils[] = {
      {"no segmentation", Segmentation::kTcp4, [](DpPacket& p) { p.offload.segmentation = Segmentation::kNone; }},
      {"segment size 0", Segmentation::kTcp4, [](DpPacket& p) { p.offload.segment_size = 0; }},
      {"no l3", Segmentation::kTcp4, [](DpPacket& p) { p.l3_offset = kNoOffset; }},
      {"no l4", Segmentation::kTcp4, [](DpPacket& p) { p.l4_offset = kNoOffset; }},
      {"no payload offset", Segmentation::kTcp4, [](DpPacket& p) { p.payload_offset = kNoOffset; }},
      {"TCP as UDP", Segmentation::kTcp4, [](DpPacket& p) { p.offload.segmentation = Segmentation::kUdp4; }},
      {"UDP as TCP", Segmentation::kUdp6, [](DpPacket& p) { p.offload.segmentation = Segmentation::kTcp6; }},
      {"IPv4 as IPv6", Segmentation::kTcp4, [](DpPacket& p) { p.offload.segmentation = Segmentation::kTcp6; }},
      {"IPv6 as IPv4", Segmentation::kTcp6, [](DpPacket& p) { p.offload.segmentation = Segmentation::kTcp4; }},
      {"a full checksum", Segmentation::kTcp4, [](DpPacket& p) { p.offload.l4 = ChecksumState::kGood; }},
      {"a bad checksum", Segmentation::kTcp4, [](DpPacket& p) { p.offload.l4 = ChecksumState::kBad; }},
      {"checksum elsewhere", Segmentation::kTcp4, [](DpPacket& p) { p.offload.csum_start += 2; }},
      {"checksum field elsewhere", Segmentation::kTcp4, [](DpPacket& p) { p.offload.csum_offset = 6; }},
      {"inner checksum", Segmentation::kTcp4, [](DpPacket& p) { p.offload.inner_l4 = ChecksumState::kPartial; }},
      {"more fragments", Segmentation::kUdp4, [](DpPacket& p) { p.data()[p.l3_offset + 6] = 0x20; }},
      {"later fragment", Segmentation::kUdp4, [](DpPacket& p) { p.data()[p.l3_offset + 7] = 1; }},
      {"other protocol", Segmentation::kUdp4, [](DpPacket& p) { p.data()[p.l3_offset + 9] = 136; }},
      {"IP version", Segmentation::kTcp4, [](DpPacket& p) { p.data()[p.l3_offset] = 0x65; }},
      {"IP header length", Segmentation::kTcp4, [](DpPacket& p) { p.data()[p.l3_offset] = 0x46; }},
      {"IP length of headers only", Segmentation::kTcp4,
       [](DpPacket& p) {
         p.data()[p.l3_offset + 2] = 0;
         p.data()[p.l3_offset + 3] = 40;
       }},
      {"IP length beyond the frame", Segmentation::kTcp4, [](DpPacket& p) { p.data()[p.l3_offset + 2] = 0xff; }},
      {"IPv6 length beyond the frame", Segmentation::kTcp6, [](DpPacket& p) { p.data()[p.l3_offset + 4] = 0xff; }},
      {"IPv6 version", Segmentation::kTcp6, [](DpPacket& p) { p.data()[p.l3_offset] = 0x45; }},
      {"IPv6 fragment header", Segmentation::kTcp6, [](DpPacket& p) { p.data()[p.l3_offset + 6] = 44; }},
      {"TCP header length", Segmentation::kTcp4, [](DpPacket& p) { p.data()[p.l4_offset + 12] = 0x60; }},
      {"headers beyond the first buffer", Segmentation::kTcp4, [](DpPacket& p) { p.payload_offset = 2049; }},
      {"l4 before l3", Segmentation::kTcp4, [](DpPacket& p) { p.l3_offset = static_cast<uint16_t>(p.l4_offset + 2); }},
  };
  for (const Spoil& spoil : spoils) {
    SuperOptions options;
    options.type = spoil.type;
    options.payload_bytes = 5000;
    options.segment_size = 1448;
    const SuperPacket super = Super(options);
    const DpPacketPtr packet = Load(super);
    EXPECT_TRUE(Accepts(*packet)) << spoil.what;
    spoil.spoil(*packet);
    EXPECT_FALSE(Accepts(*packet)) << spoil.what;
  }
}

TEST_F(GsoTest, RefusesExtensionHeadersThatBelongToOneDatagram) {
  for (uint8_t extension : {44, 51, 135}) {
    SuperOptions options;
    options.type = Segmentation::kUdp6;
    options.ipv6_extensions = {extension};
    options.payload_bytes = 3000;
    options.segment_size = 1000;
    EXPECT_FALSE(Accepts(*Load(Super(options)))) << int{extension};
  }
}

TEST(SegmentCountTest, RoundsUp) {
  EXPECT_EQ(SegmentCount(0, 1448), 0u);
  EXPECT_EQ(SegmentCount(1, 1448), 1u);
  EXPECT_EQ(SegmentCount(1448, 1448), 1u);
  EXPECT_EQ(SegmentCount(1449, 1448), 2u);
  EXPECT_EQ(SegmentCount(65160, 1448), 45u);
  EXPECT_EQ(SegmentCount(65535, 65535), 1u);
  EXPECT_EQ(SegmentCount(100, 0), 0u);
}

}  // namespace
}  // namespace sluice
