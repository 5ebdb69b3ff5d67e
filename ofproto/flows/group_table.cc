#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>

#include "ofproto/flows/group_checks.h"
#include "ofproto/flows/groups.h"
#include "ofproto/flows/id_table.h"

namespace sluice {
namespace {

// OFPGFC_SELECT_WEIGHT, SELECT_LIVENESS, CHAINING, CHAINING_CHECKS.
constexpr uint32_t kCapabilities = 1 | 2 | 4 | 8;
constexpr uint32_t kAllTypes = 0xf;
// OFPAT_OUTPUT, COPY_TTL_* not, SET_MPLS_TTL, DEC_MPLS_TTL, PUSH/POP_VLAN, PUSH/POP_MPLS, SET_QUEUE, GROUP, SET_NW_TTL,
// DEC_NW_TTL, SET_FIELD.
constexpr uint32_t kActions = 1u << 0 | 1u << 15 | 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19 | 1u << 20 | 1u << 21 |
                              1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;

GroupDesc DescOf(const Group& group) { return {group.type, group.id, group.buckets, group.selection}; }

OfFailure UnknownGroup(uint32_t group) {
  return {OfError::kGmfcUnknownGroup, fmt::format("there is no group {}: add it first", group)};
}

OfFailure UnknownBucket(const GroupMod& mod) {
  return {OfError::kGmfcUnknownBucket, fmt::format("group {} has no bucket {}", mod.group, mod.command_bucket)};
}

auto FindBucket(std::vector<GroupBucket>& buckets, uint32_t id) {
  return std::find_if(buckets.begin(), buckets.end(), [&](const GroupBucket& bucket) { return bucket.id == id; });
}

OfStatus InsertBuckets(const GroupMod& mod, std::vector<GroupBucket>& buckets) {
  auto place = buckets.end();
  if (mod.command_bucket == kBucketFirst) {
    place = buckets.begin();
  } else if (mod.command_bucket != kBucketLast) {
    if (mod.command_bucket > kBucketIdMax) {
      return OfFailure{OfError::kGmfcBadBucket,
                       fmt::format("group {}: buckets are inserted first, last or behind a bucket, not at {:#x}",
                                   mod.group, mod.command_bucket)};
    }
    place = FindBucket(buckets, mod.command_bucket);
    if (place == buckets.end()) return UnknownBucket(mod);
    ++place;
  }
  std::vector<GroupBucket> more = mod.buckets;
  NumberBuckets(more, buckets);
  buckets.insert(place, more.begin(), more.end());
  return std::nullopt;
}

OfStatus RemoveBuckets(const GroupMod& mod, std::vector<GroupBucket>& buckets) {
  if (mod.command_bucket == kBucketAll) {
    buckets.clear();
  } else if (mod.command_bucket == kBucketFirst || mod.command_bucket == kBucketLast) {
    if (!buckets.empty()) buckets.erase(mod.command_bucket == kBucketFirst ? buckets.begin() : buckets.end() - 1);
  } else {
    auto place = FindBucket(buckets, mod.command_bucket);
    if (place == buckets.end()) return UnknownBucket(mod);
    buckets.erase(place);
  }
  return std::nullopt;
}

}  // namespace

struct GroupTable::Impl {
  OfStatus Put(const GroupMod& mod, const GroupPtr& old);
  OfStatus ChangeBuckets(const GroupMod& mod);
  OfStatus Delete(const GroupMod& mod, const std::function<void(uint32_t)>& on_removed);
  // Checks the group as it would be, and puts it there.
  OfStatus Set(GroupDesc desc, const GroupPtr& old);
  bool LeadsBack(const GroupDesc& desc) const;
  void Publish() { version.fetch_add(1, std::memory_order_release); }

