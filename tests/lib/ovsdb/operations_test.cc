// Each operation and each of its errors. The errors' texts are those of ovsdb-server, since people's scripts read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/ovsdb/error.h"
#include "tests/lib/ovsdb/test_database.h"

namespace sluice {
namespace {

// A database with one row in each table: root "r" refers to kid "k".
class OperationTest : public testing::Test {
 protected:
  OperationTest() : database_(TestSchema()) {
    Json results = Execute(database_,
                           R"({"op":"insert","table":"kid","uuid-name":"k","row":{"name":"k","set2":["set",[1,2]],"i":7,
                "is":["set",[1,2,3]],"imin":9223372036854775807,"imax":-9223372036854775808,"m":["map",[["a","b"]]]}},
           {"op":"insert","table":"root","row":{"name":"r","kids":["named-uuid","k"],"eph":3}})");
    EXPECT_EQ(results.size(), 2u) << results;
    kid_ = results[0]["uuid"][1];
    root_ = results[1]["uuid"][1];
  }

  Json Run(std::string_view operations) { return Execute(database_, operations); }
  // The result of the last operation.
  Json Last(std::string_view operations) { return Run(operations).back(); }

  Database database_;
  std::string kid_;
  std::string root_;
};

struct ErrorCase {
  const char* operation;
  const char* error;
  const char* details;
};

class OperationErrorTest : public OperationTest, public testing::WithParamInterface<ErrorCase> {};

TEST_P(OperationErrorTest, IsThatOfOvsdbServerAndChangesNothing) {
  Json before = Dump(database_);
  Json result = Last(GetParam().operation);
  EXPECT_EQ(result.value("error", ""), GetParam().error) << GetParam().operation << "\n" << result;
  EXPECT_EQ(result.value("details", ""), GetParam().details) << GetParam().operation;
  EXPECT_EQ(Dump(database_), before);
}

#define SELECT(where) R"({"op":"select","table":"kid","where":)" where "}"
#define INSERT(row) R"({"op":"insert","table":"kid","row":)" row "}"
#define MUTATE(mutations) R"({"op":"mutate","table":"kid","where":[],"mutations":)" mutations "}"
#define WAIT(rest) R"({"op":"wait","table":"kid","where":[],)" rest "}"
#define PARSING "Parsing ovsdb operation 1 of 1 failed: "
#define NO_OPERATOR(op, what) "Type mismatch: \"" op "\" operator may not be applied to column " what "."

INSTANTIATE_TEST_SUITE_P(
    Any, OperationErrorTest,
    testing::Values(
        ErrorCase{"1", "syntax error", PARSING "Object expected."},
        ErrorCase{R"({"op":1})", "syntax error", PARSING "Type mismatch for member 'op'."},
        ErrorCase{R"({"op":"foo"})", "syntax error", PARSING "No operation \"foo\""},
        ErrorCase{R"({"table":"kid"})", "syntax error", PARSING "Required 'op' member is missing."},
        ErrorCase{R"({"op":"select"})", "syntax error", PARSING "Required 'table' member is missing."},
        ErrorCase{R"({"op":"select","table":"nope","where":[]})", "syntax error", PARSING "No table named nope."},
        ErrorCase{R"({"op":"select","table":"kid"})", "syntax error", PARSING "Required 'where' member is missing."},
        ErrorCase{R"({"op":"select","table":"kid","where":[],"xx":1})", "syntax error",
                  PARSING "Member 'xx' is present but not allowed here."},
        ErrorCase{R"({"op":"update","table":"root","where":[]})", "syntax error",
                  PARSING "Required 'row' member is missing."},
        ErrorCase{R"({"op":"update","table":"root","row":{}})", "syntax error",
                  PARSING "Required 'where' member is missing."},
        ErrorCase{R"({"op":"delete","table":"root"})", "syntax error", PARSING "Required 'where' member is missing."}));

