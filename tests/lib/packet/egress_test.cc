#include "lib/packet/egress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "lib/packet/checksum.h"
#include "lib/packet/coalesce.h"
#include "lib/packet/gso.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/parse.h"
#include "tests/lib/packet/super_packet.h"
#include "tests/lib/packet/tcp_frames.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr EgressCaps kPlain{.mtu = 1500};
constexpr EgressCaps kFull{.mtu = 1500,
                           .max_super_length = 65600,
                           .max_buffers = 64,
                           .segmentations = 0x1e,
                           .segmentation_ecn = true,
                           .partial_checksum = true,
                           .sctp_checksum = true};

// Keeps copies of the frames, or the frames themselves until Release().
class CollectingSink : public EgressSink {
 public:
  void Emit(PacketBatch& frames) override {
    ASSERT_FALSE(frames.empty());
    batch_sizes.push_back(frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      DpPacketPtr packet = frames.Take(i);
      bytes.push_back(BytesOf(*packet));
      offloads.push_back(packet->offload);
      buffer_counts.push_back(packet->buffer_count());
      if (hold) held.push_back(std::move(packet));
    }
    frames.Clear();
  }

  bool hold = false;
  std::vector<DpPacketPtr> held;
  std::vector<size_t> batch_sizes;
  std::vector<Bytes> bytes;
  std::vector<Offload> offloads;
  std::vector<uint32_t> buffer_counts;
};

class EgressTest : public ::testing::Test {
 protected:
  void SetUp() override { MakePools(256, 16); }
  void TearDown() override {
    batch_.FreeAll();
    sink_.held.clear();
    EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
    EXPECT_EQ(pools_.large->OutstandingCount(), 0u);
  }
  void MakePools(uint32_t small, uint32_t large) {
    auto pools = PacketPools::Create(small, large);
    ASSERT_TRUE(pools.ok()) << pools.status();
    pools_ = *std::move(pools);
  }

  void Add(const TcpFrame& frame, ChecksumState state = ChecksumState::kGood) {
    AddPacket(MakePacket(*pools_.small, frame, state));
  }
  void AddPacket(DpPacketPtr packet) {
    ParseLayers(*packet);
    batch_.Add(std::move(packet));
  }
  // As a kernel port receives one: the head in a small buffer, the rest in a large one.
  DpPacketPtr MakeSuper(const TcpFrame& frame, uint16_t segment_size) {
    Bytes bytes = Build(frame, ChecksumState::kPartial);
    const auto in_head = std::min<size_t>(bytes.size(), PacketPools::kSmallDataSize);
    DpPacketPtr head = ToPacket(*pools_.small, Bytes(bytes.begin(), bytes.begin() + in_head));
    if (in_head < bytes.size()) {
      head->AppendChain(head.get(), ToPacket(*pools_.large, Bytes(bytes.begin() + in_head, bytes.end())).release());
    }
    head->offload = {.l4 = ChecksumState::kPartial,
                     .segmentation = frame.ipv6 ? Segmentation::kTcp6 : Segmentation::kTcp4,
                     .ecn = (frame.flags & kTcpCwr) != 0,
                     .segment_size = segment_size,
                     .csum_start = static_cast<uint16_t>(L4Offset(frame)),
                     .csum_offset = 16};
    return head;
  }
  void AddSuper(const TcpFrame& frame, uint16_t segment_size) { AddPacket(MakeSuper(frame, segment_size)); }
  // Coalesces `count` segments of a stream, and adds the super-packet.
  void AddCoalesced(TcpFrame frame, int count, uint32_t last_payload) {
    RxBurst burst;
    for (int i = 0; i < count; ++i) {
      if (i == count - 1) {
        frame.payload = last_payload;
        frame.flags |= kTcpPsh;
      }
      burst.Add(MakePacket(*pools_.small, frame, ChecksumState::kGood));
      frame.sequence += frame.payload;
      ++frame.id;
      frame.flags = static_cast<uint8_t>(frame.flags & ~kTcpCwr);
    }
    CoalesceCounters counters;
    CoalesceBurst(burst, {}, counters);
    ASSERT_EQ(burst.size(), 1u);
    AddPacket(burst.Take(0));
  }
  // The segments that `super` stands for.
  static std::vector<Bytes> Segments(const TcpFrame& super, uint32_t segment_size,
                                     ChecksumState state = ChecksumState::kGood) {
    std::vector<Bytes> segments;
    for (uint32_t at = 0; at < super.payload; at += segment_size) {
      TcpFrame f = super;
      f.payload = std::min(segment_size, super.payload - at);
      f.sequence += at;
      f.id = static_cast<uint16_t>(f.id + at / segment_size);
      if (at > 0) f.flags = static_cast<uint8_t>(f.flags & ~kTcpCwr);
      if (at + f.payload < super.payload) f.flags = static_cast<uint8_t>(f.flags & ~(kTcpPsh | kTcpFin));
      segments.push_back(Build(f, state));
    }
    return segments;
  }
  void Prepare(const EgressCaps& caps) {
    PrepareForEgress(batch_, caps, pools_, sink_, drops_);
    EXPECT_TRUE(batch_.empty());
  }
  uint64_t Dropped() const {
    uint64_t sum = 0;
    for (const Counter& counter : drops_.frames) sum += counter;
    return sum;
  }

