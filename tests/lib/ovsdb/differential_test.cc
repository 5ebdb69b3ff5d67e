// The same random transactions given to Debian's ovsdb-tool and to our database: the same results and the same rows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "lib/ovsdb/log_file.h"
#include "tests/lib/ovsdb/ovsdb_tool.h"
#include "tests/lib/ovsdb/random_transactions.h"
#include "tests/lib/ovsdb/test_database.h"
#include "tests/testing/scratch.h"

namespace sluice {
namespace {

uint64_t Seed() {
  const char* seed = std::getenv("OVSDB_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 0) : std::random_device()();
}

// Equal but for the last digits of reals: ovsdb-tool keeps 15 of them from one command to the next, ours keeps all.
bool Same(const Json& ours, const Json& theirs) {
  if (ours.is_number() && theirs.is_number()) {
    double a = ours.get<double>();
    double b = theirs.get<double>();
    return a == b || std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
  }
  if (ours.type() != theirs.type() || ours.size() != theirs.size()) return false;
  if (ours.is_object()) {
    return std::all_of(ours.items().begin(), ours.items().end(), [&](const auto& item) {
      return theirs.contains(item.key()) && Same(item.value(), theirs[item.key()]);
    });
  }
  if (ours.is_array()) return std::equal(ours.begin(), ours.end(), theirs.begin(), Same);
  return ours == theirs;
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
    if (!Same(ours[i], theirs[i]) && !BothRight(operation, ours[i], theirs[i])) return false;
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

// Debian's database and ours, in files.
class Pair {
 public:
  explicit Pair(const Scratch& directory)
      : schema_text_(UnboundedSchemaText()), theirs_(directory.File("theirs.db")), ours_(directory.File("ours.db")) {
    WriteFile(directory.File("t.ovsschema"), schema_text_);
    schema_path_ = directory.File("t.ovsschema");
    Reset();
  }

  void Reset() {
    opened_ = {};
    unlink(theirs_.c_str());
    unlink(ours_.c_str());
    ASSERT_EQ(OvsdbTool({"create", theirs_, schema_path_}), "");
    opened_ = LogFile::Open(ours_, SchemaOf(schema_text_)).value();
    opened_.database->set_commit_hook([this](const ChangeSet& changes, const std::string& comments, bool) {
      return opened_.file->Append(changes, comments, /*durable=*/false);
    });
  }

  Json RunTheirs(Json operations) {
    operations.insert(operations.begin(), Json("T"));
    return J(OvsdbTool({"transact", theirs_, DumpJson(operations)}));
  }
  Json RunOurs(const Json& operations) {
    Json results = *opened_.database->Execute(operations, {}).results;
    // ovsdb-tool forgets ephemeral columns with every command; so must ours, for conditions that ask for them.
    Execute(*opened_.database, R"({"op":"update","table":"root","where":[],"row":{"eph":0}})");
    return results;
  }
  Json OurRows() const { return Dump(*opened_.database, /*ephemeral=*/false); }
  Json TheirRows() const { return Kept(theirs_); }
  Json OurRowsByTool() const { return Kept(ours_); }
  LogFile::Opened OpenTheirs() const { return LogFile::Open(theirs_, SchemaOf(schema_text_)).value(); }

 private:
  Json Kept(const std::string& path) const {
    Json dump = ToolDump(path, schema_text_);
    for (auto& row : dump["root"]) row.erase("eph");
    return dump;
  }

  std::string schema_text_;
  std::string schema_path_;
  std::string theirs_;
  std::string ours_;
  LogFile::Opened opened_;
};

// Whether a weak reference leads nowhere. ovsdb-tool 3.1 writes such a row when it changes the row's other columns in
// the transaction that makes the reference go: the removal is not in its record.
bool HasDanglingReference(const Json& dump) {
  auto dangles = [&](const Json& value) {
    Json elements = value[0] == "set" ? value[1] : Json::array({value});
    return std::any_of(elements.begin(), elements.end(),
                       [&](const Json& element) { return !dump["kid"].contains(element[1].get<std::string>()); });
  };
  auto any = [&](const char* table, const char* column) {
    return std::any_of(dump[table].begin(), dump[table].end(), [&](const Json& row) { return dangles(row[column]); });
  };
  return any("root", "weak") || any("root", "best") || any("kid", "peers");
}

TEST(OvsdbDifferentialTest, ResultsAndRowsAreThoseOfOvsdbTool) {
  constexpr int kTransactions = 200;
  uint64_t seed = Seed();
  std::printf("OVSDB_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Scratch directory;
  Pair pair(directory);
  RandomTransactions transactions(seed);
  int errors = 0;
  int resets = 0;
  for (int i = 0; i < kTransactions; ++i) {
    Json operations = transactions.Next();
    Json their_results = pair.RunTheirs(operations);
    Json our_results = pair.RunOurs(operations);
    Normalize(their_results);
    Normalize(our_results);
    ASSERT_TRUE(Equal(operations, our_results, their_results))
        << "transaction " << i << ": " << operations << "\nours:   " << our_results << "\ntheirs: " << their_results;
    errors += !our_results.back().is_null() && our_results.back().contains("error");
    Json their_rows = pair.TheirRows();
    Json our_rows = pair.OurRows();
    ASSERT_FALSE(HasDanglingReference(our_rows)) << operations;
    if (HasDanglingReference(their_rows)) {
      // From here on the two would differ.
      LogFile::Opened repaired = pair.OpenTheirs();
      ASSERT_NE(repaired.repaired, "");
      ASSERT_EQ(Dump(*repaired.database, false), our_rows) << operations;
      repaired = {};
      pair.Reset();
      ++resets;
      continue;
    }
    ASSERT_TRUE(Same(our_rows, their_rows))
        << "transaction " << i << ": " << operations << "\nours:   " << our_rows << "\ntheirs: " << their_rows;
  }
  std::printf("%d transactions, %d ended with an error of the commit, %d begun anew\n", kTransactions, errors, resets);
  EXPECT_GT(errors, 0);
  EXPECT_LT(errors, kTransactions);
  EXPECT_LT(resets, kTransactions / 20);

  // Each reads the other's file.
  EXPECT_PRED2(Same, pair.OurRowsByTool(), pair.OurRows());
  EXPECT_PRED2(Same, Dump(*pair.OpenTheirs().database, false), pair.OurRows());
}

}  // namespace
}  // namespace sluice
