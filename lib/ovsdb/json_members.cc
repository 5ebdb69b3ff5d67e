#include "lib/ovsdb/json_members.h"

#include <algorithm>

#include "lib/ovsdb/error.h"

namespace sluice {

bool IsOvsdbId(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

JsonMembers::JsonMembers(const Json& object, std::string what) : object_(object), what_(std::move(what)) {
  if (!object.is_object()) {
    status_ = OvsdbError("syntax error", fmt::format("Parsing {} failed: Object expected.", what_));
  }
}

const Json* JsonMembers::Optional(std::string_view name, Predicate right) {
  if (!object_.is_object()) return nullptr;
  auto found = object_.find(name);
  if (found == object_.end()) return nullptr;
  asked_.push_back(name);
  if (right(*found)) return &*found;
  Fail(fmt::format("Type mismatch for member '{}'.", name));
  return nullptr;
}

const Json* JsonMembers::Required(std::string_view name, Predicate right) {
  if (object_.is_object() && !object_.contains(name)) {
    Fail(fmt::format("Required '{}' member is missing.", name));
    return nullptr;
  }
  return Optional(name, right);
}

void JsonMembers::Fail(std::string_view details) {
  if (status_.ok()) status_ = OvsdbSyntaxError(object_, fmt::format("Parsing {} failed: {}", what_, details));
}

absl::Status JsonMembers::Finish() {
  if (status_.ok() && asked_.size() < object_.size()) {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
      Fail(fmt::format("Member '{}' is present but not allowed here.", name));
    }
  }
  return status_;
}

}  // namespace sluice
