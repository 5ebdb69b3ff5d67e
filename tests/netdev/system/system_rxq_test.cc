#include "netdev/system/system_rxq.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <cerrno>
#include <deque>
#include <optional>

#include "tests/netdev/system/test_frames.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::BytesOf;
using testing::Tagged;
using testing::TcpFrame;
using testing::VnetForSuper;

// A packet socket's receive side: what waits in it, and what was asked of it.
class FakeSocket : public PacketSocketCalls {
 public:
  struct Message {
    VnetHeader vnet{};
    Bytes frame;
    std::optional<std::pair<uint16_t, uint16_t>> tag;  // TPID, TCI
    bool cut_in_header = false;
  };

  int Receive(int fd, mmsghdr* messages, unsigned count) override {
    asked_.push_back(count);
    fds_.push_back(fd);
    if (error_ != 0) return -std::exchange(error_, 0);
    unsigned done = 0;
    for (; done < count && !waiting_.empty(); ++done) {
      Deliver(waiting_.front(), messages[done]);
      waiting_.pop_front();
    }
    return done > 0 ? static_cast<int>(done) : -EAGAIN;
  }
  int Send(int, mmsghdr*, unsigned) override { return -EBADF; }

  std::deque<Message> waiting_;
  std::vector<unsigned> asked_;
  std::vector<int> fds_;
  int error_ = 0;

 private:
  static void Deliver(const Message& from, mmsghdr& to) {
    Bytes all(sizeof(VnetHeader));
    std::memcpy(all.data(), &from.vnet, sizeof(VnetHeader));
    all.insert(all.end(), from.frame.begin(), from.frame.end());
    if (from.cut_in_header) all.resize(sizeof(VnetHeader) - 1);
    size_t copied = 0;
    for (size_t i = 0; i < to.msg_hdr.msg_iovlen && copied < all.size(); ++i) {
      const iovec& part = to.msg_hdr.msg_iov[i];
      size_t bytes = std::min(part.iov_len, all.size() - copied);
      std::memcpy(part.iov_base, all.data() + copied, bytes);
      copied += bytes;
    }
    to.msg_len = static_cast<unsigned>(all.size());
    to.msg_hdr.msg_flags = copied < all.size() ? MSG_TRUNC : 0;
    tpacket_auxdata auxdata{};
    if (from.tag.has_value()) {
      auxdata.tp_status = TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID;
      auxdata.tp_vlan_tpid = from.tag->first;
      auxdata.tp_vlan_tci = from.tag->second;
    }
    ASSERT_GE(to.msg_hdr.msg_controllen, CMSG_SPACE(sizeof(auxdata)));
    cmsghdr* control = CMSG_FIRSTHDR(&to.msg_hdr);
    control->cmsg_level = SOL_PACKET;
    control->cmsg_type = PACKET_AUXDATA;
    control->cmsg_len = CMSG_LEN(sizeof(auxdata));
    std::memcpy(CMSG_DATA(control), &auxdata, sizeof(auxdata));
    to.msg_hdr.msg_controllen = CMSG_SPACE(sizeof(auxdata));
  }
};

class SystemRxqTest : public ::testing::Test {
 protected:
  void UsePools(uint32_t small, uint32_t large) {
    pools_.emplace(*PacketPools::Create(small, large));
    rxq_.Attach(*pools_);
  }
  void SetUp() override { UsePools(512, 512); }

  void Arrives(Bytes frame, VnetHeader vnet = {}) {
    socket_.waiting_.push_back({.vnet = vnet, .frame = std::move(frame)});
  }
  void ArriveMany(size_t count, size_t payload) {
    for (size_t i = 0; i < count; ++i) Arrives(TcpFrame(payload));
  }
  bool Receive(size_t max = RxBurst::kCapacity) {
    burst_.FreeAll();
    return rxq_.Receive(burst_, max);
  }
  uint64_t Drops(DropReason reason) { return rxq_.counters().drops[reason]; }

  FakeSocket socket_;
  std::optional<PacketPools> pools_;
  SystemRxq rxq_{socket_, FileDescriptor()};
  RxBurst burst_;
};

TEST_F(SystemRxqTest, SmallFrameIsLinearAndLeavesTheLargeBufferPosted) {
  Bytes frame = TcpFrame(1448);
  Arrives(frame);
  Receive();
  ASSERT_EQ(burst_.size(), 1u);
  EXPECT_TRUE(burst_[0]->IsLinear());
  EXPECT_EQ(BytesOf(*burst_[0]), frame);
  EXPECT_GE(burst_[0]->headroom(), 500u);
  uint32_t posted = pools_->large->OutstandingCount();
  Arrives(frame);
  Receive();
  EXPECT_EQ(pools_->large->OutstandingCount(), posted);
}