  PacketPools pools_;
  PacketBatch batch_;
  CollectingSink sink_;
  DropCounters drops_;
};

TEST_F(EgressTest, PassesABatchWithNothingToDoAtOnce) {
  std::vector<Bytes> sent;
  for (uint16_t i = 0; i < 32; ++i) {
    TcpFrame frame{.source_port = i};
    Add(frame);
    sent.push_back(Build(frame, ChecksumState::kGood));
  }
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes, sent);
  EXPECT_THAT(sink_.batch_sizes, ElementsAre(32));
}

TEST_F(EgressTest, AnEmptyBatchEmitsNothing) {
  Prepare(kPlain);
  EXPECT_TRUE(sink_.batch_sizes.empty());
}

TEST_F(EgressTest, SuperPacketPassesWholeWhereThePortTakesIt) {
  for (bool ipv6 : {false, true}) {
    AddSuper({.ipv6 = ipv6, .flags = kTcpAck | kTcpCwr, .payload = 45 * 1428}, 1428);
    EXPECT_EQ(WireFrames(*batch_[0]), 45u);
    EXPECT_EQ(WireBytes(*batch_[0]), 45u * (1428 + (ipv6 ? 86 : 66)));
    Prepare(kFull);
    ASSERT_EQ(sink_.bytes.size(), 1u);
    EXPECT_EQ(sink_.offloads[0].segment_size, 1428);
    sink_ = {};
  }
}

// Each capability that the port lacks makes segments of the super-packet.
TEST_F(EgressTest, SegmentsWhatThePortDoesNotTake) {
  const TcpFrame frame{.flags = kTcpAck | kTcpCwr | kTcpPsh, .payload = 3 * 1448 + 5};
  struct {
    const char* what;
    void (*change)(EgressCaps&);
  } const kLacks[] = {
      {"segmentation", [](EgressCaps& caps) { caps.segmentations = SegmentationBit(Segmentation::kTcp6); }},
      {"ecn", [](EgressCaps& caps) { caps.segmentation_ecn = false; }},
      {"size", [](EgressCaps& caps) { caps.max_super_length = 66 + 3 * 1448 + 4; }},
      {"segments", [](EgressCaps& caps) { caps.max_segments = 3; }},
      {"buffers", [](EgressCaps& caps) { caps.max_buffers = 1; }},
  };
  for (const auto& lack : kLacks) {
    SCOPED_TRACE(lack.what);
    EgressCaps caps = kFull;
    lack.change(caps);
    AddSuper(frame, 1448);
    Prepare(caps);
    EXPECT_EQ(sink_.bytes, Segments(frame, 1448, ChecksumState::kPartial));
    for (const Offload& offload : sink_.offloads) EXPECT_EQ(offload.l4, ChecksumState::kPartial);
    sink_ = {};
  }
  // At the limits it passes.
  EgressCaps caps = kFull;
  caps.max_super_length = 66 + 3 * 1448 + 5;
  caps.max_segments = 4;
  caps.max_buffers = 2;
  AddSuper(frame, 1448);
  Prepare(caps);
  EXPECT_EQ(sink_.bytes.size(), 1u);
}

TEST_F(EgressTest, CompletesChecksumsOfSegmentsWhereThePortDoesNot) {
  for (bool ipv6 : {false, true}) {
    TcpFrame frame{.ipv6 = ipv6, .tags = {3, 4}, .flags = kTcpAck | kTcpPsh | kTcpFin, .payload = 44 * 1428 + 1};
    AddSuper(frame, 1428);
    Prepare(kPlain);
    EXPECT_EQ(sink_.bytes, Segments(frame, 1428));
    EXPECT_THAT(sink_.batch_sizes, ElementsAre(32, 13));
    for (const Offload& offload : sink_.offloads) EXPECT_EQ(offload.l4, ChecksumState::kGood);
    sink_ = {};
  }
}

