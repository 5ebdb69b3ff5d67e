#include "lib/ovsdb/operations.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/mutation.h"

namespace sluice {
namespace {

Json UuidToJson(const Uuid& uuid) { return Json::array({"uuid", uuid.ToString()}); }

// Default values are checked too: a string that must not be empty has to be given.
absl::Status CheckDefaults(const TableSchema& table, const Row& row, const std::vector<bool>& given) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!given[i]) SLUICE_RETURN_IF_ERROR(table.columns[i].type.Check(row.columns[i]));
  }
  return absl::OkStatus();
}

Row DefaultRow(const TableSchema& table) {
  Row row;
  row.columns.reserve(table.columns.size());
  for (const ColumnSchema& column : table.columns) row.columns.push_back(column.type.Default());
  return row;
}

}  // namespace

absl::StatusOr<Json> OperationRunner::Run(const Json& operation, size_t index, size_t count) {
  struct Kind {
    std::string_view name;
    bool changes;
    absl::StatusOr<Json> (OperationRunner::*run)(JsonMembers&);
  };
  // "update" has its own call: its errors quote the operation.
  static constexpr Kind kKinds[] = {
      {"insert", true, &OperationRunner::Insert},
      {"select", false, &OperationRunner::Select},
      {"update", true, nullptr},
      {"mutate", true, &OperationRunner::Mutate},
      {"delete", true, &OperationRunner::Delete},
      {"wait", false, &OperationRunner::Wait},
      {"commit", true, &OperationRunner::Commit},
      {"abort", false, &OperationRunner::Abort},
      {"comment", false, &OperationRunner::Comment},
      {"assert", false, &OperationRunner::Assert},
  };
  JsonMembers members(operation, fmt::format("ovsdb operation {} of {}", index + 1, count));
  const Json* op = members.Required("op", JsonMembers::IsId);
  if (op == nullptr) return members.Finish();
  const std::string& name = JsonMembers::Text(*op);
  const auto* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& known) { return known.name == name; });
  if (kind == std::end(kKinds)) {
    members.Fail(fmt::format("No operation \"{}\"", name));
    return members.Finish();
  }
  if (context_.read_only && kind->changes) {
    return OvsdbError("not allowed",
                      fmt::format("{} operation not allowed when database server is in read only mode", name));
  }
  return kind->run != nullptr ? (this->*kind->run)(members) : Update(members, operation);
}

TableState* OperationRunner::ParseTable(JsonMembers& members) {
  const Json* name = members.Required("table", JsonMembers::IsId);
  if (name == nullptr) return nullptr;
  TableState* table = transaction_.FindTable(JsonMembers::Text(*name));
  if (table == nullptr) members.Fail(fmt::format("No table named {}.", JsonMembers::Text(*name)));
  return table;
}

absl::StatusOr<Condition> OperationRunner::ParseWhere(const TableState& table, const Json& where) {
  return Condition::Parse(*table.schema, where, Condition::Combine::kAll, &symbols_);
}

absl::StatusOr<OperationRunner::PartialRow> OperationRunner::ParseRow(const TableState& table, const Json& json) {
  if (!json.is_object()) return OvsdbSyntaxError(json, "row must be JSON object");
  static const ColumnType uuid_type = [] {
    ColumnType type;
    type.key.type = AtomType::kUuid;
    return type;
  }();
  PartialRow row;
  for (const auto& [name, value] : json.items()) {
    bool reserved = name == "_uuid" || name == "_version";
    size_t column = reserved ? TableSchema::npos : table.schema->FindColumn(name);
    if (!reserved && column == TableSchema::npos) {
      return OvsdbErrorAbout(json, "unknown column",
                             fmt::format("No column {} in table {}.", name, table.schema->name));
    }
    const ColumnType& type = reserved ? uuid_type : table.schema->columns[column].type;
    absl::StatusOr<Datum> datum = type.Parse(value, &symbols_);
    if (!datum.ok()) return datum.status();
    if (reserved) {
      (name == "_uuid" ? row.uuid : row.version) = std::get<Uuid>(datum->keys[0]);
    } else {
      row.columns.emplace_back(column, *std::move(datum));
    }
  }
  return row;
}

