#include "lib/ovsdb/json.h"

namespace sluice {
namespace {

// Whether the text has the escape \u0000 in a string. Other implementations end a string at it, so that the two sides
// would disagree on what a row holds.
bool HasEscapedNul(std::string_view text) {
  for (size_t at = text.find("\\u0000"); at != std::string_view::npos; at = text.find("\\u0000", at + 1)) {
    size_t backslashes = 1;
    while (backslashes <= at && text[at - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 1) return true;
  }
  return false;
}

// Whether arrays and objects lie within each other deeper than kMaxJsonNesting. Of text that is no JSON the answer does
// not matter.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text) {
  // Writing JSON again is recursive.
  if (IsTooDeep(text)) return InvalidArgument("input exceeds maximum nesting depth {}", kMaxJsonNesting);
  if (HasEscapedNul(text)) return InvalidArgument("null bytes (\\u0000) are not supported in strings");
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line ...": the bracket means nothing to people.
    std::string_view what = error.what();
    size_t bracket = what.find("] ");
    if (bracket != std::string_view::npos) what.remove_prefix(bracket + 2);
    return InvalidArgument("{}", what);
  }
}

std::string DumpJson(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace sluice
