// Mutations (RFC 7047 section 5.1): [column, mutator, value], parsed once and applied to any number of rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/ovsdb/database.h"

namespace sluice {

class Mutations {
 public:
  // Of columns that may change. `symbols` as in ColumnType::Parse().
  static absl::StatusOr<Mutations> Parse(const TableSchema& table, const Json& json,
                                         std::map<std::string, Uuid, std::less<>>* symbols);

  // Applies them in order. After an error (range, domain, constraint) the row is partly changed.
  absl::Status Apply(const TableSchema& table, Row& row) const;

 private:
  enum class Mutator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kModulo, kInsert, kDelete };
  struct Mutation {
    size_t column = 0;
    Mutator mutator = Mutator::kAdd;
    Datum value;  // of a map column: without values where keys alone are deleted
  };

  static absl::StatusOr<Mutation> ParseOne(const TableSchema& table, const Json& json,
                                           std::map<std::string, Uuid, std::less<>>* symbols);
  static absl::StatusOr<Datum> ParseValue(const ColumnType& column_type, Mutator mutator, const Json& json,
                                          std::map<std::string, Uuid, std::less<>>* symbols);
  static absl::Status ApplyOne(const Mutation& mutation, const ColumnType& type, Datum& datum);
  static absl::Status Calculate(const Mutation& mutation, const ColumnType& type, Datum& datum);

  std::vector<Mutation> mutations_;
};

}  // namespace sluice
