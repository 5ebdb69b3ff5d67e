// The members of a JSON object, asked for by name and type; what nobody asked for is an error. The first thing that is
// wrong becomes a "syntax error" that begins "Parsing <what> failed: ".
//
// Borrows the object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/ovsdb/json.h"

namespace sluice {

// An <id> of RFC 7047: a letter or '_', then letters, digits and '_'.
bool IsOvsdbId(std::string_view text);

class JsonMembers {
 public:
  using Predicate = bool (*)(const Json&);

  JsonMembers(const Json& object, std::string what);

  // The member if it is there and `right` of it holds, else nullptr.
  const Json* Optional(std::string_view name, Predicate right);
  // The same, but its absence is an error.
  const Json* Required(std::string_view name, Predicate right);
  void Fail(std::string_view details);
  // The first error, or that there are members that were never asked for. Every pointer that Required() gave is good
  // if this is OK.
  absl::Status Finish();

  static bool IsAny(const Json&) { return true; }
  static bool IsArray(const Json& json) { return json.is_array(); }
  static bool IsBoolean(const Json& json) { return json.is_boolean(); }
  static bool IsId(const Json& json) { return json.is_string() && IsOvsdbId(Text(json)); }
  static bool IsInteger(const Json& json) { return json.is_number_integer(); }
  static bool IsNumber(const Json& json) { return json.is_number(); }
  static bool IsObject(const Json& json) { return json.is_object(); }
  static bool IsString(const Json& json) { return json.is_string(); }
  static bool IsUnsigned32(const Json& json) { return json.is_number_unsigned() && json.get<uint64_t>() <= UINT32_MAX; }
  // Of a member that is a string.
  static const std::string& Text(const Json& json) { return json.get_ref<const std::string&>(); }

 private:
  const Json& object_;
  std::string what_;
  std::vector<std::string_view> asked_;
  absl::Status status_;
};

}  // namespace sluice
