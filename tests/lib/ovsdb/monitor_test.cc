#include "lib/ovsdb/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr char kSchema[] = R"({"name": "D", "version": "1.0.0", "tables": {
  "T": {"isRoot": true, "columns": {
    "name": {"type": "string"},
    "number": {"type": "integer"},
    "maybe": {"type": {"key": "string", "min": 0, "max": 1}},
    "words": {"type": {"key": "string", "min": 0, "max": "unlimited"}},
    "pairs": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}}}}}})";

Json Parsed(const std::string& text) { return *ParseJson(text); }

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() : database_(*DatabaseSchema::Parse(Parsed(kSchema))) {
    database_.set_on_commit([this](const ChangeSet& changes) {
      last_id_ = history_.Add(changes);
      for (Monitor* monitor : monitors_) monitor->Record(changes, last_id_);
    });
  }

  void Transact(const std::string& operations) {
    const auto outcome = database_.Execute(Parsed(operations), TransactionContext());
    ASSERT_THAT(DumpJson(*outcome.results), testing::Not(testing::HasSubstr("error")));
  }
  std::unique_ptr<Monitor> Watch(MonitorVersion version, const std::string& requests) {
    auto spec = ParseMonitorRequests(database_.schema(), Parsed(requests), version != MonitorVersion::kUpdate);
    EXPECT_TRUE(spec.ok()) << Message(spec.status());
    auto monitor = std::make_unique<Monitor>(database_, "m", version, *std::move(spec));
    monitors_.push_back(monitor.get());
    return monitor;
  }
  // What the only row of the update says.
  static std::string OnlyRow(const Json& updates) {
    if (updates.empty()) return "nothing";
    EXPECT_EQ(updates["T"].size(), 1u) << updates;
    return DumpJson(*updates["T"].begin());
  }
  static std::string Told(Monitor& monitor) {
    const auto notification = monitor.TakeNotification();
    return notification ? notification->method + " " + OnlyRow(notification->params.back()) : "nothing";
  }

  Database database_;
  MonitorHistory history_;
  Uuid last_id_;
  std::vector<Monitor*> monitors_;
};

constexpr char kInsertA[] = R"([{"op": "insert", "table": "T", "row": {"name": "a"}}])";
constexpr char kSetNumber1[] = R"([{"op": "update", "table": "T", "where": [], "row": {"number": 1}}])";
constexpr char kSetNumber0[] = R"([{"op": "update", "table": "T", "where": [], "row": {"number": 0}}])";
constexpr char kDelete[] = R"([{"op": "delete", "table": "T", "where": []}])";

TEST_F(MonitorTest, TellsOldAndNewValuesOrDifferencesByItsVersion) {
  auto monitor = Watch(MonitorVersion::kUpdate, R"({"T": {"columns": ["name", "number"]}})");
  auto monitor2 = Watch(MonitorVersion::kUpdate2, R"({"T": [{"columns": ["name", "number"]}]})");
  Transact(kInsertA);
  EXPECT_EQ(Told(*monitor), R"(update {"new":{"name":"a","number":0}})");
  EXPECT_EQ(Told(*monitor2), R"(update2 {"insert":{"name":"a"}})");
  Transact(kSetNumber1);
  EXPECT_EQ(Told(*monitor), R"(update {"new":{"name":"a","number":1},"old":{"number":0}})");
  EXPECT_EQ(Told(*monitor2), R"(update2 {"modify":{"number":1}})");
  Transact(kDelete);
  EXPECT_EQ(Told(*monitor), R"(update {"old":{"name":"a","number":1}})");
  EXPECT_EQ(Told(*monitor2), R"(update2 {"delete":null})");
}

TEST_F(MonitorTest, MergesWhatWasNotTold) {
  auto monitor = Watch(MonitorVersion::kUpdate2, R"({"T": [{"columns": ["name", "number"]}]})");
  Transact(kInsertA);
  Transact(kSetNumber1);
  EXPECT_EQ(Told(*monitor), R"(update2 {"insert":{"name":"a","number":1}})");
  Transact(kSetNumber0);
  Transact(kSetNumber1);
  EXPECT_EQ(Told(*monitor), "nothing") << "changed and changed back";
  Transact(kDelete);
  Transact(kInsertA);
  Transact(kDelete);
  EXPECT_EQ(Told(*monitor), R"(update2 {"delete":null})") << "the second row came and went";
  EXPECT_FALSE(monitor->pending());
}

