// The same random transactions given to Debian's ovsdb-tool and to our database: the same results and the same rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "lib/ovsdb/log_file.h"
#include "tests/lib/ovsdb/ovsdb_tool.h"
#include "tests/lib/ovsdb/random_transactions.h"
#include "tests/lib/ovsdb/test_database.h"

namespace sluice {
namespace {

uint64_t Seed() {
  const char* seed = std::getenv("OVSDB_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 0) : std::random_device()();
}

// Rows are in no particular order, and of several rows that an error is true of, any may be named.
void Normalize(Json& results) {
  for (Json& result : results) {
    if (result.contains("rows")) std::sort(result["rows"].begin(), result["rows"].end());
  }
}

bool NamesARow(const Json& error) { return error.value("details", "").find(" row") != std::string::npos; }

// Whether two different errors are both right. An error of a commit names one of the rows that it is true of; of
// several rows that an update would make wrong, or several columns of a row that are wrong, either side may meet
// another first.
bool BothRight(const Json& operation, const Json& ours, const Json& theirs) {
  if (!ours.contains("error") || !theirs.contains("error")) return false;
  if (operation.contains("row") && operation["row"].size() > 1) return true;
  if (ours["error"] != theirs["error"]) return false;
  return (NamesARow(ours) && NamesARow(theirs)) || ours["error"] == "constraint violation";
}

bool Equal(const Json& operations, const Json& ours, const Json& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (size_t i = 0; i < ours.size(); ++i) {
    Json operation = i < operations.size() ? operations[i] : Json::object();
    if (ours[i] != theirs[i] && !BothRight(operation, ours[i], theirs[i])) return false;
  }
  return true;
}

// The test schema without bounds between 1 and infinity: ovsdb-tool 3.1 writes differences larger than those, and then
// cannot read its own file.
std::string UnboundedSchemaText() {
  std::string text(TestSchemaText());
  auto replace = [&](std::string_view from, std::string_view to) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace(R"("min":0,"max":3)", R"("min":0,"max":"unlimited")");
  replace(R"("min":0,"max":2)", R"("min":0,"max":"unlimited")");
  replace(R"("min":1,"max":2)", R"("min":0,"max":"unlimited")");
  return text;
}

TEST(OvsdbDifferentialTest, ResultsAndRowsAreThoseOfOvsdbTool) {
  constexpr int kTransactions = 200;
  uint64_t seed = Seed();
  std::printf("OVSDB_SEED=%llu\n", static_cast<unsigned long long>(seed));
  TemporaryDirectory directory;
  std::string theirs = directory / "theirs.db";
  std::string ours = directory / "ours.db";
  std::string schema_text = UnboundedSchemaText();
  WriteFile(directory / "t.ovsschema", schema_text);
  ASSERT_EQ(OvsdbTool({"create", theirs, directory / "t.ovsschema"}), "");
  LogFile::Opened opened = LogFile::Open(ours, SchemaOf(schema_text)).value();
  Database& database = *opened.database;
  database.set_commit_hook([&](const ChangeSet& changes, const std::string& comments, bool) {
    return opened.file->Append(changes, comments, /*durable=*/false);
  });

  RandomTransactions transactions(seed);
  int errors = 0;
  for (int i = 0; i < kTransactions; ++i) {
    Json operations = transactions.Next();
    Json request = operations;
    request.insert(request.begin(), Json("T"));
    std::string reply = OvsdbTool({"transact", theirs, DumpJson(request)});
    Json their_results = J(reply);
    Json our_results = *database.Execute(operations, {}).results;
    Normalize(their_results);
    Normalize(our_results);
    ASSERT_TRUE(Equal(operations, our_results, their_results))
        << "transaction " << i << ": " << operations << "\nours:   " << our_results << "\ntheirs: " << their_results;
    errors += !our_results.back().is_null() && our_results.back().contains("error");
    Json their_rows = ToolDump(theirs, schema_text);
    // ovsdb-tool has forgotten them with every command.
    for (auto& row : their_rows["root"]) row.erase("eph");
    ASSERT_EQ(Dump(database, /*ephemeral=*/false), their_rows) << "transaction " << i << ": " << operations;
    // So must ours, for conditions that ask for them.
    Execute(database, R"({"op":"update","table":"root","where":[],"row":{"eph":0}})");
  }
  std::printf("%d transactions, %d ended with an error of the commit\n", kTransactions, errors);
  EXPECT_GT(errors, 0);
  EXPECT_LT(errors, kTransactions);

  // Each reads the other's file.
  Json rows = Dump(database, false);
  Json tool_rows = ToolDump(ours, schema_text);
  for (auto& row : tool_rows["root"]) row.erase("eph");
  EXPECT_EQ(tool_rows, rows);
  LogFile::Opened reopened = LogFile::Open(theirs, SchemaOf(schema_text)).value();
  EXPECT_EQ(reopened.repaired, "");
  EXPECT_EQ(Dump(*reopened.database, false), rows);
}

}  // namespace
}  // namespace sluice