INSTANTIATE_TEST_SUITE_P(
    Conditions, OperationErrorTest,
    testing::Values(
        ErrorCase{SELECT("{}"), "syntax error", PARSING "Type mismatch for member 'where'."},
        ErrorCase{SELECT("[1]"), "syntax error", "Parse error in condition."},
        ErrorCase{SELECT(R"([["name","=="]])"), "syntax error", "Parse error in condition."},
        ErrorCase{SELECT(R"([["nope","==",1]])"), "unknown column", "No column nope in table kid."},
        ErrorCase{SELECT(R"([["name","=",1]])"), "unknown function", "No function named =."},
        ErrorCase{SELECT(R"([["name","==",1]])"), "syntax error", "expected string"},
        ErrorCase{SELECT(R"([["name","<","x"]])"), "syntax error", NO_OPERATOR("<", "name of type string")},
        ErrorCase{SELECT(R"([["is","<",1]])"), "syntax error", NO_OPERATOR("<", "is of type set of up to 3 integers")},
        ErrorCase{SELECT(R"([["s2","<",1]])"), "syntax error", NO_OPERATOR("<", "s2 of type set of up to 1 strings")},
        ErrorCase{SELECT(R"([["i","==",5000]])"), "constraint violation",
                  "5000 is not in the valid range 0 to 4095 (inclusive)"},
        ErrorCase{SELECT(R"([["_uuid","==","x"]])"), "syntax error", "expected [\"uuid\", <string>]"},
        ErrorCase{SELECT(R"([],"columns":["nope"])"), "syntax error", "nope is not a valid column name"},
        ErrorCase{SELECT(R"([],"columns":[1])"), "syntax error", "array of distinct column names expected"},
        ErrorCase{SELECT(R"([],"columns":["name","name"])"), "syntax error",
                  "array of distinct column names expected"}));

INSTANTIATE_TEST_SUITE_P(
    Insert, OperationErrorTest,
    testing::Values(ErrorCase{INSERT(R"({"nope":1})"), "unknown column", "No column nope in table kid."},
                    ErrorCase{INSERT("1"), "syntax error", PARSING "Type mismatch for member 'row'."},
                    ErrorCase{INSERT(R"({"_uuid":1})"), "syntax error", "expected [\"uuid\", <string>]"},
                    ErrorCase{INSERT(R"({},"uuid-name":"1a")"), "syntax error",
                              PARSING "Type mismatch for member 'uuid-name'."},
                    ErrorCase{INSERT(R"({},"uuid":"1a")"), "syntax error", "bad uuid"},
                    ErrorCase{INSERT(R"({"imin":-200000})"), "constraint violation",
                              "-200000 is less than minimum allowed value -100000"},
                    ErrorCase{INSERT(R"({"imax":200000})"), "constraint violation",
                              "200000 is greater than maximum allowed value 100000"},
                    ErrorCase{INSERT(R"({"r":1e7})"), "constraint violation",
                              "10000000 is not in the valid range -1.5 to 1000000 (inclusive)"},
                    ErrorCase{INSERT(R"({"rmin":-1e7})"), "constraint violation",
                              "-10000000 is less than minimum allowed value -1.5"},
                    ErrorCase{INSERT(R"({"s":"abcdef\u00e9"})"), "constraint violation",
                              "\"abcdef\xc3\xa9\" length 7 is greater than maximum allowed length 5"},
                    ErrorCase{INSERT(R"({"s2":"a"})"), "constraint violation",
                              "\"a\" length 1 is less than minimum allowed length 2"},
                    ErrorCase{INSERT(R"({"e":"b"})"), "constraint violation",
                              "b is not one of the allowed values ([a, \"b c\", d])"}));

INSTANTIATE_TEST_SUITE_P(
    Update, OperationErrorTest,
    testing::Values(ErrorCase{R"({"op":"update","table":"root","where":[],"row":{"name":"r"}})", "constraint violation",
                              "Cannot update immutable column name in table root."},
                    ErrorCase{R"({"op":"update","table":"root","where":[],
                                  "row":{"_uuid":["uuid","550e8400-e29b-41d4-a716-446655440000"]}})",
                              "constraint violation", "Cannot update immutable column _uuid in table root."},
                    ErrorCase{R"({"op":"mutate","table":"root","where":[],"mutations":[["name","insert","x"]]})",
                              "constraint violation", "Cannot mutate immutable column name in table root."}));

