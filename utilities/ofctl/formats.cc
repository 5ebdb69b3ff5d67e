#include "utilities/ofctl/formats.h"

#include <algorithm>
#include <cctype>
#include <variant>
#include <vector>

namespace sluice::ofctl {
namespace {

struct NamedFormats {
  uint32_t formats;
  std::string_view name;
};
// Names of several formats stand before those of single ones.
constexpr NamedFormats kNames[] = {
    {kAnyFormat, "any"},
    {kOf10Any, "OpenFlow10"},
    {kNxmAny, "NXM"},
    {kOxmAny, "OXM"},
    {kOf10, "OpenFlow10-table_id"},
    {kOf10Tid, "OpenFlow10+table_id"},
    {kNxm, "NXM-table_id"},
    {kNxmTid, "NXM+table_id"},
    {kOf11, "OpenFlow11"},
    {kOxm12, "OXM-OpenFlow12"},
    {kOxm13, "OXM-OpenFlow13"},
    {kOxm14, "OXM-OpenFlow14"},
    {kOxm15, "OXM-OpenFlow15"},
};
// Other names of the versions' formats.
constexpr NamedFormats kSynonyms[] = {
    {kOxm12, "OpenFlow12"}, {kOxm13, "OpenFlow13"}, {kOxm14, "OpenFlow14"}, {kOxm15, "OpenFlow15"}};

constexpr uint32_t kSince13 = kOxm13 | kOxm14 | kOxm15;

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

uint32_t FormatsOf(const OfActions& actions);

// What only OpenFlow 1.1 introduced, or Nicira's form cannot say, is told here; all other actions have one in 1.0.
uint32_t FormatsOf(const OfAction& action) {
  if (std::holds_alternative<OfMeter>(action.value)) return kSince13;
  if (std::holds_alternative<OfPushVlan>(action.value)) return kOf11 | kOxmAny;
  if (std::holds_alternative<OfWriteMetadata>(action.value)) return kNxmAny | kOf11 | kOxmAny;
  if (const auto* set = std::get_if<OfSetField>(&action.value)) {
    if (set->is_load || set->field == nullptr) return kAnyFormat;
    OfMatch match;
    MatchField(match, *set->field, set->value, set->mask);
    if (FitsStandardMatch(match, OfVersion::k10)) return kAnyFormat;
    return kNxmAny | kOxmAny | (FitsStandardMatch(match, OfVersion::k11) ? uint32_t{kOf11} : 0);
  }
  if (const auto* clone = std::get_if<OfClone>(&action.value)) return FormatsOf(*clone->actions);
  if (const auto* write = std::get_if<OfWriteActions>(&action.value)) return FormatsOf(*write->actions);
  return kAnyFormat;
}

uint32_t FormatsOf(const OfActions& actions) {
  uint32_t formats = kAnyFormat;
  for (const OfAction& action : actions) formats &= FormatsOf(action);
  return formats;
}

uint32_t FormatsOf(const OfMatch& match) {
  uint32_t formats = kNxmAny | kOxmAny;
  if (FitsStandardMatch(match, OfVersion::k10)) formats |= kOf10Any;
  if (FitsStandardMatch(match, OfVersion::k11)) formats |= kOf11;
  return formats;
}

// A cookie to match is in the match in NXM, and a field of its own since 1.1.
uint32_t FormatsOfCookie(uint64_t mask) { return mask != 0 ? kNxmAny | kOf11 | kOxmAny : kAnyFormat; }

}  // namespace

std::string FormatNames(uint32_t formats) {
  if (formats == 0) return "none";
  std::string names;
  for (const NamedFormats& named : kNames) {
    if ((formats & named.formats) != named.formats) continue;
    names += (names.empty() ? "" : ",") + std::string(named.name);
    formats &= ~named.formats;
  }
  return names;
}

absl::StatusOr<uint32_t> ParseFormats(std::string_view text) {
  uint32_t formats = 0;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view word = text.substr(start, comma - start);
    start = comma + 1;
    uint32_t found = 0;
    for (const NamedFormats& named : kNames) {
      if (EqualsIgnoringCase(named.name, word)) found = named.formats;
    }
    for (const NamedFormats& named : kSynonyms) {
      if (EqualsIgnoringCase(named.name, word)) found = named.formats;
    }
    if (found == 0) return InvalidArgument("{}: unknown flow protocol", word);
    formats |= found;
  }
  return formats;
}

OfVersion VersionOf(uint32_t format) {
  switch (format) {
    case kOf11:
      return OfVersion::k11;
    case kOxm12:
      return OfVersion::k12;
    case kOxm13:
      return OfVersion::k13;
    case kOxm14:
      return OfVersion::k14;
    case kOxm15:
      return OfVersion::k15;
    default:
      return OfVersion::k10;
  }
}

uint32_t FormatsOf(OfVersions versions) {
  uint32_t formats = 0;
  for (uint32_t format = 1; format < kFlowFormatsEnd; format <<= 1) {
    if ((versions & VersionBit(VersionOf(format))) != 0) formats |= format;
  }
  return formats;
}

std::string VersionNames(OfVersions versions) {
  std::string names;
  for (auto version : {OfVersion::k10, OfVersion::k11, OfVersion::k12, OfVersion::k13, OfVersion::k14, OfVersion::k15}) {
    if ((versions & VersionBit(version)) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(OfVersionName(version));
  }
  return names;
}

uint32_t UsableFormats(const FlowMod& mod) {
  uint32_t formats = FormatsOf(mod.match) & FormatsOf(mod.actions) & FormatsOfCookie(mod.cookie_mask);
  if (mod.table != kTableAll) formats &= kWithTable;
  if ((mod.flags & kResetCounts) != 0) formats &= kOxmAny;
  if ((mod.flags & (kNoPacketCounts | kNoByteCounts)) != 0) formats &= kSince13;
  if (mod.out_group != kGroupAny) formats &= kOf11 | kOxmAny;
  return formats;
}

uint32_t UsableFormats(const FlowStatsRequest& request) {
  uint32_t formats = FormatsOf(request.match) & FormatsOfCookie(request.cookie_mask);
  if (request.out_group != kGroupAny) formats &= kOf11 | kOxmAny;
  return formats;
}

}  // namespace sluice::ofctl
