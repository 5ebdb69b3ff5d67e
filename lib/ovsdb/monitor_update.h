// The JSON of what monitors report: <row-update> of RFC 7047 section 4.1.6 and <row-update2> of ovsdb-server(7) 4.1.14.
#pragma once

#include <optional>

#include "lib/ovsdb/json.h"
#include "lib/ovsdb/monitor_request.h"

namespace sluice {

enum class MonitorVersion : uint8_t {
  kUpdate,   // monitor: old and new values
  kUpdate2,  // monitor_cond: differences, defaults left out
  kUpdate3,  // monitor_cond_since: the same, with transaction ids
};

// A row that was `old_row` and is `new_row` now (null: not there), as `table` wants it told; nothing if it does not.
// `initial`: the row as it is, to a client that does not know any.
std::optional<Json> RowUpdate(const MonitoredTable& table, MonitorVersion version, const Row* old_row,
                              const Row* new_row, bool initial);

// Of two values of a column: the new one if it holds one element at most, else the elements that only one of both has,
// and of maps those with another value, which is the new one.
Datum DatumDifference(const Datum& old_datum, const Datum& new_datum, const ColumnType& type);

}  // namespace sluice
