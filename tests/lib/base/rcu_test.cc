#include "lib/base/rcu.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// An object whose destruction is visible in its memory's owner.
struct Config {
  Config(uint64_t v, std::atomic<int>* c) : value(v), twice(2 * v), live(c) { ++*live; }
  ~Config() {
    value = 1;
    twice = 1;
    --*live;
  }
  uint64_t value;
  uint64_t twice;
  std::atomic<int>* live;
};

TEST(RcuTest, ReadersNeverSeeAFreedOrHalfBuiltObject) {
  std::atomic<int> live = 0;
  std::atomic<bool> stop = false;
  RcuPtr<Config> current(new Config(0, &live));
  std::vector<std::thread> readers;
  std::atomic<uint64_t> reads = 0;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      RcuThread registration;
      while (!stop) {
        const Config* config = current.Load();
        ASSERT_EQ(config->twice, 2 * config->value);
        reads.fetch_add(1, std::memory_order_relaxed);
        RcuQuiescent();
      }
    });
  }
  for (uint64_t value = 1; value <= 200 || reads < 1000; ++value) {
    current.Replace(std::make_unique<Config>(value, &live));
    if (value % 10 == 0) {
      std::unique_ptr<Config> old(current.Publish(new Config(value + 1, &live)));
      RcuSynchronize();
    }
  }
  stop = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  RcuBarrier();
  EXPECT_EQ(live, 1);
  delete current.Load();
}

TEST(RcuTest, WriterWaitsForAReaderThatIsNotQuiescent) {
  std::atomic<bool> reading = false;
  std::atomic<bool> release = false;
  std::atomic<bool> synchronized = false;
  std::thread reader([&] {
    RcuThread registration;
    reading = true;
    while (!release) {
    }
    EXPECT_FALSE(synchronized);
    RcuQuiescent();
    while (!synchronized) {
      RcuQuiescent();
    }
  });
  while (!reading) {
  }
  std::thread writer([&] {
    RcuSynchronize();
    synchronized = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(synchronized);
  release = true;
  writer.join();
  reader.join();
}

TEST(RcuTest, WriterDoesNotWaitForASleepingReader) {
  std::atomic<bool> asleep = false;
  std::atomic<bool> wake = false;
  std::thread reader([&] {
    RcuThread registration;
    RcuOffline offline;
    {
      RcuOffline nested;  // does nothing, and does not bring the thread back online
    }
    asleep = true;
    while (!wake) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  while (!asleep) {
  }
  RcuSynchronize();  // would never return
  wake = true;
  reader.join();
}

TEST(RcuTest, NestedRegistrationsCountAsOne) {
  RcuThread outer;
  {
    RcuThread inner;
    RcuQuiescent();
  }
  RcuQuiescent();  // still registered
  RcuSynchronize();
}

TEST(RcuTest, PostponedFunctionsRunInOrderAfterTheGracePeriod) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    RcuPostpone([&order, i] { order.push_back(i); });
  }
  RcuBarrier();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace sluice
