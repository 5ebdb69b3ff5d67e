#include "datapath/flow_table.h"

#include <algorithm>

#include "datapath/subtable.h"
#include "lib/base/hash.h"
#include "lib/base/status.h"

namespace sluice {

// DpFlow
// ------------------------------------------------------------------------------------------------------------------

DpFlow::DpFlow(const Ufid& ufid, const Match& match, ActionList actions, size_t thread_slots,
               std::unique_ptr<FlowData> data)
    : hash_(MaskedHash(match.key, match.mask)),
      actions_(new ActionList(std::move(actions))),
      stats_(new StatsSlots()),
      ufid_(ufid),
      match_(match),
      data_(std::move(data)) {
  for (uint32_t i = 0; i < FlowKey::kWords; ++i) {
    if (uint64_t mask = match.mask.Word(i); mask != 0) {
      words_[match_words_++] = {.mask = mask, .value = match.key.Word(i), .index = i};
    }
  }
  GrowStats(thread_slots);
}

DpFlow::~DpFlow() {
  if (data_ != nullptr) data_->OnGone(TotalStats());
  delete offloaded_.Load();
  for (FlowStats* stats : *stats_.Load()) delete stats;
  delete stats_.Load();
  delete actions_.Load();
}

void DpFlow::GrowStats(size_t thread_slots) {
  const StatsSlots& old = *stats_.Load();
  if (old.size() >= thread_slots) return;
  auto grown = std::make_unique<StatsSlots>(old);
  while (grown->size() < thread_slots) grown->push_back(new FlowStats());
  stats_.Replace(std::move(grown));
}

FlowStats DpFlow::TotalStats() const {
  FlowStats total;
  if (const OffloadedFlow* offloaded = offloaded_.Load()) offloaded->AddStats(total);
  uint64_t last_used = total.last_used_ms;
  uint64_t flags = 0;
  for (const FlowStats* stats : *stats_.Load()) {
    total.packets += stats->packets;
    total.wire_frames += stats->wire_frames;
    total.bytes += stats->bytes;
    last_used = std::max(last_used, stats->last_used_ms.Get());
    flags |= stats->tcp_flags;
  }
  total.packets.Add(-cleared_.packets.Get());
  total.wire_frames.Add(-cleared_.wire_frames.Get());
  total.bytes.Add(-cleared_.bytes.Get());
  total.last_used_ms = {};
  if (total.packets > 0) total.last_used_ms.Add(last_used);
  total.tcp_flags.Add(flags & ~total.tcp_flags.Get());
  return total;
}

void DpFlow::ClearStats() {
  FlowStats total = TotalStats();
  cleared_.packets += total.packets;
  cleared_.wire_frames += total.wire_frames;
  cleared_.bytes += total.bytes;
  // Flags are no sum to subtract from. A thread that is or-ing right now may bring an old one back; nothing is lost.
  for (FlowStats* stats : *stats_.Load()) stats->tcp_flags.Add(-stats->tcp_flags.Get());
}

// FlowTable
// ---------------------------------------------------------------------------------------------------------------

FlowTable::FlowTable(size_t thread_slots) : subtables_(new SubtableList()), thread_slots_(thread_slots) {}

FlowTable::~FlowTable() {
  Clear();
  delete subtables_.Load();
}

DpFlow* FlowTable::Lookup(const FlowKey& key, size_t slot) {
  for (Subtable* subtable : *subtables_.Load()) {
    if (DpFlow* flow = subtable->Lookup(key)) {
      subtable->CountHit(slot);
      return flow;
    }
  }
  return nullptr;
}

Ufid FlowTable::MakeUfid(const Match& match) {
  Ufid ufid;
  ufid.high = HashAdd(HashBytes(&match.key, sizeof match.key, 1), HashBytes(&match.mask, sizeof match.mask, 2));
  ufid.low = HashAdd(HashBytes(&match.key, sizeof match.key, 3), HashBytes(&match.mask, sizeof match.mask, 4));
  return ufid;
}

Subtable* FlowTable::FindOrMakeSubtable(const FlowMask& mask) {
  for (const auto& subtable : owned_subtables_) {
    if (subtable->mask() == mask) return subtable.get();
  }
  owned_subtables_.push_back(std::make_unique<Subtable>(mask));
  auto list = std::make_unique<SubtableList>(*subtables_.Load());
  list->push_back(owned_subtables_.back().get());
  subtables_.Replace(std::move(list));
  return owned_subtables_.back().get();
}

// Writers may be threads that are no RCU readers: only with the mutex held.
DpFlow* FlowTable::FindLocked(const Match& match) {
  for (const auto& subtable : owned_subtables_) {
    if (subtable->mask() == match.mask) return subtable->Lookup(match.key);
  }
  return nullptr;
}

DpFlow* FlowTable::FindLocked(const Ufid& ufid) {
  auto it = by_ufid_.find(ufid);
  return it == by_ufid_.end() ? nullptr : it->second;
}

absl::StatusOr<DpFlow*> FlowTable::Insert(const Match& match, ActionList actions, const Ufid& ufid,
                                          std::unique_ptr<FlowData> data) {
  std::lock_guard lock(mutex_);
  if (by_ufid_.contains(ufid)) {
    return AlreadyExists("flow {} exists already: modify it, or delete it first", FormatUfid(ufid));
  }
  if (FindLocked(match) != nullptr) {
    return AlreadyExists("flow {} exists already: modify it, or delete it first", FormatMatch(match, {}));
  }
  auto* flow = new DpFlow(ufid, match, std::move(actions), thread_slots_, std::move(data));
  by_ufid_[ufid] = flow;
  flow->place_ = in_order_.size();
  in_order_.push_back(flow);
  FindOrMakeSubtable(match.mask)->Insert(flow);
  flow_count_.store(by_ufid_.size(), std::memory_order_relaxed);
  return flow;
}

absl::Status FlowTable::ReplaceActions(DpFlow& flow, ActionList actions, bool clear_stats) {
  flow.actions_.Replace(std::make_unique<const ActionList>(std::move(actions)));
  if (OffloadedFlow* offloaded = flow.offloaded()) offloaded->Withdraw(/*gone=*/false);
  if (clear_stats) flow.ClearStats();
  return absl::OkStatus();
}

absl::Status FlowTable::Modify(const Match& match, ActionList actions, bool clear_stats) {
  std::lock_guard lock(mutex_);
  DpFlow* flow = FindLocked(match);
  if (flow == nullptr) return NotFound("no flow {}: add it first", FormatMatch(match, {}));
  return ReplaceActions(*flow, std::move(actions), clear_stats);
}

absl::Status FlowTable::ModifyByUfid(const Ufid& ufid, ActionList actions, bool clear_stats) {
  std::lock_guard lock(mutex_);
  auto it = by_ufid_.find(ufid);
  if (it == by_ufid_.end()) return NotFound("no flow {}: add it first", FormatUfid(ufid));
  return ReplaceActions(*it->second, std::move(actions), clear_stats);
}

FlowStats FlowTable::RemoveLocked(DpFlow* flow) {
  auto owner = std::find_if(owned_subtables_.begin(), owned_subtables_.end(),
                            [&](const auto& subtable) { return subtable->mask() == flow->mask(); });
  (*owner)->Remove(flow);
  if ((*owner)->size() == 0) {
    auto list = std::make_unique<SubtableList>(*subtables_.Load());
    std::erase(*list, owner->get());
    subtables_.Replace(std::move(list));
    RcuPostponeDelete(std::move(*owner));
    owned_subtables_.erase(owner);
  }
  if (OffloadedFlow* offloaded = flow->offloaded()) offloaded->Withdraw(/*gone=*/true);
  by_ufid_.erase(flow->ufid());
  in_order_.back()->place_ = flow->place_;
  in_order_[flow->place_] = in_order_.back();
  in_order_.pop_back();
  flow_count_.store(by_ufid_.size(), std::memory_order_relaxed);
  return flow->TotalStats();
}

// A thread that is quiescent after this sees the new generation, and its cache does not follow the flow any more.
void FlowTable::Retire(DpFlow* flow) {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  RcuPostponeDelete(std::unique_ptr<DpFlow>(flow));
}

absl::StatusOr<FlowStats> FlowTable::Remove(const Match& match) {
  std::lock_guard lock(mutex_);
  DpFlow* flow = FindLocked(match);
  if (flow == nullptr) return NotFound("no flow {}", FormatMatch(match, {}));
  FlowStats last = RemoveLocked(flow);
  Retire(flow);
  return last;
}

absl::StatusOr<FlowStats> FlowTable::RemoveByUfid(const Ufid& ufid) {
  std::lock_guard lock(mutex_);
  auto it = by_ufid_.find(ufid);
  if (it == by_ufid_.end()) return NotFound("no flow {}", FormatUfid(ufid));
  DpFlow* flow = it->second;
  FlowStats last = RemoveLocked(flow);
  Retire(flow);
  return last;
}

size_t FlowTable::Remove(absl::Span<DpFlow* const> flows) {
  auto removed = std::make_unique<std::vector<std::unique_ptr<DpFlow>>>();
  std::lock_guard lock(mutex_);
  for (DpFlow* flow : flows) {
    auto it = by_ufid_.find(flow->ufid());
    if (it == by_ufid_.end() || it->second != flow) continue;  // somebody else was faster
    RemoveLocked(flow);
    removed->emplace_back(flow);
  }
  size_t count = removed->size();
  if (count == 0) return 0;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  RcuPostponeDelete(std::move(removed));
  return count;
}

// From the last place to the first. Only places behind `from` were seen, and what moves into a hole comes from the end:
// it was seen, unless nothing before the hole was.
size_t FlowTable::Collect(size_t from, size_t max, std::vector<DpFlow*>& flows) {
  flows.clear();
  std::lock_guard lock(mutex_);
  size_t end = std::min(from, in_order_.size());
  size_t begin = end - std::min(end, max);
  flows.assign(in_order_.begin() + static_cast<ptrdiff_t>(begin), in_order_.begin() + static_cast<ptrdiff_t>(end));
  return begin;
}

// All at once: one new list, one generation, however many flows.
void FlowTable::Clear() {
  std::lock_guard lock(mutex_);
  subtables_.Replace(std::make_unique<const SubtableList>());
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (auto& subtable : owned_subtables_) RcuPostponeDelete(std::move(subtable));
  owned_subtables_.clear();
  for (auto& [ufid, flow] : by_ufid_) {
    if (OffloadedFlow* offloaded = flow->offloaded()) offloaded->Withdraw(/*gone=*/true);
    RcuPostponeDelete(std::unique_ptr<DpFlow>(flow));
  }
  by_ufid_.clear();
  in_order_.clear();
  flow_count_.store(0, std::memory_order_relaxed);
}

void FlowTable::ForEach(const std::function<void(DpFlow&)>& visit) {
  std::lock_guard lock(mutex_);
  for (auto& [ufid, flow] : by_ufid_) visit(*flow);
}

size_t FlowTable::mask_count() {
  std::lock_guard lock(mutex_);
  return owned_subtables_.size();
}

void FlowTable::SetThreadSlots(size_t thread_slots) {
  std::lock_guard lock(mutex_);
  if (thread_slots <= thread_slots_) return;
  thread_slots_ = thread_slots;
  for (auto& [ufid, flow] : by_ufid_) flow->GrowStats(thread_slots);
}

void FlowTable::Optimize() {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<uint64_t, Subtable*>> ranked;
  for (const auto& subtable : owned_subtables_) ranked.emplace_back(subtable->TakeHits(), subtable.get());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  auto list = std::make_unique<SubtableList>();
  for (const auto& [hits, subtable] : ranked) list->push_back(subtable);
  if (*list != *subtables_.Load()) subtables_.Replace(std::move(list));
}

}  // namespace sluice