absl::StatusOr<OperationRunner::ColumnSet> OperationRunner::ParseColumns(const TableState& table, const Json* json) {
  ColumnSet set;
  if (json == nullptr) {
    for (size_t i = 0; i < table.schema->columns.size(); ++i) set.columns.push_back(i);
    return set;
  }
  set.uuid = set.version = false;
  auto twice = [&] { return OvsdbSyntaxError(*json, "array of distinct column names expected"); };
  for (const Json& element : *json) {
    if (!element.is_string()) return twice();
    const std::string& name = JsonMembers::Text(element);
    if (name == "_uuid" || name == "_version") {
      bool& chosen = name == "_uuid" ? set.uuid : set.version;
      if (chosen) return twice();
      chosen = true;
      continue;
    }
    size_t column = table.schema->FindColumn(name);
    if (column == TableSchema::npos) {
      return OvsdbSyntaxError(*json, fmt::format("{} is not a valid column name", name));
    }
    if (std::find(set.columns.begin(), set.columns.end(), column) != set.columns.end()) return twice();
    set.columns.push_back(column);
  }
  return set;
}

absl::StatusOr<Uuid> OperationRunner::NewUuid(const TableState& table, const Json* uuid, const Json* uuid_name) {
  std::optional<Uuid> wanted;
  if (uuid != nullptr) {
    absl::StatusOr<Uuid> parsed = Uuid::Parse(JsonMembers::Text(*uuid));
    if (!parsed.ok()) return OvsdbSyntaxError(*uuid, "bad uuid");
    if (transaction_.IsTaken(table, *parsed)) {
      return OvsdbErrorAbout(*uuid, "duplicate uuid",
                             "This UUID would duplicate a UUID already present within the table or deleted within the "
                             "same transaction.");
    }
    wanted = *parsed;
  }
  if (uuid_name == nullptr) return wanted ? *wanted : Uuid::Random();
  const std::string& name = JsonMembers::Text(*uuid_name);
  if (!inserted_symbols_.insert(name).second) {
    return OvsdbErrorAbout(*uuid_name, "duplicate uuid-name",
                           "This \"uuid-name\" appeared on an earlier \"insert\" operation.");
  }
  // The name may have been used before the row that it names.
  if (wanted) return symbols_[name] = *wanted;
  return symbols_.try_emplace(name, Uuid::Random()).first->second;
}

absl::StatusOr<Json> OperationRunner::Insert(JsonMembers& members) {
  TableState* table = ParseTable(members);
  const Json* uuid = members.Optional("uuid", JsonMembers::IsString);
  const Json* uuid_name = members.Optional("uuid-name", JsonMembers::IsId);
  const Json* row_json = members.Required("row", JsonMembers::IsObject);
  SLUICE_RETURN_IF_ERROR(members.Finish());

  absl::StatusOr<Uuid> row_uuid = NewUuid(*table, uuid, uuid_name);
  if (!row_uuid.ok()) return row_uuid.status();
  absl::StatusOr<PartialRow> partial = ParseRow(*table, *row_json);
  if (!partial.ok()) return partial.status();
  Row row = DefaultRow(*table->schema);
  row.uuid = *row_uuid;
  std::vector<bool> given(row.columns.size());
  for (auto& [column, datum] : partial->columns) {
    row.columns[column] = std::move(datum);
    given[column] = true;
  }
  SLUICE_RETURN_IF_ERROR(CheckDefaults(*table->schema, row, given));
  transaction_.Insert(*table, std::move(row));
  Json result = Json::object();
  result["uuid"] = UuidToJson(*row_uuid);
  return result;
}

