#include "ofproto/flows/flow_indices.h"

#include <algorithm>
#include <functional>
#include <variant>

#include "ofproto/flows/classifier/conjunctions.h"

namespace sluice {
namespace {

constexpr uint16_t kLearnDeletesLearned = 2;  // NX_LEARN_F_DELETE_LEARNED

// Calls `visit(action)` for each action, and those inside others.
template <typename Visit>
void ForEachAction(const OfActions& actions, Visit&& visit) {
  for (const OfAction& action : actions) {
    visit(action);
    if (const auto* clone = std::get_if<OfClone>(&action.value)) ForEachAction(*clone->actions, visit);
    if (const auto* write = std::get_if<OfWriteActions>(&action.value)) ForEachAction(*write->actions, visit);
  }
}

}  // namespace

void DescribeActions(Rule& rule) {
  rule.has_conjunctions = HasConjunctions(*rule.actions);
  ForEachAction(*rule.actions, [&](const OfAction& action) {
    const auto* controller = std::get_if<OfController>(&action.value);
    if (std::holds_alternative<OfGroup>(action.value) || std::holds_alternative<OfMeter>(action.value) ||
        (controller != nullptr && controller->meter_id != 0)) {
      rule.has_references = true;
    }
    const auto* learn = std::get_if<OfLearn>(&action.value);
    if (learn != nullptr && (learn->flags & kLearnDeletesLearned) != 0) rule.deletes_learned = true;
  });
}

void FlowIndices::Add(Rule& rule) {
  if (rule.cookie != 0) {
    Rule*& head = by_cookie_[rule.cookie];
    rule.place.cookie_previous = nullptr;
    rule.place.cookie_next = head;
    if (head != nullptr) head->place.cookie_previous = &rule;
    head = &rule;
  }
  expiry.Update(rule);
  if (rule.has_references) CountReferences(rule, /*added=*/true);
  if (rule.deletes_learned) CountLearned(rule, /*added=*/true);
}

void FlowIndices::Remove(Rule& rule) {
  if (rule.cookie != 0) {
    Rule* next = rule.place.cookie_next;
    Rule* previous = rule.place.cookie_previous;
    if (next != nullptr) next->place.cookie_previous = previous;
    if (previous != nullptr) {
      previous->place.cookie_next = next;
    } else if (next != nullptr) {
      by_cookie_[rule.cookie] = next;
    } else {
      by_cookie_.erase(rule.cookie);
    }
  }
  expiry.Remove(rule);
  if (rule.has_references) CountReferences(rule, /*added=*/false);
  if (rule.deletes_learned) CountLearned(rule, /*added=*/false);
}

Rule* FlowIndices::FirstWithCookie(uint64_t cookie) const {
  auto it = by_cookie_.find(cookie);
  return it == by_cookie_.end() ? nullptr : it->second;
}

void FlowIndices::CountReferences(Rule& rule, bool added) {
  auto count = [&](UserMap& map, uint32_t id) {
    auto& users = map[id];
    if (added) {
      users.insert(&rule);
    } else {
      users.erase(&rule);
      if (users.empty()) map.erase(id);
    }
  };
  ForEachAction(*rule.actions, [&](const OfAction& action) {
    if (const auto* group = std::get_if<OfGroup>(&action.value)) count(groups_, group->group);
    if (const auto* meter = std::get_if<OfMeter>(&action.value)) count(meters_, meter->meter);
    if (const auto* controller = std::get_if<OfController>(&action.value)) {
      if (controller->meter_id != 0) count(meters_, controller->meter_id);
    }
  });
}

void FlowIndices::CountLearned(const Rule& rule, bool added) {
  ForEachAction(*rule.actions, [&](const OfAction& action) {
    const auto* learn = std::get_if<OfLearn>(&action.value);
    if (learn == nullptr || (learn->flags & kLearnDeletesLearned) == 0) return;
    const LearnedKey key(learn->cookie, learn->table);
    if (added) {
      ++learned_[key];
    } else if (auto it = learned_.find(key); --it->second == 0) {
      learned_.erase(it);
      orphans_.push_back(key);
    }
  });
}

std::vector<FlowIndices::LearnedKey> FlowIndices::TakeOrphans() {
  std::vector<LearnedKey> orphans = std::exchange(orphans_, {});
  std::sort(orphans.begin(), orphans.end());
  orphans.erase(std::unique(orphans.begin(), orphans.end()), orphans.end());
  std::erase_if(orphans, [&](const LearnedKey& key) { return learned_.contains(key); });
  return orphans;
}

std::vector<Rule*> FlowIndices::Users(const UserMap& map, uint32_t id) {
  auto it = map.find(id);
  return it == map.end() ? std::vector<Rule*>() : std::vector<Rule*>(it->second.begin(), it->second.end());
}

uint32_t FlowIndices::UserCount(const UserMap& map, uint32_t id) {
  auto it = map.find(id);
  return it == map.end() ? 0 : static_cast<uint32_t>(it->second.size());
}

}  // namespace sluice
