// What happens at commit: references, garbage, weak references, row counts, indexes, versions, change sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "lib/ovsdb/error.h"
#include "tests/lib/ovsdb/test_database.h"

namespace sluice {
namespace {

class CommitTest : public testing::Test {
 protected:
  explicit CommitTest(DatabaseSchema schema = TestSchema()) : database_(std::move(schema)) {
    database_.set_on_commit([this](const ChangeSet& changes) {
      ++commits_;
      last_ = changes;
    });
  }

  Json Run(std::string_view operations) { return Execute(database_, operations); }
  void Do(std::string_view operations) {
    Json results = Run(operations);
    for (const Json& result : results) EXPECT_FALSE(result.contains("error")) << operations << "\n" << results;
  }
  // The error that the commit itself ended with.
  Json Error(std::string_view operations) {
    Json before = Dump(database_);
    int commits = commits_;
    Json error = Run(operations).back();
    EXPECT_EQ(Dump(database_), before);
    EXPECT_EQ(commits_, commits);
    return error;
  }
  size_t Count(const char* table) { return database_.rows(table).size(); }
  Json Column(const char* table, const char* column) {
    Json rows =
        Run(fmt::format(R"({{"op":"select","table":"{}","where":[],"columns":["{}"]}})", table, column))[0]["rows"];
    EXPECT_EQ(rows.size(), 1u);
    return rows[0][column];
  }

