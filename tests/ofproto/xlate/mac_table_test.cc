#include "ofproto/xlate/mac_table.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class MacTableTest : public ::testing::Test {
 protected:
  bool Learn(uint64_t mac, uint64_t bundle, bool gratuitous = false, bool reflects = false) {
    return table_.Learn(0, Mac(mac), bundle, gratuitous, now_, reflects);
  }
  std::optional<uint64_t> Lookup(uint64_t mac) { return table_.Lookup(0, Mac(mac)); }

  MacTable table_{8, seconds(300)};
  MacTable::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(MacTableTest, KnowsWhatItLearned) {
  EXPECT_EQ(Lookup(1), std::nullopt);
  EXPECT_TRUE(Learn(1, 10));
  EXPECT_EQ(Lookup(1), 10u);
  EXPECT_EQ(table_.Lookup(5, Mac(1)), std::nullopt);
  EXPECT_FALSE(Learn(1, 10));
  EXPECT_TRUE(Learn(1, 11));
  EXPECT_EQ(Lookup(1), 11u);
}

TEST_F(MacTableTest, KnowsNoMulticastAddress) {
  EXPECT_FALSE(Learn(0x010000000001, 10));
  table_.AddStatic(0, Mac(0x010000000001), 10);
  EXPECT_EQ(Lookup(0x010000000001), std::nullopt);
  EXPECT_EQ(table_.statistics().entries, 0u);
}

TEST_F(MacTableTest, ForgetsExactlyWhenAnAddressWasUnusedForTheAgingTime) {
  Learn(1, 10);
  now_ += seconds(100);
  Learn(2, 10);
  EXPECT_EQ(table_.Expire(now_ + seconds(200) - milliseconds(1)), 0u);
  EXPECT_EQ(table_.Expire(now_ + seconds(200)), 1u);
  EXPECT_EQ(Lookup(1), std::nullopt);
  EXPECT_EQ(Lookup(2), 10u);
  EXPECT_EQ(table_.Expire(now_ + seconds(300) - milliseconds(1)), 0u);
  EXPECT_EQ(table_.Expire(now_ + seconds(300)), 1u);
  EXPECT_EQ(table_.statistics().expired, 2u);
}

TEST_F(MacTableTest, UseKeepsAnAddressYoung) {
  for (uint64_t mac : {1, 2, 3}) Learn(mac, 10);
  now_ += seconds(200);
  Learn(1, 10);
  table_.Refresh(0, Mac(2), 10, now_);
  EXPECT_EQ(table_.Expire(now_ + seconds(100)), 1u);
  EXPECT_EQ(Lookup(3), std::nullopt);
  EXPECT_EQ(table_.Expire(now_ + seconds(299)), 0u);
  EXPECT_EQ(table_.Expire(now_ + seconds(300)), 2u);
}

TEST_F(MacTableTest, AgingTimeCanChange) {
  Learn(1, 10);
  table_.SetLimits(8, seconds(20));
  EXPECT_EQ(table_.Expire(now_ + seconds(19)), 0u);
  EXPECT_EQ(table_.Expire(now_ + seconds(20)), 1u);
}

TEST_F(MacTableTest, RefreshingWithAnOldUseChangesNothing) {
  Learn(1, 10);
  table_.Refresh(0, Mac(1), 11, now_ - seconds(1));
  EXPECT_EQ(Lookup(1), 10u);
  table_.Refresh(0, Mac(1), 10, now_ - seconds(1));
  EXPECT_EQ(table_.Expire(now_ + seconds(300) - milliseconds(1)), 0u);
}

TEST_F(MacTableTest, RefreshingFollowsAMove) {
  Learn(1, 10);
  table_.Refresh(0, Mac(1), 11, now_ + seconds(1));
  EXPECT_EQ(Lookup(1), 11u);
}

TEST_F(MacTableTest, RefreshingBringsBackWhatIsStillUsed) {
  Learn(1, 10);
  Learn(2, 10);
  now_ += seconds(1);
  table_.Expire(now_);
  table_.Flush();
  table_.Refresh(0, Mac(1), 10, now_);
  EXPECT_EQ(Lookup(1), std::nullopt);
  table_.Refresh(0, Mac(1), 10, now_ + milliseconds(1));
  EXPECT_EQ(Lookup(1), 10u);
  table_.Remove(0, Mac(1));
  table_.Refresh(0, Mac(1), 10, now_ + milliseconds(1));
  EXPECT_EQ(Lookup(1), std::nullopt);
  table_.RemoveBundle(10);
  table_.Refresh(0, Mac(2), 10, now_ + milliseconds(2));
  EXPECT_EQ(Lookup(2), 10u);
}

