#include "ofproto/flows/eviction.h"

#include "ofproto/flows/expiry_heap.h"

namespace sluice {

EvictionGroups::Urgency EvictionGroups::UrgencyOf(const Rule& rule) { return {rule.importance, ExpiryOf(rule)}; }

std::string EvictionGroups::KeyOf(const Rule& rule) const {
  std::string key;
  if (fields_.empty()) return key;
  const OfMatch match = rule.match;
  for (const Subfield& field : fields_) {
    const SubValue value = ReadSubfield(field, match.value);
    key.append(value.begin(), value.end());
  }
  return key;
}

void EvictionGroups::Resize(Group& group, size_t old_size) {
  by_size_.erase({old_size, &group});
  if (group.rules.empty()) {
    groups_.erase(group.key);
  } else {
    by_size_.insert({group.rules.size(), &group});
  }
}

void EvictionGroups::Add(Rule& rule) {
  const Urgency urgency = UrgencyOf(rule);
  if (urgency.second == kNeverMs) return;
  const std::string key = KeyOf(rule);
  Group& group = groups_[key];
  group.key = key;
  group.rules.insert({urgency, &rule});
  Resize(group, group.rules.size() - 1);
  members_[&rule] = {&group, urgency};
}

void EvictionGroups::Remove(Rule& rule) {
  auto it = members_.find(&rule);
  if (it == members_.end()) return;
  const Member member = it->second;
  members_.erase(it);
  member.group->rules.erase({member.urgency, &rule});
  Resize(*member.group, member.group->rules.size() + 1);
}

// Packets have moved the expiry of some to later times: these take their new places until the first is right.
Rule* EvictionGroups::Choose() {
  if (by_size_.empty()) return nullptr;
  Group& group = *by_size_.rbegin()->second;
  while (true) {
    auto [urgency, rule] = *group.rules.begin();
    const Urgency now = UrgencyOf(*rule);
    if (now <= urgency) return rule;
    group.rules.erase(group.rules.begin());
    group.rules.insert({now, rule});
    members_[rule].urgency = now;
  }
}

}  // namespace sluice
