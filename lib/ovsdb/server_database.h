// The _Server database (ovsdb-server(5)), in which a server tells which databases it serves.
//
// All of them are standalone here: always connected, always their own leader. Clients may read it, not change it.
#pragma once

#include <memory>
#include <string_view>

#include "lib/ovsdb/database.h"

namespace sluice {

inline constexpr std::string_view kServerDatabaseName = "_Server";

std::unique_ptr<Database> MakeServerDatabase();

// Adds a row for a database of that schema.
absl::Status RegisterDatabase(Database& server_database, const DatabaseSchema& schema);

}  // namespace sluice
