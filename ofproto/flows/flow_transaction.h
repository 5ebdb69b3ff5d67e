// FlowTransaction: changes of flows that are seen together or not at all.
//
// While it is prepared the new rules are in the classifiers under the next version, which nobody looks with. Commit()
// publishes that version; Rollback() leaves everything as it was. Lives under the tables' lock, which Commit() gives up
// before it tells about the changes.
#pragma once

#include <bitset>
#include <mutex>
#include <vector>

#include "ofproto/flows/flow_tables_impl.h"

namespace sluice {

class FlowTransaction {
 public:
  FlowTransaction(FlowTables::Impl& tables, const FlowRequester& requester);
  // What was not committed is rolled back.
  ~FlowTransaction();
  FlowTransaction(const FlowTransaction&) = delete;
  FlowTransaction& operator=(const FlowTransaction&) = delete;

  OfStatus Run(const FlowMod& mod);
  // Removes a rule that the transaction sees.
  void Remove(Rule& rule, FlowRemoved::Reason reason);
  // The version that sees the changes.
  TableVersion version() const { return version_; }
  OfClock::time_point now() const { return now_; }
  void Commit();

 private:
  struct Change {
    Rule* old = nullptr;
    Rule* now = nullptr;
    FlowEvent event = FlowEvent::kAdded;
    FlowRemoved::Reason reason = FlowRemoved::Reason::kDelete;
    bool actions_changed = true;
    // An addition that keeps the counters of what it replaces sets their timeouts when it is sure.
    bool sets_timeouts = false;
    uint16_t idle_timeout = 0, hard_timeout = 0;
  };

  OfStatus Add(const FlowMod& mod);
  OfStatus Modify(const FlowMod& mod);
  void Delete(const FlowMod& mod);
  OfStatus MakeRoom(uint8_t table);
  // Whether a flow of the same rank can match a packet that `rule` matches.
  bool OverlapsAny(const Rule& rule) const;
  // What a modification or deletion means.
  std::vector<Rule*> Matching(const FlowMod& mod, bool strict, bool with_outputs) const;

  void Insert(Rule& rule, RuleSubtable& subtable);
  void Hide(Rule& rule);
  void AddToIndices(Rule& rule);
  void RemoveFromIndices(Rule& rule);
  void Publish();
  void RemoveOrphans();
  void Rollback();
  std::vector<FlowNotice> MakeNotices() const;
  std::vector<OfTableStatus> MakeVacancyEvents();

  FlowTables::Impl& tables_;
  const FlowRequester requester_;
  std::unique_lock<std::mutex> lock_;
  const TableVersion version_;
  const OfClock::time_point now_;
  std::vector<Change> changes_;
  std::bitset<kTableCount> touched_;
};

}  // namespace sluice