absl::StatusOr<Json> OperationRunner::Select(JsonMembers& members) {
  TableState* table = ParseTable(members);
  const Json* where = members.Required("where", JsonMembers::IsArray);
  const Json* columns_json = members.Optional("columns", JsonMembers::IsArray);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  absl::StatusOr<Condition> condition = ParseWhere(*table, *where);
  if (!condition.ok()) return condition.status();
  absl::StatusOr<ColumnSet> columns = ParseColumns(*table, columns_json);
  if (!columns.ok()) return columns.status();

  // Rows that do not differ in what was asked for are one row.
  absl::flat_hash_set<std::string> seen;
  Index shown;
  shown.columns = columns->columns;
  Json rows = Json::array();
  for (const Uuid& uuid : transaction_.Match(*table, *condition)) {
    const Row& row = *transaction_.Find(*table, uuid);
    if (!columns->uuid && !columns->version && !seen.insert(IndexKey(shown, row)).second) continue;
    Json& json = rows.emplace_back(Json::object());
    if (columns->uuid) json["_uuid"] = UuidToJson(row.uuid);
    if (columns->version) json["_version"] = UuidToJson(row.version);
    for (size_t column : columns->columns) {
      const ColumnSchema& schema = table->schema->columns[column];
      json[schema.name] = DatumToJson(row.columns[column], schema.type);
    }
  }
  Json result = Json::object();
  result["rows"] = std::move(rows);
  return result;
}

absl::StatusOr<Json> OperationRunner::Update(JsonMembers& members, const Json& operation) {
  TableState* table = ParseTable(members);
  const Json* where = members.Required("where", JsonMembers::IsArray);
  const Json* row_json = members.Required("row", JsonMembers::IsObject);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  absl::StatusOr<PartialRow> partial = ParseRow(*table, *row_json);
  if (!partial.ok()) return partial.status();
  auto immutable = [&](std::string_view column) {
    return OvsdbErrorAbout(operation, "constraint violation",
                           fmt::format("Cannot update immutable column {} in table {}.", column, table->schema->name));
  };
  if (partial->uuid) return immutable("_uuid");
  if (partial->version) return immutable("_version");
  for (const auto& [column, datum] : partial->columns) {
    const ColumnSchema& schema = table->schema->columns[column];
    if (!schema.is_mutable) return immutable(schema.name);
  }
  absl::StatusOr<Condition> condition = ParseWhere(*table, *where);
  if (!condition.ok()) return condition.status();

  std::vector<Uuid> matches = transaction_.Match(*table, *condition);
  for (const Uuid& uuid : matches) {
    Row& row = transaction_.Modify(*table, uuid);
    for (const auto& [column, datum] : partial->columns) row.columns[column] = datum;
  }
  return Json{{"count", matches.size()}};
}

absl::StatusOr<Json> OperationRunner::Mutate(JsonMembers& members) {
  TableState* table = ParseTable(members);
  const Json* where = members.Required("where", JsonMembers::IsArray);
  const Json* mutations_json = members.Required("mutations", JsonMembers::IsArray);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  absl::StatusOr<Mutations> mutations = Mutations::Parse(*table->schema, *mutations_json, &symbols_);
  if (!mutations.ok()) return mutations.status();
  absl::StatusOr<Condition> condition = ParseWhere(*table, *where);
  if (!condition.ok()) return condition.status();

  std::vector<Uuid> matches = transaction_.Match(*table, *condition);
  for (const Uuid& uuid : matches) {
    SLUICE_RETURN_IF_ERROR(mutations->Apply(*table->schema, transaction_.Modify(*table, uuid)));
  }
  return Json{{"count", matches.size()}};
}

absl::StatusOr<Json> OperationRunner::Delete(JsonMembers& members) {
  TableState* table = ParseTable(members);
  const Json* where = members.Required("where", JsonMembers::IsArray);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  absl::StatusOr<Condition> condition = ParseWhere(*table, *where);
  if (!condition.ok()) return condition.status();
  std::vector<Uuid> matches = transaction_.Match(*table, *condition);
  for (const Uuid& uuid : matches) transaction_.Delete(*table, uuid);
  return Json{{"count", matches.size()}};
}

