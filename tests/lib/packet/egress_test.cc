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
#include "tests/lib/packet/egress_fixture.h"
#include "tests/lib/packet/tcp_frames.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

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
