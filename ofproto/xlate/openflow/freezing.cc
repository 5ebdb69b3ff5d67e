// Recirculation: stopping where the packet is needed anew, and going on there.
#include "ofproto/xlate/openflow/continuation.h"
#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

// Whether the action works without what is under labels that were popped.
struct WorksOnTheFrame {
  bool operator()(const OfOutput& output) const { return output.port < kOfpMax || output.port == kOfpInPort; }
  bool operator()(const OfSetField& action) const { return !NeedsPayload(*action.field); }
  bool operator()(const OfMove& action) const {
    return !NeedsPayload(*action.source.field) && !NeedsPayload(*action.destination.field);
  }
  bool operator()(const OfStackPush& action) const { return !NeedsPayload(*action.subfield.field); }
  bool operator()(const OfStackPop& action) const { return !NeedsPayload(*action.subfield.field); }
  bool operator()(const OfOutputReg&) const { return true; }
  bool operator()(const OfOutputTrunc&) const { return true; }
  bool operator()(const OfController&) const { return true; }
  bool operator()(const OfEnqueue&) const { return true; }
  bool operator()(const OfSetEth&) const { return true; }
  bool operator()(const OfSetVlanVid&) const { return true; }
  bool operator()(const OfSetVlanPcp&) const { return true; }
  bool operator()(const OfStripVlan&) const { return true; }
  bool operator()(const OfPushVlan&) const { return true; }
  bool operator()(const OfSetQueue&) const { return true; }
  bool operator()(const OfPopQueue&) const { return true; }
  bool operator()(const OfNote&) const { return true; }
  bool operator()(const OfExit&) const { return true; }
  bool operator()(const OfConjunction&) const { return true; }
  bool operator()(const OfMeter&) const { return true; }
  bool operator()(const OfWriteActions&) const { return true; }
  bool operator()(const OfClearActions&) const { return true; }
  bool operator()(const OfWriteMetadata&) const { return true; }
  template <typename T>
  bool operator()(const T&) const {
    return false;
  }

  static bool NeedsPayload(const FieldInfo& field) {
    return field.prereq != FieldInfo::Prereq::kNone && field.prereq != FieldInfo::Prereq::kEthernet &&
           field.prereq != FieldInfo::Prereq::kVlan;
  }
};

}  // namespace

bool Translator::RecirculatesFor(Pass& pass, const OfAction& action) {
  if (!pass.was_mpls || std::visit(WorksOnTheFrame{}, action.value)) return false;
  Freeze(pass, /*this_action=*/false);
  return true;
}

void Translator::Freeze(Pass& pass, bool this_action) {
  pass.exit = pass.freezing = true;
  pass.frozen_this = this_action;
}

void Translator::KeepRest(Pass& pass, absl::Span<const OfAction> rest) {
  if (rest.empty()) return;
  pass.frames.push_back({.table = pass.table,
                         .cookie = Cookie(pass),
                         .is_miss = pass.is_miss,
                         .actions = OfActions(rest.begin(), rest.end())});
}

void Translator::FinishFreezing(Pass& pass) {
  FrozenState state{.bridge = pass.bridge.name,
                    .pipeline = pass.flow,
                    .mirrored = pass.mirrored,
                    .stack = std::move(pass.stack),
                    .action_set = std::move(pass.action_set),
                    .frames = std::move(pass.frames)};
  state.pipeline.packet = FlowKey{};
  const OfController* pause = pass.pause;
  const std::optional<HashAction> hash = pass.hash;
  pass.pause = nullptr;
  pass.hash.reset();
  pass.exit = pass.freezing = false;
  pass.stack.clear();
  pass.action_set.clear();
  pass.frames.clear();

  composer_.Commit(pass.flow.packet, pass.tags, !pass.was_mpls);
  if (pause != nullptr) {
    looked_at_.skb_priority = UINT32_MAX;
    PacketInRecord record = MakeRecord(pass, static_cast<OfPacketIn::Reason>(pause->reason));
    state.pipeline.packet.skb_mark = pass.flow.packet.skb_mark;
    state.pipeline.packet.skb_priority = pass.flow.packet.skb_priority;
    record.max_len = pause->max_len;
    record.controller_id = pause->controller_id;
    record.userdata = pause->userdata;
    record.meter_id = pause->meter_id;
    record.continuation = EncodeContinuation(state);
    return AddRecord(pass, std::move(record));
  }
  if (in_.ids == nullptr) return Fail(pass, "recirculation is not possible");
  const size_t content = HashOf(state);
  IdTable<FrozenState>::Ref frozen = in_.ids->frozen.Intern(std::move(state), content);
  if (hash) composer_.Add({*hash});
  composer_.Add({RecircAction{frozen->id}});
  if (trace_ != nullptr) {
    FlowKey again = pass.flow.packet;
    again.in_port = key_.in_port;
    again.recirc_id = frozen->id;
    if (hash) again.dp_hash = 1;
    out_.recirculations.push_back({frozen->id, again});
  }
  out_.holds.push_back(std::move(frozen));
}

void Translator::Thaw(Pass& pass, const FrozenState& state) {
  TraceScope scope(*this, TraceNode::Type::kThaw, "thaw");
  pass.mirrored = state.mirrored;
  pass.stack = state.stack;
  pass.action_set = state.action_set;
  if (!state.frames.empty() && state.frames.front().table != 0xff) {
    Note("Resuming from table {}", state.frames.front().table);
  }
  for (const FrozenFrame& frame : state.frames) {
    if (failed_) return;
    if (pass.exit) {
      if (pass.freezing) pass.frames.push_back(frame);
      continue;
    }
    pass.table = frame.table;
    pass.frozen_cookie = frame.cookie;
    pass.is_miss = frame.is_miss;
    const bool is_last = &frame == &state.frames.back() && pass.action_set.empty();
    RunList(pass, frame.actions, is_last, /*is_group_bucket=*/true);
  }
}

}  // namespace sluice
