#include "datapath/flow_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "datapath/flow_cache.h"

namespace sluice {
namespace {

// A flow on ports and IPv4 addresses; a field whose mask is zero is wildcarded.
Match MakeMatch(uint32_t in_port, uint32_t source, uint32_t source_mask, uint16_t port = 0, uint16_t port_mask = 0) {
  Match match;
  match.key.in_port = in_port;
  match.mask.in_port = UINT32_MAX;
  match.key.ipv4_src = Be32(source & source_mask);
  match.mask.ipv4_src = Be32(source_mask);
  match.key.tp_dst = Be16(port & port_mask);
  match.mask.tp_dst = Be16(port_mask);
  return match;
}

FlowKey MakeKey(uint32_t in_port, uint32_t source, uint16_t port) {
  FlowKey key;
  key.in_port = in_port;
  key.ipv4_src = Be32(source);
  key.tp_dst = Be16(port);
  return key;
}

ActionList Output(uint32_t port) { return {Action{OutputAction{port}}}; }

class FlowTableTest : public ::testing::Test {
 protected:
  DpFlow* Add(const Match& match, uint32_t port) {
    auto flow = table_.Insert(match, Output(port), FlowTable::MakeUfid(match));
    EXPECT_TRUE(flow.ok()) << flow.status();
    return flow.ok() ? *flow : nullptr;
  }
  uint32_t PortOf(const FlowKey& key) {
    DpFlow* flow = table_.Lookup(key, 0);
    return flow == nullptr ? 0 : std::get<OutputAction>(flow->actions().at(0).value).port;
  }

