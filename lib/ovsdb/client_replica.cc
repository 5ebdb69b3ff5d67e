#include "lib/ovsdb/client_replica.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {

namespace {

const Database::Table kNoRows;
const Datum kNoDatum;

// Servers do not send _version; ours only tells one state of a row from another.
Uuid NextVersion() {
  static uint64_t counter = 0;  // loop thread; several loops would only skip numbers
  Uuid version;
  const uint64_t number = ++counter;
  for (size_t i = 0; i < sizeof(number); ++i) {
    version.bytes[15 - i] = static_cast<uint8_t>(number >> (8 * i));
  }
  return version;
}

Datum ApplySetDiff(const Datum& value, const Datum& diff) {
  Datum result;
  result.keys.reserve(value.size() + diff.size());
  std::set_symmetric_difference(value.keys.begin(), value.keys.end(), diff.keys.begin(), diff.keys.end(),
                                std::back_inserter(result.keys));
  return result;
}

Datum ApplyMapDiff(const Datum& value, const Datum& diff) {
  Datum result;
  const auto take = [&result](const Datum& from, size_t i) {
    result.keys.push_back(from.keys[i]);
    result.values.push_back(from.values[i]);
  };
  size_t i = 0;
  size_t j = 0;
  while (i < value.size() || j < diff.size()) {
    if (j == diff.size() || (i < value.size() && value.keys[i] < diff.keys[j])) {
      take(value, i++);
    } else if (i == value.size() || diff.keys[j] < value.keys[i]) {
      take(diff, j++);
    } else {
      // The same pair again takes it away, another value replaces it.
      if (value.values[i] != diff.values[j]) take(diff, j);
      ++i;
      ++j;
    }
  }
  return result;
}

absl::Status NotInReplica(const TableSchema& table, const Uuid& uuid) {
  return FailedPrecondition("update of row {} of table {}, which is not in the replica", uuid.ToString(), table.name);
}

}  // namespace

Datum ApplyDiff(const Datum& value, const Datum& diff, const ColumnType& type) {
  if (type.max == 1) return diff;
  return type.is_map() ? ApplyMapDiff(value, diff) : ApplySetDiff(value, diff);
}

Replica::Replica(std::shared_ptr<const DatabaseSchema> schema,
                 const std::map<std::string, std::set<std::string>>& wanted)
    : schema_(std::move(schema)) {
  for (const auto& [name, table_schema] : schema_->tables) {
    const auto found = wanted.find(name);
    if (!wanted.empty() && found == wanted.end()) continue;
    Table& table = tables_[name];
    table.schema = &table_schema;
    for (const ColumnSchema& column : table_schema.columns) {
      table.monitored.push_back(found == wanted.end() || found->second.empty() || found->second.contains(column.name));
      ColumnType diff_type = column.type;
      if (diff_type.max > 1) {
        diff_type.min = 0;
        diff_type.max = ColumnType::kUnlimited;
      }
      table.diff_types.push_back(std::move(diff_type));
    }
  }
}

Json Replica::MonitorRequests() const {
  Json requests = Json::object();
  for (const auto& [name, table] : tables_) {
    Json columns = Json::array();
    for (size_t i = 0; i < table.monitored.size(); ++i) {
      if (table.monitored[i]) columns.push_back(table.schema->columns[i].name);
    }
    requests[name] = Json::array();
    requests[name].push_back({{"columns", std::move(columns)}});
  }
  return requests;
}

absl::Status Replica::Apply(const Json& updates, bool two, bool* changed) {
  if (!updates.is_object()) return InvalidArgument("table updates are no JSON object");
  for (const auto& [name, rows] : updates.items()) {
    const auto table = tables_.find(name);
    if (table == tables_.end() || !rows.is_object()) {
      return InvalidArgument("update of table \"{}\": not monitored, or no JSON object", name);
    }
    for (const auto& [uuid_text, update] : rows.items()) {
      const auto uuid = Uuid::Parse(uuid_text);
      if (!uuid.ok() || !update.is_object()) {
        return InvalidArgument("table \"{}\": update of \"{}\": no UUID, or no JSON object", name, uuid_text);
      }
      SLUICE_RETURN_IF_ERROR(two ? ApplyRow2(table->second, *uuid, update, changed)
                                 : ApplyRow(table->second, *uuid, update, changed));
    }
  }
  return absl::OkStatus();
}

