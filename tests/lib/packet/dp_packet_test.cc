#include "lib/packet/dp_packet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "lib/packet/packet_batch.h"
#include "lib/packet/slab_pool.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class DpPacketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pool = SlabPool::Create({.count = 200, .data_size = 256, .headroom = 64});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  void TearDown() override { EXPECT_EQ(pool_->OutstandingCount(), 0u); }

  // Buffers of these sizes, with bytes 0, 1, 2... of the frame in them.
  DpPacketPtr Chain(const std::vector<uint32_t>& sizes) {
    DpPacketPtr frame;
    DpPacket* last = nullptr;
    uint8_t next = 0;
    for (uint32_t size : sizes) {
      DpPacketPtr buffer = pool_->Allocate();
      buffer->SetHeadLength(size);
      std::iota(buffer->data(), buffer->data() + size, next);
      next = static_cast<uint8_t>(next + size);
      DpPacket* raw = buffer.get();
      if (frame == nullptr) {
        frame = std::move(buffer);
      } else {
        frame->AppendChain(last, buffer.release());
      }
      last = raw;
    }
    return frame;
  }

  SlabPool::Ptr pool_;
};

TEST_F(DpPacketTest, PushAndPullMoveOffsetsAlong) {
  DpPacketPtr packet = Chain({100, 50});
  packet->l3_offset = 14;
  packet->l4_offset = 34;
  packet->offload.csum_start = 34;
  uint8_t* before = packet->data();
  EXPECT_EQ(packet->PushFront(4), before - 4);
  EXPECT_EQ(packet->length(), 154u);
  EXPECT_EQ(packet->head_length(), 104u);
  EXPECT_EQ(packet->headroom(), 60u);
  EXPECT_EQ(packet->l3_offset, 18);
  EXPECT_EQ(packet->l4_offset, 38);
  EXPECT_EQ(packet->payload_offset, kNoOffset);
  EXPECT_EQ(packet->offload.csum_start, 38);
  // What is cut off has no offset any more.
  EXPECT_EQ(packet->PullFront(20), before + 16);
  EXPECT_EQ(packet->l3_offset, kNoOffset);
  EXPECT_EQ(packet->l4_offset, 18);
  EXPECT_EQ(packet->length(), 134u);
}

TEST_F(DpPacketTest, ResetClearsWhatTheLastUserLeft) {
  DpPacketPtr packet = Chain({100, 50});
  packet->offload.l4 = ChecksumState::kBad;
  packet->coalesced = true;
  packet->in_port = packet->recirc_id = packet->dp_hash = packet->flow_hash = 1;
  packet->skb_mark = packet->skb_priority = 1;
  packet->l3_offset = packet->l4_offset = packet->payload_offset = 1;
  DpPacket* raw = packet.get();
  packet.reset();
  std::vector<DpPacketPtr> all;
  while (DpPacketPtr next = pool_->Allocate()) all.push_back(std::move(next));
  EXPECT_EQ(raw->length(), 0u);
  EXPECT_EQ(raw->head_length(), 0u);
  EXPECT_EQ(raw->headroom(), 64u);
  EXPECT_EQ(raw->tailroom(), 256u);
  EXPECT_EQ(raw->buffer_count(), 1u);
  EXPECT_TRUE(raw->IsLinear());
  EXPECT_EQ(raw->offload.l4, ChecksumState::kUnknown);
  EXPECT_FALSE(raw->coalesced);
  EXPECT_EQ(raw->in_port | raw->recirc_id | raw->dp_hash | raw->flow_hash | raw->skb_mark | raw->skb_priority, 0u);
  EXPECT_EQ(raw->l3_offset & raw->l4_offset & raw->payload_offset, kNoOffset);
}

TEST_F(DpPacketTest, CopiesOutOverBufferBorders) {
  const std::vector<uint32_t> kSizes = {10, 1, 20, 5};
  DpPacketPtr packet = Chain(kSizes);
  for (uint32_t offset = 0; offset <= 36; ++offset) {
    for (uint32_t bytes = 0; offset + bytes <= 36; ++bytes) {
      std::vector<uint8_t> out(bytes + 1, 0xee);
      packet->CopyOut(offset, bytes, out.data());
      for (uint32_t i = 0; i < bytes; ++i) ASSERT_EQ(out[i], offset + i);
      ASSERT_EQ(out[bytes], 0xee);
    }
  }
}

TEST_F(DpPacketTest, TruncateFreesTheBuffersBeyond) {
  for (uint32_t bytes = 0; bytes <= 36; ++bytes) {
    DpPacketPtr packet = Chain({10, 1, 20, 5});
    packet->Truncate(bytes);
    EXPECT_EQ(packet->length(), bytes);
    const uint32_t buffers = bytes <= 10 ? 1 : bytes <= 11 ? 2 : bytes <= 31 ? 3 : 4;
    EXPECT_EQ(packet->buffer_count(), buffers);
    EXPECT_EQ(pool_->OutstandingCount(), buffers);
    uint32_t sum = 0;
    for (const DpPacket* buffer = packet.get(); buffer != nullptr; buffer = buffer->next())
      sum += buffer->head_length();
    EXPECT_EQ(sum, bytes);
  }
  DpPacketPtr packet = Chain({10, 5});
  packet->Truncate(100);
  EXPECT_EQ(packet->length(), 15u);
}

TEST_F(DpPacketTest, DetachedChainStaysLinked) {
  DpPacketPtr packet = Chain({10, 20, 30});
  DpPacketPtr tail(packet->DetachChain());
  EXPECT_EQ(packet->length(), 10u);
  EXPECT_TRUE(packet->IsLinear());
  EXPECT_EQ(tail->head_length(), 20u);
  ASSERT_NE(tail->next(), nullptr);
  EXPECT_EQ(tail->next()->head_length(), 30u);
}

TEST_F(DpPacketTest, CopiesMetadataWithoutBytes) {
  DpPacketPtr from = Chain({10, 20});
  from->offload = {.l4 = ChecksumState::kPartial, .csum_start = 4, .csum_offset = 2};
  from->l3_offset = 1;
  from->l4_offset = 2;
  from->payload_offset = 3;
  from->in_port = 4;
  from->recirc_id = 5;
  from->flow_hash = 6;
  from->dp_hash = 7;
  from->skb_mark = 8;
  from->skb_priority = 9;
  from->coalesced = true;
  DpPacketPtr to = Chain({3});
  to->CopyMetadataFrom(*from);
  EXPECT_EQ(to->length(), 3u);
  EXPECT_EQ(to->offload.csum_start, 4);
  EXPECT_EQ(to->l3_offset * 100 + to->l4_offset * 10 + to->payload_offset, 123);
  EXPECT_THAT(
      (std::vector<uint32_t>{to->in_port, to->recirc_id, to->flow_hash, to->dp_hash, to->skb_mark, to->skb_priority}),
      ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_FALSE(to->coalesced);
}

TEST_F(DpPacketTest, BatchOwnsWhatIsInIt) {
  {
    RxBurst burst;
    for (uint32_t i = 0; i < RxBurst::kCapacity; ++i) burst.Add(Chain({i + 1}));
    EXPECT_TRUE(burst.full());
    for (size_t i = 0; i < burst.size(); i += 2) burst.Take(i);
    EXPECT_EQ(pool_->OutstandingCount(), 64u);
    burst.Compact();
    ASSERT_EQ(burst.size(), 64u);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(burst[i]->length(), 2 * i + 2);
    burst.Take(3);  // a gap when the batch dies
  }
  EXPECT_EQ(pool_->OutstandingCount(), 0u);
}

}  // namespace
}  // namespace sluice
