// Rule: a flow of an OpenFlow table.
//
// Immutable but for its counters and what a modification replaces whole (cookie, actions, ...), which makes a new Rule
// in the same place that takes the counters over. Shared: tables hold it, and installed datapath flows that came of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "lib/openflow/flow_mod.h"

namespace sluice {

// Versions of a bridge's tables. A rule is seen by those who look with a version v: added <= v < removed.
using TableVersion = uint64_t;
constexpr TableVersion kNeverRemoved = UINT64_MAX;

using OfClock = std::chrono::steady_clock;

// Wire packets and bytes; written by whoever pushes statistics, several threads. Not on the fast path.
struct RuleCounters {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<int64_t> used_ms;  // OfClock milliseconds of the last packet, or of the addition
  // Timeouts that fin_timeout has made shorter; seconds, 0: none.
  std::atomic<uint16_t> idle_timeout{0};
  std::atomic<uint16_t> hard_timeout{0};
};

struct Rule {
  OfMatch match;
  uint16_t priority = 0;
  uint8_t table = 0;
  uint64_t cookie = 0;
  uint16_t importance = 0;
  uint16_t flags = 0;  // FlowFlags
  std::shared_ptr<const OfActions> actions;
  OfClock::time_point created;
  OfClock::time_point modified;
  uint32_t controller = 0;  // the connection that added it: for flow monitors' ONLY_OWN; 0: none

  std::shared_ptr<RuleCounters> counters;  // the same over modifications
  std::atomic<TableVersion> added{0};
  std::atomic<TableVersion> removed{kNeverRemoved};

  bool VisibleIn(TableVersion version) const {
    return added.load(std::memory_order_acquire) <= version && version < removed.load(std::memory_order_acquire);
  }
};
using RulePtr = std::shared_ptr<Rule>;

}  // namespace sluice