TEST_F(SystemRxqTest, LargeFrameIsChainedAndCountsItsSegments) {
  Bytes frame = TcpFrame(62000);
  Arrives(frame, VnetForSuper(1448));
  Receive();
  ASSERT_EQ(burst_.size(), 1u);
  EXPECT_EQ(burst_[0]->buffer_count(), 2);
  EXPECT_EQ(burst_[0]->length(), frame.size());
  EXPECT_EQ(BytesOf(*burst_[0]), frame);
  EXPECT_EQ(burst_[0]->offload.segmentation, Segmentation::kTcp4);
  EXPECT_EQ(burst_[0]->offload.segment_size, 1448);
  EXPECT_EQ(rxq_.counters().packets, 1u);
  EXPECT_EQ(rxq_.counters().super_packets, 1u);
  EXPECT_EQ(rxq_.counters().frames, 43u);  // 62000 / 1448 = 42.8
  EXPECT_EQ(rxq_.counters().bytes, 62000u + 43u * testing::kFrameHeaders);
}

TEST_F(SystemRxqTest, FrameOneByteBeyondTheSmallBufferIsWhole) {
  for (size_t length : {2047u, 2048u, 2049u}) {
    Bytes frame = TcpFrame(length - testing::kFrameHeaders);
    Arrives(frame);
    Receive();
    ASSERT_EQ(burst_.size(), 1u);
    EXPECT_EQ(BytesOf(*burst_[0]), frame);
    EXPECT_EQ(burst_[0]->IsLinear(), length <= 2048) << length;
  }
}

TEST_F(SystemRxqTest, RestoresTheVlanTagAndMovesTheChecksumStart) {
  Bytes frame = TcpFrame(4000);
  for (uint16_t tpid : {0x8100, 0x88a8}) {
    socket_.waiting_.push_back({.vnet = VnetForSuper(1000), .frame = frame, .tag = {{tpid, 0x6123}}});
    Receive();
    ASSERT_EQ(burst_.size(), 1u);
    EXPECT_EQ(BytesOf(*burst_[0]), Tagged(frame, tpid, 0x6123));
    EXPECT_EQ(burst_[0]->offload.csum_start, 38);
    EXPECT_EQ(burst_[0]->offload.csum_offset, 16);
  }
}

TEST_F(SystemRxqTest, FewerThanAskedMeansEmptyWithoutAnotherCall) {
  ArriveMany(5, 100);
  EXPECT_FALSE(Receive());
  EXPECT_EQ(burst_.size(), 5u);
  EXPECT_EQ(socket_.asked_.size(), 1u);
}

TEST_F(SystemRxqTest, AsManyAsAskedMeansThereMayBeMore) {
  ArriveMany(14, 100);
  EXPECT_TRUE(Receive(8));
  EXPECT_EQ(burst_.size(), 8u);
  EXPECT_FALSE(Receive(8));
  EXPECT_EQ(burst_.size(), 6u);
}

TEST_F(SystemRxqTest, AsksForTwiceAsManyWhenItGotAll) {
  const std::vector<unsigned> asked = {8, 16, 32, 64, 128, 128};
  ArriveMany(8 + 16 + 32 + 64 + 128 + 1, 100);
  while (Receive()) {
  }
  EXPECT_EQ(socket_.asked_, asked);
}

TEST_F(SystemRxqTest, LittleTrafficKeepsFewBuffersPosted) {
  for (int i = 0; i < 200; ++i) {
    ArriveMany(SystemRxq::kLeastDepth - 1, 100);
    EXPECT_FALSE(Receive());
  }
  burst_.FreeAll();
  EXPECT_EQ(pools_->large->OutstandingCount(), SystemRxq::kLeastDepth);
}

TEST_F(SystemRxqTest, NeverOverfillsTheBurst) {
  ArriveMany(RxBurst::kCapacity + 10, 100);
  while (burst_.size() < RxBurst::kCapacity) EXPECT_TRUE(rxq_.Receive(burst_, 100));
  EXPECT_EQ(burst_.size(), RxBurst::kCapacity);
  EXPECT_TRUE(rxq_.Receive(burst_, 100));
  EXPECT_EQ(burst_.size(), RxBurst::kCapacity);
}

TEST_F(SystemRxqTest, AsksForAMebibyteOfWhatCameLast) {
  ArriveMany(8 + 16 + 32 + 64, 100);
  while (Receive()) {
  }
  for (int i = 0; i < 3; ++i) Arrives(TcpFrame(65000), VnetForSuper(1448));
  Receive();
  ArriveMany(1, 1448);
  Receive();
  ArriveMany(1, 1448);
  Receive();
  const std::vector<unsigned> asked(socket_.asked_.end() - 3, socket_.asked_.end());
  EXPECT_EQ(asked, (std::vector<unsigned>{128, 16, 128}));
}