// The rows as a set: of the chosen columns only, and however often each is there.
bool OperationRunner::RowsAreEqual(const TableState& table, const std::vector<Uuid>& found,
                                   const std::vector<PartialRow>& wanted, const ColumnSet& columns) const {
  Index shown;
  shown.columns = columns.columns;
  auto key = [&](const Row& row) {
    std::string text = IndexKey(shown, row);
    if (columns.uuid) text += row.uuid.ToString();
    if (columns.version) text += row.version.ToString();
    return text;
  };
  std::set<std::string> found_keys;
  for (const Uuid& uuid : found) found_keys.insert(key(*transaction_.Find(table, uuid)));
  std::set<std::string> wanted_keys;
  for (const PartialRow& partial : wanted) {
    Row row = DefaultRow(*table.schema);
    for (const auto& [column, datum] : partial.columns) row.columns[column] = datum;
    row.uuid = partial.uuid.value_or(Uuid{});
    row.version = partial.version.value_or(Uuid{});
    wanted_keys.insert(key(row));
  }
  return found_keys == wanted_keys;
}

absl::Status OperationRunner::WaitUnfulfilled(int64_t timeout_ms) {
  if (timeout_ms == 0) return OvsdbError("timed out", "\"where\" clause test failed");
  if (timed_out_) {
    return OvsdbError("timed out", fmt::format("\"where\" clause test failed after {} ms", timeout_ms));
  }
  wait_timeout_ms_ = timeout_ms;
  return absl::OkStatus();
}

absl::StatusOr<Json> OperationRunner::Wait(JsonMembers& members) {
  const Json* timeout = members.Optional("timeout", JsonMembers::IsNumber);
  TableState* table = ParseTable(members);
  const Json* where = members.Required("where", JsonMembers::IsArray);
  const Json* columns_json = members.Optional("columns", JsonMembers::IsArray);
  const Json* until = members.Required("until", JsonMembers::IsString);
  const Json* rows_json = members.Required("rows", JsonMembers::IsArray);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  // Beyond 2^53 a real may round up out of an int64_t, and nobody waits that long.
  int64_t timeout_ms = INT64_MAX;
  if (timeout != nullptr) {
    double real = timeout->get<double>();
    if (real < 0) return OvsdbSyntaxError(*timeout, "timeout must be nonnegative");
    if (real < 9e15) timeout_ms = timeout->get<int64_t>();
  }
  absl::StatusOr<Condition> condition = ParseWhere(*table, *where);
  if (!condition.ok()) return condition.status();
  absl::StatusOr<ColumnSet> columns = ParseColumns(*table, columns_json);
  if (!columns.ok()) return columns.status();
  if (*until != "==" && *until != "!=") return OvsdbSyntaxError(*until, "\"until\" must be \"==\" or \"!=\"");
  std::vector<PartialRow> rows;
  for (const Json& row_json : *rows_json) {
    absl::StatusOr<PartialRow> row = ParseRow(*table, row_json);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  bool equal = RowsAreEqual(*table, transaction_.Match(*table, *condition), rows, *columns);
  if (equal != (*until == "==")) SLUICE_RETURN_IF_ERROR(WaitUnfulfilled(timeout_ms));
  return Json::object();
}

absl::StatusOr<Json> OperationRunner::Commit(JsonMembers& members) {
  const Json* durable = members.Required("durable", JsonMembers::IsBoolean);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  durable_ = durable_ || durable->get<bool>();
  return Json::object();
}

absl::StatusOr<Json> OperationRunner::Abort(JsonMembers& members) {
  SLUICE_RETURN_IF_ERROR(members.Finish());
  return OvsdbError("aborted", "aborted by request");
}

absl::StatusOr<Json> OperationRunner::Comment(JsonMembers& members) {
  const Json* comment = members.Required("comment", JsonMembers::IsString);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  if (!comments_.empty()) comments_ += '\n';
  comments_ += JsonMembers::Text(*comment);
  return Json::object();
}

absl::StatusOr<Json> OperationRunner::Assert(JsonMembers& members) {
  const Json* lock = members.Required("lock", JsonMembers::IsId);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  const std::string& name = JsonMembers::Text(*lock);
  if (context_.holds_lock && context_.holds_lock(name)) return Json::object();
  return OvsdbError("not owner", fmt::format("Asserted lock {} not held.", name));
}

}  // namespace sluice
