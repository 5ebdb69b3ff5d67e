#include "lib/ovsdb/monitor_update.h"

namespace sluice {
namespace {

Json UuidJson(const Uuid& uuid) { return Json::array({"uuid", uuid.ToString()}); }

std::string_view Name(const TableSchema& table, const MonitorColumn& column) {
  if (column.index == MonitorColumn::kUuid) return "_uuid";
  if (column.index == MonitorColumn::kVersion) return "_version";
  return table.columns[column.index].name;
}

Json Value(const TableSchema& table, const MonitorColumn& column, const Row& row) {
  if (column.index == MonitorColumn::kUuid) return UuidJson(row.uuid);
  if (column.index == MonitorColumn::kVersion) return UuidJson(row.version);
  return DatumToJson(row.columns[column.index], table.columns[column.index].type);
}

bool Differs(const MonitorColumn& column, const Row& old_row, const Row& new_row) {
  if (column.index == MonitorColumn::kUuid) return false;
  if (column.index == MonitorColumn::kVersion) return old_row.version != new_row.version;
  return old_row.columns[column.index] != new_row.columns[column.index];
}

bool IsDefault(const TableSchema& table, const MonitorColumn& column, const Row& row) {
  if (column.index == MonitorColumn::kUuid || column.index == MonitorColumn::kVersion) return false;
  return row.columns[column.index] == table.columns[column.index].type.Default();
}

// Whether any column that is watched changed. A row may have changed and changed back since it was reported.
bool AnyDiffers(const MonitoredTable& table, const Row& old_row, const Row& new_row) {
  for (const MonitorColumn& column : table.columns) {
    if (Differs(column, old_row, new_row)) return true;
  }
  return false;
}

Json Update1(const MonitoredTable& monitored, uint8_t kind, const Row* old_row, const Row* new_row) {
  const TableSchema& table = *monitored.table;
  Json old_values = Json::object();
  Json new_values = Json::object();
  for (const MonitorColumn& column : monitored.columns) {
    if ((column.select & kind) == 0) continue;
    const std::string name(Name(table, column));
    if (kind == kSelectDelete || (kind == kSelectModify && Differs(column, *old_row, *new_row))) {
      old_values[name] = Value(table, column, *old_row);
    }
    if (kind != kSelectDelete) new_values[name] = Value(table, column, *new_row);
  }
  Json update = Json::object();
  if (kind & (kSelectDelete | kSelectModify)) update["old"] = std::move(old_values);
  if (kind != kSelectDelete) update["new"] = std::move(new_values);
  return update;
}

Json Difference(const TableSchema& table, const MonitorColumn& column, const Row& old_row, const Row& new_row) {
  if (column.index == MonitorColumn::kUuid || column.index == MonitorColumn::kVersion) {
    return Value(table, column, new_row);
  }
  const ColumnType& type = table.columns[column.index].type;
  return DatumToJson(DatumDifference(old_row.columns[column.index], new_row.columns[column.index], type), type);
}

Json Update2(const MonitoredTable& monitored, uint8_t kind, const Row* old_row, const Row* new_row) {
  const TableSchema& table = *monitored.table;
  if (kind == kSelectDelete) return Json{{"delete", nullptr}};
  Json values = Json::object();
  for (const MonitorColumn& column : monitored.columns) {
    if ((column.select & kind) == 0) continue;
    if (kind == kSelectModify) {
      if (!Differs(column, *old_row, *new_row)) continue;
      values[std::string(Name(table, column))] = Difference(table, column, *old_row, *new_row);
    } else if (!IsDefault(table, column, *new_row)) {
      values[std::string(Name(table, column))] = Value(table, column, *new_row);
    }
  }
  Json update = Json::object();
  update[kind == kSelectInitial ? "initial" : kind == kSelectInsert ? "insert" : "modify"] = std::move(values);
  return update;
}

}  // namespace

Datum DatumDifference(const Datum& old_datum, const Datum& new_datum, const ColumnType& type) {
  if (type.max <= 1) return new_datum;
  Datum difference;
  const auto take = [&](const Datum& from, size_t i) {
    difference.keys.push_back(from.keys[i]);
    if (type.is_map()) difference.values.push_back(from.values[i]);
  };
  // Both are sorted: one pass.
  size_t i = 0;
  size_t j = 0;
  while (i < old_datum.size() || j < new_datum.size()) {
    if (j == new_datum.size() || (i < old_datum.size() && old_datum.keys[i] < new_datum.keys[j])) {
      take(old_datum, i++);
    } else if (i == old_datum.size() || new_datum.keys[j] < old_datum.keys[i]) {
      take(new_datum, j++);
    } else {
      if (type.is_map() && old_datum.values[i] != new_datum.values[j]) take(new_datum, j);
      ++i;
      ++j;
    }
  }
  return difference;
}

std::optional<Json> RowUpdate(const MonitoredTable& table, MonitorVersion version, const Row* old_row,
                              const Row* new_row, bool initial) {
  if (old_row != nullptr && !table.Matches(*old_row)) old_row = nullptr;
  if (new_row != nullptr && !table.Matches(*new_row)) new_row = nullptr;
  if (old_row == nullptr && new_row == nullptr) return std::nullopt;
  const uint8_t kind = initial              ? kSelectInitial
                       : old_row == nullptr ? kSelectInsert
                       : new_row == nullptr ? kSelectDelete
                                            : kSelectModify;
  if ((table.select & kind) == 0) return std::nullopt;
  if (kind == kSelectModify && !AnyDiffers(table, *old_row, *new_row)) return std::nullopt;
  return version == MonitorVersion::kUpdate ? Update1(table, kind, old_row, new_row)
                                            : Update2(table, kind, old_row, new_row);
}

}  // namespace sluice
