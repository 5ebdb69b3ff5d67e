#include "utilities/vsctl/conditions.h"

#include <algorithm>

namespace sluice::vsctl {
namespace {

// The pair at `index` is in `other` too.
bool PairIn(const Datum& datum, size_t index, const Datum& other) {
  const size_t found = other.Find(datum.keys[index]);
  if (found == Datum::npos) return false;
  return index >= datum.values.size() || found >= other.values.size() || datum.values[index] == other.values[found];
}

bool IsSubset(const Datum& a, const Datum& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!PairIn(a, i, b)) return false;
  }
  return true;
}

bool AreDisjoint(const Datum& a, const Datum& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (PairIn(a, i, b)) return false;
  }
  return true;
}

// Larger is what has more elements; then the first key that differs decides, then the first value.
int Compare(const Datum& a, const Datum& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  if (a.keys != b.keys) return a.keys < b.keys ? -1 : 1;
  if (a.values != b.values) return a.values < b.values ? -1 : 1;
  return 0;
}

// The value of the key alone, or nothing.
Datum ValueOf(const Datum& map, const Atom& key) {
  const size_t index = map.Find(key);
  return index == Datum::npos ? Datum{} : Datum::Scalar(map.values[index]);
}

}  // namespace

bool CompareBy(const std::string& op, const Datum& a, const Datum& b) {
  if (op == "=" || op == "{=}") return a == b;
  if (op == "!=" || op == "{!=}") return a != b;
  if (op == "<") return Compare(a, b) < 0;
  if (op == ">") return Compare(a, b) > 0;
  if (op == "<=") return Compare(a, b) <= 0;
  if (op == ">=") return Compare(a, b) >= 0;
  if (op == "{<}") return a.size() < b.size() && IsSubset(a, b);
  if (op == "{>}") return a.size() > b.size() && IsSubset(b, a);
  if (op == "{<=}" || op == "{in}") return IsSubset(a, b);
  if (op == "{>=}") return IsSubset(b, a);
  return AreDisjoint(a, b);  // {not-in}
}

absl::StatusOr<bool> Fulfils(Context& context, const TableSchema& table, const Uuid& row,
                             const std::string& condition) {
  const absl::StatusOr<ColumnArgument> argument = ParseColumnArgument(condition, table, kFindOperators);
  if (!argument.ok()) return argument.status();
  const ColumnType& type = argument->column->type;
  const Datum& value = context.transaction.Get(table.name, row, argument->column->name);
  if (!argument->key) {
    const absl::StatusOr<Datum> wanted = ParseDatum(argument->value, type, context.symbols);
    if (!wanted.ok()) return wanted.status();
    return CompareBy(argument->op, value, *wanted);
  }
  if (!type.is_map()) {
    return InvalidArgument("cannot specify key to check for non-map column {}", argument->column->name);
  }
  const absl::StatusOr<Atom> key = ParseAtom(*argument->key, type.key, context.symbols);
  if (!key.ok()) return key.status();
  const ColumnType value_type{.key = *type.value, .min = 0, .max = ColumnType::kUnlimited};
  const absl::StatusOr<Datum> wanted = ParseDatum(argument->value, value_type, context.symbols);
  if (!wanted.ok()) return wanted.status();
  // A key that is not there is an empty set to the set operators, and never right for the others.
  if (!value.Contains(*key) && !argument->op.starts_with('{')) return false;
  return CompareBy(argument->op, ValueOf(value, *key), *wanted);
}

}  // namespace sluice::vsctl