TEST_F(EgressTest, SizesOfRealTraffic) {
  // 45 x 1448; the longest IPv4 datagram with a tag; the longest IPv6 payload.
  for (TcpFrame frame : {TcpFrame{.payload = 45 * 1448}, TcpFrame{.tags = {7}, .payload = 65535 - 52},
                         TcpFrame{.ipv6 = true, .payload = 65535 - 32}}) {
    for (uint16_t size : {1, 63, 1448, 8948, 32768}) {
      if (frame.payload / size > 2000) frame.payload = 2000 * size;
      EgressCaps caps = kPlain;
      caps.mtu = 65535;
      AddSuper(frame, size);
      Prepare(caps);
      EXPECT_EQ(sink_.bytes, Segments(frame, size));
      sink_ = {};
    }
  }
}

TEST_F(EgressTest, DropsSuperPacketsWhoseSegmentsExceedTheMtu) {
  for (bool coalesced : {false, true}) {
    for (const EgressCaps& base : {kPlain, kFull}) {
      for (uint32_t mtu : {1499u, 1500u}) {
        SCOPED_TRACE(mtu);
        EgressCaps caps = base;
        caps.mtu = mtu;
        if (coalesced) {
          AddCoalesced({.tags = {1, 2}}, 3, 100);
        } else {
          AddSuper({.tags = {1, 2}, .payload = 2 * 1448 + 100}, 1448);
        }
        drops_ = {};
        Prepare(caps);
        EXPECT_EQ(drops_[DropReason::kTxOverMtu], mtu == 1499 ? 3u : 0u);
        EXPECT_EQ(sink_.bytes.empty(), mtu == 1499);
        sink_ = {};
      }
    }
  }
}

TEST_F(EgressTest, DropsFramesOverMtu) {
  for (size_t tags : {0, 1, 2}) {
    TcpFrame frame{.payload = 1448};
    frame.tags.resize(tags, 9);
    Add(frame);
    ++frame.payload;
    Add(frame);
  }
  // Nobody parsed this one: all behind 14 bytes is layer 3.
  batch_.Add(ToPacket(*pools_.small, Bytes(1515)));
  batch_.Add(ToPacket(*pools_.small, Bytes(1514)));
  batch_.Add(ToPacket(*pools_.small, Bytes(5)));
  Prepare(kPlain);
  EXPECT_EQ(drops_[DropReason::kTxOverMtu], 4u);
  EXPECT_EQ(sink_.bytes.size(), 5u);
  EXPECT_EQ(Dropped(), 4u);
}

TEST_F(EgressTest, CompletesPostponedChecksums) {
  for (bool ipv6 : {false, true}) {
    for (uint32_t payload : {0, 1, 8, 63, 64, 65, 1400}) {
      TcpFrame frame{.ipv6 = ipv6, .payload = payload};
      Add(frame, ChecksumState::kPartial);
      Prepare(kPlain);
      ASSERT_EQ(sink_.bytes.size(), 1u);
      EXPECT_EQ(sink_.bytes[0], Build(frame, ChecksumState::kGood));
      EXPECT_EQ(sink_.offloads[0].l4, ChecksumState::kGood);
      Add(frame, ChecksumState::kPartial);
      Prepare(kFull);
      EXPECT_EQ(sink_.bytes[1], Build(frame, ChecksumState::kPartial));
      EXPECT_EQ(sink_.offloads[1].l4, ChecksumState::kPartial);
      sink_ = {};
    }
  }
}

TEST_F(EgressTest, NeverRepairsAWrongChecksum) {
  for (ChecksumState state : {ChecksumState::kUnknown, ChecksumState::kBad, ChecksumState::kGood}) {
    DpPacketPtr packet = MakePacket(*pools_.small, {}, state);
    packet->data()[50] ^= 0xff;
    Bytes sent = BytesOf(*packet);
    AddPacket(std::move(packet));
    Prepare(kPlain);
    EXPECT_EQ(sink_.bytes.back(), sent);
    EXPECT_EQ(sink_.offloads.back().l4, state);
  }
}

TEST_F(EgressTest, DropsPostponedChecksumsOutsideThePacket) {
  const TcpFrame frame{.payload = 10};
  const uint32_t length = HeaderLength(frame) + 10;
  const std::pair<uint32_t, uint32_t> kOutside[] = {{length - 17, 16}, {length, 0}, {length - 1, 0},
                                                    {65535, 65535},    {0, 65535},  {65534, 2}};
  for (auto [start, offset] : kOutside) {
    for (const EgressCaps& caps : {kPlain, kFull}) {
      Add(frame, ChecksumState::kPartial);
      batch_[0]->offload.csum_start = static_cast<uint16_t>(start);
      batch_[0]->offload.csum_offset = static_cast<uint16_t>(offset);
      Prepare(caps);
    }
  }
  EXPECT_EQ(drops_[DropReason::kTxChecksumRange], 2 * std::size(kOutside));
  EXPECT_EQ(Dropped(), 2 * std::size(kOutside));
  // The last place that is inside.
  Add(frame, ChecksumState::kPartial);
  batch_[0]->offload.csum_start = static_cast<uint16_t>(length - 18);
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes.size(), 1u);
}

