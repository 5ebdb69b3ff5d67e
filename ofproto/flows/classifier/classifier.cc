#include "ofproto/flows/classifier/classifier.h"

#include <algorithm>
#include <utility>

#include "ofproto/flows/classifier/conjunctions.h"

namespace sluice {

Classifier::Classifier() : view_(new View) { SetPrefixes(DefaultPrefixes()); }

std::vector<FieldId> Classifier::DefaultPrefixes() {
  return {FieldId::kIpv4Dst, FieldId::kIpv4Src, FieldId::kIpv6Dst, FieldId::kIpv6Src};
}

Classifier::~Classifier() {
  delete view_.Load();
  for (RuleSubtable* subtable : subtables_) delete subtable;
}

// Readers
// ---------------------------------------------------------------------------------------------------------------------

// What the tries say of one flow; each is asked at most once.
class Classifier::TrieChecks {
 public:
  TrieChecks(const View& view, const OfFlow& flow, OfMask* wildcards)
      : view_(view), flow_(flow), wildcards_(wildcards) {}

  // Whether the subtable is known to have no match, by bits that are unwildcarded already; if none are wanted, by any.
  bool ExcludesForFree(const Entry& entry) {
    for (size_t i = 0; i < view_.tries.size(); ++i) {
      const size_t length = entry.prefix_lengths[i];
      if (length == 0 || (wildcards_ != nullptr && unwildcarded_[i] == 0)) continue;
      const TrieResult& result = Ask(i);
      if (!result.Has(length) && (wildcards_ == nullptr || std::min(result.bits, length) <= unwildcarded_[i])) {
        return true;
      }
    }
    return false;
  }

  // The same by the tries of fields of the stage, whose bits are unwildcarded then.
  bool Excludes(const Entry& entry, size_t stage) {
    for (size_t i = 0; i < view_.tries.size(); ++i) {
      const size_t length = entry.prefix_lengths[i];
      if (length == 0 || view_.tries[i]->stage() != stage) continue;
      const TrieResult& result = Ask(i);
      if (result.Has(length)) continue;
      if (wildcards_ != nullptr) {
        // Its first `length` bits decide whether the flow has a prefix of that length.
        const size_t bits = std::min(result.bits, length);
        view_.tries[i]->Unwildcard(bits, *wildcards_);
        entry.subtable->UnwildcardPrerequisites(stage, wildcards_);
        unwildcarded_[i] = std::max(unwildcarded_[i], bits);
      }
      return true;
    }
    return false;
  }

 private:
  const TrieResult& Ask(size_t i) {
    if (!asked_[i]) results_[i] = view_.tries[i]->Lookup(flow_);
    asked_[i] = true;
    return results_[i];
  }

