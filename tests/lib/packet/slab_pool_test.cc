#include "lib/packet/slab_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

SlabPool::Ptr MakePool(uint32_t count, uint32_t data_size = 128, uint32_t headroom = 64) {
  auto pool = SlabPool::Create({.count = count, .data_size = data_size, .headroom = headroom});
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *std::move(pool);
}

TEST(SlabPoolTest, HandsOutEachBufferOnce) {
  SlabPool::Ptr pool = MakePool(100, 2048, 512);
  std::set<uint8_t*> places;
  std::vector<DpPacketPtr> packets;
  while (DpPacketPtr packet = pool->Allocate()) {
    EXPECT_EQ(packet->headroom(), 512u);
    EXPECT_EQ(packet->tailroom(), 2048u);
    std::memset(packet->PushFront(512), 0xab, 512);
    packet->SetHeadLength(512 + 2048);
    std::memset(packet->data(), 0xcd, packet->head_length());
    places.insert(packet->data());
    packets.push_back(std::move(packet));
  }
  EXPECT_EQ(places.size(), 100u);
  uint8_t* previous = nullptr;
  for (uint8_t* place : places) {
    if (previous != nullptr) {
      EXPECT_GE(place - previous, 512 + 2048 + 128);
      // Neighbours never share their cache sets: the distance is an odd number of lines.
      EXPECT_EQ((place - previous) % 128, 64);
    }
    previous = place;
  }
  packets.clear();
  EXPECT_EQ(pool->OutstandingCount(), 0u);
}

TEST(SlabPoolTest, EmptyCountsAndRecovers) {
  SlabPool::Ptr pool = MakePool(2);
  DpPacketPtr a = pool->Allocate();
  DpPacketPtr b = pool->Allocate();
  EXPECT_EQ(pool->Allocate(), nullptr);
  EXPECT_EQ(pool->Allocate(), nullptr);
  EXPECT_EQ(pool->empty_count(), 2u);
  EXPECT_EQ(pool->OutstandingCount(), 2u);
  b.reset();
  EXPECT_NE(pool->Allocate(), nullptr);
  EXPECT_EQ(pool->empty_count(), 2u);
}

TEST(SlabPoolTest, GivesTheBufferFreedLast) {
  SlabPool::Ptr pool = MakePool(10);
  DpPacketPtr a = pool->Allocate();
  DpPacketPtr b = pool->Allocate();
  DpPacket* last = a.get();
  b.reset();
  a.reset();
  EXPECT_EQ(pool->Allocate().get(), last);
}

TEST(SlabPoolTest, MakesBuffersWhenThereIsNone) {
  SlabPool::Ptr pool = MakePool(1000);
  EXPECT_EQ(pool->made_count(), 0u);
  for (int i = 0; i < 5000; ++i) pool->Allocate();
  EXPECT_EQ(pool->made_count(), SlabPool::kMadeAtOnce);
  std::vector<DpPacketPtr> packets;
  for (uint32_t i = 0; i < 100; ++i) packets.push_back(pool->Allocate());
  EXPECT_LT(pool->made_count(), 100 + SlabPool::kMadeAtOnce);
  EXPECT_EQ(pool->OutstandingCount(), 100u);
  packets.clear();
  EXPECT_EQ(pool->OutstandingCount(), 0u);
}

TEST(SlabPoolTest, PrefersWhatCameHomeToWhatWasNeverUsed) {
  SlabPool::Ptr pool = MakePool(1000);
  std::vector<DpPacketPtr> packets;
  while (packets.size() < SlabPool::kMadeAtOnce) packets.push_back(pool->Allocate());
  DpPacket* home = packets.back().get();
  std::thread([&packets] { packets.pop_back(); }).join();
  EXPECT_EQ(pool->Allocate().get(), home);
  EXPECT_EQ(pool->made_count(), SlabPool::kMadeAtOnce);
}

// Resident bytes of this process, from the second field of statm.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(SlabPoolTest, MemoryFollowsUse) {
  constexpr size_t kMiB = size_t{1} << 20;
  const size_t before = ResidentBytes();
  auto pools = PacketPools::Create(16384, 4096);  // of 300 MiB
  ASSERT_TRUE(pools.ok());
  for (int i = 0; i < 1000; ++i) {
    DpPacketPtr small = pools->small->Allocate();
    DpPacketPtr large = pools->large->Allocate();
    std::memset(large->data(), 1, PacketPools::kLargeDataSize);
  }
  EXPECT_LT(ResidentBytes() - before, 6 * kMiB);  // a huge page or two in each pool
}

