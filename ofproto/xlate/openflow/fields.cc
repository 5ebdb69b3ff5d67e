// Actions that read and write fields.
#include <algorithm>

#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr uint8_t kTcp = 6, kUdp = 17, kSctp = 132;
constexpr uint8_t kDscpMask = 0xfc, kEcnMask = 0x03;

bool IsVlanField(FieldId id) {
  return id == FieldId::kVlanTci || id == FieldId::kDlVlan || id == FieldId::kVlanVid || id == FieldId::kDlVlanPcp ||
         id == FieldId::kVlanPcp;
}

bool IsLabelField(FieldId id) {
  return id == FieldId::kMplsLabel || id == FieldId::kMplsTc || id == FieldId::kMplsBos || id == FieldId::kMplsTtl;
}

void Merge(OfMask& into, const OfMask& from) {
  for (size_t i = 0; i < OfFlow::kWords; ++i) into.SetWord(i, into.Word(i) | from.Word(i));
}

}  // namespace

bool Translator::HasField(const Pass& pass, const FieldInfo& field) {
  OfMask seen;
  UnwildcardField(field, seen);
  // Only what tells whether the field is there: its own bits are not looked at by that.
  SetField(seen, field, FieldValue{});
  if (IsVlanField(field.id) || field.prereq == FieldInfo::Prereq::kVlan) {
    seen.packet.vlan_tci = Be16();
    LookAtTags();
  }
  Merge(wildcards_, seen);
  return HasPrereqs(field, pass.flow);
}

SubValue Translator::ReadField(const Pass& pass, const Subfield& subfield) {
  if (IsVlanField(subfield.field->id)) {
    LookAtTags();
    if (!pass.tags.empty()) LookAtPriority(pass.tags.top(), looked_at_);
  } else {
    SetSubfieldMask(subfield, wildcards_);
  }
  return ReadSubfield(subfield, pass.flow);
}

void Translator::WriteField(Pass& pass, const Subfield& subfield, const SubValue& value) {
  const Be16 tci = pass.flow.packet.vlan_tci;
  const bool is_vlan = IsVlanField(subfield.field->id);
  if (is_vlan) {
    LookAtTags();
  } else {
    SetSubfieldMask(subfield, wildcards_);
    if (IsLabelField(subfield.field->id)) LookAtLabel();
  }
  WriteSubfield(subfield, value, pass.flow);
  if (is_vlan) TagsFromFlow(pass, tci);
}

void Translator::SetBits(Pass& pass, const FieldInfo& field, const FieldValue& value, const FieldValue& mask) {
  const Be16 tci = pass.flow.packet.vlan_tci;
  const bool is_vlan = IsVlanField(field.id);
  if (is_vlan) {
    LookAtTags();
  } else {
    OfMask bits;
    SetField(bits, field, mask);
    Merge(wildcards_, bits);
    if (IsLabelField(field.id)) LookAtLabel();
  }
  FieldValue next = GetField(pass.flow, field);
  for (size_t i = 0; i < next.bytes.size(); ++i) {
    next.bytes[i] = static_cast<uint8_t>((next.bytes[i] & ~mask.bytes[i]) | (value.bytes[i] & mask.bytes[i]));
  }
  SetField(pass.flow, field, next);
  if (is_vlan) TagsFromFlow(pass, tci);
}

bool Translator::IsIp(const Pass& pass) {
  looked_at_.eth_type = Be16(0xffff);
  return pass.flow.packet.eth_type == Be16(kIpv4) || pass.flow.packet.eth_type == Be16(kIpv6);
}

// set_field, load, move, delete_field, stack
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfSetField& action, const List&) {
  if (HasField(pass, *action.field)) {
    SetBits(pass, *action.field, action.value, action.mask);
  } else {
    Drop("unmet prerequisites for {}, set_field ignored", action.field->name);
  }
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfMove& action, const List&) {
  if (HasField(pass, *action.source.field) && HasField(pass, *action.destination.field)) {
    WriteField(pass, action.destination, ReadField(pass, action.source));
  }
  return Step::kNext;
}

// Only tunnel options can go, and there are none.
Translator::Step Translator::Do(Pass&, const OfDeleteField&, const List&) { return Step::kNext; }

Translator::Step Translator::Do(Pass& pass, const OfStackPush& action, const List&) {
  pass.stack.push_back(ReadField(pass, action.subfield));
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfStackPop& action, const List&) {
  if (pass.stack.empty()) {
    Drop("Failed to pop from an empty stack.");
    return Step::kNext;
  }
  SubValue value = pass.stack.back();
  pass.stack.pop_back();
  WriteField(pass, action.subfield, value);
  return Step::kNext;
}

// The fields that OpenFlow 1.0 has actions of their own for
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfSetEth& action, const List&) {
  MacAddress& seen = action.source ? looked_at_.eth_src : looked_at_.eth_dst;
  seen.fill(0xff);
  (action.source ? pass.flow.packet.eth_src : pass.flow.packet.eth_dst) = action.mac;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetIpv4& action, const List&) {
  looked_at_.eth_type = Be16(0xffff);
  if (pass.flow.packet.eth_type != Be16(kIpv4)) return Step::kNext;
  (action.source ? looked_at_.ipv4_src : looked_at_.ipv4_dst) = Be32(UINT32_MAX);
  (action.source ? pass.flow.packet.ipv4_src : pass.flow.packet.ipv4_dst) = action.address;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetL4Port& action, const List&) {
  FlowKey& packet = pass.flow.packet;
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_proto = looked_at_.ip_frag = 0xff;
  const bool has_ports = packet.ip_proto == kTcp || packet.ip_proto == kUdp || packet.ip_proto == kSctp;
  if (!has_ports || (packet.ip_frag & kFragLater) != 0) return Step::kNext;
  (action.source ? looked_at_.tp_src : looked_at_.tp_dst) = Be16(0xffff);
  (action.source ? packet.tp_src : packet.tp_dst) = Be16(action.port);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetIpDscp& action, const List&) {
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_tos |= kDscpMask;
  uint8_t& tos = pass.flow.packet.ip_tos;
  tos = static_cast<uint8_t>((tos & ~kDscpMask) | (action.dscp & kDscpMask));
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetIpEcn& action, const List&) {
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_tos |= kEcnMask;
  uint8_t& tos = pass.flow.packet.ip_tos;
  tos = static_cast<uint8_t>((tos & ~kEcnMask) | (action.ecn & kEcnMask));
  return Step::kNext;
}

// TTL
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfSetIpTtl& action, const List&) {
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_ttl = 0xff;
  pass.flow.packet.ip_ttl = action.ttl;
  return Step::kNext;
}

Translator::Step Translator::SendInvalidTtl(Pass& pass, absl::Span<const uint16_t> controllers) {
  for (uint16_t controller : controllers) {
    SendToController(pass, kNoMaxLen, controller, OfPacketIn::Reason::kInvalidTtl, {}, 0);
  }
  // What the list would do with the packet, it does no more.
  Drop("IPv4 decrement TTL exception");
  return Step::kEndList;
}

Translator::Step Translator::Do(Pass& pass, const OfDecTtl& action, const List&) {
  if (!IsIp(pass)) return Step::kNext;
  looked_at_.ip_ttl = 0xff;
  if (pass.flow.packet.ip_ttl > 1) {
    --pass.flow.packet.ip_ttl;
    return Step::kNext;
  }
  return SendInvalidTtl(pass, action.controllers);
}

// Nothing here has an NSH header.
Translator::Step Translator::Do(Pass&, const OfDecNshTtl&, const List&) { return Step::kNext; }

}  // namespace sluice