  const View& view_;
  const OfFlow& flow_;
  OfMask* const wildcards_;
  std::array<bool, kMaxTries> asked_{};
  std::array<TrieResult, kMaxTries> results_;
  std::array<size_t, kMaxTries> unwildcarded_{};  // by this search
};

Rule* Classifier::Search(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses* clauses) const {
  Rule* best = nullptr;
  const View& view = *view_.Load();
  TrieChecks tries(view, flow, wildcards);
  for (const Entry& entry : view.entries) {
    if (best != nullptr && entry.max_rank <= best->rank()) break;
    if (tries.ExcludesForFree(entry)) continue;
    Rule* rule = entry.subtable->Lookup(flow, wildcards, [&](size_t stage) { return tries.Excludes(entry, stage); });
    for (; rule != nullptr; rule = rule->place.next.load(std::memory_order_acquire)) {
      if (best != nullptr && rule->rank() <= best->rank()) break;
      if (!rule->VisibleIn(version)) continue;
      if (rule->has_conjunctions) {
        if (clauses != nullptr) clauses->push_back(rule);
        continue;
      }
      best = rule;
      break;
    }
  }
  return best;
}

Rule* Classifier::Lookup(TableVersion version, const OfFlow& flow, OfMask* wildcards) const {
  const uint32_t conj_id_bits = wildcards != nullptr ? wildcards->conj_id : 0;
  Clauses clauses;
  Rule* best = Search(version, flow, wildcards, &clauses);
  if (!clauses.empty()) best = ResolveConjunctions(version, flow, wildcards, clauses, best);
  // It comes of this search, and of no packet.
  if (wildcards != nullptr) wildcards->conj_id = conj_id_bits;
  return best;
}

// From the highest rank down, those that are whole are tried: a second search with their id, in which clauses do not
// count.
Rule* Classifier::ResolveConjunctions(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses& clauses,
                                      Rule* hard) const {
  std::sort(clauses.begin(), clauses.end(), [](const Rule* a, const Rule* b) { return a->rank() > b->rank(); });
  for (size_t begin = 0, end; begin < clauses.size(); begin = end) {
    const int32_t rank = clauses[begin]->rank();
    if (hard != nullptr && hard->rank() >= rank) break;
    end = begin;
    while (end < clauses.size() && clauses[end]->rank() == rank) ++end;
    for (uint32_t id : WholeConjunctions({clauses.data() + begin, end - begin})) {
      OfFlow second = flow;
      second.conj_id = id;
      Rule* rule = Search(version, second, wildcards, nullptr);
      if (rule != nullptr) return rule;
    }
  }
  return hard;
}

// Writers
// ---------------------------------------------------------------------------------------------------------------------

void Classifier::SetPrefixes(const std::vector<FieldId>& fields) {
  std::vector<std::unique_ptr<FieldTrie>> tries;
  auto add = [&](FieldId field) {
    std::unique_ptr<FieldTrie> trie = FieldTrie::Make(field);
    if (trie == nullptr || tries.size() == kMaxTries) return;
    for (const auto& other : tries) {
      if (trie->IsOf(*other)) return;
    }
    tries.push_back(std::move(trie));
  };
  add(FieldId::kTcpSrc);
  add(FieldId::kTcpDst);
  for (FieldId field : fields) add(field);

  // Readers go on with the old tries, which hold what is there now, until they see the new view.
  std::swap(tries_, tries);
  for (RuleSubtable* subtable : by_age_) {
    NoteChange(*subtable);
    SetPrefixLengths(*subtable);
    subtable->ForEach([&](const Rule& rule) { CountPrefixes(*subtable, rule, /*added=*/true); });
  }
  if (by_age_.empty()) {
    auto view = std::make_unique<View>();
    for (const auto& trie : tries_) view->tries.push_back(trie.get());
    view_.Replace(std::move(view));
  }
  Publish();
  for (auto& old : tries) RcuPostponeDelete(std::move(old));
}

void Classifier::SetPrefixLengths(RuleSubtable& subtable) const {
  subtable.prefix_lengths.fill(0);
  for (size_t i = 0; i < tries_.size(); ++i) {
    subtable.prefix_lengths[i] = static_cast<uint8_t>(tries_[i]->PrefixLength(*subtable.mask()));
  }
}

void Classifier::CountPrefixes(const RuleSubtable& subtable, const Rule& rule, bool added) {
  for (size_t i = 0; i < tries_.size(); ++i) {
    const size_t length = subtable.prefix_lengths[i];
    if (length == 0) continue;
    added ? tries_[i]->Add(rule.match, length) : tries_[i]->Remove(rule.match, length);
  }
}

RuleSubtable* Classifier::FindSubtable(const MatchMask& mask) const {
  if (last_used_ != nullptr && *last_used_->mask() == mask) return last_used_;
  auto it = subtables_.find(mask);
  return it == subtables_.end() ? nullptr : *it;
}

RuleSubtable& Classifier::FindOrMakeSubtable(const MatchMask& mask) {
  RuleSubtable* subtable = FindSubtable(mask);
  if (subtable == nullptr) {
    subtable = new RuleSubtable(mask);
    subtables_.insert(subtable);
    by_age_.push_back(subtable);
    SetPrefixLengths(*subtable);
    NoteChange(*subtable);
  }
  last_used_ = subtable;
  return *subtable;
}

void Classifier::Insert(RuleSubtable& subtable, Rule& rule) {
  if (rule.rank() > subtable.max_rank()) NoteChange(subtable);
  // The tries know of a rule at least as long as a lookup can see it.
  CountPrefixes(subtable, rule, /*added=*/true);
  subtable.Insert(rule);
}

void Classifier::Erase(Rule& rule) {
  RuleSubtable& subtable = *rule.place.subtable;
  subtable.Erase(rule);
  CountPrefixes(subtable, rule, /*added=*/false);
  if (subtable.max_rank_is_loose()) NoteChange(subtable);
}

void Classifier::NoteChange(RuleSubtable& subtable) {
  if (!std::exchange(subtable.is_noted, true)) changed_.push_back(&subtable);
}

// Most changes are of one subtable among many: what stays is copied without a look at it.
void Classifier::Publish() {
  if (changed_.empty()) return;
  last_used_ = nullptr;
  const absl::flat_hash_set<const RuleSubtable*> changed(changed_.begin(), changed_.end());
  auto view = std::make_unique<View>();
  for (const auto& trie : tries_) view->tries.push_back(trie.get());
  for (const Entry& entry : view_.Load()->entries) {
    if (!changed.contains(entry.subtable)) view->entries.push_back(entry);
  }
  const auto unchanged = static_cast<ptrdiff_t>(view->entries.size());
  absl::flat_hash_set<const RuleSubtable*> empty;
  for (RuleSubtable* subtable : std::exchange(changed_, {})) {
    subtable->is_noted = false;
    subtable->TightenMaxRank();
    if (subtable->rule_count() == 0) {
      empty.insert(subtable);
    } else {
      view->entries.push_back({subtable, subtable->max_rank(), subtable->prefix_lengths});
    }
  }
  auto is_before = [](const Entry& a, const Entry& b) { return a.max_rank > b.max_rank; };
  std::stable_sort(view->entries.begin() + unchanged, view->entries.end(), is_before);
  std::inplace_merge(view->entries.begin(), view->entries.begin() + unchanged, view->entries.end(), is_before);
  view_.Replace(std::move(view));
  if (empty.empty()) return;
  std::erase_if(by_age_, [&](RuleSubtable* subtable) {
    if (!empty.contains(subtable)) return false;
    subtables_.erase(subtable);
    RcuPostponeDelete(std::unique_ptr<RuleSubtable>(subtable));
    return true;
  });
}

}  // namespace sluice
