// The megaflow table of one datapath: a tuple-space classifier that PMD threads read under RCU.
//
// Flows with equal masks live in one subtable; a lookup asks the subtables in order of their hits. Flows do not overlap
// by construction of what the upcall handler installs; where a user adds overlapping ones by hand, either may match.
//
// Readers (registered RCU threads) call Lookup and use the flow until they are quiescent. Writers take a mutex inside.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "datapath/flow_data.h"
#include "datapath/offloaded_flow.h"
#include "lib/base/counter.h"
#include "lib/base/rcu.h"
#include "lib/flow/actions.h"
#include "lib/flow/flow_text.h"

namespace sluice {

// What one thread did with one flow. Its own cache line.
struct alignas(64) FlowStats {
  Counter packets;       // a super-packet is one
  Counter wire_frames;   // its segments
  Counter bytes;         // wire bytes
  Counter last_used_ms;  // monotonic milliseconds, 0: never
  Counter tcp_flags;     // or-ed
};

// One installed flow. Immutable but for its actions and statistics.
class DpFlow {
 public:
  DpFlow(const Ufid& ufid, const Match& match, ActionList actions, size_t thread_slots,
         std::unique_ptr<FlowData> data = nullptr);
  ~DpFlow();

  const Ufid& ufid() const { return ufid_; }
  const FlowKey& key() const { return match_.key; }  // masked
  const FlowMask& mask() const { return match_.mask; }
  const Match& match() const { return match_; }
  uint32_t hash() const { return hash_; }
  const ActionList& actions() const { return *actions_.Load(); }

  // Whether `key` falls into this flow. Compares only the words that the mask has.
  bool Matches(const FlowKey& key) const {
    for (size_t i = 0; i < match_words_; ++i) {
      const WordMatch& w = words_[i];
      if ((key.Word(w.index) & w.mask) != w.value) return false;
    }
    return true;
  }

  // What its installer keeps with it, or nullptr. Who reads or replaces it sees to it that nobody else does meanwhile.
  FlowData* data() const { return data_.get(); }
  void set_data(std::unique_ptr<FlowData> data) { data_ = std::move(data); }

  // The statistics that thread slot `slot` alone writes.
  FlowStats& stats(size_t slot) { return *(*stats_.Load())[slot]; }
  // What is forwarded of it elsewhere, or nullptr; once set it stays. Set under the table's writer mutex.
  OffloadedFlow* offloaded() const { return offloaded_.Load(); }
  void set_offloaded(std::unique_ptr<OffloadedFlow> offloaded) {
    static_cast<void>(offloaded_.Publish(offloaded.release()));
  }

  // All threads' sums, and what was forwarded elsewhere, since the last ClearStats(). last_used_ms is the latest. Under
  // the table's writer mutex (inside ForEach), in the only thread that writes the table, or by an RCU reader, who may
  // see a ClearStats() half done.
  FlowStats TotalStats() const;
  void ClearStats();

 private:
  friend class FlowTable;
  struct WordMatch {
    uint64_t mask;
    uint64_t value;
    uint32_t index;
  };
  using StatsSlots = std::vector<FlowStats*>;

  void GrowStats(size_t thread_slots);

  // What a lookup touches comes first.
  uint32_t hash_ = 0;
  uint32_t match_words_ = 0;
  RcuPtr<const ActionList> actions_;
  RcuPtr<const StatsSlots> stats_;
  std::array<WordMatch, FlowKey::kWords> words_;
  const Ufid ufid_;
  const Match match_;
  size_t place_ = 0;  // in FlowTable::in_order_
  std::unique_ptr<FlowData> data_;
  RcuPtr<OffloadedFlow> offloaded_;  // owned
  FlowStats cleared_;  // what the sums were at the last ClearStats(): counters have one writer, which is not us
};

class Subtable;

class FlowTable {
 public:
  // `thread_slots`: how many threads may account to flows at first.
  explicit FlowTable(size_t thread_slots = 1);
  ~FlowTable();
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  // Readers ----------------------------------------------------------------------------------------------------------
  // The flow that `key` falls into, or nullptr. `slot` is the calling thread's, for the subtables' hit counts.
  DpFlow* Lookup(const FlowKey& key, size_t slot);

