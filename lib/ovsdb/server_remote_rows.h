// Remotes that a database lists (ovsdb-server(1), "db:DATABASE,TABLE,COLUMN"), as Open_vSwitch does in manager_options.
//
// lib/ovsdb's own. COLUMN holds strings, which are targets, or references to rows of a table that has at least the
// column "target", and perhaps inactivity_probe, max_backoff and read_only to read, is_connected and status to write.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_remote.h"

namespace sluice {

struct RemoteSource {
  std::string database;
  std::string table;
  std::string column;

  static bool IsSource(std::string_view remote) { return remote.starts_with("db:"); }
  // An error if the core has no such database, table or column, or the column is of another type.
  static absl::StatusOr<RemoteSource> Parse(ServerCore& core, std::string_view remote);
};

struct RemoteRow {
  std::string target;
  RemoteOptions options;
  const TableSchema* table = nullptr;  // with `uuid`: the row that describes it; nullptr if it is listed by a string
  Uuid uuid;
};
std::vector<RemoteRow> ReadRemoteRows(const Database& database, const RemoteSource& source);

// Writes the columns is_connected and status of the row where they are other now. The row may be gone.
void WriteRemoteStatus(Database& database, const RemoteRow& row, bool is_connected,
                       const std::map<std::string, std::string>& status);

}  // namespace sluice