INSTANTIATE_TEST_SUITE_P(
    Mutate, OperationErrorTest,
    testing::Values(
        ErrorCase{MUTATE("1"), "syntax error", PARSING "Type mismatch for member 'mutations'."},
        ErrorCase{MUTATE("[1]"), "syntax error", "Parse error in mutation."},
        ErrorCase{MUTATE(R"([["nope","+=",1]])"), "unknown column", "No column nope in table kid."},
        ErrorCase{MUTATE(R"([["i","?",1]])"), "unknown mutator", "No mutator named ?."},
        ErrorCase{MUTATE(R"([["i","+=","x"]])"), "syntax error", "expected integer"},
        ErrorCase{MUTATE(R"([["name","+=","x"]])"), "syntax error", NO_OPERATOR("+=", "name of type string")},
        ErrorCase{MUTATE(R"([["i","insert",1]])"), "syntax error", NO_OPERATOR("insert", "i of type integer")},
        ErrorCase{MUTATE(R"([["r","%=",5]])"), "syntax error", NO_OPERATOR("%=", "r of type real")},
        ErrorCase{MUTATE(R"([["m","+=","a"]])"), "syntax error",
                  NO_OPERATOR("+=", "m of type map of (string, string) pairs")},
        ErrorCase{MUTATE(R"([["_uuid","+=","a"]])"), "constraint violation",
                  "Cannot mutate immutable column _uuid in table kid."},
        ErrorCase{MUTATE(R"([["i","+=",5000]])"), "constraint violation",
                  "5007 is not in the valid range 0 to 4095 (inclusive)"},
        ErrorCase{MUTATE(R"([["imin","+=",1]])"), "range error", "Result of \"+=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["imax","-=",1]])"), "range error", "Result of \"-=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["imin","*=",2]])"), "range error", "Result of \"*=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["imax","/=",-1]])"), "range error", "Result of \"/=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["imax","%=",-1]])"), "range error", "Result of \"%=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["i","/=",0]])"), "domain error", "Division by zero."},
        ErrorCase{MUTATE(R"([["i","%=",0]])"), "domain error", "Division by zero."},
        ErrorCase{MUTATE(R"([["r","/=",0]])"), "domain error", "Division by zero."},
        ErrorCase{MUTATE(R"([["rmin","+=",1e308],["rmin","*=",10]])"), "range error",
                  "Result of \"*=\" operation is out of range."},
        ErrorCase{MUTATE(R"([["is","*=",0]])"), "constraint violation",
                  "Result of \"*=\" operation contains duplicates."},
        ErrorCase{MUTATE(R"([["is","insert",10]])"), "constraint violation",
                  "Attempted to store 4 elements in set of up to 3 integers."},
        ErrorCase{MUTATE(R"([["is","insert",["set",[1,2,7,8,9]]]])"), "syntax error",
                  "set must have 0 to 3 members but 5 are present"},
        ErrorCase{MUTATE(R"([["set2","delete",["set",[1,2]]]])"), "constraint violation",
                  "Attempted to store 0 elements in set of 1 to 2 integers."},
        ErrorCase{MUTATE(R"([["s2","insert","abc"],["s2","insert","def"]])"), "constraint violation",
                  "Attempted to store 2 elements in set of up to 1 strings."},
        ErrorCase{MUTATE(R"([["m","insert","a"]])"), "syntax error", "expected [\"map\", <array>]"}));

INSTANTIATE_TEST_SUITE_P(
    Wait, OperationErrorTest,
    testing::Values(
        ErrorCase{WAIT(R"("columns":["name"],"until":"==","rows":[{"name":"z"}],"timeout":0)"), "timed out",
                  "\"where\" clause test failed"},
        ErrorCase{WAIT(R"("columns":["name"],"until":"!=","rows":[{"name":"k","i":1}],"timeout":0)"), "timed out",
                  "\"where\" clause test failed"},
        ErrorCase{WAIT(R"("until":"!=","rows":[],"timeout":-1)"), "syntax error", "timeout must be nonnegative"},
        ErrorCase{WAIT(R"("until":"=","rows":[],"timeout":0)"), "syntax error", "\"until\" must be \"==\" or \"!=\""},
        ErrorCase{WAIT(R"("until":"==","rows":1)"), "syntax error", PARSING "Type mismatch for member 'rows'."},
        ErrorCase{WAIT(R"("until":"==","rows":[1])"), "syntax error", "row must be JSON object"}));

