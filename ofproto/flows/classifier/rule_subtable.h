// RuleSubtable: all rules of one table that have the same mask.
//
// An open-addressed hash table that readers probe without a lock. A slot is one word: the address of the first of the
// rules that have one match (a list by descending rank), with 16 bits of their hash in the unused top bits. One writer
// at a time, under the tables' lock, changes slots and lists in place; what it takes out is freed after a grace period.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "ofproto/flows/classifier/hash_counts.h"
#include "ofproto/flows/classifier/stages.h"
#include "ofproto/flows/rule.h"

namespace sluice {

constexpr size_t kMaxTries = 6;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::min();

class RuleSubtable {
 public:
  explicit RuleSubtable(const MatchMask& mask);
  ~RuleSubtable();
  RuleSubtable(const RuleSubtable&) = delete;
  RuleSubtable& operator=(const RuleSubtable&) = delete;

  const std::shared_ptr<const MatchMask>& mask() const { return mask_; }
  size_t rule_count() const { return rule_count_; }

  // Readers
  // ------------------------------------------------------------------------------------------------------------------

  // The first of the rules, of any version, whose match `flow` has; nullptr: none. Sets in `*wildcards` (nullptr: not
  // wanted) enough bits to prove it to whoever has only those: all of the mask if there is one. `excludes(stage)` is
  // asked before a stage is looked at: true ends the lookup, for it has proved and written down that there is none.
  template <typename Excludes>
  Rule* Lookup(const OfFlow& flow, OfMask* wildcards, Excludes&& excludes) const;
  // Bits of a field mean something only in packets that have it: what of the mask says so, for fields of the stage.
  void UnwildcardPrerequisites(size_t stage, OfMask* wildcards) const;

  // Writers
  // ------------------------------------------------------------------------------------------------------------------

  // The classifier's notes: whether it knows that the subtable has changed;
  bool is_noted = false;
  // of each of its tries, how long a prefix of the field the mask has; 0: none.
  std::array<uint8_t, kMaxTries> prefix_lengths{};

  // An upper bound of the ranks of the rules, kNoRank if it is empty. Exact after TightenMaxRank().
  int32_t max_rank() const { return max_rank_; }
  bool max_rank_is_loose() const { return max_rank_count_ == 0; }
  void TightenMaxRank();

  void Insert(Rule& rule);
  void Erase(Rule& rule);
  // The rule with this match (of this subtable's mask) and rank that `version` sees; nullptr: none.
  Rule* FindExact(const OfFlow& value, int32_t rank, TableVersion version) const;
  // The first of the rules with this match; nullptr: none.
  Rule* FindList(const OfFlow& value) const;
  // Calls `visit(Rule&)` for each rule of any version, which must not insert or erase.
  template <typename Visit>
  void ForEach(Visit&& visit) const;

 private:
  struct StageWord {
    uint64_t mask;
    uint8_t index;     // of the flow
    uint8_t position;  // of the mask
  };
  struct Slots {
    explicit Slots(size_t count) : mask(count - 1), slot(new std::atomic<uint64_t>[count]()) {}
    const size_t mask;
    std::unique_ptr<std::atomic<uint64_t>[]> slot;
  };
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kGrave = 1;  // a place that was used: a probe goes on behind it
  static constexpr int kTagShift = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kTagShift) - 1;

  static uint64_t Tag(uint32_t hash) { return uint64_t{hash >> 16} << kTagShift; }
  static Rule* HeadOf(uint64_t slot) { return reinterpret_cast<Rule*>(slot & kAddressMask); }

  // Calls `at_end(stage, hash)` behind each stage that has words; the last gives the hash of all.
  template <typename WordAt, typename AtEnd>
  void HashStages(WordAt&& word_at, AtEnd&& at_end) const;
  // With one match only: compares it word by word. Enough to prove that a flow has not this match is one word, best one
  // that is unwildcarded already.
  template <typename Excludes>
  Rule* CompareOnly(const OfFlow& flow, Rule& only, OfMask* wildcards, Excludes&& excludes) const;
  // The words from `begin` to before `end`, in the order of the stages.
  void Unwildcard(size_t begin, size_t end, OfMask* wildcards) const;
  size_t StageOf(size_t word) const {
    size_t stage = 0;
    while (word >= ends_[stage]) ++stage;
    return stage;
  }
  Rule* Probe(const OfFlow& flow, uint32_t hash) const;
  // The slot of the list with the match of `rule`; nullptr: none.
  std::atomic<uint64_t>* FindSlot(const Rule& rule) const;
  static void Place(Slots& slots, Rule* head);
  void SetHead(std::atomic<uint64_t>& slot, Rule* head);
  void Count(const Rule& rule, bool added);
  void Rebuild(size_t slot_count);
  void FindOnly();

