// What FlowTables is made of. Only its own .cc files include this.
#pragma once

#include <absl/types/span.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "ofproto/flows/classifier/classifier.h"
#include "ofproto/flows/eviction.h"
#include "ofproto/flows/flow_indices.h"
#include "ofproto/flows/flow_tables.h"

namespace sluice {

constexpr size_t kTableCount = size_t{kMaxTable} + 1;

struct OfTable {
  // Without hidden flows.
  bool IsFull() const { return config.flow_limit.has_value() && flow_count >= *config.flow_limit; }
  // Percent of the flow_limit that is free; 0 if there is no limit.
  uint8_t vacancy() const {
    if (config.flow_limit.value_or(0) == 0) return 0;
    const size_t limit = *config.flow_limit;
    return static_cast<uint8_t>((limit - std::min(limit, flow_count)) * 100 / limit);
  }
  OfTableDesc Describe(uint8_t number) const;
  bool Evicts() const { return config.evict || (of_config & kTableEviction) != 0; }

  Classifier classifier;
  mutable std::atomic<uint64_t> lookups{0}, matches{0};
  std::atomic<int> miss{-1};

  // Guarded by the tables' lock.
  size_t flow_count = 0;  // hidden ones not
  FlowTableConfig config;
  uint32_t of_config = 0;  // kTableEviction, kTableVacancy
  uint8_t vacancy_down = 0, vacancy_up = 0;
  bool is_vacant = true;                     // the last vacancy event, if there was one, was "up"
  std::unique_ptr<EvictionGroups> eviction;  // if it evicts
};

// Which rules a request means.
struct FlowCriteria {
  explicit FlowCriteria(const OfMatch& match) : mask(match.mask), value(match.value) {}

  MatchMask mask;
  OfFlow value;
  uint8_t table = kTableAll;
  uint64_t cookie = 0, cookie_mask = 0;
  OfPort out_port = kOfpNone;
  uint32_t out_group = kGroupAny;
  bool hidden = false;  // means only hidden flows, else only others

  // All but the match.
  bool Accepts(const Rule& rule, TableVersion version) const;
};

struct FlowTables::Impl : std::enable_shared_from_this<FlowTables::Impl> {
  ~Impl();

  // The rules that `version` sees, loosely.
  std::vector<Rule*> Select(const FlowCriteria& criteria, TableVersion version) const;
  // After its timeouts have changed.
  void Reschedule(Rule& rule);
  // Takes the rules, which no version from now on sees, out of the classifiers after a grace period.
  void Retire(std::vector<Rule*> rules);
  void TakeOutRetired();

  mutable std::mutex mutex;
  std::array<OfTable, kTableCount> tables;
  std::atomic<TableVersion> version{1};

  // Set before flows are.
  std::function<void(absl::Span<const FlowNotice>)> on_change;
  std::function<void()> on_new_version;
  std::function<void(const OfTableStatus&)> on_table_status;

  // Guarded by `mutex`.
  FlowIndices indices;
  size_t flow_count = 0;
  std::vector<Rule*> retiring;  // a grace period is running for these,
  std::vector<Rule*> retired;   // and one for these comes after it
  bool grace_period_is_running = false;
};

}  // namespace sluice