  Database database_;
  int commits_ = 0;
  ChangeSet last_;
};

constexpr char kUuid[] = "550e8400-e29b-41d4-a716-446655440000";
#define KID(uuid, row) \
  R"({"op":"insert","table":"kid","uuid":"00000000-0000-0000-0000-00000000000)" uuid R"(","row":)" row "}"
#define ROOT(row) R"({"op":"insert","table":"root","row":)" row "}"
#define ID(uuid) R"(["uuid","00000000-0000-0000-0000-00000000000)" uuid R"("])"

TEST_F(CommitTest, RowsThatNothingRefersToAreDeletedUnlessTheirTableIsRoot) {
  Do(KID("1", R"({"name":"a"})") "," ROOT(R"({"name":"r"})"));
  EXPECT_EQ(Count("kid"), 0u);
  EXPECT_EQ(Count("root"), 1u);
}

TEST_F(CommitTest, ChainsOfGarbageGoAtOnce) {
  Do(KID("1", R"({"name":"a"})") "," KID("2", R"({"name":"b","s":"2","kids":)" ID("1") "}") "," KID(
      "3", R"({"name":"c","s":"3","kids":)" ID("2") "}") "," ROOT(R"({"name":"r","kids":)" ID("3") "}"));
  EXPECT_EQ(Count("kid"), 3u);
  Do(R"({"op":"update","table":"root","where":[],"row":{"kids":["set",[]]}})");
  EXPECT_EQ(Count("kid"), 0u);
  EXPECT_EQ(last_.size(), 4u);
}

TEST_F(CommitTest, ARowsReferenceToItselfDoesNotKeepItButACircleDoes) {
  Do(KID("1", R"({"name":"a","kids":)" ID("1") "}"));
  EXPECT_EQ(Count("kid"), 0u);
  Do(KID("1", R"({"name":"a","kids":)" ID("2") "}") "," KID("2", R"({"name":"b","s":"2","kids":)" ID("1") "}"));
  EXPECT_EQ(Count("kid"), 2u);
}

TEST_F(CommitTest, AReferenceMovedFromRowToRowKeepsItsTarget) {
  Do(KID("1", R"({"name":"a"})") "," ROOT(R"({"name":"1","kids":)" ID("1") "}") "," ROOT(R"({"name":"2"})"));
  Do(R"({"op":"update","table":"root","where":[["name","==","1"]],"row":{"kids":["set",[]]}},
        {"op":"update","table":"root","where":[["name","==","2"]],"row":{"by_name":["map",[["x",)" ID("1") R"(]]]}})");
  EXPECT_EQ(Count("kid"), 1u);
}

TEST_F(CommitTest, StrongReferencesToNothingAreRefused) {
  Json error = Error(
      fmt::format(R"({{"op":"insert","table":"root","uuid":"{}","row":{{"name":"r","kids":)" ID("1") "}}}}", kUuid));
  EXPECT_EQ(error["error"], "referential integrity violation");
  EXPECT_EQ(error["details"], fmt::format("Table root column kids row {} references nonexistent row "
                                          "00000000-0000-0000-0000-000000000001 in table kid.",
                                          kUuid));
}

TEST_F(CommitTest, RowsThatAreReferredToCannotBeDeleted) {
  Do(KID("1", R"({"name":"a"})") "," KID(
      "2", R"({"name":"b","s":"2","kids":)" ID("1") "}") "," ROOT(R"({"name":"r","kids":)" ID("2") "}"));
  constexpr char kDelete[] = R"({"op":"delete","table":"kid","where":[["name","==","a"]]})";
  Json error = Error(kDelete);
  EXPECT_EQ(error["error"], "referential integrity violation");
  EXPECT_EQ(error["details"],
            "cannot delete kid row 00000000-0000-0000-0000-000000000001 because of 1 remaining "
            "reference(s)");
  // Even if the row that refers is about to be collected, but not if it is deleted as well.
  EXPECT_EQ(Error(R"({"op":"delete","table":"root","where":[]},)" + std::string(kDelete))["error"],
            "referential integrity violation");
  Do(R"({"op":"delete","table":"root","where":[]},{"op":"delete","table":"kid","where":[]})");
  EXPECT_EQ(database_.row_count(), 0u);
}

TEST_F(CommitTest, WeakReferencesToWhatIsGoneAreRemoved) {
  Do(KID("1", R"({"name":"a"})") "," KID("2", R"({"name":"b","s":"2"})") "," ROOT(R"({"name":"r","kids":["set",[)" ID(
      "1") "," ID("2") R"(]],"weak":["set",[)" ID("1") "," ID("2") "," ID("3") R"(]],"best":)" ID("1") "}"));
  EXPECT_EQ(Column("root", "weak").at(1).size(), 2u);
  Do(R"({"op":"mutate","table":"root","where":[],"mutations":[["kids","delete",)" ID("1") "]]}");
  EXPECT_EQ(Column("root", "weak"), J(ID("2")));
  EXPECT_EQ(Column("root", "best"), J(R"(["set",[]])"));
  // Both rows are in the change set: the one deleted and the one that lost its references.
  EXPECT_EQ(last_.size(), 2u);
  Do(R"({"op":"update","table":"root","where":[],"row":{"kids":["set",[]]}})");
  EXPECT_EQ(Column("root", "weak"), J(R"(["set",[]])"));
}

TEST_F(CommitTest, AWeakReferenceToNothingIsNoChange) {
  Do(ROOT(R"({"name":"r"})"));
  Do(R"({"op":"update","table":"root","where":[],"row":{"weak":)" ID("1") "}}");
  EXPECT_EQ(commits_, 1);
}

TEST_F(CommitTest, MaxRowsCountsWhatIsLeft) {
  Do(ROOT(R"({"name":"1"})") "," ROOT(R"({"name":"2"})") "," ROOT(R"({"name":"3"})") "," ROOT(R"({"name":"4"})"));
  Json error = Error(ROOT(R"({"name":"5"})"));
  EXPECT_EQ(error["error"], "constraint violation");
  EXPECT_EQ(error["details"],
            "transaction causes \"root\" table to contain 5 rows, greater than the schema-defined limit of 4 row(s)");
  Do(ROOT(R"({"name":"5"})") R"(,{"op":"delete","table":"root","where":[["name","==","1"]]})");
  EXPECT_EQ(Count("root"), 4u);
}

TEST_F(CommitTest, IndexesAreUnique) {
  constexpr char kRoot[] = ROOT(R"({"name":"r","kids":["set",[)" ID("1") "," ID("2") "]]}");
  Json error = Error(KID("1", R"({"name":"a"})") "," KID("2", R"({"name":"a","s":"2"})") "," + std::string(kRoot));
  EXPECT_EQ(error["error"], "constraint violation");
  EXPECT_EQ(error["details"],
            "Transaction causes multiple rows in \"kid\" table to have identical values (a) for index on column "
            "\"name\".  First row, with UUID 00000000-0000-0000-0000-000000000001, was inserted by this transaction.  "
            "Second row, with UUID 00000000-0000-0000-0000-000000000002, was inserted by this transaction.");
  Do(KID("1", R"({"name":"a","i":1})") "," KID("2", R"({"name":"b","i":2,"s":"x y"})") "," + std::string(kRoot));
  error = Error(R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"i":2,"s":"x y"}})");
  EXPECT_EQ(
      error["details"],
      "Transaction causes multiple rows in \"kid\" table to have identical values (2 and \"x y\") for index on "
      "columns \"i\" and \"s\".  First row, with UUID 00000000-0000-0000-0000-000000000001, had the following "
      "index values before the transaction: 1 and \"\".  Second row, with UUID "
      "00000000-0000-0000-0000-000000000002, existed in the database before this transaction and was not modified "
      "by the transaction.");
  error = Error(R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"name":"b"}},
                   {"op":"update","table":"kid","where":[["i","==",2]],"row":{"b":true}})");
  EXPECT_THAT(error["details"].get<std::string>(),
              testing::HasSubstr("existed in the database before this transaction, which modified some of the row's "
                                 "columns but not any columns in this index"));
}

