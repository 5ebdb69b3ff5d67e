#include "ofproto/flows/classifier/classifier.h"

#include <algorithm>

#include "ofproto/flows/classifier/conjunctions.h"

namespace sluice {

Classifier::Classifier() : view_(new View) {}

Classifier::~Classifier() {
  delete view_.Load();
  for (RuleSubtable* subtable : subtables_) delete subtable;
}

// Readers
// ---------------------------------------------------------------------------------------------------------------------

Rule* Classifier::Search(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses* clauses) const {
  Rule* best = nullptr;
  for (const Entry& entry : view_.Load()->entries) {
    if (best != nullptr && entry.max_rank <= best->rank()) break;
    Rule* rule = entry.subtable->Lookup(flow, wildcards, [](size_t) { return true; });
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
  Clauses clauses;
  Rule* best = Search(version, flow, wildcards, &clauses);
  if (clauses.empty()) return best;
  return ResolveConjunctions(version, flow, wildcards, clauses, best);
}

// From the highest rank down, those that are whole are tried: a second search with their id, in which clauses do not
// count.
Rule* Classifier::ResolveConjunctions(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses& clauses,
                                      Rule* hard) const {
  std::sort(clauses.begin(), clauses.end(), [](const Rule* a, const Rule* b) { return a->rank() > b->rank(); });
  const uint32_t looked_at = wildcards != nullptr ? wildcards->conj_id : 0;
  for (size_t begin = 0, end; begin < clauses.size(); begin = end) {
    const int32_t rank = clauses[begin]->rank();
    if (hard != nullptr && hard->rank() >= rank) break;
    end = begin;
    while (end < clauses.size() && clauses[end]->rank() == rank) ++end;
    for (uint32_t id : WholeConjunctions({clauses.data() + begin, end - begin})) {
      OfFlow second = flow;
      second.conj_id = id;
      Rule* rule = Search(version, second, wildcards, nullptr);
      // The id came of the search above, not of the packet.
      if (wildcards != nullptr) wildcards->conj_id = looked_at;
      if (rule != nullptr) return rule;
    }
  }
  return hard;
}

// Writers
// ---------------------------------------------------------------------------------------------------------------------

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
    changed_ = true;
  }
  last_used_ = subtable;
  return *subtable;
}

void Classifier::Insert(RuleSubtable& subtable, Rule& rule) {
  if (rule.rank() > subtable.max_rank()) changed_ = true;
  subtable.Insert(rule);
}

void Classifier::Erase(Rule& rule) {
  RuleSubtable& subtable = *rule.place.subtable;
  subtable.Erase(rule);
  if (subtable.max_rank_is_loose()) changed_ = true;
}

void Classifier::Publish() {
  if (!changed_) return;
  changed_ = false;
  last_used_ = nullptr;
  auto view = std::make_unique<View>();
  std::vector<std::unique_ptr<RuleSubtable>> empty;
  for (RuleSubtable* subtable : by_age_) {
    subtable->TightenMaxRank();
    if (subtable->rule_count() == 0) {
      empty.emplace_back(subtable);
    } else {
      view->entries.push_back({subtable, subtable->max_rank()});
    }
  }
  // Of equal ranks the older first.
  std::stable_sort(view->entries.begin(), view->entries.end(),
                   [](const Entry& a, const Entry& b) { return a.max_rank > b.max_rank; });
  view_.Replace(std::move(view));
  std::erase_if(by_age_, [](const RuleSubtable* subtable) { return subtable->rule_count() == 0; });
  for (auto& subtable : empty) {
    subtables_.erase(subtable.get());
    RcuPostponeDelete(std::move(subtable));
  }
}

}  // namespace sluice
