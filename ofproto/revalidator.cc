#include "ofproto/revalidator.h"

#include <pthread.h>

#include <algorithm>

#include "lib/base/coverage.h"
#include "lib/base/log.h"
#include "ofproto/actions_equal.h"
#include "ofproto/flow_limit.h"
#include "ofproto/flow_record.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {
namespace {

SLUICE_COVERAGE_DEFINE(revalidate_pass);
SLUICE_COVERAGE_DEFINE(revalidate_translated);
SLUICE_COVERAGE_DEFINE(flow_expired);
SLUICE_COVERAGE_DEFINE(flow_invalid);
SLUICE_COVERAGE_DEFINE(flow_modified);

using std::chrono::milliseconds;

// Flows per portion: between two portions the thread is quiescent, and others get at the flows' records.
constexpr size_t kPortion = 128;
// Between two passes that follow changes: at least this, and at least so many times what a pass takes, but no longer
// than leaves the next one time to end within a second.
constexpr auto kMinDistance = milliseconds(50);
constexpr auto kMaxDistance = milliseconds(500);
constexpr int kRestPerWork = 3;
// While there are more flows than the limit; twice as many, and all go.
constexpr uint64_t kShortIdleMs = 100;

bool HasMoreBits(const FlowMask& mask, const FlowMask& than) {
  for (size_t i = 0; i < FlowKey::kWords; ++i) {
    if ((mask.Word(i) & ~than.Word(i)) != 0) return true;
  }
  return false;
}

}  // namespace

Revalidator::Revalidator(FlowTable& flows, ForwardingState& state)
    : flows_(flows), state_(state), thread_([this] { Run(); }) {}

Revalidator::~Revalidator() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

// The mutex is taken so that the thread, which looks at the flag under it, cannot fall asleep in between.
void Revalidator::Notify() {
  if (woken_.exchange(true, std::memory_order_acq_rel)) return;
  { std::lock_guard lock(mutex_); }
  wake_.notify_one();
}

// The thread
// ------------------------------------------------------------------------------------------------------------------

void Revalidator::Run() {
  pthread_setname_np(pthread_self(), "revalidator");
  LogSetThreadName("revalidator");
  RcuThread rcu;
  bool done = false;
  while (!done) {
    RcuQuiescent();
    Work work = WaitForWork();
    if (work == Work::kStop) break;
    Versions now = CurrentVersions();
    bool changed = now != seen_;
    if (!changed && work == Work::kLook) continue;
    if (changed) {
      RcuSynchronize();
      seen_ = now;
    }
    MakePass(changed);
  }
}

