#include "ofproto/flows/classifier/rule_subtable.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr size_t kFirstSlots = 4;

// The word that says what kind of packet it is.
constexpr size_t kTypeWord = offsetof(FlowKey, eth_type) / 8;

uint64_t TypeBits(bool with_protocol) {
  OfMask mask;
  mask.packet.eth_type = Be16(0xffff);
  if (with_protocol) mask.packet.ip_proto = 0xff;
  return mask.Word(kTypeWord);
}

}  // namespace

RuleSubtable::RuleSubtable(const MatchMask& mask)
    : mask_(std::make_shared<MatchMask>(mask)), slots_(new Slots(kFirstSlots)) {
  for (size_t stage = 0; stage < kStageCount; ++stage) {
    const size_t first = words_.size();
    for (size_t i = 0; i < mask.count; ++i) {
      const uint64_t bits = mask.mask[i] & kStageMasks[stage].Word(mask.index[i]);
      if (bits != 0) words_.push_back({bits, mask.index[i], static_cast<uint8_t>(i)});
      if (mask.index[i] == kTypeWord) {
        type_bits_ = mask.mask[i] & TypeBits(/*with_protocol=*/false);
        type_and_protocol_bits_ = mask.mask[i] & TypeBits(/*with_protocol=*/true);
      }
    }
    ends_[stage] = words_.size();
    if (words_.size() > first) {
      counts_[stage] = std::make_unique<HashCounts>();
      last_stage_ = stage;
    }
  }
  counts_[last_stage_] = nullptr;
}

RuleSubtable::~RuleSubtable() { delete slots_.Load(); }

void RuleSubtable::Unwildcard(size_t begin, size_t end, OfMask* wildcards) const {
  for (size_t i = begin; i < end; ++i) {
    wildcards->SetWord(words_[i].index, wildcards->Word(words_[i].index) | words_[i].mask);
  }
}

void RuleSubtable::UnwildcardPrerequisites(size_t stage, OfMask* wildcards) const {
  if (stage < kStageL3) return;
  const uint64_t bits = stage == kStageL4 ? type_and_protocol_bits_ : type_bits_;
  wildcards->SetWord(kTypeWord, wildcards->Word(kTypeWord) | bits);
}

Rule* RuleSubtable::Probe(const OfFlow& flow, uint32_t hash) const {
  const uint64_t tag = Tag(hash);
  const Slots& slots = *slots_.Load();
  for (size_t i = hash & slots.mask;; i = (i + 1) & slots.mask) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_acquire);
    if (slot == kFree) return nullptr;
    if (slot == kGrave || (slot & ~kAddressMask) != tag) continue;
    if (Rule* head = HeadOf(slot); head->match.Matches(flow)) return head;
  }
}

template <typename WordAt, typename AtEnd>
void RuleSubtable::HashStages(WordAt&& word_at, AtEnd&& at_end) const {
  uint64_t hash = 0;
  size_t i = 0;
  for (size_t stage = 0; stage <= last_stage_; ++stage) {
    for (; i < ends_[stage]; ++i) hash = HashAdd(hash, word_at(words_[i]) & words_[i].mask);
    if (stage == last_stage_ || counts_[stage] != nullptr) at_end(stage, HashFinish(hash));
  }
}

std::atomic<uint64_t>* RuleSubtable::FindSlot(const Rule& rule) const {
  Slots& slots = *slots_.Load();
  const uint64_t tag = Tag(rule.place.hash);
  for (size_t i = rule.place.hash & slots.mask;; i = (i + 1) & slots.mask) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_relaxed);
    if (slot == kFree) return nullptr;
    if (slot == kGrave || (slot & ~kAddressMask) != tag) continue;
    const CompactMatch& match = HeadOf(slot)->match;
    size_t equal = 0;
    while (equal < mask_->count && match.value(equal) == rule.match.value(equal)) ++equal;
    if (equal == mask_->count) return &slots.slot[i];
  }
}

void RuleSubtable::Place(Slots& slots, Rule* head) {
  size_t i = head->place.hash & slots.mask;
  while (slots.slot[i].load(std::memory_order_relaxed) != kFree) i = (i + 1) & slots.mask;
  slots.slot[i].store(reinterpret_cast<uint64_t>(head) | Tag(head->place.hash), std::memory_order_release);
}

void RuleSubtable::SetHead(std::atomic<uint64_t>& slot, Rule* head) {
  slot.store(head == nullptr ? kGrave : reinterpret_cast<uint64_t>(head) | Tag(head->place.hash),
             std::memory_order_release);
}

void RuleSubtable::Count(const Rule& rule, bool added) {
  HashStages([&](const StageWord& word) { return rule.match.value(word.position); },
             [&](size_t stage, uint32_t hash) {
               if (stage == last_stage_) return;
               added ? counts_[stage]->Add(hash) : counts_[stage]->Remove(hash);
             });
}

