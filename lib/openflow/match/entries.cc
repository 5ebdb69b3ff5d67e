#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "lib/openflow/match.h"

namespace sluice {
namespace {

constexpr uint32_t kMaskBit = 0x100;
constexpr uint32_t kExperimenterClass = 0xffff;
constexpr uint32_t kOnfExperimenter = 0x4f4e4600;
// NXM_NX_COOKIE: class 1, field 30, eight bytes.
constexpr uint32_t kCookieHeader = 1u << 16 | 30u << 9 | 8;

struct EntryHeader {
  uint32_t header = 0;
  uint32_t experimenter = 0;
};

// The header that `version` knows the field by.
EntryHeader HeaderOf(const FieldInfo& field, MatchForm form, OfVersion version) {
  if (form == MatchForm::kOxm && field.oxm_header != 0) {
    if (version >= field.oxm_since) return {field.oxm_header, 0};
    // OpenFlow 1.3 and 1.4 have these as extensions of the ONF, if not in NXM.
    if (field.id == FieldId::kActsetOutput) return {0xffff0000 | 43 << 9 | 8, kOnfExperimenter};
    if (field.id == FieldId::kTcpFlags) return {0xffff0000 | 42 << 9 | 6, kOnfExperimenter};
  }
  if (!field.nxm_name.empty()) return {field.nxm_header, field.experimenter};
  return {field.oxm_header, 0};
}

MatchForm FormOf(OfVersion version) { return version >= OfVersion::k12 ? MatchForm::kOxm : MatchForm::kNxm; }

void PutHeader(const EntryHeader& entry, bool masked, uint8_t n_bytes, WireWriter& out) {
  uint32_t header = entry.header;
  if (masked) header = (header | kMaskBit) + n_bytes;
  out.U32(header);
  if (entry.experimenter != 0) out.U32(entry.experimenter);
}

void PutValue(const FieldInfo& field, const FieldValue& value, WireWriter& out) {
  out.Raw(Bytes(value.bytes.data(), field.n_bytes));
}

void PutEntry(const EntryHeader& entry, const FieldInfo& field, const FieldValue& value, const FieldValue* mask,
              WireWriter& out) {
  PutHeader(entry, mask != nullptr, field.n_bytes, out);
  PutValue(field, value, out);
  if (mask != nullptr) PutValue(field, *mask, out);
}

// Whether the field is the one by which `form` writes what lies in its place of the flow.
bool IsWritten(const FieldInfo& field, MatchForm form) {
  switch (field.id) {
    case FieldId::kInPort:
    case FieldId::kVlanTci:
    case FieldId::kIpDscp:
      return form == MatchForm::kNxm;
    case FieldId::kInPortOxm:
    case FieldId::kVlanVid:
    case FieldId::kVlanPcp:
    case FieldId::kIpDscpShifted:
      return form == MatchForm::kOxm;
    case FieldId::kDlVlan:
    case FieldId::kDlVlanPcp:
    case FieldId::kSkbPriority:
      return false;
    default:
      return field.id < FieldId::kXreg0 || field.id > FieldId::kXxreg3;
  }
}

FieldValue ReadValue(const FieldInfo& field, WireReader& in) {
  FieldValue value;
  Bytes bytes = in.Take(field.n_bytes);
  std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
  return value;
}

bool HasBitsOutside(const FieldValue& value, const FieldValue& mask) {
  for (size_t i = 0; i < value.bytes.size(); ++i) {
    if ((value.bytes[i] & ~mask.bytes[i]) != 0) return true;
  }
  return false;
}

OfFailure Malformed(std::string what) { return {OfError::kBmcBadLen, std::move(what)}; }

// The bits of a mask that are beyond the field count as if they were not there.
FieldValue WithinField(FieldValue mask, const FieldInfo& field) {
  FieldValue exact = ExactMask(field);
  for (size_t i = 0; i < mask.bytes.size(); ++i) mask.bytes[i] &= exact.bytes[i];
  return mask;
}

struct RawHeader {
  uint32_t header = 0;
  uint32_t experimenter = 0;
  size_t length = 0;  // of what follows
};

RawHeader ReadHeader(WireReader& in) {
  RawHeader raw;
  raw.header = in.U32();
  raw.length = raw.header & 0xff;
  if (raw.header >> 16 == kExperimenterClass) {
    if (raw.length < 4) {
      in.Skip(in.left() + 1);  // not a header
      return raw;
    }
    raw.experimenter = in.U32();
    raw.length -= 4;
  }
  return raw;
}

OfStatus AddEntry(const FieldInfo& field, const RawHeader& raw, WireReader& in, OfMatch& match) {
  FieldValue value = ReadValue(field, in);
  bool masked = (raw.header & kMaskBit) != 0;
  FieldValue mask = masked ? ReadValue(field, in) : ExactMask(field);
  if (masked) {
    if (field.mask == FieldInfo::Mask::kNone && WithinField(mask, field) != ExactMask(field)) {
      return OfFailure{OfError::kBmcBadMask, fmt::format("match: {} cannot be masked", field.name)};
    }
    if (HasBitsOutside(value, mask)) {
      return OfFailure{OfError::kBmcBadWildcards, fmt::format("match: {} has bits outside of its mask", field.name)};
    }
    mask = WithinField(mask, field);
  }
  if (!IsValidValue(field, value)) {
    return OfFailure{OfError::kBmcBadValue, fmt::format("match: {} has a value that it cannot have", field.name)};
  }
  if (!MatchHasPrereqs(field, match)) {
    return OfFailure{OfError::kBmcBadPrereq, fmt::format("match: {} lacks its prerequisites", field.name)};
  }
  MatchField(match, field, value, mask);
  return std::nullopt;
}

}  // namespace

void EncodeEntries(const OfMatch& match, MatchForm form, OfVersion version, WireWriter& out) {
  for (const FieldInfo& field : AllFields()) {
    if (!IsFieldUsed(match.mask, field) || !IsWritten(field, form)) continue;
    FieldValue mask = GetField(match.mask, field);
    // A VLAN's bits need no tag where they say that there is none.
    bool is_tag = field.id == FieldId::kVlanVid || field.id == FieldId::kVlanPcp;
    if (field.id == FieldId::kVlanPcp && !MatchHasPrereqs(field, match)) continue;
    if (!is_tag && !MatchHasPrereqs(field, match)) continue;
    bool exact = mask == ExactMask(field) || field.mask == FieldInfo::Mask::kNone;
    PutEntry(HeaderOf(field, form, version), field, GetField(match.value, field), exact ? nullptr : &mask, out);
  }
}

OfResult<OfMatch> DecodeEntries(Bytes entries, bool loose, CookieMatch* cookie) {
  OfMatch match;
  std::bitset<static_cast<size_t>(FieldId::kCount)> seen;
  WireReader in(entries);
  while (!in.AtEnd()) {
    RawHeader raw = ReadHeader(in);
    Bytes payload = in.Take(raw.length);
    if (!in.ok()) return Malformed(fmt::format("match: entry {:#010x} goes beyond the end of the match", raw.header));
    WireReader body(payload);
    if (raw.experimenter == 0 && (raw.header == kCookieHeader || raw.header == (kCookieHeader | kMaskBit) + 8)) {
      if (cookie == nullptr) return {OfError::kNxBrcNxmInvalid, "match: a cookie has no place here"};
      cookie->cookie = body.U64();
      cookie->mask = payload.size() == 16 ? body.U64() : UINT64_MAX;
      continue;
    }
    const FieldInfo* field = FindFieldByHeader(raw.header, raw.experimenter);
    size_t values = (raw.header & kMaskBit) != 0 ? 2 : 1;
    if (field == nullptr || payload.size() != field->n_bytes * values) {
      if (loose) continue;
      return {OfError::kBmcBadField, fmt::format("match: unknown field with header {:#010x}", raw.header)};
    }
    if (seen[static_cast<size_t>(field->id)]) {
      return {OfError::kBmcDupField, fmt::format("match: {} is there twice", field->name)};
    }
    seen.set(static_cast<size_t>(field->id));
    if (OfStatus status = AddEntry(*field, raw, body, match)) return *status;
  }
  return match;
}

void EncodeFieldEntry(const FieldInfo& field, const FieldValue& value, const FieldValue* mask, OfVersion version,
                      WireWriter& out) {
  PutEntry(HeaderOf(field, FormOf(version), version), field, value, mask, out);
}

OfResult<FieldEntry> DecodeFieldEntry(WireReader& in) {
  RawHeader raw = ReadHeader(in);
  Bytes payload = in.Take(raw.length);
  if (!in.ok()) return {OfError::kBacBadLen, "field entry goes beyond the end of its action"};
  const FieldInfo* field = FindFieldByHeader(raw.header, raw.experimenter);
  bool masked = (raw.header & kMaskBit) != 0;
  if (field == nullptr || payload.size() != field->n_bytes * (masked ? 2u : 1u)) {
    return {OfError::kBacBadSetType, fmt::format("unknown field with header {:#010x}", raw.header)};
  }
  WireReader body(payload);
  FieldEntry entry{.field = field, .value = ReadValue(*field, body), .mask = ExactMask(*field), .masked = masked};
  if (masked) entry.mask = ReadValue(*field, body);
  return entry;
}

void EncodeFieldHeader(const FieldInfo& field, OfVersion version, WireWriter& out) {
  EntryHeader entry = HeaderOf(field, FormOf(version), version);
  out.U32(entry.header);
  if (entry.experimenter != 0) out.U32(entry.experimenter);
}

OfResult<const FieldInfo*> DecodeFieldHeader(WireReader& in) {
  RawHeader raw = ReadHeader(in);
  if (!in.ok()) return {OfError::kBacBadLen, "a field's header is cut off"};
  const FieldInfo* field = FindFieldByHeader(raw.header, raw.experimenter);
  if (field == nullptr) return {OfError::kBacBadSetType, fmt::format("unknown field with header {:#010x}", raw.header)};
  return field;
}

}  // namespace sluice