TEST_F(MacTableTest, GratuitousArpLocksAgainstReflections) {
  Learn(1, 10, /*gratuitous=*/true);
  now_ += MacTable::kGratuitousLock - milliseconds(1);
  EXPECT_FALSE(Learn(1, 11, true, /*reflects=*/true));
  EXPECT_FALSE(Learn(1, 11, false, /*reflects=*/true));
  table_.Refresh(0, Mac(1), 11, now_);
  EXPECT_EQ(Lookup(1), 10u);
  now_ += milliseconds(1);
  EXPECT_TRUE(Learn(1, 11, true, /*reflects=*/true));
}

TEST_F(MacTableTest, GratuitousArpElsewhereMovesALockedAddress) {
  Learn(1, 10, /*gratuitous=*/true);
  EXPECT_TRUE(Learn(1, 11, /*gratuitous=*/true));
  EXPECT_FALSE(Learn(1, 10, true, /*reflects=*/true));
  EXPECT_TRUE(Learn(1, 10));
}

TEST_F(MacTableTest, ARepeatedGratuitousArpLocksAgain) {
  Learn(1, 10, /*gratuitous=*/true);
  now_ += seconds(4);
  Learn(1, 10, /*gratuitous=*/true);
  now_ += seconds(4);
  EXPECT_FALSE(Learn(1, 11, false, /*reflects=*/true));
}

TEST_F(MacTableTest, TheLargestBundleLosesItsOldest) {
  for (uint64_t mac = 1; mac <= 5; ++mac, now_ += seconds(1)) Learn(mac, 10);
  for (uint64_t mac = 21; mac <= 23; ++mac, now_ += seconds(1)) Learn(mac, 20);
  Learn(1, 10);  // no longer the oldest
  EXPECT_TRUE(Learn(31, 30));
  EXPECT_EQ(Lookup(2), std::nullopt);
  for (uint64_t mac : {1, 3, 4, 5, 21, 22, 23, 31}) EXPECT_NE(Lookup(mac), std::nullopt) << mac;
  EXPECT_EQ(table_.statistics().evicted, 1u);
  EXPECT_EQ(table_.statistics().entries, 8u);
}

TEST_F(MacTableTest, OnePortCannotCrowdOutTheOthers) {
  for (uint64_t mac = 1; mac <= 3; ++mac) Learn(mac, 10);
  now_ += seconds(10);
  for (uint64_t mac = 1000; mac < 11000; ++mac) Learn(mac, 20);
  for (uint64_t mac = 1; mac <= 3; ++mac) EXPECT_EQ(Lookup(mac), 10u);
  EXPECT_EQ(table_.statistics().entries, 8u);
}

TEST_F(MacTableTest, ShrinkingEvicts) {
  for (uint64_t mac = 1; mac <= 8; ++mac, now_ += seconds(1)) Learn(mac, 10);
  table_.SetLimits(3, seconds(300));
  EXPECT_EQ(table_.statistics().entries, 3u);
  EXPECT_EQ(table_.statistics().max_entries, 3u);
  for (uint64_t mac : {6, 7, 8}) EXPECT_EQ(Lookup(mac), 10u);
}

TEST_F(MacTableTest, StaticEntriesNeitherMoveNorAge) {
  table_.AddStatic(0, Mac(1), 10);
  EXPECT_FALSE(Learn(1, 11));
  table_.Refresh(0, Mac(1), 11, now_);
  EXPECT_EQ(table_.Expire(now_ + seconds(100000)), 0u);
  table_.Flush();
  EXPECT_EQ(Lookup(1), 10u);
  for (uint64_t mac = 100; mac < 200; ++mac) Learn(mac, 20);
  EXPECT_EQ(Lookup(1), 10u);
  EXPECT_EQ(table_.statistics().static_entries, 1u);
  EXPECT_TRUE(table_.Remove(0, Mac(1)));
  EXPECT_EQ(Lookup(1), std::nullopt);
  EXPECT_EQ(table_.statistics().static_entries, 0u);
}

TEST_F(MacTableTest, AStaticEntryReplacesALearnedOne) {
  Learn(1, 10);
  table_.AddStatic(0, Mac(1), 11);
  EXPECT_EQ(Lookup(1), 11u);
  EXPECT_EQ(table_.statistics().entries, 1u);
  table_.AddStatic(0, Mac(1), 12);
  EXPECT_EQ(Lookup(1), 12u);
  EXPECT_EQ(table_.statistics().static_entries, 1u);
}

TEST_F(MacTableTest, LearnsNothingWhenAllEntriesAreStatic) {
  for (uint64_t mac = 1; mac <= 8; ++mac) table_.AddStatic(0, Mac(mac), 10);
  EXPECT_FALSE(Learn(9, 10));
  EXPECT_EQ(Lookup(9), std::nullopt);
}