// An Ethernet frame with an IP header and `transport` behind it.
Bytes IpFrame(bool ipv6, uint8_t protocol, const Bytes& transport) {
  TcpFrame carrier{.ipv6 = ipv6, .payload = 0};
  Bytes frame = Build(carrier, ChecksumState::kPartial);
  frame.resize(L4Offset(carrier));
  uint8_t* ip = &frame[14];
  if (ipv6) {
    ip[6] = protocol;
    Store16(ip + 4, static_cast<uint32_t>(transport.size()));
  } else {
    ip[9] = protocol;
    Store16(ip + 2, static_cast<uint32_t>(transport.size() + 20));
    Store16(ip + 10, 0);
    Store16(ip + 10, static_cast<uint16_t>(~OracleSum(ip, 20, 0)));
  }
  frame.insert(frame.end(), transport.begin(), transport.end());
  return frame;
}

TEST_F(EgressTest, WritesAUdpChecksumOfZeroAsItsOtherForm) {
  // Ports, length and payload whose sum with the pseudo-header is 0xffff.
  Bytes udp = {0, 1, 0, 2, 0, 10, 0, 0, 0, 0};
  Bytes frame = IpFrame(false, kIpProtoUdp, udp);
  const uint16_t pseudo = OracleSum(&frame[26], 8, 10 + kIpProtoUdp);
  Store16(&frame[34 + 6], pseudo);
  Store16(&frame[34 + 8], static_cast<uint16_t>(~OracleSum(&frame[34], 8, 0)));
  for (bool udp_field : {true, false}) {
    DpPacketPtr packet = ToPacket(*pools_.small, frame);
    packet->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 6};
    if (!udp_field) {
      // The same bytes seen from two bytes further: not where UDP has its checksum.
      packet->data()[34] = packet->data()[35] = 0;
      Store16(packet->data() + 36, 3);
      packet->offload.csum_start = 36;
      packet->offload.csum_offset = 4;
    }
    AddPacket(std::move(packet));
    Prepare(kPlain);
    EXPECT_EQ(Read16(&sink_.bytes.back()[40]), udp_field ? 0xffffu : 0u);
  }
}

uint32_t OracleCrc32c(const uint8_t* bytes, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

TEST_F(EgressTest, CompletesSctpWithCrc32c) {
  for (bool ipv6 : {false, true}) {
    Bytes sctp = {0, 1, 0, 2, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef, 3, 0, 0, 20};
    sctp.resize(101, 0x55);
    const Bytes frame = IpFrame(ipv6, kIpProtoSctp, sctp);
    const uint32_t l4 = ipv6 ? 54 : 34;
    auto add = [&](uint16_t csum_start) {
      DpPacketPtr packet = ToPacket(*pools_.small, frame);
      packet->offload = {.l4 = ChecksumState::kPartial, .csum_start = csum_start, .csum_offset = 8};
      AddPacket(std::move(packet));
    };
    EgressCaps caps = kFull;
    add(static_cast<uint16_t>(l4));
    Prepare(caps);
    EXPECT_EQ(sink_.bytes.back(), frame);
    caps.sctp_checksum = false;  // completing Internet checksums does not help
    add(static_cast<uint16_t>(l4));
    Prepare(caps);
    Bytes expected = frame;
    std::fill_n(&expected[l4 + 8], 4, 0);
    const uint32_t crc = OracleCrc32c(&expected[l4], expected.size() - l4);
    for (int i = 0; i < 4; ++i) expected[l4 + 8 + i] = static_cast<uint8_t>(crc >> 8 * i);
    EXPECT_EQ(sink_.bytes.back(), expected);
    add(static_cast<uint16_t>(frame.size() - 10));  // two of the four bytes outside
    drops_ = {};
    Prepare(caps);
    EXPECT_EQ(drops_[DropReason::kTxChecksumRange], 1u);
  }
}

TEST_F(EgressTest, CopiesFramesOfTooManyBuffersIntoOne) {
  // Into a small buffer, and into a large one.
  for (uint32_t payload : {1000u, 3000u}) {
    TcpFrame frame{.payload = payload};
    Bytes bytes = Build(frame, ChecksumState::kPartial);
    DpPacketPtr packet = ToPacket(*pools_.small, Bytes(bytes.begin(), bytes.begin() + 501));
    packet->AppendChain(packet.get(), ToPacket(*pools_.large, Bytes(bytes.begin() + 501, bytes.end())).release());
    packet->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 16};
    packet->in_port = 5;
    AddPacket(std::move(packet));
    sink_.hold = true;
    Prepare({.mtu = 9000});
    ASSERT_EQ(sink_.held.size(), 1u);
    EXPECT_EQ(sink_.buffer_counts[0], 1u);
    EXPECT_EQ(sink_.held[0]->in_port, 5u);
    EXPECT_EQ(sink_.held[0]->l4_offset, 34);
    EXPECT_EQ(sink_.held[0]->pool(), payload == 1000 ? pools_.small.get() : pools_.large.get());
    EXPECT_EQ(sink_.bytes[0], Build(frame, ChecksumState::kGood));
    sink_ = {};
  }
}

