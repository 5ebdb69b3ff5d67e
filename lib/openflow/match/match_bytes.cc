// The header of matches of OpenFlow 1.1 and later.
#include <fmt/format.h>

#include "lib/openflow/match/standard_match.h"

namespace sluice {
namespace {

constexpr uint16_t kStandardType = 0, kOxmType = 1;
constexpr uint16_t kStandardLength = 88;

}  // namespace

void EncodeMatch(const OfMatch& match, OfVersion version, WireWriter& out) {
  if (version <= OfVersion::k11 && FitsStandardMatch(match, OfVersion::k11)) return EncodeStandardMatch11(match, out);
  size_t start = out.size();
  out.U16(kOxmType);
  out.U16(0);
  EncodeEntries(match, MatchForm::kOxm, version, out);
  out.SetU16(start + 2, static_cast<uint16_t>(out.size() - start));
  out.PadFrom(start, 8);
}

OfResult<OfMatch> DecodeMatch(WireReader& in, OfVersion version) {
  uint16_t type = in.U16(), length = in.U16();
  if (!in.ok()) return {OfError::kBmcBadLen, "match: shorter than its header"};
  if (type == kStandardType && version == OfVersion::k11) {
    if (length != kStandardLength) {
      return {OfError::kBmcBadLen, fmt::format("standard match: length {} instead of 88", length)};
    }
    return DecodeStandardMatch11(in);
  }
  if (type != kOxmType) return {OfError::kBmcBadType, fmt::format("match: unknown type {}", type)};
  size_t padding = (8 - length % 8) % 8;
  if (length < 4 || length - 4 + padding > in.left()) {
    return {OfError::kBmcBadLen, fmt::format("match: length {} with {} bytes behind its header", length, in.left())};
  }
  Bytes entries = in.Take(length - 4u);
  in.Skip(padding);
  return DecodeEntries(entries, false, nullptr);
}

}  // namespace sluice
