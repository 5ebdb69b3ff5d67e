// The tap queues against a kernel of our own; no privileges needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <deque>

#include "netdev/tap/tap_rxq.h"
#include "netdev/tap/tap_txq.h"
#include "tests/netdev/frames.h"

namespace sluice {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::MakeFrame;
using testing::MakePacket;

// Hands out frames and errors in the order given (then EAGAIN), and keeps what is written.
class FakeTap final : public TapCalls {
 public:
  struct Written {
    int fd;
    VnetHeader header;
    std::vector<uint8_t> frame;
    int parts;
  };

  void Arrive(const VnetHeader& header, const std::vector<uint8_t>& frame) {
    std::vector<uint8_t> bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    reads_.push_back({0, std::move(bytes)});
  }
  void Arrive(const std::vector<uint8_t>& frame) { Arrive(VnetHeader{}, frame); }
  void FailRead(int error) { reads_.push_back({error, {}}); }
  void ArriveRaw(std::vector<uint8_t> bytes) { reads_.push_back({0, std::move(bytes)}); }
  void FailWrites(std::deque<int> errors) { write_errors_ = std::move(errors); }
  // Writes to `fd` find no device.
  void DetachFd(int fd) { detached_fd_ = fd; }

  ssize_t Read(int, const iovec* parts, int count) override {
    if (reads_.empty()) return -EAGAIN;
    auto [error, bytes] = std::move(reads_.front());
    reads_.pop_front();
    if (error != 0) return -error;
    size_t done = 0;
    for (int i = 0; i < count && done < bytes.size(); ++i) {
      size_t part = std::min(parts[i].iov_len, bytes.size() - done);
      std::memcpy(parts[i].iov_base, bytes.data() + done, part);
      done += part;
    }
    return done < bytes.size() ? -EFAULT : static_cast<ssize_t>(done);
  }

  ssize_t Write(int fd, const iovec* parts, int count) override {
    if (fd == detached_fd_) return -EBADFD;
    if (!write_errors_.empty()) {
      int error = write_errors_.front();
      write_errors_.pop_front();
      if (error != 0) return -error;
    }
    Written written{.fd = fd, .parts = count};
    EXPECT_EQ(parts[0].iov_len, sizeof written.header);
    std::memcpy(&written.header, parts[0].iov_base, sizeof written.header);
    for (int i = 1; i < count; ++i) {
      const auto* bytes = static_cast<const uint8_t*>(parts[i].iov_base);
      written.frame.insert(written.frame.end(), bytes, bytes + parts[i].iov_len);
    }
    writes_.push_back(std::move(written));
    return static_cast<ssize_t>(writes_.back().frame.size() + sizeof(VnetHeader));
  }

  const std::vector<Written>& writes() const { return writes_; }

 private:
  std::deque<std::pair<int, std::vector<uint8_t>>> reads_;
  std::deque<int> write_errors_;
  std::vector<Written> writes_;
  int detached_fd_ = -1;
};

VnetHeader TcpSuperHeader(const testing::Frame& frame) {
  return {VnetHeader::kNeedsCsum, VnetHeader::kGsoTcp4, 0, 1448, static_cast<uint16_t>(frame.l4), 16};
}

// Stands for a device's file: readable while its count is not zero.
FileDescriptor FakeFile(unsigned count) { return FileDescriptor(eventfd(count, EFD_NONBLOCK | EFD_CLOEXEC)); }

bool IsReadable(int fd) {
  pollfd wait = {.fd = fd, .events = POLLIN};
  return poll(&wait, 1, 0) == 1;
}

class TapRxqTest : public ::testing::Test {
 protected:
  TapRxqTest() { rxq_.Attach(pools_); }