INSTANTIATE_TEST_SUITE_P(
    Others, OperationErrorTest,
    testing::Values(
        ErrorCase{R"({"op":"abort"})", "aborted", "aborted by request"},
        ErrorCase{R"({"op":"commit"})", "syntax error", PARSING "Required 'durable' member is missing."},
        ErrorCase{R"({"op":"comment","comment":1})", "syntax error", PARSING "Type mismatch for member 'comment'."},
        ErrorCase{R"({"op":"assert","lock":"x"})", "not owner", "Asserted lock x not held."},
        ErrorCase{R"({"op":"assert","lock":"1x"})", "syntax error", PARSING "Type mismatch for member 'lock'."}));

TEST_F(OperationTest, ErrorsQuoteWhatTheyAreAboutAndNullsFollow) {
  Json results = Run(R"({"op":"comment","comment":"x"},{"table":"kid","op":"select","where":[["i","==",7.5]]},
                        {"op":"comment","comment":"y"},{"op":"comment","comment":"z"})");
  EXPECT_EQ(results, J(R"([{},{"error":"syntax error","details":"expected integer","syntax":"7.5"},null,null])"));
}

TEST_F(OperationTest, AbortUndoesWhatCameBefore) {
  Json results = Run(R"({"op":"delete","table":"root","where":[]},{"op":"abort"},{"op":"comment","comment":"x"})");
  EXPECT_EQ(results[0], J(R"({"count":1})"));
  EXPECT_EQ(results[1]["error"], "aborted");
  EXPECT_TRUE(results[2].is_null());
  EXPECT_EQ(database_.row_count(), 2u);
}

TEST_F(OperationTest, SelectShowsAllColumnsOrThoseAskedFor) {
  Json all = Last(R"({"op":"select","table":"root","where":[]})")["rows"];
  ASSERT_EQ(all.size(), 1u);
  all[0].erase("_version");
  Json expected = J(R"({"name":"r","eph":3,"by_name":["map",[]],"weak":["set",[]],"best":["set",[]]})");
  expected["_uuid"] = Json::array({"uuid", root_});
  expected["kids"] = Json::array({"uuid", kid_});
  EXPECT_EQ(all[0], expected);
  EXPECT_EQ(Last(SELECT(R"([],"columns":["name","i"])")), J(R"({"rows":[{"i":7,"name":"k"}]})"));
  EXPECT_EQ(Last(SELECT(R"([],"columns":[])")), J(R"({"rows":[{}]})"));
}

TEST_F(OperationTest, SelectShowsEqualRowsOnce) {
  Json result = Last(INSERT(R"({"name":"l","i":7,"s":"x"})") "," SELECT(R"([],"columns":["i"])"));
  EXPECT_EQ(result, J(R"({"rows":[{"i":7}]})"));
  result = Last(INSERT(R"({"name":"l","i":7,"s":"x"})") "," SELECT(R"([],"columns":["i","_uuid"])"));
  EXPECT_EQ(result["rows"].size(), 2u);
}

