// Values as the utilities show them.
#include <cmath>

#include "lib/ovsdb/json.h"
#include "lib/ovsdb/value.h"

namespace sluice {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool NeedsQuotes(std::string_view text) {
  if (text.empty() || text == "true" || text == "false") return true;
  if (!IsLetter(text[0]) && text[0] != '_') return true;
  for (char c : text) {
    if (!IsLetter(c) && !IsDigit(c) && c != '_' && c != '-' && c != '.') return true;
  }
  return text.size() == 36 && Uuid::Parse(text).ok();
}

std::string RealToText(double real) {
  // Fifteen digits are what a decimal fraction survives on its way through a double.
  return fmt::format("{:.15g}", real == 0 ? 0.0 : real);
}

}  // namespace

std::string AtomToBareText(const Atom& atom) {
  switch (TypeOf(atom)) {
    case AtomType::kInteger:
      return fmt::format("{}", std::get<int64_t>(atom));
    case AtomType::kReal:
      return RealToText(std::get<double>(atom));
    case AtomType::kBoolean:
      return std::get<bool>(atom) ? "true" : "false";
    case AtomType::kString:
      return std::get<std::string>(atom);
    case AtomType::kUuid:
      return std::get<Uuid>(atom).ToString();
  }
  return {};
}

std::string AtomToText(const Atom& atom) {
  const auto* text = std::get_if<std::string>(&atom);
  return text != nullptr && NeedsQuotes(*text) ? DumpJson(Json(*text)) : AtomToBareText(atom);
}

std::string DatumToText(const Datum& datum, bool is_map, bool is_scalar) {
  bool bare = is_scalar && datum.size() == 1;
  std::string text(bare ? "" : is_map ? "{" : "[");
  for (size_t i = 0; i < datum.size(); ++i) {
    if (i > 0) text += ", ";
    text += AtomToText(datum.keys[i]);
    if (is_map) text += "=" + AtomToText(datum.values[i]);
  }
  if (!bare) text += is_map ? '}' : ']';
  return text;
}

}  // namespace sluice
