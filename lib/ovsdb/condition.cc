// Conditions: the "where" of operations and of monitors.
#include "lib/ovsdb/database.h"
#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"

namespace sluice {
namespace {

constexpr std::string_view kFunctionNames[] = {"<", "<=", "==", "!=", ">=", ">", "includes", "excludes"};

bool IncludesAll(const Datum& whole, const Datum& part) {
  for (size_t i = 0; i < part.size(); ++i) {
    size_t at = whole.Find(part.keys[i]);
    if (at == Datum::npos || (!part.values.empty() && whole.values[at] != part.values[i])) return false;
  }
  return true;
}

bool IncludesAny(const Datum& whole, const Datum& part) {
  for (size_t i = 0; i < part.size(); ++i) {
    size_t at = whole.Find(part.keys[i]);
    if (at != Datum::npos && (part.values.empty() || whole.values[at] == part.values[i])) return true;
  }
  return false;
}

ColumnType PlainUuid() {
  ColumnType type;
  type.key.type = AtomType::kUuid;
  return type;
}

}  // namespace

absl::StatusOr<Condition::Function> Condition::ParseFunction(const std::string& name) {
  for (size_t i = 0; i < std::size(kFunctionNames); ++i) {
    if (kFunctionNames[i] == name) return static_cast<Function>(i);
  }
  return OvsdbError("unknown function", fmt::format("No function named {}.", name));
}

absl::StatusOr<Condition::Clause> Condition::ParseClause(const TableSchema& table, const Json& json,
                                                         std::map<std::string, Uuid, std::less<>>* symbols) {
  if (!json.is_array() || json.size() != 3 || !json[0].is_string() || !json[1].is_string()) {
    return OvsdbSyntaxError(json, "Parse error in condition.");
  }
  const std::string& name = json[0].get_ref<const std::string&>();
  const std::string& function_name = json[1].get_ref<const std::string&>();
  Clause clause;
  ColumnType type = PlainUuid();
  if (name == "_uuid" || name == "_version") {
    clause.column = name == "_uuid" ? kUuidColumn : kVersionColumn;
  } else {
    clause.column = table.FindColumn(name);
    if (clause.column == TableSchema::npos) {
      return OvsdbErrorAbout(json, "unknown column", fmt::format("No column {} in table {}.", name, table.name));
    }
    type = table.columns[clause.column].type;
  }
  absl::StatusOr<Function> function = ParseFunction(function_name);
  if (!function.ok()) return function.status();
  clause.function = *function;

  // What a clause compares with may be smaller or larger than what the column holds.
  bool is_number = type.key.type == AtomType::kInteger || type.key.type == AtomType::kReal;
  switch (clause.function) {
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kGreaterEqual:
    case Function::kGreater:
      if (!is_number || !(type.is_scalar() || type.is_optional())) {
        return OvsdbSyntaxError(
            json, fmt::format("Type mismatch: \"{}\" operator may not be applied to column {} of type {}.",
                              function_name, name, type.ToEnglish()));
      }
      type.min = 1;
      break;
    case Function::kIncludes:
      if (!type.is_scalar()) type.min = 0;
      break;
    case Function::kExcludes:
      if (!type.is_scalar()) {
        type.min = 0;
        type.max = ColumnType::kUnlimited;
      }
      break;
    case Function::kEqual:
    case Function::kNotEqual:
      break;
  }
  absl::StatusOr<Datum> value = type.Parse(json[2], symbols);
  if (!value.ok()) return value.status();
  clause.value = *std::move(value);
  return clause;
}

absl::StatusOr<Condition> Condition::Parse(const TableSchema& table, const Json& json, Combine combine,
                                           std::map<std::string, Uuid, std::less<>>* symbols) {
  if (!json.is_array()) return OvsdbSyntaxError(json, "array expected");
  Condition condition;
  condition.combine_ = combine;
  bool decided = false;  // a boolean that decides the whole has been seen
  for (const Json& element : json) {
    if (element.is_boolean()) {
      decided = decided || element.get<bool>() == (combine == Combine::kAny);
      continue;
    }
    absl::StatusOr<Clause> clause = ParseClause(table, element, symbols);
    if (!clause.ok()) return clause.status();
    condition.clauses_.push_back(*std::move(clause));
  }
  if (decided) condition.clauses_.clear();
  // Without clauses: what the booleans come to; nothing at all is true of every row.
  bool any = combine == Combine::kAny;
  condition.value_if_empty_ = json.empty() || decided == any;
  return condition;
}

bool Condition::Clause::Holds(const Row& row) const {
  if (column == kUuidColumn || column == kVersionColumn) {
    const Uuid& uuid = column == kUuidColumn ? row.uuid : row.version;
    bool equal = std::get<Uuid>(value.keys[0]) == uuid;
    return equal == (function == Function::kEqual || function == Function::kIncludes);
  }
  const Datum& datum = row.columns[column];
  switch (function) {
    case Function::kEqual:
      return datum == value;
    case Function::kNotEqual:
      return !(datum == value);
    case Function::kIncludes:
      return IncludesAll(datum, value);
    case Function::kExcludes:
      return !IncludesAny(datum, value);
    default:
      break;
  }
  // An absent number is neither less nor greater.
  if (datum.empty()) return false;
  const Atom& left = datum.keys[0];
  const Atom& right = value.keys[0];
  switch (function) {
    case Function::kLess:
      return left < right;
    case Function::kLessEqual:
      return left <= right;
    case Function::kGreaterEqual:
      return left >= right;
    default:
      return left > right;
  }
}

bool Condition::Matches(const Row& row) const {
  if (clauses_.empty()) return value_if_empty_;
  bool any = combine_ == Combine::kAny;
  for (const Clause& clause : clauses_) {
    if (clause.Holds(row) == any) return any;
  }
  return !any;
}

std::optional<Uuid> Condition::OnlyRow() const {
  if (combine_ == Combine::kAny && clauses_.size() != 1) return std::nullopt;
  for (const Clause& clause : clauses_) {
    bool equal = clause.function == Function::kEqual || clause.function == Function::kIncludes;
    if (clause.column == kUuidColumn && equal) return std::get<Uuid>(clause.value.keys[0]);
  }
  return std::nullopt;
}

}  // namespace sluice
