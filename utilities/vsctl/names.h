// Tables and columns as people type them (ovs-vsctl(8) "Identifying Tables, Records, and Columns"): case does not
// count,
// '-' is '_', and an abbreviation will do while it is unique.
#pragma once

#include <string_view>

#include "lib/ovsdb/schema.h"

namespace sluice::vsctl {

// The table or column; an error that says what is near. The pointers live as long as the schema.
absl::StatusOr<const TableSchema*> FindTable(const DatabaseSchema& schema, std::string_view name);
absl::StatusOr<const ColumnSchema*> FindColumn(const TableSchema& table, std::string_view name);

// Whether `name` is the column of every row's own UUID, which is not in the schema.
bool IsUuidColumn(std::string_view name);

}  // namespace sluice::vsctl
