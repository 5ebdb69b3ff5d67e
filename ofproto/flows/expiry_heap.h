// ExpiryHeap: the rules that have a timeout, by the time when they may expire.
//
// A rule's place is a lower bound: packets move its idle timeout later without telling. Whoever takes the first looks
// at the rule, and puts it back with its true time if that is later. Guarded by the tables' lock.
#pragma once

#include <vector>

#include "ofproto/flows/rule.h"

namespace sluice {

constexpr int64_t kNeverMs = INT64_MAX;

// When the rule expires by what is known now, in OfClock milliseconds; kNeverMs if it has no timeout.
int64_t ExpiryOf(const Rule& rule);
// Of the two timeouts the one that runs out first.
bool ExpiresIdle(const Rule& rule);

class ExpiryHeap {
 public:
  // Puts the rule where ExpiryOf() says: adds, moves or removes it.
  void Update(Rule& rule) { Set(rule, ExpiryOf(rule)); }
  void Remove(Rule& rule) { Set(rule, kNeverMs); }

  bool empty() const { return heap_.empty(); }
  Rule& first() const { return *heap_[0].rule; }
  int64_t first_time() const { return heap_.empty() ? kNeverMs : heap_[0].time; }

 private:
  struct Entry {
    int64_t time;
    Rule* rule;
  };
  void Set(Rule& rule, int64_t time);
  void Put(size_t i, Entry entry);
  void Sift(size_t i);

  std::vector<Entry> heap_;
};

}  // namespace sluice
