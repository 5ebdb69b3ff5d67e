// EvictionGroups: which flow of a full table goes when another comes (Flow_Table's overflow_policy and groups, and
// OpenFlow 1.4's eviction).
//
// Flows are grouped by the values of the configured fields. Of the largest group goes the flow of least importance, and
// among those the one that expires first. Flows that never expire are not evicted. Guarded by the tables' lock.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/openflow/field.h"
#include "ofproto/flows/rule.h"

namespace sluice {

class EvictionGroups {
 public:
  explicit EvictionGroups(std::vector<Subfield> fields) : fields_(std::move(fields)) {}

  // Flows without a timeout are passed over, here and on removal.
  void Add(Rule& rule);
  void Remove(Rule& rule);
  // nullptr: no flow may go.
  Rule* Choose();

 private:
  using Urgency = std::pair<uint16_t, int64_t>;  // importance, time of expiry as known when it was put here
  struct Group {
    std::string key;
    std::set<std::pair<Urgency, Rule*>> rules;  // the first goes first
  };
  struct Member {
    Group* group;
    Urgency urgency;
  };
  static Urgency UrgencyOf(const Rule& rule);
  std::string KeyOf(const Rule& rule) const;
  void Resize(Group& group, size_t old_size);

  const std::vector<Subfield> fields_;
  std::map<std::string, Group> groups_;
  std::set<std::pair<size_t, Group*>> by_size_;
  absl::flat_hash_map<Rule*, Member> members_;
};

}  // namespace sluice