TEST(SlabPoolTest, RefusesWhatCannotBeMapped) {
  auto pool = SlabPool::Create({.count = 0xffffffff, .data_size = 0x7fffffff});
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SlabPoolTest, PacketsOutliveAPoolThatWasLetGo) {
  SlabPool::Ptr pool = MakePool(4);
  std::vector<DpPacketPtr> packets;
  for (int i = 0; i < 3; ++i) {
    packets.push_back(pool->Allocate());
    packets.back()->SetHeadLength(128);
  }
  packets.pop_back();  // one comes home before
  pool.reset();
  for (DpPacketPtr& packet : packets) std::memset(packet->data(), 1, 128);
  packets.clear();  // the last one takes the pool along: ASan would tell
}

TEST(SlabPoolTest, SmallAndLargeOfAThread) {
  auto pools = PacketPools::Create(8, 2);
  ASSERT_TRUE(pools.ok());
  EXPECT_EQ(pools->small->Allocate()->headroom(), PacketPools::kHeadroom);
  EXPECT_EQ(pools->large->Allocate()->tailroom(), PacketPools::kLargeDataSize);
}

#ifdef __SANITIZE_ADDRESS__
TEST(SlabPoolDeathTest, BytesOfABufferInThePoolAreOutOfBounds) {
  SlabPool::Ptr pool = MakePool(2);
  DpPacketPtr packet = pool->Allocate();
  volatile uint8_t* bytes = packet->data();
  bytes[0] = 1;
  packet.reset();
  EXPECT_DEATH(bytes[0] = 1, "use-after-poison");
}
#endif

// Packets from the owner to threads that free them.
class Channel {
 public:
  void Send(DpPacketPtr packet) {
    std::lock_guard lock(mutex_);
    packets_.push_back(std::move(packet));
  }
  DpPacketPtr Receive() {
    std::lock_guard lock(mutex_);
    if (packets_.empty()) return nullptr;
    DpPacketPtr packet = std::move(packets_.front());
    packets_.pop_front();
    return packet;
  }

 private:
  std::mutex mutex_;
  std::deque<DpPacketPtr> packets_;
};

constexpr int kFreeingThreads = 3;

TEST(SlabPoolThreadsTest, OthersFreeWhileTheOwnerAllocates) {
  constexpr int kPackets = 60'000;
  SlabPool::Ptr pool = MakePool(64);
  Channel channels[kFreeingThreads];
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (Channel& channel : channels) {
    threads.emplace_back([&channel, &done] {
      for (;;) {
        const bool last_round = done.load();
        DpPacketPtr packet = channel.Receive();
        if (packet == nullptr && last_round) return;
        if (packet == nullptr) {
          std::this_thread::yield();
          continue;
        }
        for (uint32_t i = 1; i < packet->head_length(); ++i) ASSERT_EQ(packet->data()[i], packet->data()[0]);
      }
    });
  }
  std::thread owner([&] {
    pool->BindToThisThread();
    for (int i = 0; i < kPackets;) {
      DpPacketPtr packet = pool->Allocate();
      if (packet == nullptr) {
        std::this_thread::yield();
        continue;
      }
      packet->SetHeadLength(100);
      std::memset(packet->data(), i, 100);
      // Some chains, and some that the owner frees itself.
      if (i % 5 == 0) {
        DpPacketPtr tail = pool->Allocate();
        if (tail != nullptr) packet->AppendChain(packet.get(), tail.release());
      }
      if (i % 7 != 0) channels[i % kFreeingThreads].Send(std::move(packet));
      ++i;
    }
    pool->Unbind();
  });
  owner.join();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->OutstandingCount(), 0u);
}

TEST(SlabPoolThreadsTest, RetiresWhilePacketsComeHome) {
  for (int round = 0; round < 300; ++round) {
    Channel channels[kFreeingThreads];
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (Channel& channel : channels) {
      threads.emplace_back([&channel, &go] {
        while (!go.load()) std::this_thread::yield();
        while (DpPacketPtr packet = channel.Receive()) packet->data()[0] = 1;
      });
    }
    std::thread owner([&] {
      SlabPool::Ptr pool = MakePool(24);
      for (int i = 0; i < 24; ++i) channels[i % kFreeingThreads].Send(pool->Allocate());
      go = true;
      // Some are taken back in between, so that returns and the owner's drain cross.
      for (int i = 0; i < round % 8; ++i) pool->Allocate();
    });
    owner.join();
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(SlabPoolThreadsTest, AnUnboundPoolMayBeLetGoByAnotherThread) {
  for (int round = 0; round < 100; ++round) {
    SlabPool::Ptr pool = MakePool(8);
    Channel channel;
    std::thread owner([&] {
      pool->BindToThisThread();
      for (int i = 0; i < 6; ++i) channel.Send(pool->Allocate());
      pool->Unbind();
    });
    owner.join();
    // Likely to get the token of the thread that ended.
    std::thread later([&channel] {
      while (channel.Receive() != nullptr) {
      }
    });
    pool.reset();
    later.join();
  }
}

}  // namespace
}  // namespace sluice
