// FlowIndices: what a bridge knows of its flows beside the classifiers: by cookie, by time of expiry, by the groups and
// meters that they use, by learn actions that own what they learned. Guarded by the tables' lock.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <utility>
#include <vector>

#include "ofproto/flows/expiry_heap.h"
#include "ofproto/flows/rule.h"

namespace sluice {

// Sets Rule::has_conjunctions and its neighbours by the rule's actions.
void DescribeActions(Rule& rule);

class FlowIndices {
 public:
  using LearnedKey = std::pair<uint64_t, uint8_t>;  // cookie and table

  void Add(Rule& rule);
  // Tables and cookies of which the last learn action with "delete_learned" has gone are noted.
  void Remove(Rule& rule);

  // The first rule with the cookie, which is not 0; the others follow by place.cookie_next.
  Rule* FirstWithCookie(uint64_t cookie) const;
  std::vector<Rule*> UsersOfGroup(uint32_t group) const { return Users(groups_, group); }
  std::vector<Rule*> UsersOfMeter(uint32_t meter) const { return Users(meters_, meter); }
  uint32_t GroupUserCount(uint32_t group) const { return UserCount(groups_, group); }
  uint32_t MeterUserCount(uint32_t meter) const { return UserCount(meters_, meter); }
  // What was noted since the last call and has no owner now.
  std::vector<LearnedKey> TakeOrphans();

  ExpiryHeap expiry;

 private:
  using UserMap = absl::flat_hash_map<uint32_t, absl::flat_hash_set<Rule*>>;
  static std::vector<Rule*> Users(const UserMap& map, uint32_t id);
  static uint32_t UserCount(const UserMap& map, uint32_t id);
  void CountReferences(Rule& rule, bool added);
  void CountLearned(const Rule& rule, bool added);

  absl::flat_hash_map<uint64_t, Rule*> by_cookie_;
  UserMap groups_;
  UserMap meters_;
  absl::flat_hash_map<LearnedKey, size_t> learned_;
  std::vector<LearnedKey> orphans_;
};

}  // namespace sluice
