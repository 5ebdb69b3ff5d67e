// Any text as the operations of a transaction, on a few rows: it fails and changes nothing, or what it leaves satisfies
// the schema's types and references, and comes back the same from the log's record of it.
#include <cstdlib>

#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/log_transaction.h"

namespace sluice {
namespace {

constexpr char kSchema[] = R"({"name":"F","version":"1.0.0","tables":{
"r":{"isRoot":true,"maxRows":3,"columns":{
 "n":{"type":"string","mutable":false},
 "k":{"type":{"key":{"type":"uuid","refTable":"k"},"min":0,"max":"unlimited"}},
 "w":{"type":{"key":{"type":"uuid","refTable":"k","refType":"weak"},"min":0,"max":"unlimited"}},
 "e":{"type":"integer","ephemeral":true}}},
"k":{"indexes":[["n"],["i","s"]],"columns":{
 "n":{"type":"string"},
 "i":{"type":{"key":{"type":"integer","minInteger":0,"maxInteger":4095}}},
 "d":{"type":{"key":{"type":"real","minReal":-1.5,"maxReal":1e6}}},
 "b":{"type":"boolean"},
 "s":{"type":{"key":{"type":"string","minLength":0,"maxLength":5}}},
 "c":{"type":{"key":{"type":"string","enum":["set",["a","b c","d"]]},"min":0,"max":1}},
 "is":{"type":{"key":"integer","min":0,"max":3}},
 "ds":{"type":{"key":"real","min":0,"max":"unlimited"}},
 "m":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
 "p":{"type":{"key":{"type":"uuid","refTable":"k","refType":"weak"},"value":{"type":"uuid","refTable":"k"},
              "min":0,"max":"unlimited"}}}}}})";

constexpr char kRows[] = R"([
{"op":"insert","table":"k","uuid":"00000000-0000-0000-0000-000000000001","row":{"n":"a","is":["set",[1,2]]}},
{"op":"insert","table":"k","uuid":"00000000-0000-0000-0000-000000000002","row":{"n":"b","s":"2","m":["map",[["x","y"]]],
  "p":["map",[[["uuid","00000000-0000-0000-0000-000000000001"],["uuid","00000000-0000-0000-0000-000000000001"]]]]}},
{"op":"insert","table":"r","uuid":"00000000-0000-0000-0000-000000000003","row":{"n":"r","e":5,
  "k":["uuid","00000000-0000-0000-0000-000000000002"],"w":["uuid","00000000-0000-0000-0000-000000000001"]}}])";

void Require(bool holds) {
  if (!holds) std::abort();
}

Json Dump(const Database& database, bool ephemeral) {
  Json dump = Json::object();
  for (const auto& [name, table] : database.schema().tables) {
    for (const auto& [uuid, row] : database.rows(name)) {
      Json& json = dump[name][uuid.ToString()] = Json::object();
      for (size_t i = 0; i < table.columns.size(); ++i) {
        const ColumnSchema& column = table.columns[i];
        if (ephemeral || !column.ephemeral) json[column.name] = DatumToJson(row->columns[i], column.type);
      }
    }
  }
  return dump;
}

void CheckReferences(const Database& database, const BaseType& base, const std::vector<Atom>& atoms) {
  if (base.ref_table.empty()) return;
  for (const Atom& atom : atoms) Require(database.rows(base.ref_table).contains(std::get<Uuid>(atom)));
}

void CheckRows(const Database& database) {
  for (const auto& [name, table] : database.schema().tables) {
    Require(database.rows(name).size() <= table.max_rows);
    for (const auto& [uuid, row] : database.rows(name)) {
      Require(row->uuid == uuid);
      for (size_t i = 0; i < table.columns.size(); ++i) {
        const ColumnType& type = table.columns[i].type;
        Require(type.Check(row->columns[i]).ok());
        CheckReferences(database, type.key, row->columns[i].keys);
        if (type.value) CheckReferences(database, *type.value, row->columns[i].values);
      }
    }
  }
}

DatabaseSchema Schema() { return DatabaseSchema::Parse(*ParseJson(kSchema)).value(); }

void Execute(const Json& operations) {
  static const DatabaseSchema schema = Schema();
  static const Json rows = *ParseJson(kRows);
  Database database(schema);
  Database replayed(schema);
  database.set_commit_hook([&](const ChangeSet& changes, const std::string& comments, bool) {
    Json record = ChangesToLog(changes, comments, 0);
    if (record.is_null()) return absl::OkStatus();
    absl::StatusOr<ChangeSet> read = ChangesFromLog(*ParseJson(DumpJson(record)), replayed);
    return read.ok() ? replayed.Replay(*read) : read.status();
  });
  database.Execute(rows, {});
  Json before = Dump(database, true);
  Database::Outcome outcome = database.Execute(operations, {});
  if (outcome.kind == Database::Outcome::Kind::kMustWait) {
    outcome = database.Execute(operations, {}, /*timed_out=*/true);
    Require(outcome.kind == Database::Outcome::Kind::kDone);
  }
  bool failed = false;
  Require(outcome.results->size() >= operations.size());
  for (const Json& result : *outcome.results) {
    bool is_error = result.is_object() && result.contains("error");
    if (is_error) Require(result["error"] != "I/O error");
    failed = failed || is_error;
  }
  if (failed) Require(Dump(database, true) == before);
  CheckRows(database);
  Require(Dump(database, false) == Dump(replayed, false));
  DumpJson(*outcome.results);
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::StatusOr<sluice::Json> json = sluice::ParseJson(std::string_view(reinterpret_cast<const char*>(data), size));
  if (json.ok() && json->is_array()) sluice::Execute(*json);
  return 0;
}