  PacketPools pools_ = PacketPools::Create(16, 16).value();
  FakeTap tap_;
  std::shared_ptr<TapQueue> queue_ = TapQueue::Create(FakeFile(1)).value();
  TapRxq rxq_{tap_, queue_};
  RxBurst burst_;
};

TEST_F(TapRxqTest, KeepsTheLargeBufferPostedForFramesThatFitTheSmallOne) {
  auto small = MakeFrame({.payload = 1448});
  for (int i = 0; i < 3; ++i) tap_.Arrive(small.bytes);
  EXPECT_FALSE(rxq_.Receive(burst_, 128));
  ASSERT_EQ(burst_.size(), 3u);
  EXPECT_TRUE(burst_[0]->IsLinear());
  EXPECT_EQ(BytesOf(*burst_[2]), small.bytes);
  EXPECT_EQ(pools_.small->OutstandingCount(), 4u);
  EXPECT_EQ(pools_.large->OutstandingCount(), 1u);
  EXPECT_EQ(rxq_.counters().system_calls, 4u);

  rxq_.Detach();
  burst_.FreeAll();
  EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
  EXPECT_EQ(pools_.large->OutstandingCount(), 0u);
}

TEST_F(TapRxqTest, ChainsTheLargestFrame) {
  auto frame = MakeFrame({.vlan_tags = 2, .ip_version = 4, .payload = 65535 - 52});
  tap_.Arrive(TcpSuperHeader(frame), frame.bytes);
  EXPECT_TRUE(rxq_.Receive(burst_, 1));
  ASSERT_EQ(burst_.size(), 1u);
  EXPECT_EQ(burst_[0]->buffer_count(), 2);
  EXPECT_EQ(burst_[0]->length(), 65535u + 14 + 8);
  EXPECT_EQ(BytesOf(*burst_[0]), frame.bytes);
  EXPECT_EQ(burst_[0]->offload.segmentation, Segmentation::kTcp4);
  EXPECT_EQ(rxq_.counters().frames, (65535u - 52 + 1447) / 1448);
  EXPECT_EQ(rxq_.counters().super_packets, 1u);
}

TEST_F(TapRxqTest, StopsBeforeABurstLeavesTheCache) {
  auto frame = MakeFrame({.payload = 60000});
  PacketPools pools = PacketPools::Create(128, 128).value();
  TapRxq rxq(tap_, queue_);
  rxq.Attach(pools);
  for (int k = 0; k < 40; ++k) tap_.Arrive(TcpSuperHeader(frame), frame.bytes);
  EXPECT_TRUE(rxq.Receive(burst_, 128));
  EXPECT_EQ(burst_.size(), (TapRxq::kBurstBytes + frame.bytes.size() - 1) / frame.bytes.size());
  rxq.Detach();
  burst_.FreeAll();
}

TEST_F(TapRxqTest, CountsWhatItCannotHandOverAndGoesOn) {
  auto good = MakeFrame({});
  tap_.ArriveRaw(std::vector<uint8_t>(9));
  tap_.Arrive(std::vector<uint8_t>(13));
  tap_.Arrive(std::vector<uint8_t>(70000));
  tap_.Arrive(VnetHeader{.gso_type = VnetHeader::kGsoUfo}, good.bytes);
  tap_.FailRead(EINVAL);
  tap_.Arrive(good.bytes);
  EXPECT_FALSE(rxq_.Receive(burst_, 128));
  ASSERT_EQ(burst_.size(), 1u);
  EXPECT_EQ(BytesOf(*burst_[0]), good.bytes);
  const DropCounters& drops = rxq_.counters().drops;
  EXPECT_EQ(drops[DropReason::kRxVnetShort], 1u);
  EXPECT_EQ(drops[DropReason::kRxRunt], 1u);
  EXPECT_EQ(drops[DropReason::kRxTruncated], 1u);
  EXPECT_EQ(drops[DropReason::kRxVnetUfo], 1u);
  EXPECT_EQ(drops[DropReason::kRxVnetGsoType], 1u);
}

TEST_F(TapRxqTest, DiscardsWhileThePoolIsEmptyAndRecovers) {
  auto frame = MakeFrame({});
  for (int i = 0; i < 20; ++i) tap_.Arrive(frame.bytes);
  EXPECT_FALSE(rxq_.Receive(burst_, 128));
  EXPECT_EQ(burst_.size(), 16u);
  EXPECT_EQ(rxq_.counters().drops[DropReason::kRxPoolEmpty], 4u);
  burst_.FreeAll();
  tap_.Arrive(frame.bytes);
  EXPECT_FALSE(rxq_.Receive(burst_, 128));
  EXPECT_EQ(burst_.size(), 1u);
}

TEST_F(TapRxqTest, FallsSilentWhenTheDeviceIsGoneAndWakesForTheNextOne) {
  EXPECT_TRUE(IsReadable(rxq_.wait_fd()));
  tap_.FailRead(EBADFD);
  EXPECT_FALSE(rxq_.Receive(burst_, 128));
  EXPECT_TRUE(queue_->gone());
  EXPECT_FALSE(IsReadable(rxq_.wait_fd()));

  int number = queue_->fd();
  ASSERT_TRUE(queue_->Replace(FakeFile(0)).ok());
  EXPECT_FALSE(queue_->gone());
  EXPECT_EQ(queue_->fd(), number);
  EXPECT_FALSE(IsReadable(rxq_.wait_fd()));
  uint64_t one = 1;
  ASSERT_EQ(write(number, &one, sizeof one), 8);
  EXPECT_TRUE(IsReadable(rxq_.wait_fd()));
}

TEST_F(TapRxqTest, ALateReportOfTheOldDeviceDoesNotSilenceTheNewOne) {
  int before = queue_->generation();
  ASSERT_TRUE(queue_->Replace(FakeFile(1)).ok());
  queue_->ReportGone(before);
  EXPECT_FALSE(queue_->gone());
  EXPECT_TRUE(IsReadable(rxq_.wait_fd()));
}

class TapTxqTest : public ::testing::Test {
 protected:
  void Send(const std::vector<uint32_t>& payloads) {
    PacketBatch batch;
    for (uint32_t payload : payloads) batch.Add(MakePacket(pools_, MakeFrame({.payload = payload}).bytes));
    txq_.Send(batch);
    EXPECT_TRUE(batch.empty());
    EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
  }
  // By length of payload.
  std::vector<size_t> Sent() const {
    std::vector<size_t> payloads;
    for (const auto& written : tap_.writes())
      payloads.push_back(written.frame.size() - MakeFrame({.payload = 0}).bytes.size());
    return payloads;
  }

