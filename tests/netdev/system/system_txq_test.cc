#include "netdev/system/system_txq.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>

#include "tests/netdev/system/test_frames.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::TcpFrame;

// A packet socket's send side: takes frames, or answers as told.
class FakeSocket : public PacketSocketCalls {
 public:
  int Receive(int, mmsghdr*, unsigned) override { return -EBADF; }
  int Send(int, mmsghdr* messages, unsigned count) override {
    ++calls_;
    int answer = static_cast<int>(count);
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.pop_front();
    }
    for (int i = 0; i < answer; ++i) Take(messages[i].msg_hdr);
    return answer;
  }

  std::deque<int> answers_;  // messages taken, or a negative errno; then all are taken
  int calls_ = 0;
  std::vector<VnetHeader> headers_;
  std::vector<Bytes> frames_;
  std::vector<size_t> parts_;

 private:
  void Take(const msghdr& message) {
    ASSERT_EQ(message.msg_iov[0].iov_len, sizeof(VnetHeader));
    VnetHeader header;
    std::memcpy(&header, message.msg_iov[0].iov_base, sizeof(header));
    headers_.push_back(header);
    Bytes frame;
    for (size_t i = 1; i < message.msg_iovlen; ++i) {
      const auto* bytes = static_cast<const uint8_t*>(message.msg_iov[i].iov_base);
      frame.insert(frame.end(), bytes, bytes + message.msg_iov[i].iov_len);
    }
    frames_.push_back(std::move(frame));
    parts_.push_back(message.msg_iovlen);
  }
};

class SystemTxqTest : public ::testing::Test {
 protected:
  void SetUp() override { shared_.present = true; }
  ~SystemTxqTest() override {
    batch_.FreeAll();
    EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
    EXPECT_EQ(pools_.large->OutstandingCount(), 0u);
  }

  DpPacketPtr Packet(const Bytes& frame) {
    DpPacketPtr packet = pools_.small->Allocate();
    size_t head = std::min<size_t>(frame.size(), 1024);
    packet->SetHeadLength(static_cast<uint32_t>(head));
    std::memcpy(packet->data(), frame.data(), head);
    if (head < frame.size()) {
      DpPacketPtr rest = pools_.large->Allocate();
      rest->SetHeadLength(static_cast<uint32_t>(frame.size() - head));
      std::memcpy(rest->data(), frame.data() + head, frame.size() - head);
      packet->AppendChain(packet.get(), rest.release());
    }
    return packet;
  }
  void AddFrames(size_t count) {
    for (size_t i = 0; i < count; ++i) batch_.Add(Packet(TcpFrame(100, static_cast<uint16_t>(i))));
  }
  // 10 segments of 1000 bytes.
  void AddSuper() {
    DpPacketPtr packet = Packet(TcpFrame(10000));
    packet->offload = {.l4 = ChecksumState::kPartial,
                       .segmentation = Segmentation::kTcp4,
                       .segment_size = 1000,
                       .csum_start = 34,
                       .csum_offset = 16};
    batch_.Add(std::move(packet));
  }
  void Send() {
    txq_.Send(batch_);
    EXPECT_TRUE(batch_.empty());
  }
  uint64_t Drops(DropReason reason) { return txq_.counters().drops[reason]; }

  PacketPools pools_ = *PacketPools::Create(64, 64);
  FakeSocket socket_;
  SystemTxShared shared_;
  SystemTxq txq_{socket_, std::make_shared<FileDescriptor>(), shared_};
  PacketBatch batch_;
};

TEST_F(SystemTxqTest, SendsABatchInOneCallInOrder) {
  AddFrames(32);
  Send();
  EXPECT_EQ(socket_.calls_, 1);
  ASSERT_EQ(socket_.frames_.size(), 32u);
  for (uint16_t i = 0; i < 32; ++i) EXPECT_EQ(socket_.frames_[i], TcpFrame(100, i));
  EXPECT_EQ(txq_.counters().frames, 32u);
  EXPECT_EQ(txq_.counters().bytes, 32u * 154);
  EXPECT_EQ(txq_.counters().system_calls, 1u);
}

