#include "ofproto/flows/group_checks.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <variant>

namespace sluice {
namespace {

bool Watches(const GroupBucket& bucket) { return bucket.watch_port != kOfpNone || bucket.watch_group != kGroupAny; }

OfStatus CheckBucket(const GroupDesc& group, const GroupBucket& bucket) {
  if (bucket.id > kBucketIdMax) {
    return OfFailure{OfError::kGmfcBadBucket,
                     fmt::format("group {}: bucket id {:#x} is above {:#x}", group.group, bucket.id, kBucketIdMax)};
  }
  // Decoders give 0 or 1 where nothing was said.
  if (group.type != GroupType::kSelect && bucket.weight > 1) {
    return OfFailure{OfError::kGmfcInvalidGroup,
                     fmt::format("group {}: bucket {} has weight {}, but only buckets of select groups have weights",
                                 group.group, bucket.id, bucket.weight)};
  }
  if (group.type == GroupType::kFastFailover && !Watches(bucket)) {
    return OfFailure{OfError::kGmfcInvalidGroup,
                     fmt::format("group {}: bucket {} watches nothing: buckets of fast failover groups watch a port or "
                                 "a group",
                                 group.group, bucket.id)};
  }
  if ((group.type == GroupType::kAll || group.type == GroupType::kIndirect) && Watches(bucket)) {
    return OfFailure{OfError::kGmfcWatchUnsupported,
                     fmt::format("group {}: bucket {} watches, but only buckets of select and fast failover groups do",
                                 group.group, bucket.id)};
  }
  return std::nullopt;
}

void AddGroups(const OfActions& actions, std::vector<uint32_t>& groups) {
  for (const OfAction& action : actions) {
    if (const auto* group = std::get_if<OfGroup>(&action.value)) groups.push_back(group->group);
    if (const auto* clone = std::get_if<OfClone>(&action.value)) AddGroups(*clone->actions, groups);
  }
}

}  // namespace

OfStatus CheckGroup(const GroupDesc& group) {
  if (group.type == GroupType::kIndirect && group.buckets.size() != 1) {
    return OfFailure{
        OfError::kGmfcInvalidGroup,
        fmt::format("group {} has {} buckets: an indirect group has exactly one", group.group, group.buckets.size())};
  }
  const std::string& method = group.selection.method;
  if (!method.empty() && group.type != GroupType::kSelect) {
    return OfFailure{
        OfError::kBpcBadValue,
        fmt::format("group {} has selection method {}, but only select groups select", group.group, method)};
  }
  if (!method.empty() && method != "hash" && method != "dp_hash") {
    return OfFailure{
        OfError::kBpcBadValue,
        fmt::format("group {}: selection method {} is unknown: hash and dp_hash are known", group.group, method)};
  }
  absl::flat_hash_set<uint32_t> ids;
  for (const GroupBucket& bucket : group.buckets) {
    if (OfStatus failure = CheckBucket(group, bucket)) return failure;
    if (!ids.insert(bucket.id).second) {
      return OfFailure{OfError::kGmfcBucketExists,
                       fmt::format("group {} has two buckets with id {}", group.group, bucket.id)};
    }
  }
  return std::nullopt;
}

void NumberBuckets(std::vector<GroupBucket>& buckets, const std::vector<GroupBucket>& others) {
  absl::flat_hash_set<uint32_t> taken;
  for (const GroupBucket& bucket : buckets) taken.insert(bucket.id);
  for (const GroupBucket& bucket : others) taken.insert(bucket.id);
  uint32_t next = 0;
  for (GroupBucket& bucket : buckets) {
    if (bucket.id != kBucketAll) continue;
    while (taken.contains(next)) ++next;
    bucket.id = next++;
  }
}

std::vector<uint32_t> GroupsBehind(const std::vector<GroupBucket>& buckets) {
  std::vector<uint32_t> groups;
  for (const GroupBucket& bucket : buckets) {
    AddGroups(bucket.actions, groups);
    if (bucket.watch_group != kGroupAny) groups.push_back(bucket.watch_group);
  }
  return groups;
}

}  // namespace sluice