TEST_F(MacTableTest, RemovesByAddressByBundleAndAll) {
  for (uint64_t mac = 1; mac <= 4; ++mac) Learn(mac, mac % 2);
  table_.AddStatic(0, Mac(5), 1);
  EXPECT_FALSE(table_.Remove(0, Mac(99)));
  EXPECT_TRUE(table_.Remove(0, Mac(1)));
  table_.RemoveBundle(1);
  EXPECT_EQ(Lookup(3), std::nullopt);
  EXPECT_EQ(Lookup(5), std::nullopt);
  EXPECT_EQ(Lookup(2), 0u);
  table_.Flush();
  EXPECT_EQ(table_.statistics().entries, 0u);
}

TEST_F(MacTableTest, GenerationChangesOnlyWhereALookupMightAnswerOtherwise) {
  uint64_t generation = table_.generation();
  auto changed = [&] { return std::exchange(generation, table_.generation()) != table_.generation(); };
  Learn(1, 10);
  EXPECT_TRUE(changed());
  Learn(1, 10);
  EXPECT_FALSE(changed());
  table_.Refresh(0, Mac(1), 10, now_ + seconds(1));
  EXPECT_FALSE(changed());
  Learn(1, 11);
  EXPECT_TRUE(changed());
  table_.Expire(now_);
  EXPECT_FALSE(changed());
  table_.Expire(now_ + seconds(1000));
  EXPECT_TRUE(changed());
  table_.AddStatic(0, Mac(2), 10);
  EXPECT_TRUE(changed());
  table_.Remove(0, Mac(2));
  EXPECT_TRUE(changed());
  table_.Flush();
  EXPECT_FALSE(changed());
}

TEST_F(MacTableTest, ListsTheMostRecentlyUsedLast) {
  Learn(3, 10);
  now_ += milliseconds(1500);
  table_.Learn(7, Mac(1), 11, false, now_);
  now_ += milliseconds(1500);
  table_.Refresh(0, Mac(3), 10, now_);
  now_ += milliseconds(500);
  std::vector<MacTable::Entry> entries = table_.Entries(now_);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].vlan, 7);
  EXPECT_EQ(entries[0].mac, Mac(1));
  EXPECT_EQ(entries[0].bundle, 11u);
  EXPECT_EQ(entries[0].age, milliseconds(2000));
  EXPECT_EQ(entries[1].mac, Mac(3));
  EXPECT_EQ(entries[1].age, milliseconds(500));
}

TEST_F(MacTableTest, CountsAndClears) {
  Learn(1, 10);
  Learn(1, 11);
  EXPECT_EQ(table_.statistics().learned, 1u);
  EXPECT_EQ(table_.statistics().moved, 1u);
  table_.ClearStatistics();
  EXPECT_EQ(table_.statistics().learned, 0u);
  EXPECT_EQ(table_.statistics().entries, 1u);
}

// Against a model that does everything the slow way.
TEST(MacTablePropertyTest, BehavesLikeAPlainModel) {
  struct Known {
    uint64_t bundle;
    MacTable::Clock::time_point used;
  };
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    constexpr size_t kMost = 20;
    MacTable table(kMost, seconds(30));
    std::map<uint64_t, Known> model;
    MacTable::Clock::time_point now{seconds(1000)};
    for (int step = 0; step < 3000; ++step) {
      now += milliseconds(1 + random() % 500);
      uint64_t mac = 2 * (random() % 40), bundle = 1 + random() % 4;
      if (random() % 10 == 0) {
        table.Expire(now);
        std::erase_if(model, [&](const auto& known) { return known.second.used + seconds(30) <= now; });
      } else {
        table.Learn(0, Mac(mac), bundle, false, now);
        if (!model.contains(mac) && model.size() == kMost) {
          std::map<uint64_t, std::vector<std::pair<MacTable::Clock::time_point, uint64_t>>> bundles;
          for (const auto& [other, known] : model) bundles[known.bundle].emplace_back(known.used, other);
          auto largest = std::max_element(bundles.begin(), bundles.end(), [](const auto& a, const auto& b) {
            return std::make_pair(a.second.size(), a.first) < std::make_pair(b.second.size(), b.first);
          });
          model.erase(std::min_element(largest->second.begin(), largest->second.end())->second);
        }
        model[mac] = {bundle, now};
      }
      ASSERT_EQ(table.statistics().entries, model.size());
    }
    for (uint64_t mac = 0; mac < 80; mac += 2) {
      auto known = model.find(mac);
      std::optional<uint64_t> expected;
      if (known != model.end()) expected = known->second.bundle;
      EXPECT_EQ(table.Lookup(0, Mac(mac)), expected) << mac;
    }
  }
}

}  // namespace
}  // namespace sluice
