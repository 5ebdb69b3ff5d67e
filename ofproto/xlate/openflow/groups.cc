// Groups, bundles and multipath: one of several ways, or all.
#include <algorithm>
#include <bit>

#include "ofproto/xlate/openflow/bucket_map.h"
#include "ofproto/xlate/openflow/flow_hash.h"
#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

// Groups that watch groups that watch ...
constexpr int kMaxWatchDepth = 128;

}  // namespace

// Liveness
// ------------------------------------------------------------------------------------------------------------------

bool Translator::PortIsAlive(const Pass& pass, OfPort number) const {
  auto port = pass.bridge.by_ofport.find(number);
  return port != pass.bridge.by_ofport.end() && port->second->up && (port->second->config & kPortDown) == 0;
}

bool Translator::IsAlive(const Pass& pass, const GroupBucket& bucket, int depth) {
  if (depth >= kMaxWatchDepth) return false;
  if (bucket.watch_port == kOfpNone && bucket.watch_group == kGroupAny) return true;
  return (bucket.watch_port != kOfpNone && PortIsAlive(pass, bucket.watch_port)) ||
         (bucket.watch_group != kGroupAny && GroupIsAlive(pass, bucket.watch_group, depth + 1));
}

bool Translator::GroupIsAlive(const Pass& pass, uint32_t id, int depth) {
  GroupPtr group = pass.bridge.pipeline->groups.Find(id);
  return group != nullptr && std::any_of(group->buckets.begin(), group->buckets.end(), [&](const GroupBucket& bucket) {
           return IsAlive(pass, bucket, depth);
         });
}

std::optional<size_t> Translator::FirstAlive(const Pass& pass, const Group& group) {
  for (size_t i = 0; i < group.buckets.size(); ++i) {
    if (IsAlive(pass, group.buckets[i], 0)) return i;
  }
  return std::nullopt;
}

// Select
// ------------------------------------------------------------------------------------------------------------------

// The bucket's id and not its place counts, so that packets stay where they are when buckets come and go.
std::optional<size_t> Translator::SelectByFields(Pass& pass, const Group& group) {
  const OfMask& fields = group.selection.fields.mask;
  OfMask seen;
  const uint32_t hash = fields == OfMask{} ? HashFlow(pass.flow, kHashSymmetricL4, 0, seen)
                                           : HashFlow(pass.flow, fields, group.selection.param, seen);
  if (seen.packet.vlan_tci != Be16()) {
    LookAtTags();
    if (!pass.tags.empty()) LookAtPriority(pass.tags.top(), looked_at_);
    seen.packet.vlan_tci = seen.packet.inner_vlan_tci = Be16();
  }
  for (size_t i = 0; i < OfFlow::kWords; ++i) wildcards_.SetWord(i, wildcards_.Word(i) | seen.Word(i));
  std::optional<size_t> best;
  uint64_t best_score = 0;
  for (size_t i = 0; i < group.buckets.size(); ++i) {
    const GroupBucket& bucket = group.buckets[i];
    if (bucket.weight == 0 || !IsAlive(pass, bucket, 0)) continue;
    const uint64_t score = uint64_t{MemberRank(hash, bucket.id) & 0xffff} * bucket.weight;
    if (best && score <= best_score) continue;
    best = i;
    best_score = score;
  }
  return best;
}

// The datapath hashes, so that megaflows need not know the packet's fields; without a hash the packet goes round.
std::optional<size_t> Translator::SelectByDpHash(Pass& pass, const Group& group) {
  const uint32_t hash = pass.flow.packet.dp_hash;
  if (hash == 0) {
    const uint64_t param = group.selection.param;
    pass.hash = HashAction{.algorithm = (param >> 32) == 1 ? HashAction::Algorithm::kSymL4 : HashAction::Algorithm::kL4,
                           .basis = static_cast<uint32_t>(param)};
    Freeze(pass, /*this_action=*/true);
    return std::nullopt;
  }
  const std::vector<uint16_t> map = MapHashesToBuckets(group.buckets);
  if (map.empty()) return std::nullopt;
  const uint32_t mask = static_cast<uint32_t>(map.size() - 1);
  looked_at_.dp_hash |= mask;
  for (uint32_t i = 0; i <= mask; ++i) {
    const size_t bucket = map[(hash + i) & mask];
    if (IsAlive(pass, group.buckets[bucket], 0)) return bucket;
  }
  return std::nullopt;
}

// The action
// ------------------------------------------------------------------------------------------------------------------

