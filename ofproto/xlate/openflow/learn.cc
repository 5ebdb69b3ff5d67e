// learn and fin_timeout: actions whose effect is on flow tables.
#include <algorithm>

#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

enum LearnFlags : uint16_t { kLearnSendFlowRem = 1, kLearnDelete = 2, kLearnWriteResult = 4 };
constexpr uint8_t kTcp = 6;

// The bits of `value` in the place of `to` within its field.
FieldValue InPlace(const Subfield& to, const SubValue& value) {
  OfFlow flow;
  WriteSubfield(to, value, flow);
  return GetField(flow, *to.field);
}

FieldValue MaskOf(const Subfield& to) {
  SubValue ones;
  ones.fill(0xff);
  return InPlace(to, ones);
}

void AddMatch(const Subfield& to, const SubValue& value, OfMatch& match) {
  const FieldInfo& field = *to.field;
  FieldValue bits = InPlace(to, value), mask = MaskOf(to);
  // What the match says of other bits of the field stays.
  const FieldValue old_bits = GetField(match.value, field), old_mask = GetField(match.mask, field);
  for (size_t i = 0; i < bits.bytes.size(); ++i) {
    bits.bytes[i] = static_cast<uint8_t>((old_bits.bytes[i] & ~mask.bytes[i]) | bits.bytes[i]);
    mask.bytes[i] |= old_mask.bytes[i];
  }
  MatchField(match, field, bits, mask);
}

OfPort PortOf(const SubValue& value) {
  const uint32_t wire = uint32_t{value[12]} << 24 | uint32_t{value[13]} << 16 | uint32_t{value[14]} << 8 | value[15];
  return static_cast<OfPort>(wire);
}

}  // namespace

Translator::Step Translator::Do(Pass& pass, const OfLearn& action, const List&) {
  FlowMod mod;
  mod.priority = action.priority;
  mod.new_cookie = mod.cookie = action.cookie;
  mod.modify_cookie = true;
  mod.table = action.table;
  mod.idle_timeout = action.idle_timeout;
  mod.hard_timeout = action.hard_timeout;
  mod.flags = (action.flags & kLearnSendFlowRem) != 0 ? kSendFlowRem : 0;
  if (action.fin_idle_timeout != 0 || action.fin_hard_timeout != 0) {
    mod.actions.push_back({OfFinTimeout{.idle = action.fin_idle_timeout, .hard = action.fin_hard_timeout}});
  }
  for (const OfLearn::Spec& spec : action.specs) {
    const bool from_field = spec.source == OfLearn::Spec::Source::kField;
    const SubValue value = from_field ? ReadField(pass, spec.from) : spec.immediate;
    switch (spec.destination) {
      case OfLearn::Spec::Destination::kMatch:
        AddMatch(spec.to, value, mod.match);
        break;
      case OfLearn::Spec::Destination::kLoad:
        mod.actions.push_back({OfSetField{
            .field = spec.to.field, .value = InPlace(spec.to, value), .mask = MaskOf(spec.to), .is_load = true}});
        break;
      case OfLearn::Spec::Destination::kOutput:
        mod.actions.push_back({OfOutput{.port = PortOf(value)}});
        break;
    }
  }
  auto learned = std::make_shared<LearnedFlow>(LearnedFlow{std::move(mod), action.limit});
  bool is_there = true;
  if (in_.learn && pass.bridge.pipeline != nullptr) {
    is_there = pass.bridge.pipeline->tables.Learn(learned->mod, learned->limit, in_.now);
  }
  out_.effects.push_back(
      {.kind = XlateEffect::Kind::kLearnFlow, .pipeline = pass.bridge.pipeline, .learned = std::move(learned)});
  if ((action.flags & kLearnWriteResult) != 0 && action.result.field != nullptr) {
    SubValue result{};
    result[15] = is_there ? 1 : 0;
    WriteField(pass, action.result, result);
  }
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfFinTimeout& action, const List&) {
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_proto = 0xff;
  if (pass.flow.packet.ip_proto == kTcp && pass.rule != nullptr) {
    out_.effects.push_back(
        {.kind = XlateEffect::Kind::kFinTimeout, .idle = action.idle, .hard = action.hard, .rule = pass.rule,
         .pipeline = pass.bridge.pipeline});
  }
  return Step::kNext;
}

}  // namespace sluice
