// What is asked of the tables, and how they are configured.
#include <fmt/format.h>

#include <algorithm>

#include "ofproto/flows/flow_tables.h"
#include "ofproto/flows/flow_transaction.h"

namespace sluice {
namespace {

// What tables without a flow_limit say that they hold.
constexpr uint32_t kMaxEntries = 1'000'000;
constexpr uint32_t kEvictionFlags = 7;  // OFPTMPEF_OTHER, IMPORTANCE, LIFETIME
constexpr uint32_t kMissMask = 3;       // OFPTC11_TABLE_MISS_MASK

int WholeSeconds(OfClock::duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// After what decides about eviction has changed.
void SetUpEviction(OfTable& table) {
  table.eviction = nullptr;
  if (!table.Evicts()) return;
  table.eviction = std::make_unique<EvictionGroups>(table.config.eviction_groups);
  table.classifier.ForEachSubtable([&](RuleSubtable& subtable) {
    subtable.ForEach([&](Rule& rule) {
      if (rule.removed.load(std::memory_order_relaxed) == kNeverRemoved && !rule.hidden()) table.eviction->Add(rule);
    });
  });
}

}  // namespace

std::vector<RulePtr> FlowTables::Collect(const FlowStatsRequest& request, bool hidden) const {
  FlowCriteria criteria(request.match);
  criteria.table = request.table;
  criteria.cookie = request.cookie;
  criteria.cookie_mask = request.cookie_mask;
  criteria.out_port = request.out_port;
  criteria.out_group = request.out_group;
  criteria.hidden = hidden;
  std::vector<RulePtr> rules;
  {
    std::lock_guard lock(impl_->mutex);
    for (Rule* rule : impl_->Select(criteria, impl_->version.load(std::memory_order_relaxed))) {
      rules.push_back(rule->place.self);
    }
  }
  // What was found by cookie comes in the order of addition.
  std::stable_sort(rules.begin(), rules.end(), [](const RulePtr& a, const RulePtr& b) { return a->table < b->table; });
  return rules;
}

OfFlowStats FlowTables::StatsOf(const Rule& rule, OfClock::time_point now) const {
  OfFlowStats stats;
  stats.match = rule.match;
  stats.priority = rule.priority;
  stats.cookie = rule.cookie;
  stats.table = rule.table;
  stats.idle_timeout = rule.counters->idle_timeout.load(std::memory_order_relaxed);
  stats.hard_timeout = rule.counters->hard_timeout.load(std::memory_order_relaxed);
  stats.importance = rule.importance;
  stats.flags = rule.flags & static_cast<uint16_t>(~kHiddenFlow);
  stats.duration = std::max(now - rule.created, OfClock::duration(0));
  const int64_t idle_ms = OfClockMs(now) - rule.counters->used_ms.load(std::memory_order_relaxed);
  stats.idle_age = static_cast<int>(std::max<int64_t>(idle_ms, 0) / 1000);
  stats.hard_age = std::max(WholeSeconds(now - rule.modified.load(std::memory_order_relaxed)), 0);
  stats.packets = rule.counters->packets.load(std::memory_order_relaxed);
  stats.bytes = rule.counters->bytes.load(std::memory_order_relaxed);
  stats.actions = *rule.actions;
  return stats;
}

size_t FlowTables::flow_count() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->flow_count;
}

size_t FlowTables::flow_count(uint8_t table) const {
  if (table > kMaxTable) return 0;
  std::lock_guard lock(impl_->mutex);
  return impl_->tables[table].flow_count;
}

uint32_t FlowTables::group_users(uint32_t group) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->indices.GroupUserCount(group);
}

uint32_t FlowTables::meter_users(uint32_t meter) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->indices.MeterUserCount(meter);
}