// What a bucket does to the packet does not reach what is behind the group.
void Translator::RunBucket(Pass& pass, const Group& group, size_t index, bool is_last) {
  if (!CheckLimits(pass)) return;
  const GroupBucket& bucket = group.buckets[index];
  if (trace_ != nullptr) AddNode(TraceNode::Type::kBucket, fmt::format("bucket {}", bucket.id));
  if (index < group.bucket_counters.size()) {
    out_.effects.push_back({.kind = XlateEffect::Kind::kGroup, .group = group.bucket_counters[index]});
  }
  const OfFlow flow = pass.flow;
  const TagStack tags = pass.tags;
  const bool was_mpls = pass.was_mpls, was_in_group = std::exchange(pass.in_group, true);
  ++pass.resubmit_depth;
  RunBucketSet(pass, bucket.actions, is_last);
  --pass.resubmit_depth;
  pass.in_group = was_in_group;
  if (pass.freezing) return;
  pass.flow = flow;
  pass.tags = tags;
  pass.was_mpls = was_mpls;
  pass.exit = false;
}

Translator::Step Translator::Do(Pass& pass, const OfGroup& action, const List& list) {
  GroupPtr group = pass.bridge.pipeline == nullptr ? nullptr : pass.bridge.pipeline->groups.Find(action.group);
  if (group == nullptr) {
    Drop("output to nonexistent group {}", action.group);
    return Step::kEndList;
  }
  out_.holds.push_back(group);
  std::optional<size_t> chosen;
  switch (group->type) {
    case GroupType::kAll:
    case GroupType::kIndirect:
      out_.effects.push_back({.kind = XlateEffect::Kind::kGroup, .group = group->counters});
      for (size_t i = 0; i < group->buckets.size() && !failed_ && !pass.freezing; ++i) {
        RunBucket(pass, *group, i, list.is_last && i + 1 == group->buckets.size());
      }
      return Step::kNext;
    case GroupType::kFastFailover:
      chosen = FirstAlive(pass, *group);
      break;
    case GroupType::kSelect:
      chosen = group->selection.method == "hash" ? SelectByFields(pass, *group) : SelectByDpHash(pass, *group);
      break;
  }
  if (pass.freezing) return Step::kNext;
  out_.effects.push_back({.kind = XlateEffect::Kind::kGroup, .group = group->counters});
  if (!chosen) {
    Note("no live bucket");
    return Step::kNext;
  }
  Note("using bucket {}", group->buckets[*chosen].id);
  RunBucket(pass, *group, *chosen, list.is_last);
  return Step::kNext;
}

// bundle, multipath
// ------------------------------------------------------------------------------------------------------------------

std::optional<OfPort> Translator::ChooseMember(Pass& pass, const OfBundle& action) {
  if (action.algorithm == OfBundle::Algorithm::kActiveBackup) {
    for (OfPort member : action.members) {
      if (PortIsAlive(pass, member)) return member;
    }
    return std::nullopt;
  }
  OfMask seen;
  const uint32_t hash = HashFlow(pass.flow, static_cast<OfHashFields>(action.hash_fields), action.basis, seen);
  if (seen.packet.vlan_tci != Be16()) LookAtTags();
  for (size_t i = 0; i < OfFlow::kWords; ++i) wildcards_.SetWord(i, wildcards_.Word(i) | seen.Word(i));
  std::optional<OfPort> best;
  uint32_t best_rank = 0;
  for (size_t i = 0; i < action.members.size(); ++i) {
    const uint32_t rank = MemberRank(hash, static_cast<uint32_t>(i));
    if (!PortIsAlive(pass, action.members[i]) || (best && rank <= best_rank)) continue;
    best = action.members[i];
    best_rank = rank;
  }
  return best;
}

Translator::Step Translator::Do(Pass& pass, const OfBundle& action, const List& list) {
  const std::optional<OfPort> member = ChooseMember(pass, action);
  if (action.destination.field != nullptr) {
    SubValue value{};
    const OfPort port = member.value_or(kOfpNone);
    value[14] = static_cast<uint8_t>(port >> 8);
    value[15] = static_cast<uint8_t>(port);
    WriteField(pass, action.destination, value);
  } else if (member) {
    OutputToPort(pass, *member, kNoMaxLen, list.is_last);
  }
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfMultipath& action, const List&) {
  OfMask seen;
  const uint32_t hash = HashFlow(pass.flow, static_cast<OfHashFields>(action.hash_fields), action.basis, seen);
  if (seen.packet.vlan_tci != Be16()) LookAtTags();
  for (size_t i = 0; i < OfFlow::kWords; ++i) wildcards_.SetWord(i, wildcards_.Word(i) | seen.Word(i));
  const uint32_t link = ChooseLink(action.algorithm, hash, uint32_t{action.max_link} + 1, action.arg);
  SubValue value{};
  for (size_t i = 0; i < 4; ++i) value[15 - i] = static_cast<uint8_t>(link >> (8 * i));
  WriteField(pass, action.destination, value);
  return Step::kNext;
}

}  // namespace sluice