TEST_F(OperationTest, ConditionsFindTheirRows) {
  struct {
    const char* where;
    bool matches;
  } const cases[] = {
      {"[]", true},
      {"[true]", true},
      {"[false]", false},
      {"[true,false]", false},
      {R"([["name","==","k"]])", true},
      {R"([["name","!=","k"]])", false},
      {R"([["name","includes","k"]])", true},
      {R"([["name","excludes","k"]])", false},
      {R"([["i","<",8]])", true},
      {R"([["i","<",7]])", false},
      {R"([["i","<=",7]])", true},
      {R"([["i",">=",8]])", false},
      {R"([["i",">",6]])", true},
      {R"([["i",">",6],["name","==","x"]])", false},
      {R"([["io","<",6]])", false},
      {R"([["io",">=",6]])", false},
      {R"([["io","==",["set",[]]]])", true},
      {R"([["r",">",-0.5]])", true},
      {R"([["is","==",["set",[3,2,1]]]])", true},
      {R"([["is","includes",["set",[3,1]]]])", true},
      {R"([["is","includes",["set",[]]]])", true},
      {R"([["is","includes",["set",[3,4]]]])", false},
      {R"([["is","excludes",["set",[4,5,6,7]]]])", true},
      {R"([["is","excludes",["set",[3,4]]]])", false},
      {R"([["m","includes",["map",[["a","b"]]]]])", true},
      {R"([["m","includes",["map",[["a","x"]]]]])", false},
      {R"([["m","excludes",["map",[["a","x"]]]]])", true},
      {R"([["m","excludes",["map",[["a","b"]]]]])", false},
      {R"([["_uuid","==",["uuid","550e8400-e29b-41d4-a716-446655440000"]]])", false},
      {R"([["_uuid","!=",["uuid","550e8400-e29b-41d4-a716-446655440000"]]])", true},
  };
  for (const auto& c : cases) {
    Json result = Last(fmt::format(R"({{"op":"select","table":"kid","where":{}}})", c.where));
    ASSERT_TRUE(result.contains("rows")) << c.where << result;
    EXPECT_EQ(result["rows"].size() == 1, c.matches) << c.where;
  }
}

TEST_F(OperationTest, AnyOfTheClausesOfAMonitorsConditionMayHold) {
  const TableSchema& kid = database_.schema().tables.at("kid");
  const Row& row = *database_.rows("kid").begin()->second;
  struct {
    const char* where;
    bool matches;
    bool always;
  } const cases[] = {
      {"[]", true, true},
      {"[true]", true, true},
      {"[false]", false, false},
      {R"([false,["name","==","k"]])", true, false},
      {R"([["name","==","x"],["i","==",7]])", true, false},
      {R"([["name","==","x"],["i","==",8]])", false, false},
      {R"([["name","==","x"],true])", true, true},
  };
  for (const auto& c : cases) {
    Condition condition = Condition::Parse(kid, J(c.where), Condition::Combine::kAny).value();
    EXPECT_EQ(condition.Matches(row), c.matches) << c.where;
    EXPECT_EQ(condition.always(), c.always) << c.where;
  }
}

TEST_F(OperationTest, NamedRowsCanBeUsedBeforeAndAfterTheyAreInserted) {
  Json results = Run(R"({"op":"update","table":"root","where":[],"row":{"kids":["named-uuid","n"]}},
                        {"op":"insert","table":"kid","uuid-name":"n","row":{"name":"n"}},
                        {"op":"select","table":"kid","where":[["_uuid","==",["named-uuid","n"]]],"columns":["name"]})");
  EXPECT_EQ(results[2], J(R"({"rows":[{"name":"n"}]})"));
  EXPECT_EQ(Last(R"({"op":"select","table":"root","where":[],"columns":["kids"]})")["rows"][0]["kids"],
            results[1]["uuid"]);
}

TEST_F(OperationTest, InsertTakesAUuidOnce) {
  constexpr char kInsert[] = R"({"op":"insert","table":"root","row":{"name":"2"},
                                 "uuid":"550e8400-e29b-41d4-a716-446655440000"})";
  EXPECT_EQ(Last(kInsert), J(R"({"uuid":["uuid","550e8400-e29b-41d4-a716-446655440000"]})"));
  Json error = Last(kInsert);
  EXPECT_EQ(error["error"], "duplicate uuid");
  EXPECT_EQ(
      error["details"],
      "This UUID would duplicate a UUID already present within the table or deleted within the same transaction.");
  // One that this transaction deleted is still taken; one that it had inserted itself is not.
  std::string remove = R"({"op":"delete","table":"root",
                           "where":[["_uuid","==",["uuid","550e8400-e29b-41d4-a716-446655440000"]]]})";
  EXPECT_EQ(Last(remove + "," + kInsert)["error"], "duplicate uuid");
  EXPECT_EQ(Last(remove), J(R"({"count":1})"));
  EXPECT_FALSE(Last(std::string(kInsert) + "," + remove + "," + kInsert).contains("error"));
  // In another table it is another row.
  EXPECT_FALSE(Last(R"({"op":"insert","table":"kid","row":{"name":"2"},
                        "uuid":"550e8400-e29b-41d4-a716-446655440000"})")
                   .contains("error"));
}

