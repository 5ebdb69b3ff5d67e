#include "ofproto/flows/flow_transaction.h"

#include <fmt/format.h>

#include "lib/base/rcu.h"

namespace sluice {
namespace {

// Of a flow mod's flags those that are a property of the flow.
constexpr uint16_t kFlowState = kSendFlowRem | kNoPacketCounts | kNoByteCounts | kHiddenFlow;

int32_t RankOf(const FlowMod& mod) { return mod.priority + ((mod.flags & kHiddenFlow) != 0 ? 0x10000 : 0); }

std::shared_ptr<RuleCounters> MakeCounters(uint16_t idle_timeout, uint16_t hard_timeout, int64_t used_ms) {
  auto counters = std::make_shared<RuleCounters>();
  counters->idle_timeout.store(idle_timeout, std::memory_order_relaxed);
  counters->hard_timeout.store(hard_timeout, std::memory_order_relaxed);
  counters->used_ms.store(used_ms, std::memory_order_relaxed);
  return counters;
}

}  // namespace

FlowTransaction::FlowTransaction(FlowTables::Impl& tables, const FlowRequester& requester)
    : tables_(tables),
      requester_(requester),
      lock_(tables.mutex),
      version_(tables.version.load(std::memory_order_relaxed) + 1),
      now_(OfClock::now()) {}

FlowTransaction::~FlowTransaction() {
  if (lock_.owns_lock()) Rollback();
}

OfStatus FlowTransaction::Run(const FlowMod& mod) {
  if ((mod.flags & kEmergency) != 0) {
    return OfFailure{OfError::kFmfcTableFull, "emergency flows are not supported: there is no table for them"};
  }
  switch (mod.command) {
    case FlowCommand::kAdd:
      return Add(mod);
    case FlowCommand::kModify:
    case FlowCommand::kModifyStrict:
      return Modify(mod);
    case FlowCommand::kDelete:
    case FlowCommand::kDeleteStrict:
      Delete(mod);
      return std::nullopt;
  }
  return OfFailure{OfError::kFmfcBadCommand,
                   fmt::format("flow mod command {} is unknown", static_cast<unsigned>(mod.command))};
}

// The commands
// ---------------------------------------------------------------------------------------------------------------------

OfStatus FlowTransaction::Add(const FlowMod& mod) {
  const uint8_t number = mod.table == kTableAll ? 0 : mod.table;
  OfTable& table = tables_.tables[number];
  touched_.set(number);
  RuleSubtable& subtable = table.classifier.FindOrMakeSubtable(MatchMask(mod.match.mask));
  Rule* old = subtable.FindExact(mod.match.value, RankOf(mod), version_);

  auto rule = std::make_shared<Rule>(CompactMatch(subtable.mask(), mod.match.value));
  rule->priority = mod.priority;
  rule->table = number;
  rule->cookie = old != nullptr && mod.new_cookie == UINT64_MAX ? old->cookie : mod.new_cookie;
  rule->importance = mod.importance;
  rule->flags = mod.flags & kFlowState;
  rule->actions = std::make_shared<const OfActions>(mod.actions);
  rule->created = now_;
  rule->modified.store(now_, std::memory_order_relaxed);
  rule->controller = requester_.controller;
  DescribeActions(*rule);

  if (old == nullptr) {
    if ((mod.flags & kCheckOverlap) != 0 && OverlapsAny(*rule)) {
      return OfFailure{OfError::kFmfcOverlap,
                       fmt::format("table {}: another flow of priority {} overlaps", number, mod.priority)};
    }
    if (table.IsFull() && !rule->hidden()) {
      if (OfStatus full = MakeRoom(number)) return full;
    }
  }
  Change change{.old = old, .now = rule.get()};
  if (old != nullptr && (mod.flags & kResetCounts) == 0) {
    rule->counters = old->counters;
    change.sets_timeouts = true;
    change.idle_timeout = mod.idle_timeout;
    change.hard_timeout = mod.hard_timeout;
  } else {
    rule->counters = MakeCounters(mod.idle_timeout, mod.hard_timeout, OfClockMs(now_));
  }
  if (old != nullptr) Hide(*old);
  Insert(*rule, subtable);
  changes_.push_back(change);
  return std::nullopt;
}

OfStatus FlowTransaction::MakeRoom(uint8_t number) {
  OfTable& table = tables_.tables[number];
  Rule* victim = table.eviction != nullptr ? table.eviction->Choose() : nullptr;
  if (victim == nullptr) {
    return OfFailure{OfError::kFmfcTableFull, fmt::format("table {} has {} flows, and its flow_limit is {}", number,
                                                          table.flow_count, *table.config.flow_limit)};
  }
  Remove(*victim, FlowRemoved::Reason::kEviction);
  return std::nullopt;
}

bool FlowTransaction::OverlapsAny(const Rule& rule) const {
  bool overlaps = false;
  tables_.tables[rule.table].classifier.ForEachSubtable([&](const RuleSubtable& subtable) {
    // Of one mask only the same match overlaps, and that flow would be replaced.
    if (overlaps || subtable.max_rank() < rule.rank() || *subtable.mask() == rule.match.mask()) return;
    subtable.ForEach([&](const Rule& other) {
      overlaps =
          overlaps || (other.rank() == rule.rank() && other.VisibleIn(version_) && other.match.Overlaps(rule.match));
    });
  });
  return overlaps;
}

std::vector<Rule*> FlowTransaction::Matching(const FlowMod& mod, bool strict, bool with_outputs) const {
  FlowCriteria criteria(mod.match);
  criteria.table = mod.table;
  criteria.cookie = mod.cookie;
  criteria.cookie_mask = mod.cookie_mask;
  criteria.hidden = (mod.flags & kHiddenFlow) != 0;
  if (with_outputs) {
    criteria.out_port = mod.out_port;
    criteria.out_group = mod.out_group;
  }
  if (!strict) return tables_.Select(criteria, version_);

  std::vector<Rule*> rules;
  const uint8_t first = mod.table == kTableAll ? 0 : mod.table;
  const uint8_t last = mod.table == kTableAll ? kMaxTable : mod.table;
  for (size_t table = first; table <= last; ++table) {
    const RuleSubtable* subtable = tables_.tables[table].classifier.FindSubtable(criteria.mask);
    if (subtable == nullptr) continue;
    Rule* rule = subtable->FindExact(mod.match.value, RankOf(mod), version_);
    if (rule != nullptr && criteria.Accepts(*rule, version_)) rules.push_back(rule);
  }
  return rules;
}

OfStatus FlowTransaction::Modify(const FlowMod& mod) {
  const std::vector<Rule*> rules = Matching(mod, mod.command == FlowCommand::kModifyStrict, /*with_outputs=*/false);
  if (rules.empty()) {
    const bool may_add = mod.cookie_mask == 0 && mod.new_cookie != UINT64_MAX;
    return may_add ? Add(mod) : std::nullopt;
  }
  const auto actions = std::make_shared<const OfActions>(mod.actions);
  for (Rule* old : rules) {
    auto rule = std::make_shared<Rule>(old->match);
    rule->priority = old->priority;
    rule->table = old->table;
    rule->cookie = mod.modify_cookie && mod.new_cookie != UINT64_MAX ? mod.new_cookie : old->cookie;
    rule->importance = old->importance;
    rule->flags = old->flags;
    rule->actions = actions;
    rule->created = old->created;
    rule->modified.store(now_, std::memory_order_relaxed);
    rule->controller = requester_.controller;
    rule->counters = old->counters;
    if ((mod.flags & kResetCounts) != 0) {
      rule->counters = MakeCounters(old->counters->idle_timeout, old->counters->hard_timeout, old->counters->used_ms);
    }
    DescribeActions(*rule);
    Hide(*old);
    Insert(*rule, *old->place.subtable);
    changes_.push_back(
        {.old = old, .now = rule.get(), .event = FlowEvent::kModified, .actions_changed = *old->actions != *actions});
  }
  return std::nullopt;
}

void FlowTransaction::Delete(const FlowMod& mod) {
  for (Rule* rule : Matching(mod, mod.command == FlowCommand::kDeleteStrict, /*with_outputs=*/true)) {
    Remove(*rule, FlowRemoved::Reason::kDelete);
  }
}

void FlowTransaction::Remove(Rule& rule, FlowRemoved::Reason reason) {
  Hide(rule);
  changes_.push_back({.old = &rule, .event = FlowEvent::kRemoved, .reason = reason});
}

// Their steps
// ---------------------------------------------------------------------------------------------------------------------

void FlowTransaction::AddToIndices(Rule& rule) {
  OfTable& table = tables_.tables[rule.table];
  tables_.indices.Add(rule);
  if (rule.hidden()) return;
  ++table.flow_count;
  ++tables_.flow_count;
  if (table.eviction != nullptr) table.eviction->Add(rule);
}

void FlowTransaction::RemoveFromIndices(Rule& rule) {
  OfTable& table = tables_.tables[rule.table];
  tables_.indices.Remove(rule);
  if (rule.hidden()) return;
  --table.flow_count;
  --tables_.flow_count;
  if (table.eviction != nullptr) table.eviction->Remove(rule);
}

void FlowTransaction::Insert(Rule& rule, RuleSubtable& subtable) {
  touched_.set(rule.table);
  rule.place.self = rule.shared_from_this();
  rule.added.store(version_, std::memory_order_release);
  tables_.tables[rule.table].classifier.Insert(subtable, rule);
  AddToIndices(rule);
}

void FlowTransaction::Hide(Rule& rule) {
  touched_.set(rule.table);
  rule.removed.store(version_, std::memory_order_release);
  RemoveFromIndices(rule);
}

void FlowTransaction::Publish() {
  for (size_t table = 0; table < kTableCount; ++table) {
    if (touched_[table]) tables_.tables[table].classifier.Publish();
  }
}

void FlowTransaction::Rollback() {
  auto gone = std::make_unique<std::vector<RulePtr>>();
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (Rule* rule = change->now) {
      RemoveFromIndices(*rule);
      rule->removed.store(version_, std::memory_order_release);
      tables_.tables[rule->table].classifier.Erase(*rule);
      gone->push_back(std::move(rule->place.self));
    }
    if (Rule* rule = change->old) {
      rule->removed.store(kNeverRemoved, std::memory_order_release);
      AddToIndices(*rule);
    }
  }
  changes_.clear();
  tables_.indices.TakeOrphans();
  Publish();
  // A reader may stand on one, though it does not see it.
  if (!gone->empty()) RcuPostponeDelete(std::move(gone));
}