  // Changes whenever a flow is removed: what a cache remembered before that must not be followed any more. Load it
  // after RcuQuiescent(), before using the cache.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Writers ----------------------------------------------------------------------------------------------------------
  // Fails with kAlreadyExists if a flow with this ufid or with the same key and mask is there.
  absl::StatusOr<DpFlow*> Insert(const Match& match, ActionList actions, const Ufid& ufid,
                                 std::unique_ptr<FlowData> data = nullptr);
  // Replaces the actions of a flow; kNotFound if there is none.
  absl::Status Modify(const Match& match, ActionList actions, bool clear_stats);
  absl::Status ModifyByUfid(const Ufid& ufid, ActionList actions, bool clear_stats);
  // Removes a flow and gives its last statistics; kNotFound if there is none.
  absl::StatusOr<FlowStats> Remove(const Match& match);
  absl::StatusOr<FlowStats> RemoveByUfid(const Ufid& ufid);
  // Removes those of `flows` that are still there; returns how many. What threads have cached is forgotten once, not
  // once per flow. The caller is a registered RCU reader that found the flows since it was quiescent last.
  size_t Remove(absl::Span<DpFlow* const> flows);
  void Clear();

  // For a pass over many flows that holds up nobody. Puts up to `max` flows into `flows` and returns where to go on; 0:
  // that was the rest. Start with kFromStart. Every flow that is there from the first call to the last is seen; one may
  // be seen twice. The caller is a registered RCU reader: a flow is good until it is quiescent, removed or not.
  static constexpr size_t kFromStart = SIZE_MAX;
  size_t Collect(size_t from, size_t max, std::vector<DpFlow*>& flows);
  // Visits every flow under the writers' mutex, in no order.
  void ForEach(const std::function<void(DpFlow&)>& visit);
  // The writers' mutex, for who keeps something beside the flows (KernelForwarding), and what it may do with it held.
  std::mutex& mutex() { return mutex_; }
  DpFlow* FindLocked(const Ufid& ufid);

  size_t flow_count() const { return flow_count_.load(std::memory_order_relaxed); }
  size_t mask_count();
  // Slots 0..thread_slots-1 may be used from now on. Call before a new thread starts to account.
  void SetThreadSlots(size_t thread_slots);
  // Puts the subtables that were hit most since the last call first. Call about once a second.
  void Optimize();

  // A ufid derived from key and mask, for flows that come without one.
  static Ufid MakeUfid(const Match& match);

 private:
  struct UfidHash {  // a ufid is evenly distributed already
    size_t operator()(const Ufid& ufid) const { return ufid.low ^ ufid.high; }
  };
  using SubtableList = std::vector<Subtable*>;

  Subtable* FindOrMakeSubtable(const FlowMask& mask);
  // Takes the flow out of the table; gives its last statistics. Then Retire() it.
  FlowStats RemoveLocked(DpFlow* flow);
  void Retire(DpFlow* flow);
  absl::Status ReplaceActions(DpFlow& flow, ActionList actions, bool clear_stats);
  DpFlow* FindLocked(const Match& match);

  RcuPtr<const SubtableList> subtables_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<size_t> flow_count_{0};

  std::mutex mutex_;  // writers; guards everything below and the subtables' contents
  size_t thread_slots_;
  std::vector<std::unique_ptr<Subtable>> owned_subtables_;
  absl::flat_hash_map<Ufid, DpFlow*, UfidHash> by_ufid_;
  std::vector<DpFlow*> in_order_;  // every flow; a removed one's place is taken by the last
};

}  // namespace sluice
