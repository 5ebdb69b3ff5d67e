// Records as people name them (ovs-vsctl(8) "Identifying Tables, Records, and Columns").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "utilities/vsctl/command.h"

namespace sluice::vsctl {

// Besides its UUID: by a column of the table, by "." as its only row, or as that which a row of another table, known by
// its name, refers to.
struct RowName {
  std::string_view table;
  std::string_view name_column;       // "" for "."
  std::string_view via_table;         // "" if name_column is of `table`
  std::string_view reference_column;  // of via_table
};
const std::vector<RowName>& RowNames();

// What finding a row of this table by name takes.
void NeedRowNames(std::string_view table, Needs& needs);
// The table that the first argument names, and what finding its rows takes.
absl::StatusOr<const TableSchema*> PrepareTable(const Invocation& invocation, const DatabaseSchema& schema, Needs& needs);

// nullopt if there is none; an error if the name is ambiguous.
absl::StatusOr<std::optional<Uuid>> FindRow(Context& context, std::string_view table, std::string_view name);
// The same; there is none is an error too, unless `if_exists`.
absl::StatusOr<std::optional<Uuid>> GetRow(Context& context, std::string_view table, std::string_view name,
                                           bool if_exists);

}  // namespace sluice::vsctl