// What was learned goes when the last flow that taught it has gone; that may be one that had learned itself.
void FlowTransaction::RemoveOrphans() {
  for (auto orphans = tables_.indices.TakeOrphans(); !orphans.empty(); orphans = tables_.indices.TakeOrphans()) {
    for (const auto& [cookie, table] : orphans) {
      FlowCriteria criteria{OfMatch{}};
      criteria.table = table;
      criteria.cookie = cookie;
      criteria.cookie_mask = UINT64_MAX;
      for (Rule* rule : tables_.Select(criteria, version_)) Remove(*rule, FlowRemoved::Reason::kDelete);
    }
  }
}

std::vector<FlowNotice> FlowTransaction::MakeNotices() const {
  std::vector<FlowNotice> notices;
  for (const Change& change : changes_) {
    Rule& rule = change.now != nullptr ? *change.now : *change.old;
    if (rule.hidden()) continue;
    if (change.event == FlowEvent::kModified && !change.actions_changed && rule.cookie == change.old->cookie) continue;
    notices.push_back({change.event, rule.shared_from_this(), change.reason, change.actions_changed,
                       requester_.controller, requester_.xid});
  }
  return notices;
}

std::vector<OfTableStatus> FlowTransaction::MakeVacancyEvents() {
  constexpr uint8_t kVacancyDown = 3, kVacancyUp = 4;  // OFPTR_VACANCY_DOWN, OFPTR_VACANCY_UP
  std::vector<OfTableStatus> events;
  for (size_t number = 0; number < kTableCount; ++number) {
    OfTable& table = tables_.tables[number];
    if (!touched_[number] || (table.of_config & kTableVacancy) == 0 || !table.config.flow_limit.has_value()) continue;
    const bool is_vacant = table.is_vacant ? table.vacancy() >= table.vacancy_down : table.vacancy() > table.vacancy_up;
    if (is_vacant == std::exchange(table.is_vacant, is_vacant)) continue;
    events.push_back({is_vacant ? kVacancyUp : kVacancyDown, table.Describe(static_cast<uint8_t>(number))});
  }
  return events;
}

