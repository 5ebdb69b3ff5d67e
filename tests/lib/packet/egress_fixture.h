// A fixture for PrepareForEgress: packets in, frames collected.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "lib/packet/checksum.h"
#include "lib/packet/egress.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/parse.h"
#include "tests/lib/packet/tcp_frames.h"

namespace sluice {

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

}  // namespace sluice
