// Transactions as the log file's records tell them (ovsdb(5)), from and to change sets.
#pragma once

#include <string>

#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"

namespace sluice {

// The record for `changes`: of columns kept on disk, with sets and maps as differences
// ("_is_diff") unless ovsdb-server 3.1 could not read one of them. Null if there is
// nothing of that. `date_ms`: since 1970.
Json ChangesToLog(const ChangeSet& changes, const std::string& comment, int64_t date_ms);

// The changes that a record stands for, against what `database` holds, whose schema and rows they borrow.
absl::StatusOr<ChangeSet> ChangesFromLog(const Json& record, const Database& database);

}  // namespace sluice