TEST_F(EgressTest, DropsSuperPacketsWithoutReadableHeaders) {
  for (const EgressCaps& caps : {kPlain, kFull}) {
    DpPacketPtr packet = MakeSuper({.payload = 3000}, 1448);
    batch_.Add(std::move(packet));  // not parsed
    Prepare(caps);
  }
  EXPECT_EQ(drops_[DropReason::kTxNotSegmentable], 2u);
  EXPECT_TRUE(sink_.bytes.empty());
}

TEST_F(EgressTest, KeepsOrderAmongAllKinds) {
  TcpFrame super{.payload = 3 * 1448};
  TcpFrame small{.payload = 10};
  Add(small);
  AddSuper(super, 1448);
  Add(small, ChecksumState::kPartial);
  AddCoalesced({}, 4, 9);
  Add({.payload = 2000 - 66});  // over the MTU
  Add(small);
  Prepare(kPlain);
  std::vector<Bytes> expected = {Build(small, ChecksumState::kGood)};
  auto append = [&](const std::vector<Bytes>& more) { expected.insert(expected.end(), more.begin(), more.end()); };
  append(Segments(super, 1448));
  append({Build(small, ChecksumState::kGood)});
  append(Segments({.flags = kTcpAck | kTcpPsh, .payload = 3 * 1448 + 9}, 1448));
  append({Build(small, ChecksumState::kGood)});
  EXPECT_EQ(sink_.bytes, expected);
  EXPECT_EQ(Dropped(), 1u);
}

// A coalesced packet's segments, cut in place, are those of the segmenter, and need no buffers.
TEST_F(EgressTest, CutsCoalescedPacketsInPlace) {
  for (bool ipv6 : {false, true}) {
    for (bool partial : {false, true}) {
      for (uint8_t cwr : {uint8_t{0}, kTcpCwr}) {
        TcpFrame frame{
            .ipv6 = ipv6, .tags = {5}, .flags = static_cast<uint8_t>(kTcpAck | cwr), .id = 0xfffe, .payload = 1428};
        AddCoalesced(frame, 40, 77);
        batch_[0]->in_port = 3;
        std::vector<DpPacketPtr> all;
        while (DpPacketPtr packet = pools_.small->Allocate()) all.push_back(std::move(packet));
        EgressCaps caps = kPlain;
        caps.partial_checksum = partial;
        sink_.hold = true;
        Prepare(caps);
        frame.payload = 39 * 1428 + 77;
        frame.flags |= kTcpPsh;
        EXPECT_EQ(sink_.bytes, Segments(frame, 1428, partial ? ChecksumState::kPartial : ChecksumState::kGood));
        for (const DpPacketPtr& segment : sink_.held) {
          EXPECT_EQ(segment->in_port, 3u);
          EXPECT_EQ(segment->l3_offset, 18);
          EXPECT_EQ(segment->offload.l4, partial ? ChecksumState::kPartial : ChecksumState::kGood);
          EXPECT_EQ(segment->offload.IsSuper(), false);
          EXPECT_FALSE(segment->coalesced);
        }
        sink_ = {};
      }
    }
  }
  EXPECT_EQ(Dropped(), 0u);
}

TEST_F(EgressTest, HeadersChangedAfterCoalescingAreThoseOfEverySegment) {
  AddCoalesced({}, 3, 500);
  DpPacket& packet = *batch_[0];
  // A tag is pushed and the TTL decremented.
  uint8_t* front = packet.PushFront(4);
  std::memmove(front, front + 4, 12);
  Store16(front + 12, kEthTypeVlan);
  Store16(front + 14, 9);
  packet.data()[18 + 8] -= 1;
  ParseLayers(packet);
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes,
            Segments({.tags = {9}, .flags = kTcpAck | kTcpPsh, .ttl = 63, .payload = 2 * 1448 + 500}, 1448));
}

TEST_F(EgressTest, CoalescedPacketsThatWereCutOrPulledGoThroughTheSegmenter) {
  AddCoalesced({}, 3, 500);
  // The first segment's buffer gives some of its payload to a buffer of its own: no segment borders any more.
  DpPacket& packet = *batch_[0];
  DpPacket* tail = packet.DetachChain();
  DpPacketPtr piece = pools_.small->Allocate();
  piece->SetHeadLength(48);
  std::memcpy(piece->data(), packet.data() + packet.head_length() - 48, 48);
  packet.SetHeadLength(packet.head_length() - 48);
  DpPacket* middle = piece.release();
  packet.AppendChain(&packet, middle);
  DpPacket* second = tail;
  DpPacket* third = second->DetachChain();
  third->DetachChain();
  packet.AppendChain(middle, second);
  packet.AppendChain(second, third);
  ASSERT_EQ(packet.length(), 66u + 2 * 1448 + 500);
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes, Segments({.flags = kTcpAck | kTcpPsh, .payload = 2 * 1448 + 500}, 1448));
}