TEST_F(OperationTest, UuidNamesAreUniqueInATransaction) {
  Json result = Last(R"({"op":"insert","table":"kid","uuid-name":"a","row":{"name":"1"}},
                        {"op":"insert","table":"root","uuid-name":"a","row":{"name":"2"}})");
  EXPECT_EQ(result, J(R"({"error":"duplicate uuid-name","syntax":"\"a\"",
                          "details":"This \"uuid-name\" appeared on an earlier \"insert\" operation."})"));
}

TEST_F(OperationTest, MutationsAreAppliedInOrder) {
  struct {
    const char* mutations;
    const char* column;
    const char* value;
  } const cases[] = {
      {R"([["i","+=",3],["i","*=",2],["i","-=",5],["i","/=",4],["i","%=",2]])", "i", "1"},
      {R"([["r","+=",5],["r","/=",2]])", "r", "2.5"},
      {R"([["rmin","-=",1.5]])", "rmin", "-1.5"},
      {R"([["imin","/=",-9223372036854775807],["imin","-=",9]])", "imin", "-10"},
      {R"([["imax","%=",-7]])", "imax", "-1"},
      {R"([["is","+=",10]])", "is", R"(["set",[11,12,13]])"},
      {R"([["is","*=",-1]])", "is", R"(["set",[-3,-2,-1]])"},
      {R"([["is","insert",["set",[1,2]]]])", "is", R"(["set",[1,2,3]])"},
      {R"([["is","delete",["set",[1,2,5,6,7,8]]],["is","insert",9]])", "is", R"(["set",[3,9]])"},
      {R"([["set2","delete",1],["set2","insert",0]])", "set2", R"(["set",[0,2]])"},
      {R"([["io","insert",4]])", "io", "4"},
      {R"([["io","+=",4]])", "io", R"(["set",[]])"},
      {R"([["m","insert",["map",[["a","z"],["q","r"]]]]])", "m", R"(["map",[["a","b"],["q","r"]]])"},
      {R"([["m","insert",["map",[]]]])", "m", R"(["map",[["a","b"]]])"},
      {R"([["m","delete",["map",[["a","z"]]]]])", "m", R"(["map",[["a","b"]]])"},
      {R"([["m","delete",["map",[["a","b"]]]]])", "m", R"(["map",[]])"},
      {R"([["m","delete",["set",["a","c"]]]])", "m", R"(["map",[]])"},
      {R"([["m","delete","a"]])", "m", R"(["map",[]])"},
      {R"([])", "i", "7"},
  };
  for (const auto& c : cases) {
    // Aborted, so that the next case begins from the same row.
    Json results = Run(fmt::format(R"({{"op":"mutate","table":"kid","where":[],"mutations":{}}},
                                       {{"op":"select","table":"kid","where":[],"columns":["{}"]}},{{"op":"abort"}})",
                                   c.mutations, c.column));
    ASSERT_EQ(results[0], J(R"({"count":1})")) << c.mutations;
    EXPECT_EQ(results[1]["rows"][0][c.column], J(c.value)) << c.mutations;
  }
}

