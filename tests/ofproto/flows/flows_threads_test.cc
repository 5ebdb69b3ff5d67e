// Lookups while flows change: a bundle is seen whole or not at all.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "lib/base/rcu.h"
#include "tests/ofproto/flows/flow_maker.h"

namespace sluice {
namespace {

constexpr OfPort kFlows = 40;

OfPort OutputOf(const RulePtr& rule) { return std::get<OfOutput>(rule->actions->at(0).value).port; }

// Matches of several masks, none within another.
OfMatch MatchOf(OfPort i) {
  OfMatch match;
  if (i % 2 == 0) MatchIpv4Dst(match, 0x0a000000u + i, 32);
  if (i % 2 == 1) MatchIpv4Dst(match, 0x0b000000u + (uint32_t{i} << 8), 24);
  if (i % 4 >= 2) MatchInPort(match, 1);
  return match;
}
OfFlow PacketOf(OfPort i) {
  return TcpPacket(1, 0x01010101, i % 2 == 0 ? 0x0a000000u + i : 0x0b000000u + (uint32_t{i} << 8), 1000, 80);
}

// All flows lead to the same port at any one time, or none is there.
TEST(FlowsThreadsTest, BundlesAreSeenWhole) {
  FlowTables tables;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> torn{0}, looks{0};
  auto look = [&] {
    RcuThread reader;
    while (!done.load(std::memory_order_relaxed)) {
      const TableVersion version = tables.version();
      OfPort output = 0;
      for (OfPort i = 0; i < kFlows; ++i) {
        OfMask wildcards;
        const RulePtr rule = tables.Lookup(version, 0, PacketOf(i), &wildcards);
        const OfPort here = rule == nullptr ? 0 : OutputOf(rule);
        if (i == 0) output = here;
        if (here != output) torn.fetch_add(1, std::memory_order_relaxed);
      }
      looks.fetch_add(1, std::memory_order_relaxed);
      RcuQuiescent();
    }
  };
  std::thread first(look), second(look);
  while (looks.load(std::memory_order_relaxed) == 0) std::this_thread::yield();

  for (OfPort round = 1; round <= 150; ++round) {
    std::vector<FlowMod> mods;
    for (OfPort i = 0; i < kFlows; ++i) {
      FlowMod mod = AddFlow(10, MatchOf(i), round);
      if (round % 3 == 1) mod.command = FlowCommand::kModifyStrict;  // adds what is not there
      mods.push_back(mod);
    }
    if (round % 5 == 0) {
      FlowMod all;
      all.command = FlowCommand::kDelete;
      if (round % 10 == 0) mods.clear();
      mods.insert(mods.begin(), all);
    }
    // One that fails in its last step leaves no trace.
    if (round % 7 == 0) {
      FlowMod emergency = AddFlow(10, {}, 1);
      emergency.flags = kEmergency;
      mods.push_back(emergency);
    }
    size_t failed = 0;
    const bool fails = tables.ApplyAll(mods, {}, &failed).has_value();
    EXPECT_EQ(fails, round % 7 == 0);
    if (round % 20 == 0) RcuBarrier();
  }
  done.store(true, std::memory_order_relaxed);
  first.join();
  second.join();
  EXPECT_EQ(torn.load(), 0u);
  RcuBarrier();
}

// Threads that learn, a thread that expires and one that looks: in the end there is what was learned last.
TEST(FlowsThreadsTest, ThreadsLearnAtTheSameTime) {
  FlowTables tables;
  std::atomic<int> learning{2};
  auto learn = [&](OfPort output) {
    RcuThread reader;
    for (int i = 0; i < 400; ++i) {
      FlowMod mod = AddFlow(10, MatchOf(static_cast<OfPort>(i % kFlows)), output, 1);
      mod.idle_timeout = 3600;
      EXPECT_TRUE(tables.Learn(mod, 0, OfClock::now()));
      const RulePtr rule = tables.Lookup(tables.version(), 1, PacketOf(static_cast<OfPort>(i % kFlows)), nullptr);
      EXPECT_NE(rule, nullptr);
      if (rule != nullptr) tables.ShortenTimeouts(*rule, 1800, 0);
      RcuQuiescent();
    }
    learning.fetch_sub(1, std::memory_order_release);
  };
  std::thread first(learn, 1), second(learn, 2);
  while (learning.load(std::memory_order_acquire) > 0) {
    tables.Expire(OfClock::now());
    EXPECT_LE(tables.Collect({}).size(), kFlows);
    std::this_thread::yield();
  }
  first.join();
  second.join();
  EXPECT_EQ(tables.flow_count(1), kFlows);
  RcuBarrier();
}

}  // namespace
}  // namespace sluice