TEST_F(EgressTest, ACoalescedPacketThatWasTruncatedIsNotMadeWhole) {
  for (bool ipv6 : {false, true}) {
    AddCoalesced({.ipv6 = ipv6, .payload = 1000}, 4, 1000);
    batch_[0]->Truncate(batch_[0]->length() - 1500);
    Prepare(kPlain);
  }
  EXPECT_TRUE(sink_.bytes.empty());
  EXPECT_EQ(drops_[DropReason::kTxNotSegmentable], 2u * 3);
}

class EgressPoolTest : public EgressTest {
 protected:
  void SetUp() override { MakePools(12, 2); }
};

TEST_F(EgressPoolTest, EmittingBringsBuffersHome) {
  // 40 segments through 11 free buffers.
  const TcpFrame frame{.payload = 40 * 1448};
  AddSuper(frame, 1448);
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes, Segments(frame, 1448));
  EXPECT_THAT(sink_.batch_sizes, ElementsAre(11, 11, 11, 7));
  EXPECT_EQ(Dropped(), 0u);
}

TEST_F(EgressPoolTest, DropsTheRemainderWhenNothingComesHome) {
  const TcpFrame frame{.payload = 40 * 1448};
  AddSuper(frame, 1448);
  sink_.hold = true;
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes.size(), 11u);
  EXPECT_EQ(drops_[DropReason::kTxPoolEmpty], 29u);
  sink_.held.clear();
  AddSuper(frame, 1448);  // and recovers
  sink_.hold = false;
  Prepare(kPlain);
  EXPECT_EQ(sink_.bytes.size(), 11u + 40);
}

TEST_F(EgressPoolTest, ACopyNeedsABufferToo) {
  std::vector<DpPacketPtr> large;
  while (DpPacketPtr packet = pools_.large->Allocate()) large.push_back(std::move(packet));
  large.pop_back();
  DpPacketPtr packet = MakeSuper({.payload = 3000}, 1);
  packet->offload = {};
  AddPacket(std::move(packet));
  Prepare({.mtu = 9000});
  EXPECT_EQ(drops_[DropReason::kTxPoolEmpty], 1u);
}

// Random streams through the coalescer and out of a port that can do nothing: each flow's frames, in order.
TEST_F(EgressTest, WhatWasCoalescedLeavesAsItCame) {
  std::mt19937 rng(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    TcpFrame flows[4];
    for (int i = 0; i < 4; ++i) {
      flows[i] = {
          .ipv6 = i % 2 == 1, .source_port = static_cast<uint16_t>(i), .sequence = static_cast<uint32_t>(rng())};
      flows[i].payload = 1 + rng() % 1400;
      flows[i].options.resize(rng() % 11 * 4, 1);
    }
    std::vector<Bytes> sent[4];
    RxBurst burst;
    for (uint32_t i = 0, count = rng() % 100; i < count; ++i) {
      const uint32_t which = rng() % 4;
      TcpFrame frame = flows[which];
      if (rng() % 8 == 0) frame.flags |= kTcpPsh;
      if (rng() % 16 == 0) frame.payload = rng() % (frame.payload + 1);
      if (rng() % 32 == 0) frame.window = static_cast<uint16_t>(rng());
      burst.Add(MakePacket(*pools_.small, frame, rng() % 2 ? ChecksumState::kGood : ChecksumState::kPartial));
      sent[which].push_back(Build(frame, ChecksumState::kGood));
      if (rng() % 32 != 0) {
        flows[which].sequence += frame.payload;
        ++flows[which].id;
      }
    }
    CoalesceCounters counters;
    CoalesceBurst(burst, {}, counters);
    for (size_t i = 0; i < burst.size(); ++i) {
      AddPacket(burst.Take(i));
      if (batch_.full()) Prepare(kPlain);
    }
    burst.Clear();
    Prepare(kPlain);
    std::vector<Bytes> got[4];
    for (const Bytes& bytes : sink_.bytes) {
      got[Read16(&bytes[Read16(&bytes[12]) == kEthTypeIpv6 ? 54 : 34])].push_back(bytes);
    }
    for (int i = 0; i < 4; ++i) ASSERT_EQ(got[i], sent[i]) << "round " << round;
    sink_ = {};
  }
  EXPECT_EQ(Dropped(), 0u);
}

