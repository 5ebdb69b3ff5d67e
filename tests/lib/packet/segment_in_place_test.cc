// PrepareForEgress where segments stay in the buffers that the super-packet came in.
#include "lib/packet/segment_in_place.h"

#include "lib/packet/coalesce.h"
#include "lib/packet/gso.h"
#include "tests/lib/packet/egress_fixture.h"
#include "tests/lib/packet/super_packet.h"

namespace sluice {
namespace {

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

// As a kernel port lays them out, of two segments both stay, of more the first and the last.
TEST_F(EgressTest, TheFirstAndTheLastSegmentStayInTheirBuffers) {
  for (bool partial : {false, true}) {
    for (uint32_t payload : {1448u, 2 * 1448u, 2 * 1448u + 1, 4 * 1448u}) {
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

}  // namespace
}  // namespace sluice
