#include "lib/ovsdb/log_transaction.h"

#include <optional>

#include "lib/ovsdb/error.h"

namespace sluice {
namespace {

// Whether a value that replaces `old_value` is written as a difference. Values that hold one element at most never are,
// and where nothing was the difference is the value.
bool IsDifference(const ColumnType& type, const Datum& old_value) {
  return type.max > 1 && old_value != type.Default();
}

// The elements of one of the two only, and the new pairs of keys that both have. It is its own inverse: `difference`
// applied to the old value gives the new one.
Datum Difference(const Datum& from, const Datum& to) {
  bool is_map = !from.values.empty() || !to.values.empty();
  Datum difference;
  auto take = [&](const Datum& source, size_t i) {
    difference.keys.push_back(source.keys[i]);
    if (is_map) difference.values.push_back(source.values[i]);
  };
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < to.size()) {
    if (j == to.size() || (i < from.size() && from.keys[i] < to.keys[j])) {
      take(from, i++);
    } else if (i == from.size() || to.keys[j] < from.keys[i]) {
      take(to, j++);
    } else {
      if (is_map && from.values[i] != to.values[j]) take(to, j);
      ++i;
      ++j;
    }
  }
  return difference;
}

Datum ApplyDifference(const Datum& from, const Datum& difference) {
  bool is_map = !from.values.empty() || !difference.values.empty();
  Datum to;
  auto take = [&](const Datum& source, size_t i) {
    to.keys.push_back(source.keys[i]);
    if (is_map) to.values.push_back(source.values[i]);
  };
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < difference.size()) {
    if (j == difference.size() || (i < from.size() && from.keys[i] < difference.keys[j])) {
      take(from, i++);
    } else if (i == from.size() || difference.keys[j] < from.keys[i]) {
      take(difference, j++);
    } else {
      // In both: removed, unless it is a pair with another value.
      if (is_map && from.values[i] != difference.values[j]) take(difference, j);
      ++i;
      ++j;
    }
  }
  return to;
}

// A value as its record tells it: whole, or the difference. std::nullopt: the difference has more elements (or none
// where there must be some) than the column may hold, which is how other readers check it.
std::optional<Datum> Tell(const ColumnType& type, const Datum& before, const Datum& after, bool is_diff) {
  if (!is_diff || !IsDifference(type, before)) return after;
  Datum difference = Difference(before, after);
  if (difference.size() < type.min || difference.size() > type.max) return std::nullopt;
  return difference;
}

// The columns of a row as its record has them; null if there is nothing to tell. std::nullopt: not as differences.
std::optional<Json> RowToLog(const RowChange& change, bool is_diff) {
  Json row = Json::object();
  for (size_t i = 0; i < change.table->columns.size(); ++i) {
    const ColumnSchema& column = change.table->columns[i];
    if (column.ephemeral) continue;
    Datum before = change.old_row != nullptr ? change.old_row->columns[i] : column.type.Default();
    const Datum& after = change.new_row->columns[i];
    if (before == after) continue;
    std::optional<Datum> told = Tell(column.type, before, after, is_diff);
    if (!told) return std::nullopt;
    row[column.name] = DatumToJson(*told, column.type);
  }
  if (row.empty() && change.old_row != nullptr) return Json();
  return row;
}

// {"table": {"uuid": ...}}
std::optional<Json> RowsToLog(const ChangeSet& changes, bool is_diff) {
  Json tables = Json::object();
  for (const RowChange& change : changes) {
    const Uuid& uuid = change.new_row != nullptr ? change.new_row->uuid : change.old_row->uuid;
    std::optional<Json> row(Json{});
    if (change.new_row != nullptr) row = RowToLog(change, is_diff);
    if (!row) return std::nullopt;
    if (row->is_null() && change.new_row != nullptr) continue;
    tables[change.table->name][uuid.ToString()] = *std::move(row);
  }
  return tables;
}

absl::Status ColumnFromLog(const ColumnSchema& column, const Json& json, bool is_diff, Datum& datum) {
  ColumnType type = column.type;
  bool difference = is_diff && IsDifference(type, datum);
  if (difference) {
    // Some that go and some that come may be more than the column may hold.
    type.min = 0;
    type.max = ColumnType::kUnlimited;
  }
  absl::StatusOr<Datum> told = type.Parse(json, nullptr);
  if (!told.ok()) return told.status();
  datum = difference ? ApplyDifference(datum, *told) : *std::move(told);
  return absl::OkStatus();
}

absl::StatusOr<RowChange> RowFromLog(const TableSchema& table, const Uuid& uuid, const Json& json, bool is_diff,
                                     const Database& database) {
  RowChange change;
  change.table = &table;
  const Database::Table& rows = database.rows(table.name);
  if (auto found = rows.find(uuid); found != rows.end()) change.old_row = found->second;
  if (json.is_null()) {
    if (change.old_row == nullptr) {
      return InvalidArgument("it deletes row {} of table {}, which is not there", uuid.ToString(), table.name);
    }
    return change;
  }
  if (!json.is_object()) return InvalidArgument("row {} of table {} is not an object", uuid.ToString(), table.name);
  Row row;
  if (change.old_row != nullptr) {
    row.columns = change.old_row->columns;
  } else {
    for (const ColumnSchema& column : table.columns) row.columns.push_back(column.type.Default());
  }
  row.uuid = uuid;
  row.version = Uuid::Random();
  for (const auto& [name, value] : json.items()) {
    size_t column = table.FindColumn(name);
    if (column == TableSchema::npos) return InvalidArgument("table {} has no column {}", table.name, name);
    absl::Status status = ColumnFromLog(table.columns[column], value, is_diff, row.columns[column]);
    if (!status.ok()) {
      return InvalidArgument("column {} of row {} of table {}: {}", name, uuid.ToString(), table.name, Message(status));
    }
  }
  change.new_row = std::make_shared<const Row>(std::move(row));
  return change;
}

}  // namespace

Json ChangesToLog(const ChangeSet& changes, const std::string& comment, int64_t date_ms) {
  std::optional<Json> differences = RowsToLog(changes, true);
  Json record = differences ? *std::move(differences) : *RowsToLog(changes, false);
  if (record.empty()) return nullptr;
  if (differences) record["_is_diff"] = true;
  record["_date"] = date_ms;
  if (!comment.empty()) record["_comment"] = comment;
  return record;
}

absl::StatusOr<ChangeSet> ChangesFromLog(const Json& record, const Database& database) {
  auto flag = record.find("_is_diff");
  bool is_diff = flag != record.end() && flag->is_boolean() && flag->get<bool>();
  ChangeSet changes;
  for (const auto& [table_name, rows] : record.items()) {
    if (!table_name.empty() && table_name[0] == '_') continue;
    auto table = database.schema().tables.find(table_name);
    if (table == database.schema().tables.end()) return InvalidArgument("there is no table {}", table_name);
    if (!rows.is_object()) return InvalidArgument("the rows of table {} are not an object", table_name);
    for (const auto& [uuid_text, row] : rows.items()) {
      absl::StatusOr<Uuid> uuid = Uuid::Parse(uuid_text);
      if (!uuid.ok()) return uuid.status();
      absl::StatusOr<RowChange> change = RowFromLog(table->second, *uuid, row, is_diff, database);
      if (!change.ok()) return change.status();
      changes.push_back(*std::move(change));
    }
  }
  return changes;
}

}  // namespace sluice