TEST_F(MonitorTest, HoldsNoMoreThanTheRowsThatChanged) {
  auto monitor = Watch(MonitorVersion::kUpdate2, R"({"T": [{}]})");
  Transact(kInsertA);
  monitor->TakeNotification();
  Transact(kSetNumber1);
  const size_t held = monitor->held_bytes();
  EXPECT_GT(held, 0u);
  for (int i = 0; i < 100; ++i) {
    Transact(kSetNumber0);
    Transact(kSetNumber1);
  }
  EXPECT_EQ(monitor->held_bytes(), held);
}

TEST_F(MonitorTest, ConditionsTurnChangesIntoInsertionsAndDeletions) {
  auto monitor = Watch(MonitorVersion::kUpdate2, R"({"T": [{"columns": ["name"], "where": [["number", "==", 1]]}]})");
  Transact(kInsertA);
  EXPECT_EQ(Told(*monitor), "nothing");
  Transact(kSetNumber1);
  EXPECT_EQ(Told(*monitor), R"(update2 {"insert":{"name":"a"}})");
  Transact(kSetNumber0);
  EXPECT_EQ(Told(*monitor), R"(update2 {"delete":null})");
}

TEST_F(MonitorTest, ConditionsOfSeveralRequestsAreAlternatives) {
  auto monitor = Watch(MonitorVersion::kUpdate2, R"({"T": [{"columns": ["name"], "where": [["number", "==", 1]]},
                                                           {"columns": ["number"], "where": [["name", "==", "a"]]}]})");
  Transact(kInsertA);
  EXPECT_EQ(Told(*monitor), R"(update2 {"insert":{"name":"a"}})");
  auto none = Watch(MonitorVersion::kUpdate2, R"({"T": [{"columns": ["name"], "where": [false]}]})");
  EXPECT_EQ(OnlyRow(none->Initial()), "nothing");
}

TEST_F(MonitorTest, NewConditionsTellTheDifference) {
  Transact(kInsertA);
  auto monitor = Watch(MonitorVersion::kUpdate3, R"({"T": [{"columns": ["name"], "where": [["number", "==", 0]]}]})");
  EXPECT_EQ(OnlyRow(monitor->Initial()), R"({"initial":{"name":"a"}})");
  const auto change = [&](const std::string& requests) {
    auto changes = ParseConditionChanges(database_.schema(), monitor->spec(), Parsed(requests));
    EXPECT_TRUE(changes.ok()) << Message(changes.status());
    const auto notification = monitor->ChangeConditions(*std::move(changes), last_id_);
    if (!notification) return std::string("nothing");
    EXPECT_EQ(notification->params[1], last_id_.ToString());
    return OnlyRow(notification->params.back());
  };
  EXPECT_EQ(change(R"({"T": [{"where": [["number", ">", 0]]}]})"), R"({"delete":null})");
  EXPECT_EQ(change(R"({"T": [{"where": [false]}]})"), "nothing");
  EXPECT_EQ(change(R"({"T": []})"), "nothing") << "keeps the condition it has";
  EXPECT_EQ(change(R"({"T": [{}]})"), R"({"insert":{"name":"a"}})");
}

TEST_F(MonitorTest, SelectsByKindOfChange) {
  auto monitor = Watch(MonitorVersion::kUpdate, R"({"T": [{"columns": ["name"], "select": {"modify": false}},
                                                          {"columns": ["number"], "select": {"insert": false}}]})");
  Transact(kInsertA);
  EXPECT_EQ(Told(*monitor), R"(update {"new":{"name":"a"}})");
  Transact(kSetNumber1);
  EXPECT_EQ(Told(*monitor), R"(update {"new":{"number":1},"old":{"number":0}})");
  auto deaf = Watch(MonitorVersion::kUpdate,
                    R"({"T": {"select": {"initial": false, "insert": false, "modify": false, "delete": false}}})");
  EXPECT_EQ(OnlyRow(deaf->Initial()), "nothing");
  Transact(kDelete);
  EXPECT_EQ(Told(*deaf), "nothing");
}

struct DifferenceCase {
  const char* column;
  const char* before;
  const char* after;
  const char* difference;
};

