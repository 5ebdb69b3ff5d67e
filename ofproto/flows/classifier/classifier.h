// Classifier: the rules of one table, found by a flow: tuple-space search over the masks in use.
//
// Lookups visit subtables by falling rank and stop when none of the rest can hold a better rule. Readers need no lock;
// one writer at a time, under the tables' lock. What a writer changes is seen by lookups once it has called Publish()
// and a version that sees the rules is published.
#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <memory>
#include <vector>

#include "ofproto/flows/classifier/field_trie.h"
#include "ofproto/flows/classifier/rule_subtable.h"

namespace sluice {

class Classifier {
 public:
  Classifier();
  ~Classifier();
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

  // Reader, under RCU. FlowTables::Lookup() without the table.
  Rule* Lookup(TableVersion version, const OfFlow& flow, OfMask* wildcards) const;

  // Writers
  // ------------------------------------------------------------------------------------------------------------------

  // Which fields have tries of their prefixes, at most 4; those that cannot have one are passed over. Transport ports
  // have one anyway.
  static std::vector<FieldId> DefaultPrefixes();
  void SetPrefixes(const std::vector<FieldId>& fields);
  // The subtable of the mask; nullptr: there is none.
  RuleSubtable* FindSubtable(const MatchMask& mask) const;
  RuleSubtable& FindOrMakeSubtable(const MatchMask& mask);
  // The rule's match has the mask of the subtable.
  void Insert(RuleSubtable& subtable, Rule& rule);
  void Erase(Rule& rule);
  // Lets readers see new subtables and ranks, and forgets empty subtables.
  void Publish();

  size_t subtable_count() const { return subtables_.size(); }
  // Calls `visit(RuleSubtable&)` for each subtable whose mask has all bits of `mask`.
  template <typename Visit>
  void ForEachWithin(const MatchMask& mask, Visit&& visit) const {
    for (RuleSubtable* subtable : by_age_) {
      if (subtable->mask()->Covers(mask)) visit(*subtable);
    }
  }
  template <typename Visit>
  void ForEachSubtable(Visit&& visit) const {
    for (RuleSubtable* subtable : by_age_) visit(*subtable);
  }

 private:
  struct Entry {
    RuleSubtable* subtable;
    int32_t max_rank;
    std::array<uint8_t, kMaxTries> prefix_lengths;
  };
  struct View {
    std::vector<Entry> entries;     // by falling rank
    std::vector<FieldTrie*> tries;  // at most kMaxTries
  };
  class TrieChecks;
  struct ByMask {
    using is_transparent = void;
    size_t operator()(const MatchMask& mask) const { return mask.Hash(); }
    size_t operator()(const RuleSubtable* subtable) const { return subtable->mask()->Hash(); }
    bool operator()(const RuleSubtable* a, const RuleSubtable* b) const { return a == b; }
    bool operator()(const RuleSubtable* a, const MatchMask& b) const { return *a->mask() == b; }
    bool operator()(const MatchMask& a, const RuleSubtable* b) const { return a == *b->mask(); }
  };
  using Clauses = absl::InlinedVector<const Rule*, 16>;

  // The best rule that is no clause of a conjunctive match; those of these that are above it go to `*clauses` (nullptr:
  // not wanted).
  Rule* Search(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses* clauses) const;
  Rule* ResolveConjunctions(TableVersion version, const OfFlow& flow, OfMask* wildcards, Clauses& clauses,
                            Rule* hard) const;

  void NoteChange(RuleSubtable& subtable);
  void SetPrefixLengths(RuleSubtable& subtable) const;
  void CountPrefixes(const RuleSubtable& subtable, const Rule& rule, bool added);

  RcuPtr<const View> view_;
  absl::flat_hash_set<RuleSubtable*, ByMask, ByMask> subtables_;  // owned
  std::vector<RuleSubtable*> by_age_;                             // the same
  RuleSubtable* last_used_ = nullptr;                             // flow mods come in rows of one form
  std::vector<std::unique_ptr<FieldTrie>> tries_;
  std::vector<RuleSubtable*> changed_;  // since Publish(): new, empty, or of another rank
};

}  // namespace sluice
