// GroupTable and MeterTable: the groups and meters of one bridge. Readers under RCU, the main thread writes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "lib/openflow/group.h"
#include "lib/openflow/message.h"
#include "lib/openflow/meter.h"
#include "ofproto/flows/rule.h"

namespace sluice {

struct GroupCounters {
  std::atomic<uint64_t> packets{0}, bytes{0};
};

// Immutable; a modification makes a new one. Counters of buckets that keep their id live on.
struct Group {
  uint32_t id = 0;
  GroupType type = GroupType::kAll;
  std::vector<GroupBucket> buckets;  // all have an id
  GroupSelection selection;
  OfClock::time_point created;
  std::shared_ptr<GroupCounters> counters;
  std::vector<std::shared_ptr<GroupCounters>> bucket_counters;  // by bucket
};
using GroupPtr = std::shared_ptr<const Group>;

class GroupTable {
 public:
  GroupTable();
  ~GroupTable();
  GroupTable(const GroupTable&) = delete;
  GroupTable& operator=(const GroupTable&) = delete;

  GroupPtr Find(uint32_t group) const;  // RCU reader
  uint64_t version() const;             // grows with every change

  // `on_removed` is called for each group that is gone, so that its flows go too.
  OfStatus Apply(const GroupMod& mod, const std::function<void(uint32_t)>& on_removed);
  // To make bundles whole: a copy of all, and back.
  std::vector<GroupPtr> Snapshot() const;
  void Restore(std::vector<GroupPtr> groups);

  std::vector<GroupDesc> Describe(uint32_t group) const;  // kGroupAll: all
  // `ref_count` is filled by `count_references`.
  std::vector<GroupStats> Statistics(uint32_t group, OfClock::time_point now,
                                     const std::function<uint32_t(uint32_t)>& count_references) const;
  GroupFeatures features() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A meter as translation sees it: the number of its datapath meter.
class DatapathMeters {  // what the datapath offers; implemented over Datapath, faked in tests
 public:
  virtual ~DatapathMeters() = default;
  // All or nothing. The datapath's number for a new meter.
  virtual absl::StatusOr<uint32_t> AddMeter(const MeterConfig& config) = 0;
  virtual void ModifyMeter(uint32_t number, const MeterConfig& config) = 0;
  virtual void RemoveMeter(uint32_t number) = 0;
  virtual MeterStats ReadMeter(uint32_t number) const = 0;
};

class MeterTable {
 public:
  // `datapath` outlives it.
  explicit MeterTable(DatapathMeters& datapath);
  ~MeterTable();
  MeterTable(const MeterTable&) = delete;
  MeterTable& operator=(const MeterTable&) = delete;

  std::optional<uint32_t> DatapathNumber(uint32_t meter) const;  // RCU reader
  uint64_t version() const;
  OfStatus Apply(const MeterMod& mod, const std::function<void(uint32_t)>& on_removed);
  std::vector<MeterConfig> Describe(uint32_t meter) const;  // kMeterAll: all
  std::vector<MeterStats> Statistics(uint32_t meter, OfClock::time_point now,
                                     const std::function<uint32_t(uint32_t)>& count_flows) const;
  MeterFeatures features() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
