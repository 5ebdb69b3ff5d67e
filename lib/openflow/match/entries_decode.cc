#include <fmt/format.h>

#include "lib/openflow/match.h"
#include "lib/openflow/match/wire_header.h"

namespace sluice {
namespace {

constexpr uint32_t kCookieHeader = 0x00013c08;  // NXM_NX_COOKIE

OfFailure BadLength(const ReadHeader32& header) {
  return {OfError::kBmcBadLen, fmt::format("match entry {:#010x}: longer than the list it is in, or its length has no "
                                           "room for what it holds",
                                           header.header)};
}

bool HasBitsOutside(const FieldValue& value, const FieldValue& mask) {
  for (size_t i = 0; i < value.bytes.size(); ++i) {
    if ((value.bytes[i] & ~mask.bytes[i]) != 0) return true;
  }
  return false;
}

// Value and mask of `field` behind its header.
OfResult<FieldEntry> ReadPayload(WireReader& in, const ReadHeader32& header, const FieldInfo& field) {
  FieldEntry entry{.field = &field, .value = {}, .mask = ExactMask(field), .masked = header.masked};
  Bytes value = in.Take(field.n_bytes);
  Bytes mask = in.Take(header.masked ? field.n_bytes : 0);
  if (!in.ok()) return BadLength(header);
  std::copy(value.begin(), value.end(), entry.value.bytes.begin());
  if (header.masked) {
    FieldValue exact = entry.mask;
    std::copy(mask.begin(), mask.end(), entry.mask.bytes.begin());
    if (HasBitsOutside(entry.value, entry.mask)) {
      return {OfError::kBmcBadWildcards, fmt::format("{}: the value has bits that its mask leaves out", field.name)};
    }
    // Bits that the field has not are passed over.
    for (size_t i = 0; i < field.n_bytes; ++i) entry.mask.bytes[i] &= exact.bytes[i];
    if (field.mask == FieldInfo::Mask::kNone && entry.mask != exact) {
      return {OfError::kBmcBadMask, fmt::format("{} cannot be masked", field.name)};
    }
  }
  if (!IsValidValue(field, entry.value)) {
    return {OfError::kBmcBadValue,
            fmt::format("{:#x} is not a valid value for field {}", FieldToU64(field, entry.value), field.name)};
  }
  return entry;
}

const FieldInfo* FieldOf(const ReadHeader32& header) {
  if (header.masked && header.length % 2 != 0) return nullptr;
  return FindFieldByHeader(header.header, header.experimenter);
}

OfFailure UnknownField(const ReadHeader32& header) {
  if (header.experimenter != 0) {
    return {OfError::kBmcBadField,
            fmt::format("match entry {:#010x} of experimenter {:#x}: no such field, or not of this length",
                        header.header, header.experimenter)};
  }
  return {OfError::kBmcBadField,
          fmt::format("match entry {:#010x}: no such field, or not of this length", header.header)};
}

OfStatus ReadCookie(WireReader& in, const ReadHeader32& header, CookieMatch& cookie) {
  cookie.cookie = in.U64();
  cookie.mask = header.masked ? in.U64() : UINT64_MAX;
  if (!in.ok()) return BadLength(header);
  if ((cookie.cookie & ~cookie.mask) != 0) {
    return OfFailure{OfError::kBmcBadWildcards, "cookie: the value has bits that its mask leaves out"};
  }
  return std::nullopt;
}

OfStatus AddEntry(OfMatch& match, const FieldEntry& entry) {
  if (!MatchHasPrereqs(*entry.field, match)) {
    return OfFailure{OfError::kBmcBadPrereq,
                     fmt::format("{}: what it needs is not matched before it", entry.field->name)};
  }
  if (IsFieldUsed(match.mask, *entry.field)) {
    return OfFailure{OfError::kBmcDupField, fmt::format("{} is matched twice", entry.field->name)};
  }
  MatchField(match, *entry.field, entry.value, entry.mask);
  return std::nullopt;
}

}  // namespace

OfResult<OfMatch> DecodeEntries(Bytes entries, bool loose, CookieMatch* cookie) {
  WireReader in(entries);
  OfMatch match;
  bool has_cookie = false;
  while (!in.AtEnd()) {
    ReadHeader32 header;
    if (!ReadWireHeader(in, header)) return BadLength(header);
    uint32_t plain = header.masked ? (header.header & ~kOxmMaskBit) - 8 : header.header;
    if (cookie != nullptr && plain == kCookieHeader) {
      if (has_cookie) return {OfError::kBmcDupField, "the cookie is matched twice"};
      has_cookie = true;
      if (OfStatus failed = ReadCookie(in, header, *cookie)) return *failed;
      continue;
    }
    const FieldInfo* field = FieldOf(header);
    if (field == nullptr) {
      if (!loose) return UnknownField(header);
      in.Skip(header.length);
      if (!in.ok()) return BadLength(header);
      continue;
    }
    OfResult<FieldEntry> entry = ReadPayload(in, header, *field);
    if (!entry.ok()) return entry.failure();
    if (OfStatus failed = AddEntry(match, *entry)) return *failed;
  }
  return match;
}

OfResult<FieldEntry> DecodeFieldEntry(WireReader& in) {
  ReadHeader32 header;
  if (!ReadWireHeader(in, header)) return BadLength(header);
  const FieldInfo* field = FieldOf(header);
  if (field == nullptr) return UnknownField(header);
  return ReadPayload(in, header, *field);
}

OfResult<const FieldInfo*> DecodeFieldHeader(WireReader& in) {
  ReadHeader32 header;
  if (!ReadWireHeader(in, header)) return BadLength(header);
  const FieldInfo* field = header.masked ? nullptr : FieldOf(header);
  if (field == nullptr) return UnknownField(header);
  return field;
}

}  // namespace sluice