absl::Status Replica::ApplyRow(Table& table, const Uuid& uuid, const Json& update, bool* changed) {
  const auto json = update.find("new");
  if (json == update.end() || json->is_null()) {
    if (table.rows.erase(uuid) == 0) return NotInReplica(*table.schema, uuid);
    *changed = true;
    return absl::OkStatus();
  }
  auto row = ParseRow(table, uuid, *json, nullptr);
  if (!row.ok()) return row.status();
  RowPtr& slot = table.rows[uuid];
  if (slot == nullptr || slot->columns != (*row)->columns) {
    slot = *std::move(row);
    *changed = true;
  }
  return absl::OkStatus();
}

absl::Status Replica::ApplyRow2(Table& table, const Uuid& uuid, const Json& update, bool* changed) {
  if (update.contains("delete")) {
    if (table.rows.erase(uuid) == 0) return NotInReplica(*table.schema, uuid);
  } else if (const auto modify = update.find("modify"); modify != update.end()) {
    const auto found = table.rows.find(uuid);
    if (found == table.rows.end()) return NotInReplica(*table.schema, uuid);
    auto row = PatchRow(table, *found->second, *modify);
    if (!row.ok()) return row.status();
    found->second = *std::move(row);
  } else {
    const char* const kind = update.contains("initial") ? "initial" : "insert";
    if (!update.contains(kind)) {
      return InvalidArgument("table {}: row {}: update without initial, insert, modify or delete", table.schema->name,
                             uuid.ToString());
    }
    auto row = ParseRow(table, uuid, update[kind], nullptr);
    if (!row.ok()) return row.status();
    table.rows[uuid] = *std::move(row);
  }
  *changed = true;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Row>> Replica::ParseRow(const Table& table, const Uuid& uuid, const Json& json,
                                                       const Row* base) const {
  const TableSchema& schema = *table.schema;
  if (!json.is_object()) return InvalidArgument("table {}: row {} is no JSON object", schema.name, uuid.ToString());
  auto row = std::make_shared<Row>();
  row->uuid = uuid;
  row->version = NextVersion();
  row->columns.resize(schema.columns.size());
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (!table.monitored[i]) continue;
    const ColumnSchema& column = schema.columns[i];
    const auto value = json.find(column.name);
    if (value == json.end()) {
      row->columns[i] = base != nullptr ? base->columns[i] : column.type.Default();
      continue;
    }
    auto datum = (base != nullptr ? table.diff_types[i] : column.type).Parse(*value, nullptr);
    if (!datum.ok()) {
      return MakeStatus(datum.status().code(), fmt::format("table {}: row {}: column {}: {}", schema.name,
                                                           uuid.ToString(), column.name, Message(datum.status())));
    }
    row->columns[i] = base != nullptr ? ApplyDiff(base->columns[i], *datum, column.type) : *std::move(datum);
  }
  return row;
}

absl::StatusOr<std::shared_ptr<Row>> Replica::PatchRow(const Table& table, const Row& base, const Json& json) const {
  return ParseRow(table, base.uuid, json, &base);
}

bool Replica::AdoptEqualRows(const Replica& older) {
  bool differs = tables_.size() != older.tables_.size();
  for (auto& [name, table] : tables_) {
    const Database::Table& old_rows = older.rows(name);
    differs |= table.rows.size() != old_rows.size();
    for (auto& [uuid, row] : table.rows) {
      const auto old_row = old_rows.find(uuid);
      if (old_row != old_rows.end() && old_row->second->columns == row->columns) {
        row = old_row->second;
      } else {
        differs = true;
      }
    }
  }
  return differs;
}

const Database::Table& Replica::rows(std::string_view table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? kNoRows : found->second.rows;
}

const Datum& Replica::Get(std::string_view table, const Row& row, std::string_view column) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return kNoDatum;
  const size_t index = found->second.schema->FindColumn(column);
  return index < row.columns.size() ? row.columns[index] : kNoDatum;
}

}  // namespace sluice
