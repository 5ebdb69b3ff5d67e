// The one place where the JSON library's types meet OVSDB's. JSON texts are RFC 8259; OVSDB's use of them RFC 7047.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {

using Json = nlohmann::json;

inline constexpr int kMaxJsonNesting = 1000;

// Parses one JSON text; the error names the position. Refuses deeper nesting, and the null bytes (\u0000) in strings that
// other implementations end a string at.
absl::StatusOr<Json> ParseJson(std::string_view text);
// Strings that are not UTF-8 come out with replacement characters rather than as an error.
std::string DumpJson(const Json& json);

}  // namespace sluice
