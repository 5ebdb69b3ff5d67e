// Replica: what an OvsdbClient knows of a database's tables. Applies the updates of all three generations of monitors
// (RFC 7047 section 4.1.6, ovsdb-server(7) sections 4.1.14 and 4.1.16).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"

namespace sluice {

class Replica {
 public:
  // An empty replica of those of `wanted` (as OvsdbClientOptions::tables says) that the schema has.
  Replica(std::shared_ptr<const DatabaseSchema> schema, const std::map<std::string, std::set<std::string>>& wanted);

  const DatabaseSchema& schema() const { return *schema_; }
  std::shared_ptr<const DatabaseSchema> shared_schema() const { return schema_; }

  // The <monitor-requests> for monitor, monitor_cond and monitor_cond_since.
  Json MonitorRequests() const;

  // Updates: of monitor (`two` false) or of monitor_cond and monitor_cond_since. After an error the replica holds part
  // of them: it must be read from scratch. Sets `*changed` if a row changed.
  absl::Status Apply(const Json& updates, bool two, bool* changed);

  // Takes over the rows of `older` that are equal to ours, so that unchanged rows keep their identity. Returns whether
  // the contents differ.
  bool AdoptEqualRows(const Replica& older);

  const Database::Table& rows(std::string_view table) const;
  const Datum& Get(std::string_view table, const Row& row, std::string_view column) const;

 private:
  struct Table {
    const TableSchema* schema;
    std::vector<bool> monitored;         // by column
    std::vector<ColumnType> diff_types;  // of differences between values: any number of elements
    Database::Table rows;
  };

  absl::Status ApplyRow(Table& table, const Uuid& uuid, const Json& update, bool* changed);
  absl::Status ApplyRow2(Table& table, const Uuid& uuid, const Json& update, bool* changed);
  // The row with the columns of `json`; those not in there as in `base`, or their default without one.
  absl::StatusOr<std::shared_ptr<Row>> ParseRow(const Table& table, const Uuid& uuid, const Json& json,
                                                const Row* base) const;
  absl::StatusOr<std::shared_ptr<Row>> PatchRow(const Table& table, const Row& base, const Json& json) const;

  std::shared_ptr<const DatabaseSchema> schema_;
  std::map<std::string, Table, std::less<>> tables_;
};

// What `diff` makes of `value` (ovsdb-server(7) section 4.1.14). Exposed for tests.
Datum ApplyDiff(const Datum& value, const Datum& diff, const ColumnType& type);

}  // namespace sluice