// As a kernel port lays them out, of two segments both stay, of more the first and the last.
TEST_F(EgressTest, TheFirstAndTheLastSegmentStayInTheirBuffers) {
  for (bool partial : {false, true}) {
    for (uint32_t payload : {1448u, 2 * 1448u, 2 * 1448u + 1, 5 * 1448u}) {
      SCOPED_TRACE(payload);
      const TcpFrame frame{.flags = kTcpAck | kTcpPsh, .payload = payload};
      AddSuper(frame, 1448);
      batch_[0]->coalesced = !batch_[0]->IsLinear();  // but no longer cut at segment borders
      batch_[0]->in_port = 8;
      DpPacket* const head = batch_[0];
      DpPacket* const tail = batch_[0]->next();
      EgressCaps caps = kPlain;
      caps.partial_checksum = partial;
      sink_.hold = true;
      Prepare(caps);
      EXPECT_EQ(sink_.bytes, Segments(frame, 1448, partial ? ChecksumState::kPartial : ChecksumState::kGood));
      EXPECT_EQ(sink_.held.front().get(), head);
      EXPECT_EQ(sink_.held.back().get(), tail != nullptr ? tail : head);
      for (const DpPacketPtr& segment : sink_.held) {
        EXPECT_TRUE(segment->IsLinear());
        EXPECT_EQ(segment->buffer_count(), 1u);
        EXPECT_FALSE(segment->coalesced);
        EXPECT_FALSE(segment->offload.IsSuper());
        EXPECT_EQ(segment->in_port, 8u);
        EXPECT_EQ(segment->l4_offset, 34);
        EXPECT_EQ(segment->offload.l4, partial ? ChecksumState::kPartial : ChecksumState::kGood);
        EXPECT_EQ(segment->offload.csum_start, partial ? 34 : 0);
        EXPECT_EQ(segment->offload.csum_offset, partial ? 16 : 0);
      }
      sink_ = {};
    }
  }
}

// Whatever stays in place: random super-packets in random buffers, some before them in the batch, few buffers left.
TEST_F(EgressTest, SegmentsAreTheSegmentersWhereverTheyLie) {
  std::mt19937 rng(TestSeed());
  uint64_t in_place = 0;
  uint64_t cut_short = 0;
  for (int round = 0; round < 20000; ++round) {
    testing::SuperOptions options = testing::RandomSuperOptions(rng);
    if (options.payload_bytes / options.segment_size > 100) continue;
    const bool partial = rng() % 2 == 0;
    const auto before = static_cast<uint32_t>(rng() % 4 == 0 ? rng() % 31 : 0);
    for (uint32_t i = 0; i < before; ++i) Add({.payload = 5}, ChecksumState::kPartial);
    const testing::SuperPacket super = testing::MakeSuper(options, rng);
    const uint32_t least = super.payload_offset;
    const uint32_t first = rng() % 2 == 0 ? 2048 : least + rng() % (2049 - least);
    const uint32_t others = rng() % 2 == 0 ? 0 : std::max<uint32_t>(super.frame.size() / 6, 1 + rng() % 3000);
    DpPacketPtr packet = testing::LoadSuper(super, pools_, first, others);
    if (rng() % 8 == 0) {  // padding
      DpPacket* last = packet.get();
      while (!last->IsLinear()) last = last->next();
      packet->AppendChain(last, ToPacket(*pools_.small, Bytes(1 + rng() % 9)).release());
    }
    GsoSegmenter oracle(*packet, partial ? SegmentChecksum::kPostpone : SegmentChecksum::kCompute);
    ASSERT_TRUE(oracle.ok());
    std::vector<Bytes> expected;
    while (!oracle.done()) {
      expected.emplace_back(oracle.next_length());
      oracle.WriteNext(expected.back().data());
    }
    const DpPacket* const head = packet.get();
    batch_.Add(std::move(packet));

    std::vector<DpPacketPtr> away;
    if (rng() % 4 == 0) {
      while (DpPacketPtr buffer = pools_.small->Allocate()) away.push_back(std::move(buffer));
      while (DpPacketPtr buffer = pools_.large->Allocate()) away.push_back(std::move(buffer));
      std::shuffle(away.begin(), away.end(), rng);
      away.resize(away.size() - std::min<size_t>(away.size(), rng() % 40));
    }
    EgressCaps caps{.mtu = 65535};
    caps.partial_checksum = partial;
    drops_ = {};
    sink_.hold = true;
    Prepare(caps);
    ASSERT_GE(sink_.bytes.size(), before);
    const std::vector<Bytes> sent(sink_.bytes.begin() + before, sink_.bytes.end());
    ASSERT_EQ(sent.size() + drops_[DropReason::kTxPoolEmpty], expected.size()) << "round " << round;
    expected.resize(sent.size());
    ASSERT_EQ(sent, expected) << "round " << round;
    for (size_t i = before; i < sink_.bytes.size(); ++i) {
      const Offload& offload = sink_.offloads[i];
      ASSERT_EQ(sink_.buffer_counts[i], 1u);
      ASSERT_EQ(offload.l4, partial ? ChecksumState::kPartial : ChecksumState::kGood);
      ASSERT_EQ(offload.csum_start, partial ? super.l4_offset : 0u);
      ASSERT_EQ(offload.csum_offset, partial ? super.offload.csum_offset : 0u);
      ASSERT_EQ(sink_.held[i]->payload_offset, super.payload_offset);
    }
    in_place += !sent.empty() && sink_.held[before].get() == head;
    cut_short += drops_[DropReason::kTxPoolEmpty] > 0;
    sink_ = {};
  }
  EXPECT_GT(in_place, 1000u);
  EXPECT_GT(cut_short, 100u);
}