  IdTable<const Group> groups;
  std::atomic<uint64_t> version{0};
};

bool GroupTable::Impl::LeadsBack(const GroupDesc& desc) const {
  std::vector<uint32_t> to_visit = GroupsBehind(desc.buckets);
  absl::flat_hash_set<uint32_t> visited;
  while (!to_visit.empty()) {
    const uint32_t id = to_visit.back();
    to_visit.pop_back();
    if (id == desc.group) return true;
    if (!visited.insert(id).second) continue;
    if (GroupPtr group = groups.Find(id)) {
      const std::vector<uint32_t> behind = GroupsBehind(group->buckets);
      to_visit.insert(to_visit.end(), behind.begin(), behind.end());
    }
  }
  return false;
}

OfStatus GroupTable::Impl::Set(GroupDesc desc, const GroupPtr& old) {
  if (OfStatus failure = CheckGroup(desc)) return failure;
  if (LeadsBack(desc)) {
    return OfFailure{OfError::kGmfcLoop, fmt::format("group {} would lead back to itself", desc.group)};
  }
  auto group = std::make_shared<Group>();
  group->id = desc.group;
  group->type = desc.type;
  group->selection = std::move(desc.selection);
  group->created = old != nullptr ? old->created : OfClock::now();
  group->counters = old != nullptr ? old->counters : std::make_shared<GroupCounters>();
  group->buckets = std::move(desc.buckets);
  for (const GroupBucket& bucket : group->buckets) {
    std::shared_ptr<GroupCounters> counters;
    for (size_t i = 0; old != nullptr && i < old->buckets.size(); ++i) {
      if (old->buckets[i].id == bucket.id) counters = old->bucket_counters[i];
    }
    group->bucket_counters.push_back(counters != nullptr ? counters : std::make_shared<GroupCounters>());
  }
  groups.Set(group->id, group);
  Publish();
  return std::nullopt;
}

OfStatus GroupTable::Impl::Put(const GroupMod& mod, const GroupPtr& old) {
  if (mod.group > kGroupMax) {
    return OfFailure{OfError::kGmfcInvalidGroup,
                     fmt::format("group {:#x} is above the highest number, {:#x}", mod.group, kGroupMax)};
  }
  if (mod.raw_type > 3) {
    return OfFailure{OfError::kGmfcBadType, fmt::format("group {}: type {} is unknown", mod.group, mod.raw_type)};
  }
  GroupDesc desc{mod.type, mod.group, mod.buckets, mod.selection};
  NumberBuckets(desc.buckets, {});
  return Set(std::move(desc), old);
}

OfStatus GroupTable::Impl::ChangeBuckets(const GroupMod& mod) {
  GroupPtr old = groups.Find(mod.group);
  if (old == nullptr) return UnknownGroup(mod.group);
  GroupDesc desc = DescOf(*old);
  OfStatus failure =
      mod.command == GroupCommand::kInsertBucket ? InsertBuckets(mod, desc.buckets) : RemoveBuckets(mod, desc.buckets);
  return failure.has_value() ? failure : Set(std::move(desc), old);
}

OfStatus GroupTable::Impl::Delete(const GroupMod& mod, const std::function<void(uint32_t)>& on_removed) {
  std::vector<uint32_t> gone;
  if (mod.group == kGroupAll) {
    for (const GroupPtr& group : groups.All()) gone.push_back(group->id);
  } else if (groups.Find(mod.group) != nullptr) {
    for (const GroupPtr& other : groups.All()) {
      const std::vector<uint32_t> behind = GroupsBehind(other->buckets);
      if (std::find(behind.begin(), behind.end(), mod.group) == behind.end()) continue;
      return OfFailure{OfError::kGmfcChainedGroup,
                       fmt::format("group {} is used by group {}: change that first", mod.group, other->id)};
    }
    gone.push_back(mod.group);
  }
  for (uint32_t group : gone) groups.Set(group, nullptr);
  if (!gone.empty()) Publish();
  for (uint32_t group : gone) on_removed(group);
  return std::nullopt;
}

GroupTable::GroupTable() : impl_(std::make_unique<Impl>()) {}
GroupTable::~GroupTable() = default;

GroupPtr GroupTable::Find(uint32_t group) const { return impl_->groups.Find(group); }
uint64_t GroupTable::version() const { return impl_->version.load(std::memory_order_acquire); }

OfStatus GroupTable::Apply(const GroupMod& mod, const std::function<void(uint32_t)>& on_removed) {
  const GroupPtr old = impl_->groups.Find(mod.group);
  switch (mod.command) {
    case GroupCommand::kAdd:
      if (old != nullptr) {
        return OfFailure{OfError::kGmfcGroupExists,
                         fmt::format("group {} exists already: modify it, or delete it first", mod.group)};
      }
      return impl_->Put(mod, nullptr);
    case GroupCommand::kModify:
      if (old == nullptr) return UnknownGroup(mod.group);
      return impl_->Put(mod, old);
    case GroupCommand::kAddOrModify:
      return impl_->Put(mod, old);
    case GroupCommand::kDelete:
      return impl_->Delete(mod, on_removed);
    case GroupCommand::kInsertBucket:
    case GroupCommand::kRemoveBucket:
      return impl_->ChangeBuckets(mod);
  }
  return OfFailure{OfError::kGmfcBadCommand,
                   fmt::format("group mod command {} is unknown", static_cast<unsigned>(mod.command))};
}

std::vector<GroupPtr> GroupTable::Snapshot() const { return impl_->groups.All(); }

void GroupTable::Restore(std::vector<GroupPtr> groups) {
  absl::flat_hash_set<uint32_t> kept;
  for (GroupPtr& group : groups) {
    kept.insert(group->id);
    if (impl_->groups.Find(group->id) != group) impl_->groups.Set(group->id, group);
  }
  for (const GroupPtr& group : impl_->groups.All()) {
    if (!kept.contains(group->id)) impl_->groups.Set(group->id, nullptr);
  }
  impl_->Publish();
}

std::vector<GroupDesc> GroupTable::Describe(uint32_t id) const {
  std::vector<GroupDesc> descriptions;
  for (const GroupPtr& group : impl_->groups.All()) {
    if (id == kGroupAll || id == group->id) descriptions.push_back(DescOf(*group));
  }
  return descriptions;
}

std::vector<GroupStats> GroupTable::Statistics(uint32_t id, OfClock::time_point now,
                                               const std::function<uint32_t(uint32_t)>& count_references) const {
  std::vector<GroupStats> all;
  for (const GroupPtr& group : impl_->groups.All()) {
    if (id != kGroupAll && id != group->id) continue;
    GroupStats& stats = all.emplace_back();
    stats.group = group->id;
    stats.ref_count = count_references(group->id);
    stats.packets = group->counters->packets.load(std::memory_order_relaxed);
    stats.bytes = group->counters->bytes.load(std::memory_order_relaxed);
    stats.duration = std::max(now - group->created, OfClock::duration(0));
    for (const auto& counters : group->bucket_counters) {
      stats.buckets.push_back(
          {counters->packets.load(std::memory_order_relaxed), counters->bytes.load(std::memory_order_relaxed)});
    }
  }
  return all;
}

GroupFeatures GroupTable::features() const {
  GroupFeatures features;
  features.types = kAllTypes;
  features.capabilities = kCapabilities;
  features.max_groups.fill(kGroupMax);
  features.actions.fill(kActions);
  return features;
}

}  // namespace sluice