TEST_F(SystemRxqTest, ShortPoolReceivesFewerAtATime) {
  UsePools(512, 4);
  ArriveMany(10, 100);
  EXPECT_TRUE(Receive());
  EXPECT_EQ(burst_.size(), 4u);
  EXPECT_TRUE(Receive());
  EXPECT_FALSE(Receive());
  EXPECT_EQ(burst_.size(), 2u);
  EXPECT_EQ(Drops(DropReason::kRxPoolEmpty), 0u);
}

TEST_F(SystemRxqTest, EmptyPoolDiscardsCountedAndRecovers) {
  UsePools(3, 8);
  ArriveMany(3, 100);
  EXPECT_TRUE(Receive());
  RxBurst held;
  for (size_t i = 0; i < 3; ++i) held.Add(burst_.Take(i));
  burst_.Clear();
  ArriveMany(4, 100);
  Arrives(TcpFrame(30000), VnetForSuper(1000));
  EXPECT_FALSE(Receive());
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(Drops(DropReason::kRxPoolEmpty), 4u + 30u);
  held.FreeAll();
  ArriveMany(2, 100);
  EXPECT_FALSE(Receive());
  EXPECT_EQ(burst_.size(), 2u);
}

TEST_F(SystemRxqTest, CountsWhatCannotBeHandedOverAndGoesOn) {
  Arrives(Bytes(70000));
  Arrives(Bytes(13));
  socket_.waiting_.push_back({.cut_in_header = true});
  Arrives(TcpFrame(100), VnetHeader{.flags = 0x40});
  Arrives(TcpFrame(5000), VnetForSuper(0));
  Arrives(TcpFrame(100));
  EXPECT_FALSE(Receive());
  EXPECT_EQ(burst_.size(), 1u);
  EXPECT_EQ(Drops(DropReason::kRxTruncated), 1u);
  EXPECT_EQ(Drops(DropReason::kRxRunt), 1u);
  EXPECT_EQ(Drops(DropReason::kRxVnetShort), 1u);
  EXPECT_EQ(Drops(DropReason::kRxVnetFlags), 1u);
  EXPECT_EQ(Drops(DropReason::kRxVnetGsoSize), 1u);
  EXPECT_EQ(rxq_.counters().packets, 1u);
}

TEST_F(SystemRxqTest, DetachGivesAllBuffersBack) {
  ArriveMany(20, 3000);
  Receive();
  burst_.FreeAll();
  rxq_.Detach();
  EXPECT_EQ(pools_->small->OutstandingCount(), 0u);
  EXPECT_EQ(pools_->large->OutstandingCount(), 0u);
}

TEST_F(SystemRxqTest, DeviceThatWentDownIsLikeAnEmptyQueue) {
  socket_.error_ = ENETDOWN;
  EXPECT_FALSE(Receive());
  EXPECT_TRUE(burst_.empty());
  ArriveMany(1, 100);
  EXPECT_FALSE(Receive());
  EXPECT_EQ(burst_.size(), 1u);
}

TEST(SystemRxqReplaceTest, GoesOverToTheNewSocketWhenTheOldIsEmpty) {
  FakeSocket calls;
  int pipes[3][2];
  for (auto& ends : pipes) ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  int old_fd = pipes[0][0];
  int new_fd = pipes[2][0];
  PacketPools pools = *PacketPools::Create(256, 256);
  SystemRxq rxq(calls, FileDescriptor(old_fd), FileDescriptor(epoll_create1(EPOLL_CLOEXEC)));
  rxq.Attach(pools);
  int wait_fd = rxq.wait_fd();
  ASSERT_TRUE(rxq.ReplaceSocket(FileDescriptor(pipes[1][0])).ok());
  ASSERT_TRUE(rxq.ReplaceSocket(FileDescriptor(new_fd)).ok());
  EXPECT_EQ(fcntl(pipes[1][0], F_GETFD), -1) << "a socket that was never read must be closed";

  calls.waiting_.push_back({.frame = TcpFrame(100)});
  RxBurst burst;
  EXPECT_FALSE(rxq.Receive(burst, 32));
  EXPECT_TRUE(rxq.Receive(burst, 32)) << "the new socket may hold packets";
  EXPECT_FALSE(rxq.Receive(burst, 32));
  EXPECT_EQ(calls.fds_, (std::vector<int>{old_fd, old_fd, new_fd}));
  EXPECT_EQ(fcntl(old_fd, F_GETFD), -1);
  EXPECT_EQ(rxq.wait_fd(), wait_fd);
  EXPECT_EQ(rxq.socket(), new_fd);
  burst.FreeAll();
  rxq.Detach();
  for (auto& ends : pipes) close(ends[1]);
}

}  // namespace
}  // namespace sluice