OfTableStats FlowTables::table_stats(uint8_t number) const {
  OfTableStats stats;
  stats.table = number;
  if (number > kMaxTable) return stats;
  std::lock_guard lock(impl_->mutex);
  const OfTable& table = impl_->tables[number];
  stats.name = table.config.name;
  if (stats.name.empty()) stats.name = number == 0 ? "classifier" : fmt::format("table{}", number);
  stats.active = static_cast<uint32_t>(table.flow_count);
  stats.lookups = table.lookups.load(std::memory_order_relaxed);
  stats.matches = table.matches.load(std::memory_order_relaxed);
  stats.max_entries = std::min(kMaxEntries, table.config.flow_limit.value_or(kMaxEntries));
  return stats;
}

void FlowTables::Configure(uint8_t number, const FlowTableConfig& config) {
  if (number > kMaxTable) return;
  FlowTransaction transaction(*impl_, {});
  OfTable& table = impl_->tables[number];
  const bool other_prefixes =
      config.has_prefixes != table.config.has_prefixes || config.prefixes != table.config.prefixes;
  table.config = config;
  if (other_prefixes)
    table.classifier.SetPrefixes(config.has_prefixes ? config.prefixes : Classifier::DefaultPrefixes());
  SetUpEviction(table);
  // A lower limit holds at once for what may go.
  while (table.config.flow_limit.has_value() && table.flow_count > *table.config.flow_limit) {
    Rule* victim = table.eviction != nullptr ? table.eviction->Choose() : nullptr;
    if (victim == nullptr) break;
    transaction.Remove(*victim, FlowRemoved::Reason::kEviction);
  }
  transaction.Commit();
}

const FlowTableConfig& FlowTables::config(uint8_t table) const {
  static const FlowTableConfig none;
  return table > kMaxTable ? none : impl_->tables[table].config;
}

OfStatus FlowTables::SetTableConfig(const OfTableMod& mod) {
  if (mod.vacancy_down > 100 || mod.vacancy_up > 100 || mod.vacancy_down > mod.vacancy_up) {
    return OfFailure{
        OfError::kBpcBadValue,
        fmt::format("table {}: vacancy from {} to {} percent: down is to be at most up, and up at most 100", mod.table,
                    mod.vacancy_down, mod.vacancy_up)};
  }
  const size_t first = mod.table == kTableAll ? 0 : mod.table;
  const size_t last = mod.table == kTableAll ? kMaxTable : mod.table;
  std::lock_guard lock(impl_->mutex);
  for (size_t i = first; i <= last; ++i) {
    OfTable& table = impl_->tables[i];
    if (mod.miss >= 0) {
      table.miss.store(mod.miss, std::memory_order_relaxed);
      continue;
    }
    const bool evicted = table.Evicts();
    table.of_config = mod.config & (kTableEviction | kTableVacancy);
    if ((mod.config & kTableVacancy) != 0) {
      table.vacancy_down = mod.vacancy_down;
      table.vacancy_up = mod.vacancy_up;
      table.is_vacant = !table.config.flow_limit.has_value() || table.vacancy() >= mod.vacancy_up;
    }
    if (table.Evicts() != evicted) SetUpEviction(table);
  }
  return std::nullopt;
}

OfTableDesc OfTable::Describe(uint8_t number) const {
  OfTableDesc desc;
  desc.table = number;
  desc.config = of_config | (static_cast<uint32_t>(std::max(miss.load(std::memory_order_relaxed), 0)) & kMissMask);
  desc.eviction_flags = kEvictionFlags;
  desc.vacancy_down = vacancy_down;
  desc.vacancy_up = vacancy_up;
  desc.vacancy = vacancy();
  return desc;
}

OfTableDesc FlowTables::table_desc(uint8_t number) const {
  if (number > kMaxTable) return {.table = number};
  std::lock_guard lock(impl_->mutex);
  return impl_->tables[number].Describe(number);
}

void FlowTables::OnTableStatus(std::function<void(const OfTableStatus&)> callback) {
  impl_->on_table_status = std::move(callback);
}

void FlowTables::OnChange(std::function<void(absl::Span<const FlowNotice>)> callback) {
  impl_->on_change = std::move(callback);
}

void FlowTables::OnNewVersion(std::function<void()> callback) { impl_->on_new_version = std::move(callback); }

}  // namespace sluice
