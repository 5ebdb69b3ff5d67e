#include "tests/lib/ovsdb/test_database.h"

#include <gtest/gtest.h>

namespace sluice {

std::string_view TestSchemaText() {
  return R"({"name":"T","version":"1.0.0","tables":{
"root":{"isRoot":true,"maxRows":4,"columns":{
 "name":{"type":"string","mutable":false},
 "kids":{"type":{"key":{"type":"uuid","refTable":"kid"},"min":0,"max":"unlimited"}},
 "by_name":{"type":{"key":"string","value":{"type":"uuid","refTable":"kid"},"min":0,"max":"unlimited"}},
 "weak":{"type":{"key":{"type":"uuid","refTable":"kid","refType":"weak"},"min":0,"max":"unlimited"}},
 "best":{"type":{"key":{"type":"uuid","refTable":"kid","refType":"weak"},"min":0,"max":1}},
 "eph":{"type":"integer","ephemeral":true}}},
"kid":{"indexes":[["name"],["i","s"]],"columns":{
 "name":{"type":"string"},
 "i":{"type":{"key":{"type":"integer","minInteger":0,"maxInteger":4095}}},
 "imin":{"type":{"key":{"type":"integer","minInteger":-100000}}},
 "imax":{"type":{"key":{"type":"integer","maxInteger":100000}}},
 "r":{"type":{"key":{"type":"real","minReal":-1.5,"maxReal":1e6}}},
 "rmin":{"type":{"key":{"type":"real","minReal":-1.5}}},
 "b":{"type":"boolean"},
 "s":{"type":{"key":{"type":"string","minLength":0,"maxLength":5}}},
 "s2":{"type":{"key":{"type":"string","minLength":2,"maxLength":5},"min":0,"max":1}},
 "e":{"type":{"key":{"type":"string","enum":["set",["a","b c","d"]]},"min":0,"max":1}},
 "is":{"type":{"key":{"type":"integer"},"min":0,"max":3}},
 "io":{"type":{"key":{"type":"integer"},"min":0,"max":1}},
 "rs":{"type":{"key":{"type":"real"},"min":0,"max":"unlimited"}},
 "m":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
 "mi":{"type":{"key":"integer","value":"integer","min":0,"max":2}},
 "set2":{"type":{"key":"integer","min":1,"max":2}},
 "u":{"type":"uuid"},
 "kids":{"type":{"key":{"type":"uuid","refTable":"kid"},"min":0,"max":"unlimited"}},
 "peers":{"type":{"key":{"type":"uuid","refTable":"kid","refType":"weak"},"min":0,"max":"unlimited"}}}}}})";
}

Json J(std::string_view text) {
  absl::StatusOr<Json> json = ParseJson(text);
  if (json.ok()) return *std::move(json);
  ADD_FAILURE() << text << ": " << Message(json.status());
  return nullptr;
}

DatabaseSchema SchemaOf(std::string_view text) {
  absl::StatusOr<DatabaseSchema> schema = DatabaseSchema::Parse(J(text));
  if (schema.ok()) return *std::move(schema);
  ADD_FAILURE() << Message(schema.status());
  return {};
}

DatabaseSchema TestSchema() { return SchemaOf(TestSchemaText()); }

Json Execute(Database& database, std::string_view operations, const TransactionContext& context) {
  Database::Outcome outcome = database.Execute(J("[" + std::string(operations) + "]"), context);
  return outcome.kind == Database::Outcome::Kind::kDone ? *outcome.results : Json("must wait");
}

Json Dump(const Database& database, bool ephemeral) {
  Json dump = Json::object();
  for (const auto& [name, table] : database.schema().tables) {
    dump[name] = Json::object();
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

}  // namespace sluice
