// Packets to controllers.
#include "ofproto/xlate/translator.h"

namespace sluice {

uint64_t Translator::Cookie(const Pass& pass) const {
  return pass.rule != nullptr ? pass.rule->cookie : pass.frozen_cookie;
}

// With what the pipeline made of the packet so far.
PacketInRecord Translator::MakeRecord(const Pass& pass, OfPacketIn::Reason reason) {
  PacketInRecord record;
  record.bridge = pass.bridge.name;
  // A packet that the miss entry of a table sends missed.
  record.reason =
      reason == OfPacketIn::Reason::kAction && pass.is_miss ? OfPacketIn::Reason::kExplicitMiss : reason;
  record.table = pass.table == 0xff ? 0 : pass.table;
  record.cookie = Cookie(pass);
  looked_at_.skb_mark = UINT32_MAX;
  for (const FieldInfo& field : AllFields()) {
    // Of the registers the widest are not said again.
    const bool is_register = field.id >= FieldId::kReg0 && field.id <= FieldId::kReg15;
    const bool is_other = field.id == FieldId::kMetadata || field.id == FieldId::kInPort ||
                          field.id == FieldId::kPktMark || field.id == FieldId::kPacketType;
    if (!is_register && !is_other) continue;
    FieldValue value = GetField(pass.flow, field);
    if (!IsZero(value)) MatchField(record.metadata, field, value, ExactMask(field));
  }
  return record;
}

void Translator::AddRecord(const Pass& pass, PacketInRecord record) {
  if (in_.ids == nullptr) return Drop("no controller can be told");
  const std::optional<uint32_t> meter =
      pass.bridge.pipeline == nullptr
          ? std::nullopt
          : pass.bridge.pipeline->meters.DatapathNumber(record.meter_id != 0 ? record.meter_id : kMeterController);
  const size_t hash = HashOf(record);
  IdTable<PacketInRecord>::Ref entry = in_.ids->records.Intern(std::move(record), hash);
  Action tell{UserspaceAction{.userdata = RecordUserdata(entry->id)}};
  out_.holds.push_back(std::move(entry));
  if (!meter) return composer_.Add(std::move(tell));
  // What the meter drops, only the controller does not get.
  composer_.Add({CloneAction{{Action{MeterAction{*meter}}, std::move(tell)}}});
}

void Translator::SendToController(Pass& pass, uint16_t max_len, uint16_t controller_id, OfPacketIn::Reason reason,
                                  absl::Span<const uint8_t> userdata, uint32_t meter) {
  composer_.Commit(pass.flow.packet, pass.tags, !pass.was_mpls);
  PacketInRecord record = MakeRecord(pass, reason);
  record.max_len = max_len;
  record.controller_id = controller_id;
  record.userdata.assign(userdata.begin(), userdata.end());
  record.meter_id = meter;
  AddRecord(pass, std::move(record));
}

Translator::Step Translator::Do(Pass& pass, const OfController& action, const List&) {
  if (action.pause) {
    pass.pause = &action;
    Freeze(pass, /*this_action=*/false);
    return Step::kNext;
  }
  SendToController(pass, action.max_len, action.controller_id, static_cast<OfPacketIn::Reason>(action.reason),
                   action.userdata, action.meter_id);
  return Step::kNext;
}

}  // namespace sluice