void RuleSubtable::FindOnly() {
  Rule* only = nullptr;
  if (list_count_ == 1) {
    const Slots& slots = *slots_.Load();
    for (size_t i = 0; only == nullptr; ++i) {
      const uint64_t slot = slots.slot[i].load(std::memory_order_relaxed);
      if (slot != kFree && slot != kGrave) only = HeadOf(slot);
    }
  }
  only_.store(only, std::memory_order_release);
}

void RuleSubtable::Insert(Rule& rule) {
  HashStages([&](const StageWord& word) { return rule.match.value(word.position); },
             [&](size_t stage, uint32_t hash) {
               if (stage == last_stage_) rule.place.hash = hash;
             });
  rule.place.subtable = this;
  if (rule.rank() > max_rank_) max_rank_count_ = 0;
  max_rank_ = std::max(max_rank_, rule.rank());
  if (rule.rank() == max_rank_) ++max_rank_count_;
  ++rule_count_;
  std::atomic<uint64_t>* slot = FindSlot(rule);
  if (slot == nullptr) {
    const size_t count = slots_.Load()->mask + 1;
    // At most half full, graves included: probes stay short. Mostly graves: the same size will do.
    if ((used_ + 1) * 2 > count) Rebuild((list_count_ + 1) * 4 > count ? count * 2 : count);
    rule.place.next.store(nullptr, std::memory_order_relaxed);
    Count(rule, /*added=*/true);
    Place(*slots_.Load(), &rule);
    ++used_;
    ++list_count_;
    if (list_count_ <= 2) FindOnly();
    return;
  }
  // Before those of its rank: the newest is the likely one to be seen.
  Rule* next = HeadOf(slot->load(std::memory_order_relaxed));
  Rule* previous = nullptr;
  while (next != nullptr && next->rank() > rule.rank()) {
    previous = next;
    next = next->place.next.load(std::memory_order_relaxed);
  }
  rule.place.next.store(next, std::memory_order_relaxed);
  if (previous != nullptr) {
    previous->place.next.store(&rule, std::memory_order_release);
  } else {
    SetHead(*slot, &rule);
    if (list_count_ == 1) only_.store(&rule, std::memory_order_release);
  }
}

// The rule keeps its `next`: a reader that stands on it goes on.
void RuleSubtable::Erase(Rule& rule) {
  --rule_count_;
  if (rule.rank() == max_rank_) --max_rank_count_;
  std::atomic<uint64_t>* slot = FindSlot(rule);
  Rule* next = rule.place.next.load(std::memory_order_relaxed);
  Rule* at = HeadOf(slot->load(std::memory_order_relaxed));
  if (at != &rule) {
    while (at->place.next.load(std::memory_order_relaxed) != &rule) at = at->place.next.load(std::memory_order_relaxed);
    at->place.next.store(next, std::memory_order_release);
    return;
  }
  SetHead(*slot, next);
  if (next != nullptr) {
    if (list_count_ == 1) only_.store(next, std::memory_order_release);
    return;
  }
  Count(rule, /*added=*/false);
  --list_count_;
  if (list_count_ <= 1) FindOnly();
}

void RuleSubtable::TightenMaxRank() {
  if (max_rank_count_ > 0) return;
  max_rank_ = kNoRank;
  ForEach([&](const Rule& rule) {
    if (rule.rank() > max_rank_) max_rank_count_ = 0;
    max_rank_ = std::max(max_rank_, rule.rank());
    if (rule.rank() == max_rank_) ++max_rank_count_;
  });
}

Rule* RuleSubtable::FindList(const OfFlow& value) const {
  uint32_t hash = 0;
  HashStages([&](const StageWord& word) { return value.Word(word.index); },
             [&](size_t, uint32_t stage_hash) { hash = stage_hash; });
  return Probe(value, hash);
}

Rule* RuleSubtable::FindExact(const OfFlow& value, int32_t rank, TableVersion version) const {
  for (Rule* rule = FindList(value); rule != nullptr; rule = rule->place.next.load(std::memory_order_relaxed)) {
    if (rule->rank() == rank && rule->VisibleIn(version)) return rule;
    if (rule->rank() < rank) break;
  }
  return nullptr;
}

void RuleSubtable::Rebuild(size_t slot_count) {
  auto next = std::make_unique<Slots>(slot_count);
  const Slots& old = *slots_.Load();
  for (size_t i = 0; i <= old.mask; ++i) {
    const uint64_t slot = old.slot[i].load(std::memory_order_relaxed);
    if (slot != kFree && slot != kGrave) Place(*next, HeadOf(slot));
  }
  used_ = list_count_;
  slots_.Replace(std::move(next));
}

}  // namespace sluice
