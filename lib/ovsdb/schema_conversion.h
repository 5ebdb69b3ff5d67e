// Databases from one schema to another, as an upgrade does.
#pragma once

#include <memory>
#include <string_view>

#include "lib/ovsdb/database.h"

namespace sluice {

// Whether version `a` ("8.3.1") is older than `b`. No version is older than any.
bool IsOlderVersion(std::string_view a, std::string_view b);

// The rows of `old_database` under `schema`: columns that are new get their defaults, columns and tables that are gone
// go. An error where a value does not fit its column's new type, or the whole a new constraint.
absl::StatusOr<std::unique_ptr<Database>> ConvertDatabase(const Database& old_database, const DatabaseSchema& schema);

// Removes weak references to rows that are not there, which ovsdb-server 3.1 leaves in its files when a row loses one
// in the transaction that changes other columns of it. Returns how many rows had any.
absl::StatusOr<size_t> DropDanglingReferences(Database& database);

}  // namespace sluice
