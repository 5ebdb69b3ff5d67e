#include "ofproto/connections/requests/checks.h"

namespace sluice {
namespace {

bool HasOutputs(FlowCommand command) {
  return command != FlowCommand::kDelete && command != FlowCommand::kDeleteStrict;
}

bool HasMeter(const OfPipeline& pipeline, uint32_t meter) { return !pipeline.meters.Describe(meter).empty(); }

class ReferenceChecker {
 public:
  ReferenceChecker(const OfPipeline& pipeline, uint32_t own_group) : pipeline_(pipeline), own_group_(own_group) {}

  OfStatus Check(const OfActions& actions) {
    for (const OfAction& action : actions) {
      if (OfStatus failed = std::visit([this](const auto& value) { return CheckOne(value); }, action.value)) {
        return failed;
      }
    }
    return std::nullopt;
  }

 private:
  template <typename Action>
  OfStatus CheckOne(const Action&) {
    return std::nullopt;
  }
  OfStatus CheckOne(const OfClone& clone) { return clone.actions ? Check(*clone.actions) : std::nullopt; }
  OfStatus CheckOne(const OfWriteActions& write) { return write.actions ? Check(*write.actions) : std::nullopt; }
  OfStatus CheckOne(const OfGroup& group) {
    if (group.group == own_group_) {
      return OfFailure{OfError::kGmfcLoop, fmt::format("group {} would lead to itself", group.group)};
    }
    if (pipeline_.groups.Find(group.group) != nullptr) return std::nullopt;
    return OfFailure{OfError::kBacBadOutGroup, fmt::format("group {} does not exist", group.group)};
  }
  OfStatus CheckOne(const OfMeter& meter) {
    if (HasMeter(pipeline_, meter.meter)) return std::nullopt;
    return OfFailure{OfError::kMmfcInvalidMeter, fmt::format("meter {} does not exist", meter.meter)};
  }

  const OfPipeline& pipeline_;
  const uint32_t own_group_;
};

OfStatus CheckActionList(const OfActions& actions, const OfMatch& match, uint8_t table, OfVersion version,
                         const OfPipeline& pipeline) {
  if (OfStatus failed = CheckActions(actions, match, {.table = table, .version = version})) return failed;
  return CheckReferences(actions, pipeline);
}

}  // namespace

OfStatus CheckReferences(const OfActions& actions, const OfPipeline& pipeline, uint32_t own_group) {
  return ReferenceChecker(pipeline, own_group).Check(actions);
}

OfStatus CheckFlowMod(const FlowMod& mod, OfVersion version, const OfPipeline& pipeline) {
  if (mod.command == FlowCommand::kAdd && mod.table == kTableAll && version > OfVersion::k10) {
    return OfFailure{OfError::kFmfcBadTableId, "a flow cannot be added to all tables: expected one from 0 to 254"};
  }
  if ((mod.flags & kEmergency) != 0) {
    return OfFailure{OfError::kFmfcTableFull, "there is no table for emergency flows"};
  }
  if (OfStatus failed = CheckMatch(mod.match)) return failed;
  if (!HasOutputs(mod.command)) return std::nullopt;
  const uint8_t table = mod.table == kTableAll ? 0 : mod.table;
  return CheckActionList(mod.actions, mod.match, table, version, pipeline);
}

// Whether a bucket's actions fit to a packet is not known before one reaches it.
OfStatus CheckGroupMod(const GroupMod& mod, const OfPipeline& pipeline) {
  if (mod.command == GroupCommand::kDelete || mod.command == GroupCommand::kRemoveBucket) return std::nullopt;
  for (const GroupBucket& bucket : mod.buckets) {
    if (OfStatus failed = CheckReferences(bucket.actions, pipeline, mod.group)) return failed;
  }
  return std::nullopt;
}

OfStatus CheckPacketOut(const OfPacketOut& out, OfVersion version, const OfPipeline& pipeline) {
  if (out.buffer_id != kNoBuffer) {
    return OfFailure{OfError::kBrcBufferUnknown,
                     fmt::format("buffer {:#x}: the switch buffers no packets", out.buffer_id)};
  }
  return CheckActionList(out.actions, out.metadata, 0, version, pipeline);
}

}  // namespace sluice
