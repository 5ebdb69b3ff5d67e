// Random transactions against a simple model: after each, the rows are what looking at everything says they must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/lib/ovsdb/random_transactions.h"
#include "tests/lib/ovsdb/test_database.h"

namespace sluice {
namespace {

constexpr char kUuidPrefix[] = "uuid";

// The rows as JSON, table by table, as Dump() gives them; all rules are applied by scanning all of them. It knows only
// operations of the simplest forms: insert, and update, mutate (insert and delete on references) and delete by _uuid.
class Model {
 public:
  explicit Model(const Database& empty) : rows_(Dump(empty)), empty_(empty) {}

  const Json& rows() const { return rows_; }

  // False: the transaction fails, and nothing has changed.
  bool Run(const Json& operations) {
    Json before = rows_;
    bool ok = true;
    for (const Json& operation : operations) ok = ok && Apply(operation, before);
    ok = ok && Commit(before);
    if (!ok) rows_ = before;
    return ok;
  }

 private:
  using Pairs = std::set<std::pair<std::string, std::string>>;  // of table and UUID

  bool Apply(const Json& operation, const Json& before) {
    Json& table = rows_[operation["table"].get<std::string>()];
    if (operation["op"] == "insert") {
      std::string uuid = operation["uuid"];
      if (table.contains(uuid) || before[operation["table"].get<std::string>()].contains(uuid)) return false;
      table[uuid] = DefaultRow(operation["table"]);
      table[uuid].update(operation["row"]);
      return true;
    }
    std::string uuid = operation["where"][0][2][1];
    if (!table.contains(uuid)) return true;
    if (operation["op"] == "delete") {
      table.erase(uuid);
    } else if (operation["op"] == "update") {
      table[uuid].update(operation["row"]);
    } else {
      for (const Json& mutation : operation["mutations"])
        MutateSet(table[uuid][mutation[0].get<std::string>()], mutation);
    }
    return true;
  }

  Json DefaultRow(const std::string& table) const {
    Json row = Json::object();
    for (const ColumnSchema& column : empty_.schema().tables.at(table).columns) {
      row[column.name] = DatumToJson(column.type.Default(), column.type);
    }
    return row;
  }

  // Of UUIDs.
  static std::set<Json> Elements(const Json& value) {
    if (value[0] == kUuidPrefix) return {value};
    return std::set<Json>(value[1].begin(), value[1].end());
  }
  static Json ToValue(const std::set<Json>& elements) {
    if (elements.size() == 1) return *elements.begin();
    return Json::array({"set", Json(elements)});
  }
  static void MutateSet(Json& value, const Json& mutation) {
    std::set<Json> elements = Elements(value);
    for (const Json& element : Elements(mutation[2])) {
      if (mutation[1] == "insert") {
        elements.insert(element);
      } else {
        elements.erase(element);
      }
    }
    value = ToValue(elements);
  }

  // What strong references lead to, from rows other than the target itself.
  Pairs StrongTargets() const {
    Pairs targets;
    for (const auto& [table, rows] : rows_.items()) {
      for (const auto& [uuid, row] : rows.items()) {
        for (const Json& element : Elements(row["kids"])) {
          if (table != "kid" || element[1] != uuid) targets.emplace("kid", element[1]);
        }
      }
    }
    return targets;
  }

  bool Commit(const Json& before) {
    for (const auto& [table, uuid] : StrongTargets()) {
      if (!rows_[table].contains(uuid)) return false;
    }
    for (bool again = true; again;) {
      again = false;
      Pairs targets = StrongTargets();
      const Json kids = rows_["kid"];
      for (const auto& [uuid, row] : kids.items()) {
        // Circles that came about earlier stay: only counts that fell to zero matter, which is the same here.
        if (targets.contains({"kid", uuid})) continue;
        rows_["kid"].erase(uuid);
        again = true;
      }
    }
    RemoveWeak("root", "weak");
    RemoveWeak("root", "best");
    RemoveWeak("kid", "peers");
    if (rows_["root"].size() > 4 && rows_["root"].size() > before["root"].size()) return false;
    std::set<Json> names;
    std::set<Json> pairs;
    for (const auto& [uuid, row] : rows_["kid"].items()) {
      if (!names.insert(row["name"]).second || !pairs.insert(Json::array({row["i"], row["s"]})).second) return false;
    }
    return true;
  }

  void RemoveWeak(const char* table, const char* column) {
    for (auto& [uuid, row] : rows_[table].items()) {
      std::set<Json> left;
      for (const Json& element : Elements(row[column])) {
        if (rows_["kid"].contains(element[1].get<std::string>())) left.insert(element);
      }
      row[column] = ToValue(left);
    }
  }

  Json rows_;
  const Database& empty_;
};

class ModelTransactions {
 public:
  explicit ModelTransactions(uint64_t seed) : random_(seed) {}

  Json Next() {
    Json operations = Json::array();
    for (size_t count = 1 + Below(6); count > 0; --count) operations.push_back(Operation());
    return operations;
  }

