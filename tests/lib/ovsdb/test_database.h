// A small schema that has a column of every kind, and short names for what tests of the database say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"

namespace sluice {

// Table "root" is root; "kid" is not, and has indexes on name and on (i, s). As ovsdb-tool takes it.
std::string_view TestSchemaText();
DatabaseSchema TestSchema();
DatabaseSchema SchemaOf(std::string_view text);

// Text that is JSON or the test's mistake.
Json J(std::string_view text);

// The results of a transaction of operations: "{...},{...}".
Json Execute(Database& database, std::string_view operations, const TransactionContext& context = {});

// All rows of all tables, but for _version, as JSON: {"table": {"uuid": {"column": value, ...}, ...}, ...}.
Json Dump(const Database& database, bool ephemeral = true);

}  // namespace sluice
