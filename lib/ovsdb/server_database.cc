#include "lib/ovsdb/server_database.h"

#include "lib/ovsdb/json.h"

namespace sluice {
namespace {

// Names, types and checksum are what clients of ovsdb-server 2.9 and later find.
constexpr std::string_view kSchema = R"json({
  "name": "_Server", "version": "1.2.0", "cksum": "3009684573 744",
  "tables": {"Database": {"columns": {
    "name": {"type": "string"},
    "model": {"type": {"key": {"type": "string", "enum": ["set", ["clustered", "relay", "standalone"]]}}},
    "schema": {"type": {"key": "string", "min": 0, "max": 1}},
    "connected": {"type": "boolean"},
    "leader": {"type": "boolean"},
    "cid": {"type": {"key": "uuid", "min": 0, "max": 1}},
    "sid": {"type": {"key": "uuid", "min": 0, "max": 1}},
    "index": {"type": {"key": "integer", "min": 0, "max": 1}}}}}})json";

}  // namespace

std::unique_ptr<Database> MakeServerDatabase() {
  return std::make_unique<Database>(*DatabaseSchema::Parse(*ParseJson(kSchema)));
}

absl::Status RegisterDatabase(Database& server_database, const DatabaseSchema& schema) {
  const Json insert = {{"op", "insert"},
                       {"table", "Database"},
                       {"row",
                        {{"name", schema.name},
                         {"model", "standalone"},
                         {"schema", DumpJson(schema.ToJson())},
                         {"connected", true},
                         {"leader", true}}}};
  const Database::Outcome outcome = server_database.Execute(Json::array({insert}), TransactionContext());
  for (const Json& result : *outcome.results) {
    if (result.contains("error")) {
      return FailedPrecondition("database {}: cannot be listed in _Server: {}", schema.name, DumpJson(result));
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice
