// Types of columns: constraints, and values from and to JSON.
#include <cmath>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/json_members.h"
#include "lib/ovsdb/schema.h"

namespace sluice {
namespace {

// Beyond it (2^63) a real is no int64_t.
constexpr double kIntegerLimit = 9223372036854775808.0;

template <typename T>
absl::Status CheckRange(const T& value, const T* min, const T* max) {
  if ((min == nullptr || value >= *min) && (max == nullptr || value <= *max)) return absl::OkStatus();
  auto text = [](const T& number) { return AtomToBareText(Atom(number)); };
  std::string details;
  if (min != nullptr && max != nullptr) {
    details = fmt::format("{} is not in the valid range {} to {} (inclusive)", text(value), text(*min), text(*max));
  } else if (min != nullptr) {
    details = fmt::format("{} is less than minimum allowed value {}", text(value), text(*min));
  } else {
    details = fmt::format("{} is greater than maximum allowed value {}", text(value), text(*max));
  }
  return OvsdbError("constraint violation", std::move(details));
}

size_t CountCharacters(std::string_view utf8) {
  size_t count = 0;
  for (char c : utf8) count += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return count;
}

absl::Status CheckLength(const std::string& text, uint32_t min, uint32_t max) {
  size_t length = CountCharacters(text);
  if (length < min) {
    return OvsdbError("constraint violation",
                      fmt::format("\"{}\" length {} is less than minimum allowed length {}", text, length, min));
  }
  if (length > max) {
    return OvsdbError("constraint violation",
                      fmt::format("\"{}\" length {} is greater than maximum allowed length {}", text, length, max));
  }
  return absl::OkStatus();
}

using Symbols = std::map<std::string, Uuid, std::less<>>;

// The second member of [tag, ...], or nullptr.
const Json* Tagged(const Json& json, std::string_view tag) {
  bool is = json.is_array() && json.size() == 2 && json[0].is_string() && json[0].get_ref<const std::string&>() == tag;
  return is ? &json[1] : nullptr;
}

absl::StatusOr<Uuid> ParseUuidAtom(const Json& json, Symbols* symbols) {
  if (const Json* text = Tagged(json, "uuid"); text != nullptr && text->is_string()) {
    absl::StatusOr<Uuid> uuid = Uuid::Parse(text->get_ref<const std::string&>());
    if (!uuid.ok()) return OvsdbSyntaxError(json, Message(uuid.status()));
    return *uuid;
  }
  const Json* name = symbols != nullptr ? Tagged(json, "named-uuid") : nullptr;
  if (name == nullptr || !name->is_string()) return OvsdbSyntaxError(json, "expected [\"uuid\", <string>]");
  const std::string& id = name->get_ref<const std::string&>();
  if (!IsOvsdbId(id)) return OvsdbSyntaxError(json, "named-uuid string is not a valid <id>");
  auto found = symbols->find(id);
  if (found == symbols->end()) found = symbols->emplace(id, Uuid::Random()).first;
  return found->second;
}

// Numbers are what they are worth, not how they are written: 7.0 is an integer too.
std::optional<int64_t> ToInteger(const Json& json) {
  if (json.is_number_unsigned()) {
    uint64_t number = json.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  double real = json.get<double>();
  if (!(real >= -kIntegerLimit && real < kIntegerLimit) || real != std::floor(real)) return std::nullopt;
  return static_cast<int64_t>(real);
}

absl::StatusOr<Atom> ParseUnchecked(AtomType type, const Json& json, Symbols* symbols) {
  switch (type) {
    case AtomType::kInteger:
      if (auto number = ToInteger(json)) return *number;
      break;
    case AtomType::kReal:
      if (json.is_number()) return json.get<double>();
      break;
    case AtomType::kBoolean:
      if (json.is_boolean()) return json.get<bool>();
      break;
    case AtomType::kString:
      if (json.is_string()) return json.get_ref<const std::string&>();
      break;
    case AtomType::kUuid: {
      absl::StatusOr<Uuid> uuid = ParseUuidAtom(json, symbols);
      if (!uuid.ok()) return uuid.status();
      return *uuid;
    }
  }
  return OvsdbSyntaxError(json, fmt::format("expected {}", AtomTypeName(type)));
}

absl::StatusOr<Atom> ParseAtom(const BaseType& base, const Json& json, Symbols* symbols) {
  absl::StatusOr<Atom> atom = ParseUnchecked(base.type, json, symbols);
  if (!atom.ok()) return atom;
  SLUICE_RETURN_IF_ERROR(base.Check(*atom));
  return atom;
}

absl::Status CheckCount(const ColumnType& type, size_t count, const Json& json) {
  if (count >= type.min && count <= type.max) return absl::OkStatus();
  std::string_view kind = type.is_map() ? "map" : "set";
  if (type.min == 1 && type.max == 1) {
    return OvsdbSyntaxError(json, fmt::format("{} must have exactly one member but {} are present", kind, count));
  }
  return OvsdbSyntaxError(
      json, fmt::format("{} must have {} to {} members but {} are present", kind, type.min, type.max, count));
}

Json AtomToJson(const Atom& atom) {
  switch (TypeOf(atom)) {
    case AtomType::kInteger:
      return std::get<int64_t>(atom);
    case AtomType::kReal: {
      // Whole numbers without ".0", as other implementations write them.
      double real = std::get<double>(atom);
      if (real == std::floor(real) && std::abs(real) < 1e15) return static_cast<int64_t>(real);
      return real;
    }
    case AtomType::kBoolean:
      return std::get<bool>(atom);
    case AtomType::kString:
      return std::get<std::string>(atom);
    case AtomType::kUuid:
      return Json::array({"uuid", std::get<Uuid>(atom).ToString()});
  }
  return nullptr;
}

}  // namespace

absl::Status BaseType::Check(const Atom& atom) const {
  if (TypeOf(atom) != type) {
    return OvsdbError("constraint violation",
                      fmt::format("{} is not of type {}", AtomToText(atom), AtomTypeName(type)));
  }
  if (enumeration && !enumeration->Contains(atom)) {
    return OvsdbError("constraint violation", fmt::format("{} is not one of the allowed values ({})", AtomToText(atom),
                                                          DatumToText(*enumeration, false, false)));
  }
  switch (type) {
    case AtomType::kInteger:
      return CheckRange(std::get<int64_t>(atom), min_integer != INT64_MIN ? &min_integer : nullptr,
                        max_integer != INT64_MAX ? &max_integer : nullptr);
    case AtomType::kReal:
      return CheckRange(std::get<double>(atom), min_real ? &*min_real : nullptr, max_real ? &*max_real : nullptr);
    case AtomType::kString:
      return CheckLength(std::get<std::string>(atom), min_length, max_length);
    case AtomType::kBoolean:
    case AtomType::kUuid:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

Datum ColumnType::Default() const {
  Datum datum;
  if (min == 0) return datum;
  datum.keys.push_back(DefaultAtom(key.type));
  if (is_map()) datum.values.push_back(DefaultAtom(value->type));
  return datum;
}

absl::Status ColumnType::Check(const Datum& datum) const {
  if (datum.size() < min || datum.size() > max) {
    return OvsdbError("constraint violation",
                      fmt::format("Attempted to store {} elements in {}.", datum.size(), ToEnglish()));
  }
  for (const Atom& atom : datum.keys) SLUICE_RETURN_IF_ERROR(key.Check(atom));
  for (const Atom& atom : datum.values) SLUICE_RETURN_IF_ERROR(value->Check(atom));
  return absl::OkStatus();
}

std::string ColumnType::ToEnglish() const {
  if (is_scalar()) return std::string(AtomTypeName(key.type));
  std::string bounds;
  if (max == kUnlimited) {
    if (min > 0) bounds = fmt::format("{} or more ", min);
  } else if (min > 0) {
    bounds = fmt::format("{} to {} ", min, max);
  } else {
    bounds = fmt::format("up to {} ", max);
  }
  if (!is_map()) return fmt::format("set of {}{}s", bounds, AtomTypeName(key.type));
  return fmt::format("map of {}({}, {}) pairs", bounds, AtomTypeName(key.type), AtomTypeName(value->type));
}

absl::StatusOr<Datum> ColumnType::Parse(const Json& json, Symbols* symbols) const {
  const Json* elements = Tagged(json, is_map() ? "map" : "set");
  // ["set", ...] of strings must be the set; a lone array is an atom only as ["uuid", ...].
  bool meant_as_set = json.is_array() && !json.empty() && json[0].is_string() && json[0] == "set";
  Datum datum;
  if (!is_map() && !meant_as_set) {
    absl::StatusOr<Atom> atom = ParseAtom(key, json, symbols);
    if (!atom.ok()) return atom.status();
    datum.keys.push_back(*std::move(atom));
    return datum;
  }
  if (elements == nullptr || !elements->is_array()) {
    return OvsdbSyntaxError(json, is_map() ? "expected [\"map\", <array>]" : "expected [\"set\", <array>]");
  }
  SLUICE_RETURN_IF_ERROR(CheckCount(*this, elements->size(), json));
  datum.keys.reserve(elements->size());
  if (is_map()) datum.values.reserve(elements->size());
  for (const Json& element : *elements) {
    if (is_map() && (!element.is_array() || element.size() != 2)) {
      return OvsdbSyntaxError(element, "expected 2-element array");
    }
    absl::StatusOr<Atom> atom = ParseAtom(key, is_map() ? element[0] : element, symbols);
    if (!atom.ok()) return atom.status();
    datum.keys.push_back(*std::move(atom));
    if (!is_map()) continue;
    absl::StatusOr<Atom> mapped = ParseAtom(*value, element[1], symbols);
    if (!mapped.ok()) return mapped.status();
    datum.values.push_back(*std::move(mapped));
  }
  if (datum.Normalize(is_map())) {
    return OvsdbError("ovsdb error", is_map() ? "map contains duplicate key" : "set contains duplicate");
  }
  return datum;
}

Json DatumToJson(const Datum& datum, const ColumnType& type) {
  if (!type.is_map() && datum.size() == 1) return AtomToJson(datum.keys[0]);
  Json elements = Json::array();
  for (size_t i = 0; i < datum.size(); ++i) {
    if (type.is_map()) {
      elements.push_back(Json::array({AtomToJson(datum.keys[i]), AtomToJson(datum.values[i])}));
    } else {
      elements.push_back(AtomToJson(datum.keys[i]));
    }
  }
  return Json::array({type.is_map() ? "map" : "set", std::move(elements)});
}

}  // namespace sluice
