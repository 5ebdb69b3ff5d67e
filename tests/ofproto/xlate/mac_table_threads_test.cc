// Threads that translate learn and look up, one that revalidates refreshes, the main thread ages, flushes and resizes.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "ofproto/xlate/mac_table.h"

namespace sluice {
namespace {

MacAddress Mac(uint32_t number) {
  return {0x02,
          0,
          static_cast<uint8_t>(number >> 24),
          static_cast<uint8_t>(number >> 16),
          static_cast<uint8_t>(number >> 8),
          static_cast<uint8_t>(number)};
}

TEST(MacTableThreadsTest, ManyThreadsLearnLookUpRefreshAndExpire) {
  constexpr uint32_t kMost = 500;
  MacTable table(kMost, std::chrono::seconds(15));
  const MacTable::Clock::time_point start{std::chrono::hours(1)};
  std::atomic<int64_t> clock{0};  // milliseconds
  std::atomic<bool> done{false};
  auto now = [&] { return start + std::chrono::milliseconds(clock.fetch_add(1)); };

  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&, worker] {
      std::mt19937 random(worker);
      for (int i = 0; i < 20000; ++i) {
        uint32_t number = random() % 1500;
        table.Learn(number % 3, Mac(number), 1 + random() % 5, random() % 50 == 0, now(), worker == 2);
        std::optional<uint64_t> bundle = table.Lookup(number % 3, Mac(random() % 1500));
        EXPECT_LE(bundle.value_or(0), 5u);
        table.Refresh(number % 3, Mac(random() % 1500), 1 + random() % 5, now());
      }
    });
  }
  std::thread main([&] {
    std::mt19937 random(99);
    while (!done) {
      table.Expire(now());
      uint32_t limit = kMost - static_cast<uint32_t>(random() % 100);
      table.SetLimits(limit, std::chrono::seconds(15));
      if (random() % 8 == 0) table.Flush();
      if (random() % 8 == 0) table.RemoveBundle(1 + random() % 5);
      table.AddStatic(0, Mac(3 * (random() % 10)), 2);
      table.Remove(0, Mac(3 * (random() % 10)));
      EXPECT_LE(table.Entries(now()).size(), 1500u);
      EXPECT_GE(table.generation(), 1u);
      EXPECT_LE(table.statistics().entries, kMost);
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  main.join();
  // What the counts say is what is there.
  EXPECT_EQ(table.statistics().entries, table.Entries(now()).size());
  table.Flush();
  EXPECT_EQ(table.statistics().entries, table.statistics().static_entries);
}

}  // namespace
}  // namespace sluice