Revalidator::Work Revalidator::WaitForWork() {
  RcuOffline offline;
  std::unique_lock lock(mutex_);
  const auto distance = std::clamp<Clock::duration>(pass_duration_ * kRestPerWork, kMinDistance, kMaxDistance);
  const auto earliest = std::max(pass_end_ + distance, look_ + kMinDistance);
  for (;;) {
    if (stopping_) return Work::kStop;
    if (requested_ != served_) return Work::kPass;
    const auto now = Clock::now();
    if (woken_.load(std::memory_order_acquire)) {
      if (now >= earliest) {
        // Before the versions are read: who changes something from now on wakes again.
        woken_.store(false, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        look_ = now;
        return Work::kLook;
      }
      wake_.wait_until(lock, earliest);
    } else if (bool any = flows_.flow_count() > 0; any || look_ > pass_end_) {
      // Who woke the thread without a flow to be seen may just be about to install one.
      uint64_t period = std::min(state_.max_revalidator_ms.load(), state_.max_idle_ms.load());
      const auto due = (any ? pass_end_ : look_) + milliseconds(period);
      if (now >= due) return Work::kPass;
      wake_.wait_until(lock, due);
    } else {
      wake_.wait(lock);
    }
  }
}

Revalidator::Versions Revalidator::CurrentVersions() const {
  const Topology& topology = *state_.topology.Load();
  Versions versions{.topology = topology.generation};
  for (const XBridge& bridge : topology.bridges) versions.macs += bridge.macs->generation();
  return versions;
}

void Revalidator::MakePass(bool check) {
  SLUICE_COVERAGE_INC(revalidate_pass);
  const auto start = Clock::now();
  uint64_t serving;
  {
    std::lock_guard lock(mutex_);
    serving = requested_;
  }
  const size_t flow_count = flows_.flow_count();
  const uint32_t limit = state_.flow_limit.load(std::memory_order_relaxed);
  Pass pass{.check = check, .max_idle_ms = state_.max_idle_ms.load(std::memory_order_relaxed)};
  if (flow_count > limit) pass.max_idle_ms = std::min(pass.max_idle_ms, kShortIdleMs);
  const bool remove_all = flow_count > uint64_t{limit} * 2;

  size_t from = FlowTable::kFromStart;
  while (from != 0) {
    RcuQuiescent();
    std::lock_guard lock(work_mutex_);
    from = flows_.Collect(from, kPortion, portion_);
    const Topology& topology = *state_.topology.Load();
    doomed_.clear();
    for (DpFlow* flow : portion_) {
      if (Judge(*flow, topology, pass) == Judgement::kRemove || remove_all) doomed_.push_back(flow);
    }
    pass.flows += portion_.size();
    pass.removed += flows_.Remove(doomed_);
  }
  RcuQuiescent();
  pass_end_ = Clock::now();
  pass_duration_ = pass_end_ - start;
  const auto duration = std::chrono::duration_cast<milliseconds>(pass_duration_);
  state_.flow_limit.store(AdaptFlowLimit(limit, state_.configured_flow_limit.load(), pass.flows, duration));
  std::lock_guard lock(mutex_);
  served_ = serving;
  Finish(pass, pass_duration_);
  passed_.notify_all();
}

Revalidator::Judgement Revalidator::Judge(DpFlow& flow, const Topology& topology, Pass& pass) {
  FlowStats stats = flow.TotalStats();
  // A flow without a record is one that somebody added by hand: from its first pass on it is treated like any other.
  auto* record = static_cast<FlowRecord*>(flow.data());
  const uint64_t now_ms = ToMilliseconds(Clock::now());
  if (record == nullptr) {
    flow.set_data(std::make_unique<FlowRecord>(now_ms));
    return Retranslate(flow, topology, pass);
  }
  record->Push(stats);
  // The clock of last_used_ms is coarse: it may be behind.
  if (record->LastUse(stats) + pass.max_idle_ms < now_ms) {
    SLUICE_COVERAGE_INC(flow_expired);
    return Judgement::kRemove;
  }
  if (!pass.check || record->Holds(topology.generation)) return Judgement::kKeep;
  return Retranslate(flow, topology, pass);
}

Revalidator::Judgement Revalidator::Retranslate(DpFlow& flow, const Topology& topology, Pass& pass) {
  SLUICE_COVERAGE_INC(revalidate_translated);
  XlateOut out = Translate({.topology = topology, .key = flow.key(), .learn = false, .now = Clock::now()});
  if (!out.in_known_port || HasMoreBits(out.wildcards, flow.mask())) {
    SLUICE_COVERAGE_INC(flow_invalid);
    return Judgement::kRemove;
  }
  const bool same = ActionsEqual(out.actions, flow.actions());
  ActionList actions = std::move(out.actions);
  static_cast<FlowRecord*>(flow.data())->Update(std::move(out), topology.generation);
  if (same) return Judgement::kKeep;
  SLUICE_COVERAGE_INC(flow_modified);
  ++pass.modified;
  // It fails only if somebody else has just removed the flow.
  static_cast<void>(flows_.ModifyByUfid(flow.ufid(), std::move(actions), false));
  return Judgement::kKeep;
}

// Under mutex_.
void Revalidator::Finish(const Pass& pass, Clock::duration duration) {
  ++statistics_.passes;
  statistics_.removed += pass.removed;
  statistics_.modified += pass.modified;
  statistics_.last_pass_flows = pass.flows;
  statistics_.last_pass = std::chrono::duration_cast<milliseconds>(duration);
  statistics_.max_flows = std::max(statistics_.max_flows, pass.flows);
  statistics_.average_flows = (statistics_.average_flows + static_cast<double>(pass.flows)) / 2;
}

// The main thread
// ------------------------------------------------------------------------------------------------------------------

bool Revalidator::Revalidate(milliseconds at_most) {
  std::unique_lock lock(mutex_);
  const uint64_t mine = ++requested_;
  wake_.notify_one();
  return passed_.wait_for(lock, at_most, [&] { return served_ >= mine; });
}

void Revalidator::Purge() {
  std::lock_guard lock(work_mutex_);
  flows_.Clear();
}

void Revalidator::RemoveFlowsOf(const absl::flat_hash_set<uint32_t>& ports) {
  if (ports.empty()) return;
  RcuThread rcu;
  auto gone = [&ports](uint32_t port) { return ports.contains(port); };
  std::vector<DpFlow*> portion;
  std::vector<DpFlow*> doomed;
  size_t from = FlowTable::kFromStart;
  while (from != 0) {
    RcuQuiescent();
    // Before a pass that is under way modifies them.
    std::lock_guard lock(work_mutex_);
    from = flows_.Collect(from, kPortion, portion);
    doomed.clear();
    for (DpFlow* flow : portion) {
      if (gone(flow->key().in_port) || OutputsTo(flow->actions(), gone)) doomed.push_back(flow);
    }
    flows_.Remove(doomed);
  }
}

Revalidator::Statistics Revalidator::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace sluice