  RcuThread reader_;
  FlowTable table_;
};

TEST_F(FlowTableTest, CollectsEveryFlowThatStaysWhileOthersComeAndGo) {
  std::vector<DpFlow*> staying, leaving, portion;
  for (uint32_t i = 0; i < 300; ++i) {
    (i % 3 == 0 ? leaving : staying).push_back(Add(MakeMatch(1, i, UINT32_MAX), i));
  }
  std::set<DpFlow*> seen;
  size_t from = FlowTable::kFromStart;
  for (uint32_t step = 0; from != 0; ++step) {
    from = table_.Collect(from, 16, portion);
    EXPECT_LE(portion.size(), 16u);
    seen.insert(portion.begin(), portion.end());
    size_t first = std::min<size_t>(step * 6, leaving.size());
    size_t last = std::min<size_t>(first + 6, leaving.size());
    EXPECT_EQ(table_.Remove(absl::MakeSpan(leaving).subspan(first, last - first)), last - first);
    Add(MakeMatch(2, step, UINT32_MAX), step);
  }
  for (DpFlow* flow : staying) EXPECT_TRUE(seen.contains(flow)) << flow->key().ipv4_src.Get();
}

TEST_F(FlowTableTest, CollectOfAnEmptyTableIsAtItsEnd) {
  std::vector<DpFlow*> portion{nullptr};
  EXPECT_EQ(table_.Collect(FlowTable::kFromStart, 16, portion), 0u);
  EXPECT_TRUE(portion.empty());
}

TEST_F(FlowTableTest, RemovesManyAtOnceAndForgetsThemOnce) {
  std::vector<DpFlow*> flows{Add(MakeMatch(1, 1, UINT32_MAX), 1), Add(MakeMatch(1, 2, UINT32_MAX), 2)};
  DpFlow* other = Add(MakeMatch(1, 3, UINT32_MAX), 3);
  ASSERT_TRUE(table_.Remove(flows[0]->match()).ok());
  uint64_t before = table_.generation();
  EXPECT_EQ(table_.Remove(flows), 1u) << "one had gone before";
  EXPECT_EQ(table_.generation(), before + 1);
  EXPECT_EQ(table_.Remove(flows), 0u);
  EXPECT_EQ(table_.generation(), before + 1);
  EXPECT_EQ(table_.flow_count(), 1u);
  EXPECT_EQ(table_.Lookup(MakeKey(1, 3, 0), 0), other);
}

TEST_F(FlowTableTest, DataLivesAndDiesWithItsFlow) {
  struct Data : FlowData {
    Data(std::atomic<int>& count, std::atomic<uint64_t>& last) : alive(count), packets(last) { ++alive; }
    ~Data() override { --alive; }
    void OnGone(const FlowStats& last) override { packets = last.packets; }
    std::atomic<int>& alive;
    std::atomic<uint64_t>& packets;
  };
  std::atomic<int> alive{0};
  std::atomic<uint64_t> packets{0};
  Match match = MakeMatch(1, 1, UINT32_MAX);
  ASSERT_TRUE(table_.Insert(match, Output(1), FlowTable::MakeUfid(match), std::make_unique<Data>(alive, packets)).ok());
  EXPECT_FALSE(
      table_.Insert(match, Output(1), FlowTable::MakeUfid(match), std::make_unique<Data>(alive, packets)).ok());
  EXPECT_EQ(alive, 1);
  DpFlow* flow = table_.Lookup(MakeKey(1, 1, 0), 0);
  ASSERT_TRUE(table_.Remove(match).ok());
  // A thread that found the flow before counts for a moment longer.
  flow->stats(0).packets += 7;
  {
    RcuOffline offline;
    RcuBarrier();
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(packets, 7u);
}

TEST_F(FlowTableTest, FindsTheFlowWhoseMaskedFieldsAgree) {
  Add(MakeMatch(1, 0x0a000000, 0xff000000), 5);
  Add(MakeMatch(1, 0x0b010000, 0xffff0000, 80, 0xffff), 6);
  EXPECT_EQ(PortOf(MakeKey(1, 0x0a010203, 7)), 5u);
  EXPECT_EQ(PortOf(MakeKey(1, 0x0b010203, 80)), 6u);
  EXPECT_EQ(PortOf(MakeKey(1, 0x0b010203, 81)), 0u);
  EXPECT_EQ(PortOf(MakeKey(2, 0x0a010203, 7)), 0u);
  EXPECT_EQ(table_.mask_count(), 2u);
}

TEST_F(FlowTableTest, RefusesTheSameFlowTwice) {
  Match match = MakeMatch(1, 0x0a000000, 0xff000000);
  Add(match, 5);
  EXPECT_EQ(table_.Insert(match, Output(6), Ufid{1, 2}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(table_.Insert(MakeMatch(2, 0, 0), Output(6), FlowTable::MakeUfid(match)).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(table_.flow_count(), 1u);
}

TEST_F(FlowTableTest, ModifyReplacesActionsAndCanClearStatistics) {
  Match match = MakeMatch(1, 0, 0);
  DpFlow* flow = Add(match, 5);
  flow->stats(0).packets += 3;
  flow->stats(0).bytes += 300;
  ASSERT_TRUE(table_.Modify(match, Output(9), false).ok());
  EXPECT_EQ(PortOf(MakeKey(1, 1, 1)), 9u);
  EXPECT_EQ(flow->TotalStats().packets, 3u);
  ASSERT_TRUE(table_.Modify(match, Output(9), true).ok());
  EXPECT_EQ(flow->TotalStats().packets, 0u);
  flow->stats(0).packets += 2;
  EXPECT_EQ(flow->TotalStats().packets, 2u);
  EXPECT_EQ(table_.Modify(MakeMatch(7, 0, 0), Output(9), true).code(), absl::StatusCode::kNotFound);
}

TEST_F(FlowTableTest, RemovalGivesLastStatisticsAndChangesTheGeneration) {
  Match match = MakeMatch(1, 0, 0);
  DpFlow* flow = Add(match, 5);
  flow->stats(0).packets += 3;
  uint64_t before = table_.generation();
  auto last = table_.Remove(match);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->packets, 3u);
  EXPECT_NE(table_.generation(), before);
  EXPECT_EQ(PortOf(MakeKey(1, 1, 1)), 0u);
  EXPECT_EQ(table_.mask_count(), 0u);
  EXPECT_EQ(table_.Remove(match).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FlowTableTest, SumsTheStatisticsOfAllThreads) {
  DpFlow* flow = Add(MakeMatch(1, 0, 0), 5);
  table_.SetThreadSlots(3);
  for (size_t slot = 0; slot < 3; ++slot) {
    flow->stats(slot).packets += 1 + slot;
    flow->stats(slot).last_used_ms += 100 * slot;
    flow->stats(slot).tcp_flags += uint64_t{1} << slot;
  }
  FlowStats total = flow->TotalStats();
  EXPECT_EQ(total.packets, 6u);
  EXPECT_EQ(total.last_used_ms, 200u);
  EXPECT_EQ(total.tcp_flags, 7u);
}

TEST_F(FlowTableTest, PutsTheBusiestSubtableFirstAndStillFindsAll) {
  Add(MakeMatch(1, 0x0a000000, 0xff000000), 5);
  Add(MakeMatch(1, 0x0b000000, 0xffff0000), 6);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(PortOf(MakeKey(1, 0x0b000001, 1)), 6u);
  table_.Optimize();
  EXPECT_EQ(PortOf(MakeKey(1, 0x0b000001, 1)), 6u);
  EXPECT_EQ(PortOf(MakeKey(1, 0x0a000001, 1)), 5u);
}

// Random inserts and removals against a plain list.
TEST_F(FlowTableTest, AgreesWithALinearSearch) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::pair<Match, uint32_t>> model;
  for (int step = 0; step < 20000; ++step) {
    if (model.size() < 500 && random() % 3 != 0) {
      // Disjoint by construction: the prefix length depends on the first byte.
      uint32_t source = random();
      uint32_t mask = ~uint32_t{0} << (source >> 24) % 12;
      Match match = MakeMatch(1, source, mask);
      bool known = std::any_of(model.begin(), model.end(),
                               [&](const auto& m) { return m.first.key == match.key && m.first.mask == match.mask; });
      if (known) continue;
      Add(match, step + 1);
      model.emplace_back(match, step + 1);
    } else if (!model.empty()) {
      size_t victim = random() % model.size();
      ASSERT_TRUE(table_.Remove(model[victim].first).ok());
      model.erase(model.begin() + static_cast<ptrdiff_t>(victim));
    }
    FlowKey key = model.empty() || random() % 2 ? MakeKey(1, random(), 0) : model[random() % model.size()].first.key;
    uint32_t expected = 0;
    for (const auto& [match, port] : model) {
      if (ApplyMask(key, match.mask) == match.key) expected = port;
    }
    ASSERT_EQ(PortOf(key), expected);
    RcuQuiescent();
  }
  EXPECT_EQ(table_.flow_count(), model.size());
}

TEST_F(FlowTableTest, CacheForgetsWhatWasThereBeforeARemoval) {
  FlowCache cache(16);
  DpFlow* flow = Add(MakeMatch(1, 0, 0), 5);
  FlowKey key = MakeKey(1, 1, 1);
  cache.Insert(77, flow, table_.generation());
  EXPECT_EQ(cache.Lookup(key, 77, table_.generation()), flow);
  EXPECT_EQ(cache.Lookup(MakeKey(2, 1, 1), 77, table_.generation()), nullptr) << "same hash, other flow";
  EXPECT_EQ(cache.Lookup(key, 78, table_.generation()), nullptr);
  ASSERT_TRUE(table_.Remove(MakeMatch(1, 0, 0)).ok());
  EXPECT_EQ(cache.Lookup(key, 77, table_.generation()), nullptr);
}

// A reader follows cached flows while a writer adds and removes them; sanitizers judge.
TEST(FlowTableThreadsTest, ReadersNeverFollowAFreedFlow) {
  FlowTable table(2);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> hits{0};
  std::vector<std::thread> readers;
  for (size_t slot = 0; slot < 2; ++slot) {
    readers.emplace_back([&, slot] {
      RcuThread rcu;
      FlowCache cache(256);
      std::mt19937 random(static_cast<uint32_t>(slot));
      while (!stop.load(std::memory_order_relaxed)) {
        RcuQuiescent();
        uint64_t generation = table.generation();
        for (int i = 0; i < 32; ++i) {
          FlowKey key = MakeKey(1, random() % 64, 0);
          uint32_t hash = key.ipv4_src.Get() + 1;
          DpFlow* flow = cache.Lookup(key, hash, generation);
          if (flow == nullptr && (flow = table.Lookup(key, slot)) != nullptr) cache.Insert(hash, flow, generation);
          if (flow == nullptr) continue;
          ++flow->stats(slot).packets;
          hits.fetch_add(flow->actions().size(), std::memory_order_relaxed);
        }
      }
    });
  }
  std::mt19937 random(1);
  for (int step = 0; step < 30000; ++step) {
    Match match = MakeMatch(1, random() % 64, UINT32_MAX);
    if (random() % 2) {
      (void)table.Insert(match, Output(1), FlowTable::MakeUfid(match));
    } else if (random() % 2) {
      (void)table.Modify(match, Output(2), random() % 2);
    } else {
      (void)table.Remove(match);
    }
    if (step % 5000 == 0) table.Optimize();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  table.Clear();
  RcuBarrier();
  EXPECT_GT(hits.load(), 0u);
}

}  // namespace
}  // namespace sluice