  const std::shared_ptr<const MatchMask> mask_;
  std::vector<StageWord> words_;            // by stage
  std::array<size_t, kStageCount> ends_{};  // of each stage's words
  size_t last_stage_ = 0;                   // the last that has words
  // The mask's bits of the Ethernet type, and of the IP protocol too.
  uint64_t type_bits_ = 0, type_and_protocol_bits_ = 0;

  RcuPtr<Slots> slots_;
  // The only list, if there is one: it is compared, not hashed.
  std::atomic<Rule*> only_{nullptr};
  // Of each stage with words that is not the last.
  std::array<std::unique_ptr<HashCounts>, kStageCount> counts_;
  size_t list_count_ = 0;
  size_t used_ = 0;  // slots that are not free
  size_t rule_count_ = 0;
  int32_t max_rank_ = kNoRank;
  size_t max_rank_count_ = 0;  // rules of that rank; 0: the bound is loose
};

template <typename Excludes>
Rule* RuleSubtable::CompareOnly(const OfFlow& flow, Rule& only, OfMask* wildcards, Excludes&& excludes) const {
  if (wildcards == nullptr) return only.match.Matches(flow) ? &only : nullptr;
  size_t differs = words_.size();
  for (size_t i = 0; i < words_.size(); ++i) {
    const StageWord& word = words_[i];
    const uint64_t difference = (flow.Word(word.index) ^ only.match.value(word.position)) & word.mask;
    if (difference == 0) continue;
    if ((difference & wildcards->Word(word.index)) != 0) return nullptr;  // it is known already
    differs = std::min(differs, i);
  }
  if (differs == words_.size()) {
    Unwildcard(0, words_.size(), wildcards);
    return &only;
  }
  const size_t stage = StageOf(differs);
  if (excludes(stage)) return nullptr;
  Unwildcard(differs, differs + 1, wildcards);
  UnwildcardPrerequisites(stage, wildcards);
  return nullptr;
}

template <typename Excludes>
Rule* RuleSubtable::Lookup(const OfFlow& flow, OfMask* wildcards, Excludes&& excludes) const {
  if (Rule* only = only_.load(std::memory_order_acquire)) return CompareOnly(flow, *only, wildcards, excludes);
  uint64_t hash = 0;
  size_t i = 0;
  for (size_t stage = 0; stage < last_stage_; ++stage) {
    if (counts_[stage] == nullptr) continue;
    if (excludes(stage)) return nullptr;
    for (; i < ends_[stage]; ++i) hash = HashAdd(hash, flow.Word(words_[i].index) & words_[i].mask);
    if (!counts_[stage]->Contains(HashFinish(hash))) {
      if (wildcards != nullptr) Unwildcard(0, i, wildcards);
      return nullptr;
    }
  }
  if (excludes(last_stage_)) return nullptr;
  for (; i < words_.size(); ++i) hash = HashAdd(hash, flow.Word(words_[i].index) & words_[i].mask);
  if (wildcards != nullptr) Unwildcard(0, words_.size(), wildcards);
  return Probe(flow, HashFinish(hash));
}

template <typename Visit>
void RuleSubtable::ForEach(Visit&& visit) const {
  const Slots& slots = *slots_.Load();
  for (size_t i = 0; i <= slots.mask; ++i) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_relaxed);
    if (slot == kFree || slot == kGrave) continue;
    for (Rule* rule = HeadOf(slot); rule != nullptr; rule = rule->place.next.load(std::memory_order_relaxed)) {
      visit(*rule);
    }
  }
}

}  // namespace sluice