// A million packets of every kind through random ports: each frame leaves or is counted, each buffer comes home.
TEST_F(EgressTest, EveryFrameLeavesOrIsCountedAndEveryBufferComesHome) {
  class CountingSink : public EgressSink {
   public:
    void Emit(PacketBatch& frames) override {
      for (DpPacket* packet : frames) sent += WireFrames(*packet);
      frames.FreeAll();
    }
    uint64_t sent = 0;
  } sink;
  const TcpFrame kFrame{.payload = 100};
  const TcpFrame kLong{.payload = 1600};
  const Bytes frame = Build(kFrame, ChecksumState::kPartial);
  const Bytes too_long = Build(kLong, ChecksumState::kGood);
  std::mt19937 rng(TestSeed());
  uint64_t received = 0;
  for (uint64_t packets = 0; packets < 1'000'000;) {
    EgressCaps caps = rng() % 2 ? kFull : kPlain;
    if (rng() % 4 == 0) caps.mtu = 1400;
    std::vector<DpPacketPtr> away;
    if (rng() % 4 == 0) {
      for (uint32_t i = 0; i < 190 + rng() % 30; ++i) away.push_back(pools_.small->Allocate());
    }
    for (uint32_t i = 0, count = rng() % 33; i < count; ++i, ++packets) {
      switch (rng() % 64) {
        case 0:
          AddSuper({.payload = 3 * 1448}, 1448);
          break;
        case 1:
          AddCoalesced({}, 3, 10);
          break;
        case 2:
          AddPacket(ToPacket(*pools_.small, too_long));
          break;
        case 3:
          AddPacket(ToPacket(*pools_.small, frame));
          batch_[batch_.size() - 1]->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 16};
          break;
        case 4:
          AddPacket(ToPacket(*pools_.small, frame));
          batch_[batch_.size() - 1]->offload = {.l4 = ChecksumState::kPartial, .csum_start = 340, .csum_offset = 16};
          break;
        case 5:
          batch_.Add(MakeSuper({.payload = 3 * 1448}, 1448));
          break;
        default:
          AddPacket(ToPacket(*pools_.small, frame));
          break;
      }
      received += WireFrames(*batch_[batch_.size() - 1]);
      if (batch_.size() > 8) {
        PrepareForEgress(batch_, caps, pools_, sink, drops_);
      }
    }
    PrepareForEgress(batch_, caps, pools_, sink, drops_);
  }
  EXPECT_EQ(received, sink.sent + Dropped());
  for (DropReason reason : {DropReason::kTxOverMtu, DropReason::kTxChecksumRange, DropReason::kTxNotSegmentable}) {
    EXPECT_GT(drops_[reason], 0u) << DropReasonName(reason);
  }
}

TEST(WireFramesTest, CountsSegments) {
  auto pool = SlabPool::Create({.count = 1, .data_size = 65536});
  ASSERT_TRUE(pool.ok());
  DpPacketPtr packet = (*pool)->Allocate();
  packet->SetHeadLength(54 + 2920);
  EXPECT_EQ(WireFrames(*packet), 1u);
  EXPECT_EQ(WireBytes(*packet), 54u + 2920);
  packet->offload.segmentation = Segmentation::kTcp4;
  packet->offload.segment_size = 1460;
  EXPECT_EQ(WireFrames(*packet), 1u);  // headers unknown
  packet->payload_offset = 54;
  EXPECT_EQ(WireFrames(*packet), 2u);
  EXPECT_EQ(WireBytes(*packet), 2u * (54 + 1460));
  packet->offload.segment_size = 1459;
  EXPECT_EQ(WireFrames(*packet), 3u);
  packet->offload.segment_size = 60000;
  EXPECT_EQ(WireFrames(*packet), 1u);
  packet->SetHeadLength(54);
  EXPECT_EQ(WireFrames(*packet), 1u);
}

}  // namespace
}  // namespace sluice
