// FlowTables: the 255 flow tables of one bridge.
//
// Readers (threads that translate, RCU readers) look up without a lock. Writers are serialised by a mutex inside: the
// main thread for OpenFlow, and translating threads for the learn action. A change is prepared under the next version
// and published by one store, so that a flow mod or a whole bundle is seen at once or not at all.
#pragma once

#include <absl/types/span.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/openflow/flow_mod.h"
#include "lib/openflow/message.h"
#include "ofproto/flows/rule.h"

namespace sluice {

// The Flow_Table row of a table.
struct FlowTableConfig {
  std::string name;
  std::optional<uint32_t> flow_limit;
  bool evict = false;  // overflow_policy
  std::vector<Subfield> eviction_groups;
  std::vector<FieldId> prefixes;  // at most 3; default ip_dst, ip_src
  bool has_prefixes = false;
};

enum class FlowEvent : uint8_t { kAdded, kModified, kRemoved };

// What the outside learns of changes; called after the change is published, in the thread that made it, without the
// lock. `rule`: as it is now, or was last.
struct FlowNotice {
  FlowEvent event;
  RulePtr rule;
  FlowRemoved::Reason reason = FlowRemoved::Reason::kDelete;  // kRemoved
  bool actions_changed = true;                                // kModified
  // Who asked: a connection and the xid of its message, for abbreviated monitor updates; 0: none.
  uint32_t controller = 0;
  uint32_t xid = 0;
};

struct FlowRequester {
  uint32_t controller = 0;
  uint32_t xid = 0;
};

class FlowTables {
 public:
  FlowTables();
  ~FlowTables();
  FlowTables(const FlowTables&) = delete;
  FlowTables& operator=(const FlowTables&) = delete;

  // Readers.
  // ------------------------------------------------------------------------------------------------------------ A
  // number that grows with every change: what it is for lookups and for revalidation.
  TableVersion version() const;
  // The rule of highest priority in `table` that `version` sees and that matches `flow`; nullptr: none. Bits looked at
  // are set in `*wildcards` (may be nullptr): minimal, by staged lookup, prefix tries and port tries. A conjunctive
  // match is resolved inside: the flow's conj_id then makes a second search.
  RulePtr Lookup(TableVersion version, uint8_t table, const OfFlow& flow, OfMask* wildcards) const;
  // Counts a lookup of the table for its statistics.
  void CountLookup(uint8_t table, bool matched, uint64_t packets) const;

  // Writers.
  // ------------------------------------------------------------------------------------------------------------ One
  // flow mod, checked (limits, overlap, read-only tables) and carried out whole, or not at all. The match and actions
  // have been checked by CheckMatch and CheckActions before.
  OfStatus Apply(const FlowMod& mod, const FlowRequester& requester);
  // All or nothing, in order, published at once. `failed`: the index of the one that failed.
  OfStatus ApplyAll(absl::Span<const FlowMod> mods, const FlowRequester& requester, size_t* failed);
  // What the learn action asks: like Apply, but only refreshes the used time if an equal flow is there already.
  // `limit`: at most that many flows with this cookie in this table (0: any number); returns whether the flow is there.
  bool Learn(const FlowMod& mod, uint32_t limit, OfClock::time_point now);
  // Removes what has expired by `now`; call about once a second. Reports each. Returns when the next one may expire.
  void Expire(OfClock::time_point now);
  // Removes all flows, hidden ones not.
  void Flush();
  // Removes flows that use a group or meter that is gone; reported with kGroupDelete or kMeterDelete.
  void RemoveUsersOfGroup(uint32_t group);
  void RemoveUsersOfMeter(uint32_t meter);

  // Queries, main thread.
  // -----------------------------------------------------------------------------------------------
  std::vector<RulePtr> Collect(const FlowStatsRequest& request) const;
  OfFlowStats StatsOf(const Rule& rule, OfClock::time_point now) const;
  size_t flow_count() const;
  size_t flow_count(uint8_t table) const;
  OfTableStats table_stats(uint8_t table) const;
  void Configure(uint8_t table, const FlowTableConfig& config);
  const FlowTableConfig& config(uint8_t table) const;
  OfStatus SetTableConfig(const OfTableMod& mod);
  OfTableDesc table_desc(uint8_t table) const;
  void OnChange(std::function<void(absl::Span<const FlowNotice>)> callback);
  // Called (any thread) after a version was published: wakes the revalidator.
  void OnNewVersion(std::function<void()> callback);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