TEST_F(CommitTest, IndexValuesCanBeExchangedAndTakenOver) {
  Do(KID("1", R"({"name":"a"})") "," KID(
      "2", R"({"name":"b","s":"2"})") "," ROOT(R"({"name":"r","kids":["set",[)" ID("1") "," ID("2") "]]}"));
  Do(R"({"op":"update","table":"kid","where":[["s","==",""]],"row":{"name":"b"}},
        {"op":"update","table":"kid","where":[["s","==","2"]],"row":{"name":"a"}})");
  // Both are still taken.
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(Error(fmt::format(R"({{"op":"insert","table":"kid","uuid-name":"n","row":{{"name":"{}","s":"3"}}}},
        {{"op":"mutate","table":"root","where":[],"mutations":[["kids","insert",["named-uuid","n"]]]}})",
                                name))["error"],
              "constraint violation");
  }
  // A row takes over the name of one that goes.
  Do(R"({"op":"mutate","table":"root","where":[],"mutations":[["kids","delete",)" ID("1") R"(]]},
        {"op":"update","table":"kid","where":[["s","==","2"]],"row":{"name":"b"}})");
  EXPECT_EQ(Column("kid", "name"), "b");
}

TEST_F(CommitTest, WhatDoesNotChangeARowDoesNotChangeItsVersion) {
  Do(ROOT(R"({"name":"r","eph":1})"));
  Uuid version = database_.rows("root").begin()->second->version;
  EXPECT_EQ(commits_, 1);
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":1}})");
  Do(R"({"op":"mutate","table":"root","where":[],"mutations":[["eph","+=",1],["eph","-=",1]]})");
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":2}},{"op":"update","table":"root","where":[],"row":{"eph":1}})");
  Do(R"({"op":"comment","comment":"x"})");
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(database_.rows("root").begin()->second->version, version);
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":2}})");
  EXPECT_EQ(commits_, 2);
  EXPECT_NE(database_.rows("root").begin()->second->version, version);
}

TEST_F(CommitTest, ChangeSetsTellOldAndNewRow) {
  Do(ROOT(R"({"name":"r","eph":1})"));
  ASSERT_EQ(last_.size(), 1u);
  EXPECT_EQ(last_[0].table->name, "root");
  EXPECT_EQ(last_[0].old_row, nullptr);
  RowPtr inserted = last_[0].new_row;
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":2}})");
  ASSERT_EQ(last_.size(), 1u);
  EXPECT_EQ(last_[0].old_row, inserted);
  RowPtr changed = last_[0].new_row;
  Do(R"({"op":"delete","table":"root","where":[]})");
  ASSERT_EQ(last_.size(), 1u);
  EXPECT_EQ(last_[0].old_row, changed);
  EXPECT_EQ(last_[0].new_row, nullptr);
  // A row that came and went within a transaction was never there.
  Do(ROOT(R"({"name":"r"})") R"(,{"op":"delete","table":"root","where":[]})");
  EXPECT_EQ(commits_, 3);
}

TEST_F(CommitTest, ACommitHookThatFailsUndoesTheTransaction) {
  Do(ROOT(R"({"name":"r"})"));
  database_.set_commit_hook([](const ChangeSet&, const std::string&, bool) { return ResourceExhausted("disk full"); });
  Json error = Error(R"({"op":"update","table":"root","where":[],"row":{"eph":2}})");
  EXPECT_EQ(error, J(R"({"error":"I/O error","details":"disk full"})"));
  database_.set_commit_hook(nullptr);
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":2}})");
  EXPECT_EQ(Column("root", "eph"), 2);
}