 private:
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  Json Uuid(const std::string& table) {
    return Json::array(
        {kUuidPrefix, fmt::format("{}0000000-0000-0000-0000-00000000000{}", table == "kid" ? 'a' : 'b', Below(6))});
  }
  Json Kids() {
    std::set<Json> kids;
    for (size_t count = Below(4); count > 0; --count) kids.insert(Uuid("kid"));
    if (kids.size() == 1) return *kids.begin();
    return Json::array({"set", Json(kids)});
  }
  Json Row(const std::string& table) {
    Json row = Json::object();
    if (table == "root") {
      row["kids"] = Kids();
      if (Below(2) == 0) row["weak"] = Kids();
      if (Below(2) == 0) row["best"] = Uuid("kid");
    } else {
      row["name"] = std::string(1, static_cast<char>('a' + Below(10)));
      row["i"] = Below(4);
      row["s"] = std::string(1, static_cast<char>('a' + Below(4)));
      if (Below(3) == 0) row["kids"] = Kids();
      if (Below(2) == 0) row["peers"] = Kids();
    }
    return row;
  }
  Json Operation() {
    std::string table = Below(2) == 0 ? "root" : "kid";
    Json uuid = Uuid(table);
    Json where = Json::array({Json::array({"_uuid", "==", uuid})});
    switch (Below(5)) {
      case 0:
      case 1:
        return {{"op", "insert"}, {"table", table}, {"uuid", uuid[1]}, {"row", Row(table)}};
      case 2:
        return {{"op", "update"}, {"table", table}, {"where", where}, {"row", Row(table)}};
      case 3:
        return {{"op", "delete"}, {"table", table}, {"where", where}};
      default:
        return {{"op", "mutate"},
                {"table", table},
                {"where", where},
                {"mutations", Json::array({Json::array({"kids", Below(2) == 0 ? "insert" : "delete", Kids()})})}};
    }
  }

  std::mt19937_64 random_;
};

// What a monitor would have: the rows as the change sets tell them.
void ApplyChanges(const ChangeSet& changes, std::map<Uuid, RowPtr>& shadow) {
  for (const RowChange& change : changes) {
    const Uuid& uuid = change.new_row != nullptr ? change.new_row->uuid : change.old_row->uuid;
    ASSERT_EQ(change.old_row != nullptr, shadow.contains(uuid));
    if (change.old_row != nullptr) {
      EXPECT_EQ(shadow[uuid], change.old_row);
    }
    if (change.old_row != nullptr && change.new_row != nullptr) {
      EXPECT_FALSE(change.old_row->columns == change.new_row->columns);
      EXPECT_NE(change.old_row->version, change.new_row->version);
    }
    if (change.new_row != nullptr) {
      shadow[uuid] = change.new_row;
    } else {
      shadow.erase(uuid);
    }
  }
}

TEST(OvsdbModelTest, RowsAreWhatTheRulesMakeThem) {
  const char* text = std::getenv("OVSDB_SEED");
  uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("OVSDB_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Database database(TestSchema());
  std::map<Uuid, RowPtr> shadow;
  database.set_on_commit([&](const ChangeSet& changes) { ApplyChanges(changes, shadow); });
  Model model(database);
  ModelTransactions transactions(seed);
  int succeeded = 0;
  constexpr int kTransactions = 5000;
  for (int i = 0; i < kTransactions; ++i) {
    Json operations = transactions.Next();
    bool expected = model.Run(operations);
    Json results = *database.Execute(operations, {}).results;
    bool ok = results.back().is_object() && !results.back().contains("error");
    ASSERT_EQ(ok, expected) << "transaction " << i << ": " << operations << "\n" << results;
    ASSERT_EQ(Dump(database), model.rows()) << "transaction " << i << ": " << operations << "\n" << results;
    ASSERT_EQ(shadow.size(), database.row_count());
    succeeded += ok;
  }
  std::printf("%d of %d transactions succeeded\n", succeeded, kTransactions);
  EXPECT_GT(succeeded, kTransactions / 20);
  EXPECT_LT(succeeded, kTransactions);
  for (const auto& [uuid, row] : shadow) {
    const Database::Table& table = database.rows(uuid.bytes[0] == 0xa0 ? "kid" : "root");
    EXPECT_EQ(table.at(uuid), row);
  }
}

// The whole of the language, against itself: a transaction that fails changes nothing, one whose reversal is known
// does.
TEST(OvsdbModelTest, TransactionsThatFailLeaveNoTrace) {
  uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  RandomTransactions transactions(seed);
  Database database(TestSchema());
  int commits = 0;
  database.set_on_commit([&](const ChangeSet&) { ++commits; });
  for (int i = 0; i < 3000; ++i) {
    Json before = Dump(database);
    int commits_before = commits;
    Json operations = transactions.Next();
    Json results = *database.Execute(operations, {}).results;
    bool failed = std::any_of(results.begin(), results.end(),
                              [](const Json& result) { return result.is_object() && result.contains("error"); });
    bool same = Dump(database) == before;
    if (failed) {
      ASSERT_TRUE(same) << operations;
    }
    // A commit is reported if and only if something changed.
    ASSERT_EQ(commits - commits_before, same ? 0 : 1) << operations << results;
    ASSERT_GE(results.size(), operations.size());
  }
}

}  // namespace
}  // namespace sluice
