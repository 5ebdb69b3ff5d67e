// Any bytes as a match, in each form of the wire and as text: it is refused, or comes back the same from what we make
// of it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/openflow/match.h"

namespace sluice {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Bits of fragments that have no word, which the wire can say and text cannot.
bool HasWords(const OfMatch& match) { return FormatMatch(match, 32768, {}).find("<error>") == std::string::npos; }

bool ParseText(std::string_view text, OfMatch& match) {
  while (!text.empty()) {
    size_t close = text.find(')'), comma = text.find(',');
    if (text.starts_with("packet_type=(") && close != std::string_view::npos) comma = text.find(',', close);
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    size_t equals = item.find('=');
    std::string_view value = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    bool used = false;
    if (!ParseMatchItem(item.substr(0, equals), value, {}, match, used).ok() || !used) return false;
  }
  return true;
}

void CheckAllForms(const OfMatch& match) {
  if (CheckMatch(match)) return;
  WireWriter entries;
  EncodeEntries(match, MatchForm::kNxm, OfVersion::k10, entries);
  if (match.mask.packet.skb_priority == 0) {  // which has no header
    OfResult<OfMatch> again = DecodeEntries(AsBytes(entries.bytes()), false, nullptr);
    Require(again.ok() && *again == match);
  }
  for (OfVersion version : {OfVersion::k11, OfVersion::k13, OfVersion::k15}) {
    WireWriter out;
    EncodeMatch(match, version, out);
    Require(out.size() % 8 == 0);
  }
  WireWriter match10;
  bool fits = EncodeMatch10(match, match10);
  WireReader in(AsBytes(match10.bytes()));
  OfResult<OfMatch> again10 = DecodeMatch10(in);
  Require(again10.ok() && in.AtEnd() && (!fits || *again10 == match));

  // A packet_type of Ethernet goes without saying.
  if (!HasWords(match) || match.mask.packet_type != 0) return;
  OfMatch parsed;
  Require(ParseText(FormatMatch(match, 32768, {}), parsed) && parsed == match);
}

void Decode(uint8_t form, Bytes bytes) {
  WireReader in(bytes);
  CookieMatch cookie;
  OfResult<OfMatch> match = OfMatch();
  switch (form % 6) {
    case 0:
      match = DecodeEntries(bytes, false, &cookie);
      break;
    case 1:
      match = DecodeEntries(bytes, true, nullptr);
      break;
    case 2:
      match = DecodeMatch10(in);
      break;
    case 3:
      match = DecodeMatch(in, OfVersion::k11);
      break;
    case 4: {
      OfResult<FieldEntry> entry = DecodeFieldEntry(in);
      if (!entry.ok()) return;
      std::string text = FormatFieldValue(*entry->field, entry->value, &entry->mask, {});
      absl::StatusOr<ParsedValue> parsed = ParseFieldValue(*entry->field, text, {});
      // A mask of nothing is a prefix of no bits, or has no words.
      if (entry->field->text == FieldInfo::Text::kFrag || IsZero(entry->mask)) return;
      Require(parsed.ok() && parsed->value == entry->value && parsed->mask == entry->mask);
      return;
    }
    default: {
      OfMatch parsed;
      std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (ParseText(text, parsed)) CheckAllForms(parsed);
      NormalizeMatch(parsed);
      absl::StatusOr<Subfield> subfield = ParseSubfield(text);
      if (subfield.ok()) Require(*ParseSubfield(FormatSubfield(*subfield)) == *subfield);
      return;
    }
  }
  if (match.ok()) CheckAllForms(*match);
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) sluice::Decode(data[0], sluice::Bytes(data + 1, size - 1));
  return 0;
}