TEST_F(SystemTxqTest, GathersAChainAndTellsItsOffloads) {
  AddSuper();
  Send();
  ASSERT_EQ(socket_.frames_.size(), 1u);
  EXPECT_EQ(socket_.frames_[0], TcpFrame(10000));
  EXPECT_EQ(socket_.parts_[0], 3u);  // header, two buffers
  EXPECT_EQ(socket_.headers_[0].gso_type, VnetHeader::kGsoTcp4);
  EXPECT_EQ(socket_.headers_[0].gso_size, 1000);
  EXPECT_EQ(socket_.headers_[0].csum_start, 34);
  EXPECT_EQ(txq_.counters().packets, 1u);
  EXPECT_EQ(txq_.counters().super_packets, 1u);
  EXPECT_EQ(txq_.counters().frames, 10u);
  EXPECT_EQ(txq_.counters().bytes, 10000u + 10 * testing::kFrameHeaders);
}

TEST_F(SystemTxqTest, GoesOnAfterAPartialSend) {
  socket_.answers_ = {3, 1};
  AddFrames(10);
  Send();
  EXPECT_EQ(socket_.calls_, 3);
  ASSERT_EQ(socket_.frames_.size(), 10u);
  for (uint16_t i = 0; i < 10; ++i) EXPECT_EQ(socket_.frames_[i], TcpFrame(100, i));
  EXPECT_EQ(txq_.counters().frames, 10u);
}

TEST_F(SystemTxqTest, FullSocketDropsTheRestBySegments) {
  socket_.answers_ = {2, -EAGAIN};
  AddFrames(3);
  AddSuper();
  Send();
  EXPECT_EQ(socket_.calls_, 2);
  EXPECT_EQ(txq_.counters().frames, 2u);
  EXPECT_EQ(Drops(DropReason::kTxFull), 1u + 10u);
}

TEST_F(SystemTxqTest, FullDeviceQueueDropsOneAndTriesTheNext) {
  socket_.answers_ = {-ENOBUFS};
  AddFrames(3);
  Send();
  EXPECT_EQ(Drops(DropReason::kTxFull), 1u);
  EXPECT_EQ(txq_.counters().frames, 2u);
}

TEST_F(SystemTxqTest, RefusedFrameDoesNotStopThoseBehind) {
  const std::pair<int, DropReason> cases[] = {{EMSGSIZE, DropReason::kTxOverMtu}, {EINVAL, DropReason::kTxRefused}};
  for (const auto& [error, reason] : cases) {
    socket_.frames_.clear();
    socket_.answers_ = {1, -error};
    AddFrames(4);
    Send();
    ASSERT_EQ(socket_.frames_.size(), 3u);
    EXPECT_EQ(socket_.frames_[1], TcpFrame(100, 2));
    EXPECT_EQ(Drops(reason), 1u);
  }
}

TEST_F(SystemTxqTest, DeviceThatIsDownOrGoneDropsTheRest) {
  for (int error : {ENETDOWN, ENXIO, ENODEV}) {
    socket_.answers_ = {-error};
    AddFrames(4);
    Send();
  }
  EXPECT_EQ(Drops(DropReason::kTxPortDown), 12u);
  EXPECT_EQ(socket_.calls_, 3);
}

TEST_F(SystemTxqTest, WithoutADeviceNoCallIsMade) {
  shared_.present = false;
  AddFrames(4);
  Send();
  EXPECT_EQ(socket_.calls_, 0);
  EXPECT_EQ(Drops(DropReason::kTxPortDown), 4u);
}

TEST_F(SystemTxqTest, FrameOfTooManyBuffersIsRefusedAlone) {
  AddFrames(1);
  PacketPools pools = *PacketPools::Create(64, 64);
  DpPacketPtr packet = Packet(TcpFrame(100));
  DpPacket* last = packet.get();
  for (int i = 0; i < SystemTxShared::kMaxBuffers; ++i) {
    DpPacket* buffer = pools.small->Allocate().release();
    buffer->SetHeadLength(1);
    packet->AppendChain(last, buffer);
    last = buffer;
  }
  batch_.Add(std::move(packet));
  AddFrames(1);
  Send();
  EXPECT_EQ(socket_.frames_.size(), 2u);
  EXPECT_EQ(Drops(DropReason::kTxRefused), 1u);
  EXPECT_EQ(pools.small->OutstandingCount(), 0u);
}

}  // namespace
}  // namespace sluice
