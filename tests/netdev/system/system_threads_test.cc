// What the main thread does to queues that other threads are using.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "netdev/system/system_rxq.h"
#include "netdev/system/system_txq.h"
#include "tests/netdev/system/test_frames.h"

namespace sluice {
namespace {

// A receive socket that never holds anything, and a send socket that takes all. Each descriptor must still be open.
class IdleSockets : public PacketSocketCalls {
 public:
  int Receive(int fd, mmsghdr*, unsigned) override {
    if (fcntl(fd, F_GETFD) < 0) closed_ = true;
    return -EAGAIN;
  }
  int Send(int, mmsghdr*, unsigned count) override { return static_cast<int>(count); }

  std::atomic<bool> closed_{false};
};

FileDescriptor AnyDescriptor() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileDescriptor();
  close(ends[1]);
  return FileDescriptor(ends[0]);
}

TEST(SystemThreadsTest, SocketIsReplacedWhileAnotherThreadReceives) {
  IdleSockets calls;
  PacketPools pools = *PacketPools::Create(256, 256);
  SystemRxq rxq(calls, AnyDescriptor(), FileDescriptor(epoll_create1(EPOLL_CLOEXEC)));
  std::atomic<bool> stop{false};
  std::thread poller([&] {
    pools.BindToThisThread();
    rxq.Attach(pools);
    RxBurst burst;
    while (!stop) rxq.Receive(burst, RxBurst::kCapacity);
    rxq.Detach();
  });
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(rxq.ReplaceSocket(AnyDescriptor()).ok());
  stop = true;
  poller.join();
  EXPECT_FALSE(calls.closed_) << "received from a socket that was closed";
  EXPECT_GE(fcntl(rxq.socket(), F_GETFD), 0) << "the newest socket must stay open";
}

TEST(SystemThreadsTest, DeviceComesAndGoesWhileAnotherThreadSends) {
  IdleSockets calls;
  PacketPools pools = *PacketPools::Create(256, 256);
  SystemTxShared shared;
  SystemTxq txq(calls, std::make_shared<FileDescriptor>(), shared);
  constexpr uint64_t kFrames = 20000;
  std::thread sender([&] {
    pools.BindToThisThread();
    for (uint64_t i = 0; i < kFrames; ++i) {
      PacketBatch batch;
      batch.Add(pools.small->Allocate());
      batch[0]->SetHeadLength(60);
      EgressCaps caps = txq.caps();
      ASSERT_EQ(caps.segmentations, caps.mtu == 1500 ? 0 : 6) << "half of a change was seen";
      txq.Send(batch);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    shared.present = i % 2 == 0;
    if (i % 2 == 0) {
      shared.caps.Store({.mtu = 1500, .segmentations = 0});
    } else {
      shared.caps.Store({.mtu = 9000, .segmentations = 6});
    }
  }
  sender.join();
  EXPECT_EQ(txq.counters().frames + txq.counters().drops[DropReason::kTxPortDown], kFrames);
}

}  // namespace
}  // namespace sluice
