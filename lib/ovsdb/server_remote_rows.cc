#include "lib/ovsdb/server_remote_rows.h"

#include "lib/base/log.h"
#include "lib/ovsdb/json.h"

namespace sluice {

using std::chrono::milliseconds;

namespace {

LogModule log_module("ovsdb_server");

// The value of a column if the table has one of that name and type.
const Datum* Find(const TableSchema& table, const Row& row, std::string_view column, AtomType type) {
  const size_t index = table.FindColumn(column);
  if (index == TableSchema::npos || table.columns[index].type.key.type != type) return nullptr;
  return &row.columns[index];
}

RemoteRow ReadRow(const TableSchema& table, const Row& row) {
  RemoteRow remote;
  remote.table = &table;
  remote.uuid = row.uuid;
  if (const Datum* target = Find(table, row, "target", AtomType::kString)) remote.target = target->StringOr("");
  const Datum* probe = Find(table, row, "inactivity_probe", AtomType::kInteger);
  if (probe != nullptr && !probe->empty()) {
    remote.options.inactivity_probe = milliseconds(std::max<int64_t>(probe->IntegerOr(0), 0));
  }
  const Datum* backoff = Find(table, row, "max_backoff", AtomType::kInteger);
  if (backoff != nullptr && !backoff->empty()) remote.options.max_backoff = milliseconds(backoff->IntegerOr(0));
  const Datum* read_only = Find(table, row, "read_only", AtomType::kBoolean);
  if (read_only != nullptr) remote.options.read_only = read_only->BooleanOr(false);
  return remote;
}

// The three words of "db:DATABASE,TABLE,COLUMN".
absl::StatusOr<RemoteSource> Split(std::string_view remote) {
  std::string_view words = remote.substr(3);
  const size_t first = words.find(',');
  const size_t second = first == std::string_view::npos ? first : words.find(',', first + 1);
  if (second == std::string_view::npos) {
    return InvalidArgument("remote {}: expected db:DATABASE,TABLE,COLUMN", remote);
  }
  return RemoteSource{std::string(words.substr(0, first)), std::string(words.substr(first + 1, second - first - 1)),
                      std::string(words.substr(second + 1))};
}

}  // namespace

absl::StatusOr<RemoteSource> RemoteSource::Parse(ServerCore& core, std::string_view remote) {
  absl::StatusOr<RemoteSource> source = Split(remote);
  if (!source.ok()) return source;
  const ServedDatabase* served = core.FindDatabase(source->database);
  if (served == nullptr) return NotFound("remote {}: no database {} is served", remote, source->database);
  const DatabaseSchema& schema = served->database->schema();
  const auto table = schema.tables.find(source->table);
  if (table == schema.tables.end()) {
    return NotFound("remote {}: database {} has no table {}", remote, source->database, source->table);
  }
  const size_t column = table->second.FindColumn(source->column);
  if (column == TableSchema::npos) {
    return NotFound("remote {}: table {} has no column {}", remote, source->table, source->column);
  }
  const ColumnType& type = table->second.columns[column].type;
  const bool references = type.key.type == AtomType::kUuid && !type.key.ref_table.empty();
  if (type.is_map() || (type.key.type != AtomType::kString && !references)) {
    return InvalidArgument("remote {}: column {} holds neither strings nor references to rows", remote, source->column);
  }
  return source;
}

std::vector<RemoteRow> ReadRemoteRows(const Database& database, const RemoteSource& source) {
  std::vector<RemoteRow> remotes;
  const DatabaseSchema& schema = database.schema();
  const TableSchema& table = schema.tables.find(source.table)->second;
  const size_t column = table.FindColumn(source.column);
  const std::string& referenced = table.columns[column].type.key.ref_table;
  for (const auto& [uuid, row] : database.rows(source.table)) {
    for (const Atom& atom : row->columns[column].keys) {
      if (const auto* target = std::get_if<std::string>(&atom)) {
        remotes.push_back({.target = *target});
        continue;
      }
      const Database::Table& rows = database.rows(referenced);
      const auto found = rows.find(std::get<Uuid>(atom));
      if (found != rows.end()) remotes.push_back(ReadRow(schema.tables.find(referenced)->second, *found->second));
    }
  }
  std::erase_if(remotes, [](const RemoteRow& remote) { return remote.target.empty(); });
  return remotes;
}

void WriteRemoteStatus(Database& database, const RemoteRow& remote, bool is_connected,
                       const std::map<std::string, std::string>& status) {
  const auto found = database.rows(remote.table->name).find(remote.uuid);
  if (found == database.rows(remote.table->name).end()) return;
  const Row& row = *found->second;
  Json values = Json::object();
  const Datum* connected = Find(*remote.table, row, "is_connected", AtomType::kBoolean);
  if (connected != nullptr && connected->BooleanOr(false) != is_connected) values["is_connected"] = is_connected;
  if (const Datum* current = Find(*remote.table, row, "status", AtomType::kString)) {
    Datum wanted;
    Json pairs = Json::array();
    for (const auto& [key, value] : status) {
      wanted.keys.emplace_back(key);
      wanted.values.emplace_back(value);
      pairs.push_back(Json::array({key, value}));
    }
    if (*current != wanted) values["status"] = Json::array({"map", std::move(pairs)});
  }
  if (values.empty()) return;
  const Json where = Json::array({Json::array({"_uuid", "==", Json::array({"uuid", remote.uuid.ToString()})})});
  const Json update = {{"op", "update"}, {"table", remote.table->name}, {"where", where}, {"row", values}};
  const Database::Outcome outcome = database.Execute(Json::array({update}), TransactionContext());
  for (const Json& result : *outcome.results) {
    if (result.is_object() && result.contains("error")) {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "{}: cannot write the status of the connection: {}", remote.target,
                              DumpJson(result));
    }
  }
}

}  // namespace sluice