TEST_F(MonitorTest, DifferencesOfValues) {
  const DifferenceCase kCases[] = {
      {"number", "1", "2", "2"},
      {"maybe", R"("a")", R"("b")", R"("b")"},
      {"maybe", R"("a")", R"(["set",[]])", R"(["set",[]])"},
      {"words", R"(["set",["a","b"]])", R"(["set",["b","c"]])", R"(["set",["a","c"]])"},
      {"words", R"(["set",["a","b"]])", R"(["set",["a"]])", R"("b")"},
      {"words", R"(["set",[]])", R"(["set",["x","y"]])", R"(["set",["x","y"]])"},
      {"pairs", R"(["map",[["a","1"],["b","2"],["c","3"]]])", R"(["map",[["a","1"],["b","5"],["d","4"]]])",
       R"(["map",[["b","5"],["c","3"],["d","4"]]])"},
  };
  const TableSchema& table = database_.schema().tables.at("T");
  for (const DifferenceCase& c : kCases) {
    const ColumnType& type = table.columns[table.FindColumn(c.column)].type;
    const auto parse = [&](const char* text) { return *type.Parse(Parsed(text), nullptr); };
    const Datum difference = DatumDifference(parse(c.before), parse(c.after), type);
    EXPECT_EQ(DumpJson(DatumToJson(difference, type)), c.difference) << c.before << " " << c.after;
  }
}

TEST_F(MonitorTest, HistoryGivesWhatCameAfter) {
  const Uuid start = history_.last_id();
  Transact(kInsertA);
  const Uuid after_insert = history_.last_id();
  Transact(kSetNumber1);
  auto monitor = Watch(MonitorVersion::kUpdate3, R"({"T": [{"columns": ["name", "number"]}]})");
  EXPECT_EQ(OnlyRow(monitor->Since(*history_.Since(start))), R"({"insert":{"name":"a","number":1}})");
  EXPECT_EQ(OnlyRow(monitor->Since(*history_.Since(after_insert))), R"({"modify":{"number":1}})");
  EXPECT_EQ(OnlyRow(monitor->Since(*history_.Since(history_.last_id()))), "nothing");
  EXPECT_FALSE(history_.Since(Uuid()).has_value());
  EXPECT_FALSE(history_.Since(Uuid::Random()).has_value());
}

TEST_F(MonitorTest, HistoryForgetsTheOldestByCountAndBySize) {
  const Uuid start = history_.last_id();
  for (size_t i = 0; i < MonitorHistory::kMaxCommits; ++i) Transact(kInsertA);
  EXPECT_TRUE(history_.Since(start).has_value());
  Transact(kInsertA);
  EXPECT_FALSE(history_.Since(start).has_value());
  EXPECT_EQ(history_.size(), MonitorHistory::kMaxCommits);
  EXPECT_TRUE(history_.Since(history_.last_id()).has_value());
  // Rows of 1 MiB each, of which every change holds the old one and the new one.
  Transact(kDelete);
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i)
    Transact(fmt::format(R"([{{"op": "insert", "table": "T", "row": {{"name": "{}"}}}}])", large));
  EXPECT_LE(history_.size(), MonitorHistory::kMaxBytes / large.size());
  EXPECT_GT(history_.size(), 10u);
}

struct BadRequest {
  const char* requests;
  const char* error;
};

TEST_F(MonitorTest, SaysWhatIsWrongWithARequest) {
  const BadRequest kCases[] = {
      {R"({"Nope": {}})", "no table named Nope"},
      {R"({"T": 5})", "Parsing table T failed: Object expected."},
      {R"({"T": [5]})", "Parsing table T failed: Object expected."},
      {R"({"T": {"columns": 5}})", "Type mismatch for member 'columns'."},
      {R"({"T": {"columns": [5]}})", "array of column names expected"},
      {R"({"T": {"columns": ["zz"]}})", "zz is not a valid column name"},
      {R"({"T": {"columns": ["name", "name"]}})", "column name mentioned more than once"},
      {R"({"T": [{"columns": ["name"]}, {}]})", "column name mentioned more than once"},
      {R"({"T": {"select": {"initial": 5}}})", "Parsing table T select failed: Type mismatch for member 'initial'."},
      {R"({"T": {"select": {"foo": true}}})", "Member 'foo' is present but not allowed here."},
      {R"({"T": {"where": [["zz", "==", 1]]}})", "No column zz in table T."},
  };
  for (const BadRequest& c : kCases) {
    const auto spec = ParseMonitorRequests(database_.schema(), Parsed(c.requests), true);
    ASSERT_FALSE(spec.ok()) << c.requests;
    EXPECT_THAT(Message(spec.status()), testing::HasSubstr(c.error)) << c.requests;
  }
  EXPECT_FALSE(ParseMonitorRequests(database_.schema(), Parsed(R"({"T": {"where": []}})"), false).ok())
      << "monitor knows no conditions";
}

}  // namespace
}  // namespace sluice