  PacketPools pools_ = PacketPools::Create(128, 16).value();
  FakeTap tap_;
  CapsCell caps_{EgressCaps{.mtu = 1234}};
  std::shared_ptr<TapQueue> first_ = TapQueue::Create(FakeFile(0)).value();
  std::shared_ptr<TapQueue> own_ = TapQueue::Create(FakeFile(0)).value();
  TapTxq txq_{tap_, own_, first_, caps_};
};

TEST_F(TapTxqTest, GathersAChainBehindItsHeader) {
  auto frame = MakeFrame({.payload = 30000});
  DpPacketPtr packet = MakePacket(pools_, frame.bytes);
  DropReason reason{};
  ASSERT_TRUE(DecodeVnetHeader(TcpSuperHeader(frame), *packet, reason));
  PacketBatch batch;
  batch.Add(std::move(packet));
  txq_.Send(batch);
  ASSERT_EQ(tap_.writes().size(), 1u);
  const auto& written = tap_.writes()[0];
  EXPECT_EQ(written.frame, frame.bytes);
  EXPECT_EQ(written.parts, 3);
  EXPECT_EQ(written.header.gso_size, 1448);
  EXPECT_EQ(written.header.hdr_len, frame.payload);
  EXPECT_EQ(written.fd, own_->fd());
  EXPECT_EQ(txq_.counters().frames, 21u);
  EXPECT_EQ(txq_.counters().packets, 1u);
  EXPECT_EQ(txq_.counters().bytes, frame.bytes.size() + 20u * frame.payload);
  EXPECT_EQ(txq_.caps().mtu, 1234u);
}

TEST_F(TapTxqTest, SettlesEachErrorByItsReason) {
  struct {
    int error;
    DropReason reason;
    std::vector<size_t> sent;  // of the payloads 1, 2, 3, 4, when the second write fails
  } const cases[] = {
      {EAGAIN, DropReason::kTxFull, {1}},
      {EIO, DropReason::kTxPortDown, {1}},
      {EBADF, DropReason::kTxPortDown, {1}},
      {ENOMEM, DropReason::kTxFull, {1, 3, 4}},
      {ENOBUFS, DropReason::kTxFull, {1, 3, 4}},
      {EINVAL, DropReason::kTxRefused, {1, 3, 4}},
      {EMSGSIZE, DropReason::kTxRefused, {1, 3, 4}},
  };
  for (const auto& c : cases) {
    FakeTap tap;
    TapTxq txq(tap, first_, first_, caps_);
    tap.FailWrites({0, c.error});
    PacketBatch batch;
    for (uint32_t payload : {1, 2, 3, 4}) batch.Add(MakePacket(pools_, MakeFrame({.payload = payload}).bytes));
    txq.Send(batch);
    std::vector<size_t> sent;
    for (const auto& written : tap.writes())
      sent.push_back(written.frame.size() - MakeFrame({.payload = 0}).bytes.size());
    EXPECT_EQ(sent, c.sent) << c.error;
    EXPECT_EQ(txq.counters().drops[c.reason], 4 - sent.size()) << c.error;
    EXPECT_EQ(txq.counters().packets, sent.size());
  }
  EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
}

TEST_F(TapTxqTest, GoesOverToTheFirstQueueWhenItsOwnIsDetached) {
  Send({1});
  tap_.DetachFd(own_->fd());
  Send({2, 3});
  EXPECT_THAT(Sent(), ElementsAre(1, 2, 3));
  EXPECT_EQ(tap_.writes()[1].fd, first_->fd());
  tap_.DetachFd(first_->fd());
  Send({4, 5});
  EXPECT_EQ(tap_.writes().size(), 3u);
  EXPECT_EQ(txq_.counters().drops[DropReason::kTxPortDown], 2u);
}

TEST_F(TapTxqTest, RefusesMoreBuffersThanItGathers) {
  DpPacketPtr packet = MakePacket(pools_, MakeFrame({}).bytes);
  DpPacket* last = packet.get();
  for (int i = 0; i < TapTxq::kMaxBuffers; ++i) {
    DpPacketPtr more = MakePacket(pools_, {1, 2, 3});
    DpPacket* next = more.get();
    packet->AppendChain(last, more.release());
    last = next;
  }
  PacketBatch batch;
  batch.Add(std::move(packet));
  txq_.Send(batch);
  EXPECT_TRUE(tap_.writes().empty());
  EXPECT_EQ(txq_.counters().drops[DropReason::kTxRefused], 1u);
}

}  // namespace
}  // namespace sluice