void FlowTransaction::Commit() {
  RemoveOrphans();
  if (changes_.empty()) {
    Publish();
    lock_.unlock();
    return;
  }
  std::vector<Rule*> old;
  for (const Change& change : changes_) {
    if (change.old != nullptr) old.push_back(change.old);
    if (!change.sets_timeouts) continue;
    RuleCounters& counters = *change.now->counters;
    counters.idle_timeout.store(change.idle_timeout, std::memory_order_relaxed);
    counters.hard_timeout.store(change.hard_timeout, std::memory_order_relaxed);
    counters.used_ms.store(OfClockMs(now_), std::memory_order_relaxed);
    if (change.now->removed.load(std::memory_order_relaxed) == kNeverRemoved) tables_.Reschedule(*change.now);
  }
  Publish();
  tables_.version.store(version_, std::memory_order_release);
  std::vector<FlowNotice> notices;
  if (tables_.on_change) notices = MakeNotices();
  const std::vector<OfTableStatus> vacancy_events = MakeVacancyEvents();
  tables_.Retire(std::move(old));
  lock_.unlock();
  if (tables_.on_new_version) tables_.on_new_version();
  if (!notices.empty()) tables_.on_change(notices);
  for (const OfTableStatus& event : vacancy_events) {
    if (tables_.on_table_status) tables_.on_table_status(event);
  }
}

}  // namespace sluice
