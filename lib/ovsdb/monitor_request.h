// What a monitor watches, from the <monitor-requests> of RFC 7047 section 4.1.5 and the <monitor-cond-requests> of
// ovsdb-server(7) sections 4.1.12 and 4.1.13.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"

namespace sluice {

// The kinds of change in a <monitor-select>.
enum MonitorSelect : uint8_t {
  kSelectInitial = 1,
  kSelectInsert = 2,
  kSelectDelete = 4,
  kSelectModify = 8,
  kSelectAll = 15,
};

struct MonitorColumn {
  static constexpr size_t kUuid = static_cast<size_t>(-2);
  static constexpr size_t kVersion = static_cast<size_t>(-3);

  size_t index;    // in TableSchema::columns, or one of the above
  uint8_t select;  // MonitorSelect bits: by which kinds of change it is reported
};

struct MonitoredTable {
  const TableSchema* table = nullptr;
  std::vector<MonitorColumn> columns;  // each column once
  uint8_t select = 0;                  // what any of its requests selects
  std::vector<Condition> conditions;   // rows that match any of them; none: all rows

  bool Matches(const Row& row) const;
};

struct MonitorSpec {
  std::vector<MonitoredTable> tables;  // each table once, in the order of their names

  MonitoredTable* Find(const TableSchema* table);
};

// `conditional`: requests may have "where". Errors are OVSDB errors (error.h) in ovsdb-server's words.
absl::StatusOr<MonitorSpec> ParseMonitorRequests(const DatabaseSchema& schema, const Json& requests, bool conditional);

// New conditions for some tables of a monitor, by table.
struct ConditionChange {
  const TableSchema* table;
  std::vector<Condition> conditions;
};
absl::StatusOr<std::vector<ConditionChange>> ParseConditionChanges(const DatabaseSchema& schema, MonitorSpec& spec,
                                                                   const Json& requests);

}  // namespace sluice
