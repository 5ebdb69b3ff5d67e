#include "lib/ovsdb/mutation.h"

#include <algorithm>
#include <cmath>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"

namespace sluice {
namespace {

constexpr std::string_view kMutatorNames[] = {"+=", "-=", "*=", "/=", "%=", "insert", "delete"};

bool IsNumber(AtomType type) { return type == AtomType::kInteger || type == AtomType::kReal; }

enum class Arithmetic { kOk, kDivisionByZero, kOutOfRange };

Arithmetic Operate(std::string_view mutator, int64_t& left, int64_t right) {
  bool overflow = false;
  switch (mutator[0]) {
    case '+':
      overflow = __builtin_add_overflow(left, right, &left);
      break;
    case '-':
      overflow = __builtin_sub_overflow(left, right, &left);
      break;
    case '*':
      overflow = __builtin_mul_overflow(left, right, &left);
      break;
    default:
      if (right == 0) return Arithmetic::kDivisionByZero;
      // The one quotient that is no int64_t; the processor traps on its remainder, too.
      if (left == INT64_MIN && right == -1) return Arithmetic::kOutOfRange;
      left = mutator[0] == '/' ? left / right : left % right;
  }
  return overflow ? Arithmetic::kOutOfRange : Arithmetic::kOk;
}

Arithmetic Operate(std::string_view mutator, double& left, double right) {
  switch (mutator[0]) {
    case '+':
      left += right;
      break;
    case '-':
      left -= right;
      break;
    case '*':
      left *= right;
      break;
    default:
      if (right == 0) return Arithmetic::kDivisionByZero;
      left /= right;
  }
  return std::isfinite(left) ? Arithmetic::kOk : Arithmetic::kOutOfRange;
}

// Merges in linear time; of a map, pairs that are there already stay as they are.
void Insert(Datum& datum, const Datum& addition) {
  bool is_map = !datum.values.empty() || !addition.values.empty();
  Datum merged;
  merged.keys.reserve(datum.size() + addition.size());
  if (is_map) merged.values.reserve(datum.size() + addition.size());
  size_t old = 0;
  size_t added = 0;
  while (old < datum.size() || added < addition.size()) {
    bool take_old = added == addition.size() || (old < datum.size() && datum.keys[old] <= addition.keys[added]);
    if (take_old) {
      if (added < addition.size() && datum.keys[old] == addition.keys[added]) ++added;
      merged.keys.push_back(std::move(datum.keys[old]));
      if (is_map) merged.values.push_back(std::move(datum.values[old]));
      ++old;
    } else {
      merged.keys.push_back(addition.keys[added]);
      if (is_map) merged.values.push_back(addition.values[added]);
      ++added;
    }
  }
  datum = std::move(merged);
}

void Delete(Datum& datum, const Datum& unwanted) {
  bool is_map = !datum.values.empty();
  size_t kept = 0;
  for (size_t i = 0; i < datum.size(); ++i) {
    size_t at = unwanted.Find(datum.keys[i]);
    if (at != Datum::npos && (unwanted.values.empty() || unwanted.values[at] == datum.values[i])) continue;
    if (kept != i) {
      datum.keys[kept] = std::move(datum.keys[i]);
      if (is_map) datum.values[kept] = std::move(datum.values[i]);
    }
    ++kept;
  }
  datum.keys.resize(kept);
  if (is_map) datum.values.resize(kept);
}

}  // namespace

absl::StatusOr<Datum> Mutations::ParseValue(const ColumnType& column_type, Mutator mutator, const Json& json,
                                            std::map<std::string, Uuid, std::less<>>* symbols) {
  ColumnType type = column_type;
  switch (mutator) {
    case Mutator::kInsert:
      type.min = 0;
      return type.Parse(json, symbols);
    case Mutator::kDelete: {
      type.min = 0;
      type.max = ColumnType::kUnlimited;
      if (!type.is_map()) return type.Parse(json, symbols);
      // Pairs, or keys whatever their values.
      absl::StatusOr<Datum> pairs = type.Parse(json, symbols);
      if (pairs.ok()) return pairs;
      type.value.reset();
      return type.Parse(json, symbols);
    }
    default:
      // An operand need not lie in the range that the result must.
      type = ColumnType();
      type.key.type = column_type.key.type;
      return type.Parse(json, symbols);
  }
}

absl::StatusOr<Mutations::Mutation> Mutations::ParseOne(const TableSchema& table, const Json& json,
                                                        std::map<std::string, Uuid, std::less<>>* symbols) {
  if (!json.is_array() || json.size() != 3 || !json[0].is_string() || !json[1].is_string()) {
    return OvsdbSyntaxError(json, "Parse error in mutation.");
  }
  const std::string& name = json[0].get_ref<const std::string&>();
  const std::string& mutator_name = json[1].get_ref<const std::string&>();
  Mutation mutation;
  mutation.column = table.FindColumn(name);
  bool reserved = name == "_uuid" || name == "_version";
  if (mutation.column == TableSchema::npos && !reserved) {
    return OvsdbErrorAbout(json, "unknown column", fmt::format("No column {} in table {}.", name, table.name));
  }
  if (reserved || !table.columns[mutation.column].is_mutable) {
    return OvsdbErrorAbout(json, "constraint violation",
                           fmt::format("Cannot mutate immutable column {} in table {}.", name, table.name));
  }
  const auto* found = std::find(std::begin(kMutatorNames), std::end(kMutatorNames), mutator_name);
  if (found == std::end(kMutatorNames)) {
    return OvsdbError("unknown mutator", fmt::format("No mutator named {}.", mutator_name));
  }
  mutation.mutator = static_cast<Mutator>(found - std::begin(kMutatorNames));

  const ColumnType& type = table.columns[mutation.column].type;
  bool of_elements = mutation.mutator == Mutator::kInsert || mutation.mutator == Mutator::kDelete;
  bool fits = of_elements ? !type.is_scalar() : !type.is_map() && IsNumber(type.key.type);
  if (mutation.mutator == Mutator::kModulo && type.key.type != AtomType::kInteger) fits = false;
  if (!fits) {
    return OvsdbSyntaxError(
        json, fmt::format("Type mismatch: \"{}\" operator may not be applied to column {} of type {}.", mutator_name,
                          name, type.ToEnglish()));
  }
  absl::StatusOr<Datum> value = ParseValue(type, mutation.mutator, json[2], symbols);
  if (!value.ok()) return value.status();
  mutation.value = *std::move(value);
  return mutation;
}

absl::StatusOr<Mutations> Mutations::Parse(const TableSchema& table, const Json& json,
                                           std::map<std::string, Uuid, std::less<>>* symbols) {
  Mutations mutations;
  for (const Json& element : json) {
    absl::StatusOr<Mutation> mutation = ParseOne(table, element, symbols);
    if (!mutation.ok()) return mutation.status();
    mutations.mutations_.push_back(*std::move(mutation));
  }
  return mutations;
}

absl::Status Mutations::Calculate(const Mutation& mutation, const ColumnType& type, Datum& datum) {
  std::string_view mutator = kMutatorNames[static_cast<size_t>(mutation.mutator)];
  for (Atom& atom : datum.keys) {
    const Atom& operand = mutation.value.keys[0];
    Arithmetic result = type.key.type == AtomType::kInteger
                            ? Operate(mutator, std::get<int64_t>(atom), std::get<int64_t>(operand))
                            : Operate(mutator, std::get<double>(atom), std::get<double>(operand));
    if (result == Arithmetic::kDivisionByZero) return OvsdbError("domain error", "Division by zero.");
    if (result == Arithmetic::kOutOfRange) {
      return OvsdbError("range error", fmt::format("Result of \"{}\" operation is out of range.", mutator));
    }
    SLUICE_RETURN_IF_ERROR(type.key.Check(atom));
  }
  if (datum.Normalize(false)) {
    return OvsdbError("constraint violation", fmt::format("Result of \"{}\" operation contains duplicates.", mutator));
  }
  return absl::OkStatus();
}

absl::Status Mutations::ApplyOne(const Mutation& mutation, const ColumnType& type, Datum& datum) {
  if (mutation.mutator != Mutator::kInsert && mutation.mutator != Mutator::kDelete) {
    return Calculate(mutation, type, datum);
  }
  if (mutation.mutator == Mutator::kInsert) {
    Insert(datum, mutation.value);
  } else {
    Delete(datum, mutation.value);
  }
  if (datum.size() >= type.min && datum.size() <= type.max) return absl::OkStatus();
  return OvsdbError("constraint violation",
                    fmt::format("Attempted to store {} elements in {}.", datum.size(), type.ToEnglish()));
}

absl::Status Mutations::Apply(const TableSchema& table, Row& row) const {
  for (const Mutation& mutation : mutations_) {
    SLUICE_RETURN_IF_ERROR(ApplyOne(mutation, table.columns[mutation.column].type, row.columns[mutation.column]));
  }
  return absl::OkStatus();
}

}  // namespace sluice
