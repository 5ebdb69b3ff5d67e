// Rule: a flow of an OpenFlow table.
//
// Immutable but for its counters and what a modification replaces whole (cookie, actions, ...), which makes a new Rule
// in the same place that takes the counters over. Shared: tables hold it, and installed datapath flows that came of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/openflow/flow_mod.h"
#include "ofproto/flows/compact_match.h"

namespace sluice {

// Versions of a bridge's tables. A rule is seen by those who look with a version v: added <= v < removed.
using TableVersion = uint64_t;
constexpr TableVersion kNeverRemoved = UINT64_MAX;

using OfClock = std::chrono::steady_clock;

// Milliseconds of OfClock, as RuleCounters::used_ms has them.
inline int64_t OfClockMs(OfClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// Wire packets and bytes; written by whoever pushes statistics, several threads. Not on the fast path.
struct RuleCounters {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<int64_t> used_ms{0};  // OfClock milliseconds of the last packet, or of the addition
  // Seconds, 0: none. Made shorter by fin_timeout: FlowTables::ShortenTimeouts().
  std::atomic<uint16_t> idle_timeout{0};
  std::atomic<uint16_t> hard_timeout{0};
};

class RuleSubtable;
struct Rule;
using RulePtr = std::shared_ptr<Rule>;

// Where a rule is in its table and in the indices beside it. Only the tables' own code looks in here, under their lock,
// but for `next`, which lookups follow.
struct RulePlace {
  RulePtr self;  // the tables' own reference, while the rule is in the classifier
  RuleSubtable* subtable = nullptr;
  std::atomic<Rule*> next{nullptr};  // of the same match, lower or equal priority
  uint32_t hash = 0;                 // of the match
  int32_t heap_index = -1;           // in the heap of what expires; -1: not there
  // The list of rules that have the same cookie, if that is not 0.
  Rule* cookie_next = nullptr;
  Rule* cookie_previous = nullptr;
};

struct Rule : std::enable_shared_from_this<Rule> {
  explicit Rule(CompactMatch compact) : match(std::move(compact)) {}

  CompactMatch match;  // converts to OfMatch
  uint16_t priority = 0;
  uint8_t table = 0;
  uint64_t cookie = 0;
  uint16_t importance = 0;
  uint16_t flags = 0;  // FlowFlags
  std::shared_ptr<const OfActions> actions;
  OfClock::time_point created;
  std::atomic<OfClock::time_point> modified{OfClock::time_point{}};  // or refreshed by the learn action
  uint32_t controller = 0;  // the connection that added it: for flow monitors' ONLY_OWN; 0: none

  std::shared_ptr<RuleCounters> counters;  // the same over modifications
  std::atomic<TableVersion> added{0};
  std::atomic<TableVersion> removed{kNeverRemoved};

  // What the actions are known to have, so that nobody has to look for it.
  bool has_conjunctions = false;  // only conjunction actions: a clause of conjunctive matches
  bool has_references = false;    // groups or meters, anywhere inside
  bool deletes_learned = false;   // learn actions that delete what they learned when they go

  RulePlace place;

  bool VisibleIn(TableVersion version) const {
    return added.load(std::memory_order_acquire) <= version && version < removed.load(std::memory_order_acquire);
  }
  bool hidden() const { return (flags & kHiddenFlow) != 0; }
  // Hidden flows are above all others.
  int32_t rank() const { return priority + (hidden() ? 0x10000 : 0); }
};

}  // namespace sluice
