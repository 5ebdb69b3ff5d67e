#include "ofproto/flows/flow_tables.h"

#include <algorithm>

#include "lib/base/rcu.h"
#include "ofproto/flows/flow_transaction.h"

namespace sluice {

// The inside
// ---------------------------------------------------------------------------------------------------------------------

FlowTables::Impl::~Impl() {
  // Rules in the tables own themselves.
  std::vector<RulePtr> rules;
  for (OfTable& table : tables) {
    table.classifier.ForEachSubtable([&](RuleSubtable& subtable) {
      subtable.ForEach([&](Rule& rule) { rules.push_back(std::move(rule.place.self)); });
    });
  }
}

// By what is cheapest to ask first.
bool FlowCriteria::Accepts(const Rule& rule, TableVersion version) const {
  return rule.VisibleIn(version) && (table == kTableAll || rule.table == table) && rule.hidden() == hidden &&
         ((rule.cookie ^ cookie) & cookie_mask) == 0 &&
         (out_port == kOfpNone || OutputsToPort(*rule.actions, out_port)) &&
         (out_group == kGroupAny || OutputsToGroup(*rule.actions, out_group));
}

std::vector<Rule*> FlowTables::Impl::Select(const FlowCriteria& criteria, TableVersion of_version) const {
  std::vector<Rule*> rules;
  auto consider = [&](Rule& rule) {
    if (criteria.Accepts(rule, of_version) && rule.match.IsWithin(criteria.mask, criteria.value)) {
      rules.push_back(&rule);
    }
  };
  if (criteria.cookie_mask == UINT64_MAX && criteria.cookie != 0) {
    for (Rule* rule = indices.FirstWithCookie(criteria.cookie); rule != nullptr; rule = rule->place.cookie_next) {
      consider(*rule);
    }
    return rules;
  }
  const size_t first = criteria.table == kTableAll ? 0 : criteria.table;
  const size_t last = criteria.table == kTableAll ? kMaxTable : criteria.table;
  for (size_t table = first; table <= last; ++table) {
    tables[table].classifier.ForEachWithin(criteria.mask, [&](RuleSubtable& subtable) {
      if (!(*subtable.mask() == criteria.mask)) return subtable.ForEach(consider);
      // No other match of this mask is within.
      for (Rule* rule = subtable.FindList(criteria.value); rule != nullptr; rule = rule->place.next.load()) {
        consider(*rule);
      }
    });
  }
  return rules;
}

void FlowTables::Impl::Reschedule(Rule& rule) {
  indices.expiry.Update(rule);
  EvictionGroups* eviction = tables[rule.table].eviction.get();
  if (eviction == nullptr || rule.hidden()) return;
  eviction->Remove(rule);
  eviction->Add(rule);
}

// Readers that look with the version before may see them until they are quiescent.
void FlowTables::Impl::Retire(std::vector<Rule*> rules) {
  if (rules.empty()) return;
  if (grace_period_is_running) {
    retired.insert(retired.end(), rules.begin(), rules.end());
    return;
  }
  grace_period_is_running = true;
  retiring = std::move(rules);
  RcuPostpone([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->TakeOutRetired();
  });
}

// In the thread that grace periods end in. Others get their turn with the lock every thousand rules.
void FlowTables::Impl::TakeOutRetired() {
  constexpr size_t kAtOnce = 1000;
  auto gone = std::make_unique<std::vector<RulePtr>>();
  std::array<bool, kTableCount> touched{};
  for (bool more = true; more;) {
    std::lock_guard lock(mutex);
    for (size_t i = 0; i < kAtOnce && !retiring.empty(); ++i) {
      Rule& rule = *retiring.back();
      retiring.pop_back();
      tables[rule.table].classifier.Erase(rule);
      touched[rule.table] = true;
      gone->push_back(std::move(rule.place.self));
    }
    more = !retiring.empty();
    if (more) continue;
    for (size_t table = 0; table < kTableCount; ++table) {
      if (touched[table]) tables[table].classifier.Publish();
    }
    RcuPostponeDelete(std::move(gone));
    grace_period_is_running = false;
    Retire(std::exchange(retired, {}));
  }
}

// Readers
// ---------------------------------------------------------------------------------------------------------------------

FlowTables::FlowTables() : impl_(std::make_shared<Impl>()) {}
FlowTables::~FlowTables() = default;

TableVersion FlowTables::version() const { return impl_->version.load(std::memory_order_acquire); }

RulePtr FlowTables::Lookup(TableVersion version, uint8_t table, const OfFlow& flow, OfMask* wildcards) const {
  if (table > kMaxTable) return nullptr;
  Rule* rule = impl_->tables[table].classifier.Lookup(version, flow, wildcards);
  return rule != nullptr ? rule->shared_from_this() : nullptr;
}

void FlowTables::CountLookup(uint8_t table, bool matched, uint64_t packets) const {
  if (table > kMaxTable) return;
  impl_->tables[table].lookups.fetch_add(packets, std::memory_order_relaxed);
  if (matched) impl_->tables[table].matches.fetch_add(packets, std::memory_order_relaxed);
}

int FlowTables::miss_handling(uint8_t table) const {
  return table > kMaxTable ? -1 : impl_->tables[table].miss.load(std::memory_order_relaxed);
}

// Writers
// ---------------------------------------------------------------------------------------------------------------------

OfStatus FlowTables::Apply(const FlowMod& mod, const FlowRequester& requester) {
  FlowTransaction transaction(*impl_, requester);
  if (OfStatus failure = transaction.Run(mod)) return failure;
  transaction.Commit();
  return std::nullopt;
}

OfStatus FlowTables::ApplyAll(absl::Span<const FlowMod> mods, const FlowRequester& requester, size_t* failed) {
  FlowTransaction transaction(*impl_, requester);
  for (size_t i = 0; i < mods.size(); ++i) {
    if (OfStatus failure = transaction.Run(mods[i])) {
      if (failed != nullptr) *failed = i;
      return failure;
    }
  }
  transaction.Commit();
  return std::nullopt;
}

bool FlowTables::Learn(const FlowMod& mod, uint32_t limit, OfClock::time_point now) {
  FlowTransaction transaction(*impl_, {});
  const uint8_t number = mod.table == kTableAll ? 0 : mod.table;
  const OfTable& table = impl_->tables[number];
  const RuleSubtable* subtable = table.classifier.FindSubtable(MatchMask(mod.match.mask));
  Rule* rule =
      subtable != nullptr ? subtable->FindExact(mod.match.value, mod.priority, transaction.version()) : nullptr;
  if (rule != nullptr && rule->cookie == mod.new_cookie && rule->counters->idle_timeout == mod.idle_timeout &&
      rule->counters->hard_timeout == mod.hard_timeout && rule->importance == mod.importance &&
      ((rule->flags ^ mod.flags) & kSendFlowRem) == 0 && *rule->actions == mod.actions) {
    rule->modified.store(now, std::memory_order_relaxed);
    return true;
  }
  if (rule == nullptr && limit != 0) {
    FlowCriteria criteria{OfMatch{}};
    criteria.table = number;
    criteria.cookie = mod.new_cookie;
    criteria.cookie_mask = UINT64_MAX;
    if (impl_->Select(criteria, transaction.version()).size() >= limit) return false;
  }
  if (transaction.Run(mod)) return false;
  transaction.Commit();
  return true;
}

OfClock::time_point FlowTables::Expire(OfClock::time_point now) {
  const int64_t now_ms = OfClockMs(now);
  FlowTransaction transaction(*impl_, {});
  ExpiryHeap& heap = impl_->indices.expiry;
  while (heap.first_time() <= now_ms) {
    Rule& rule = heap.first();
    if (ExpiryOf(rule) > now_ms) {
      heap.Update(rule);
      continue;
    }
    transaction.Remove(rule, ExpiresIdle(rule) ? FlowRemoved::Reason::kIdle : FlowRemoved::Reason::kHard);
  }
  const int64_t next = heap.first_time();
  transaction.Commit();
  return next == kNeverMs ? OfClock::time_point::max() : OfClock::time_point(std::chrono::milliseconds(next));
}

void FlowTables::Flush() {
  FlowTransaction transaction(*impl_, {});
  for (Rule* rule : impl_->Select(FlowCriteria(OfMatch{}), transaction.version())) {
    transaction.Remove(*rule, FlowRemoved::Reason::kDelete);
  }
  transaction.Commit();
}

void FlowTables::RemoveUsersOfGroup(uint32_t group) {
  FlowTransaction transaction(*impl_, {});
  for (Rule* rule : impl_->indices.UsersOfGroup(group)) {
    transaction.Remove(*rule, FlowRemoved::Reason::kGroupDelete);
  }
  transaction.Commit();
}

void FlowTables::RemoveUsersOfMeter(uint32_t meter) {
  FlowTransaction transaction(*impl_, {});
  for (Rule* rule : impl_->indices.UsersOfMeter(meter)) {
    transaction.Remove(*rule, FlowRemoved::Reason::kMeterDelete);
  }
  transaction.Commit();
}

void FlowTables::ShortenTimeouts(Rule& rule, uint16_t idle_timeout, uint16_t hard_timeout) {
  auto is_longer = [](const std::atomic<uint16_t>& timeout, uint16_t limit) {
    const uint16_t seconds = timeout.load(std::memory_order_relaxed);
    return limit != 0 && (seconds == 0 || seconds > limit);
  };
  RuleCounters& counters = *rule.counters;
  if (!is_longer(counters.idle_timeout, idle_timeout) && !is_longer(counters.hard_timeout, hard_timeout)) return;
  std::lock_guard lock(impl_->mutex);
  if (is_longer(counters.idle_timeout, idle_timeout)) counters.idle_timeout.store(idle_timeout);
  if (is_longer(counters.hard_timeout, hard_timeout)) counters.hard_timeout.store(hard_timeout);
  if (rule.removed.load(std::memory_order_relaxed) == kNeverRemoved) impl_->Reschedule(rule);
}

}  // namespace sluice