class WeakColumnTest : public CommitTest {
 protected:
  WeakColumnTest()
      : CommitTest(SchemaOf(R"({"name":"T","tables":{
    "t":{"isRoot":true,"columns":{"c":{"type":{"key":{"type":"uuid","refTable":"u","refType":"weak"}}}}},
    "u":{"isRoot":true,"columns":{"n":{"type":"string"}}},
    "g":{"columns":{"n":{"type":"string"}}},
    "m":{"isRoot":true,"columns":{"m":{"type":{"key":{"type":"uuid","refTable":"u","refType":"weak"},
      "value":{"type":"uuid","refTable":"g"},"min":0,"max":"unlimited"}}}}}})")) {}
};

TEST_F(WeakColumnTest, MustNotBecomeEmpty) {
  Json error = Error(R"({"op":"insert","table":"t","uuid":"550e8400-e29b-41d4-a716-446655440000","row":{}})");
  EXPECT_EQ(error["error"], "constraint violation");
  EXPECT_THAT(error["details"].get<std::string>(),
              testing::StartsWith("Weak reference column \"c\" in \"t\" row 550e8400-e29b-41d4-a716-446655440000 "
                                  "(inserted within this transaction) contained all-zeros UUID"));
  Do(R"({"op":"insert","table":"u","row":{},"uuid-name":"u"},{"op":"insert","table":"t","row":{"c":["named-uuid","u"]}})");
  error = Error(R"({"op":"delete","table":"u","where":[]})");
  EXPECT_EQ(error["error"], "constraint violation");
  EXPECT_THAT(error["details"].get<std::string>(),
              testing::StartsWith("Deletion of 1 weak reference(s) to deleted (or never-existing) rows from column"));
}

TEST_F(WeakColumnTest, ThePairThatGoesTakesItsStrongReferenceAlong) {
  Do(R"({"op":"insert","table":"u","row":{},"uuid-name":"u"},{"op":"insert","table":"g","row":{},"uuid-name":"g"},
        {"op":"insert","table":"m","row":{"m":["map",[[["named-uuid","u"],["named-uuid","g"]]]]}})");
  EXPECT_EQ(Count("g"), 1u);
  Do(R"({"op":"delete","table":"u","where":[]})");
  EXPECT_EQ(Column("m", "m"), J(R"(["map",[]])"));
  EXPECT_EQ(Count("g"), 0u);
}

// 2,000 inserts and one large mutation, and their removal: nothing may be quadratic. The bound is ten times what an
// unhurried machine needs; instrumented builds are not measured.
TEST(CommitSizeTest, AThousandPortsInOneTransactionAreQuick) {
  constexpr int kPorts = 1000;
  Database database(VswitchSchema());
  Execute(database, R"({"op":"insert","table":"Bridge","uuid-name":"b","row":{"name":"br0"}},
                       {"op":"insert","table":"Open_vSwitch","row":{"bridges":["named-uuid","b"]}})");
  Json operations = Json::array();
  Json names = Json::array();
  for (int i = 0; i < kPorts; ++i) {
    std::string id = fmt::format("p{}", i);
    operations.push_back({{"op", "insert"}, {"table", "Interface"}, {"uuid-name", "i" + id}, {"row", {{"name", id}}}});
    Json row = {{"name", id}, {"interfaces", Json::array({"named-uuid", "i" + id})}};
    operations.push_back({{"op", "insert"}, {"table", "Port"}, {"uuid-name", id}, {"row", row}});
    names.push_back(Json::array({"named-uuid", id}));
  }
  Json mutation = Json::array({"ports", "insert", Json::array({"set", names})});
  operations.push_back(
      {{"op", "mutate"}, {"table", "Bridge"}, {"where", Json::array()}, {"mutations", Json::array({mutation})}});

  auto start = std::chrono::steady_clock::now();
  Database::Outcome outcome = database.Execute(operations, {});
  auto added = std::chrono::steady_clock::now();
  EXPECT_FALSE(outcome.results->back().contains("error")) << outcome.results->back();
  EXPECT_EQ(database.rows("Interface").size(), 1000u);
  Execute(database, R"({"op":"update","table":"Bridge","where":[],"row":{"ports":["set",[]]}})");
  auto removed = std::chrono::steady_clock::now();
  EXPECT_EQ(database.row_count(), 2u);
  auto ms = [](auto from, auto to) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
  };
  RecordProperty("add_ms", ms(start, added));
  RecordProperty("remove_ms", ms(added, removed));
  std::printf("1,000 ports: added in %d ms, removed in %d ms\n", ms(start, added), ms(added, removed));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(ms(start, added), 1000);
  EXPECT_LT(ms(added, removed), 1000);
#endif
}

}  // namespace
}  // namespace sluice