TEST_F(OperationTest, WaitComparesTheChosenColumnsAsASet) {
  EXPECT_EQ(Last(WAIT(R"("columns":["name"],"until":"==","rows":[{"name":"k"},{"name":"k"}],"timeout":0)")), J("{}"));
  EXPECT_EQ(Last(WAIT(R"("columns":["name","i"],"until":"!=","rows":[{"name":"k"}],"timeout":0)")), J("{}"));
  EXPECT_EQ(Last(WAIT(R"("columns":["name","i"],"until":"==","rows":[{"name":"k","i":7}])")), J("{}"));
  EXPECT_EQ(Last(WAIT(R"("until":"!=","rows":[{"name":"k"}],"timeout":0)")), J("{}"));
  EXPECT_EQ(Last(R"({"op":"wait","table":"kid","where":[["i","==",8]],"columns":["name"],"until":"==","rows":[]})"),
            J("{}"));
}

TEST_F(OperationTest, WaitUnfulfilledSuspendsTheWholeTransaction) {
  Json operations = J(R"([{"op":"update","table":"kid","where":[],"row":{"i":1}},
      {"op":"wait","timeout":30,"table":"kid","where":[],"columns":["s"],"until":"==","rows":[{"s":"x"}]}])");
  Database::Outcome outcome = database_.Execute(operations, {});
  EXPECT_EQ(outcome.kind, Database::Outcome::Kind::kMustWait);
  EXPECT_EQ(outcome.timeout_ms, 30);
  EXPECT_EQ(Last(SELECT(R"([],"columns":["i"])"))["rows"][0]["i"], 7);

  outcome = database_.Execute(operations, {}, /*timed_out=*/true);
  ASSERT_EQ(outcome.kind, Database::Outcome::Kind::kDone);
  EXPECT_EQ((*outcome.results)[1]["error"], "timed out");

  Run(R"({"op":"update","table":"kid","where":[],"row":{"s":"x"}})");
  outcome = database_.Execute(operations, {});
  ASSERT_EQ(outcome.kind, Database::Outcome::Kind::kDone);
  EXPECT_EQ(*outcome.results, J(R"([{"count":1},{}])"));
}

TEST_F(OperationTest, WaitWithoutTimeoutWaitsForEver) {
  for (const char* timeout : {"", R"("timeout":1e300,)"}) {
    Json operations = J(fmt::format(R"([{{"op":"wait",{}"table":"kid","where":[],"until":"==","rows":[]}}])", timeout));
    Database::Outcome outcome = database_.Execute(operations, {});
    EXPECT_EQ(outcome.kind, Database::Outcome::Kind::kMustWait);
    EXPECT_EQ(outcome.timeout_ms, INT64_MAX);
  }
}

TEST_F(OperationTest, AssertAsksWhoHoldsTheLock) {
  TransactionContext context;
  context.holds_lock = [](std::string_view lock) { return lock == "mine"; };
  EXPECT_EQ(Execute(database_, R"({"op":"assert","lock":"mine"})", context), J("[{}]"));
  EXPECT_EQ(Execute(database_, R"({"op":"assert","lock":"yours"})", context)[0]["error"], "not owner");
}

TEST_F(OperationTest, ReadOnlyClientsMayLookOnly) {
  TransactionContext context;
  context.read_only = true;
  EXPECT_EQ(Execute(database_, R"({"op":"select","table":"kid","where":[],"columns":["i"]})", context),
            J(R"([{"rows":[{"i":7}]}])"));
  EXPECT_EQ(Execute(database_, R"({"op":"delete","table":"kid","where":[]})", context), J(R"([{"error":"not allowed",
                   "details":"delete operation not allowed when database server is in read only mode"}])"));
}

TEST_F(OperationTest, CommentsAndDurabilityReachTheCommitHook) {
  std::string comments;
  bool durable = false;
  database_.set_commit_hook([&](const ChangeSet&, const std::string& text, bool flush) {
    comments = text;
    durable = flush;
    return absl::OkStatus();
  });
  EXPECT_EQ(Run(R"({"op":"comment","comment":"a"},{"op":"comment","comment":"b"},{"op":"commit","durable":true},
                   {"op":"update","table":"kid","where":[],"row":{"i":8}})"),
            J(R"([{},{},{},{"count":1}])"));
  EXPECT_EQ(comments, "a\nb");
  EXPECT_TRUE(durable);
}

}  // namespace
}  // namespace sluice
