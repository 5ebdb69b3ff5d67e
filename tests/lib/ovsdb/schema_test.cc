// Column types, values in JSON and in the utilities' text, and schemas.
#include "lib/ovsdb/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/ovsdb/error.h"
#include "tests/lib/ovsdb/test_database.h"

namespace sluice {
namespace {

ColumnType TypeOfColumn(std::string_view type) {
  DatabaseSchema schema =
      SchemaOf(fmt::format(R"({{"name":"T","tables":{{"t":{{"columns":{{"c":{{"type":{}}}}}}}}}}})", type));
  return schema.tables.at("t").columns.at(0).type;
}

constexpr char kSet[] = R"({"key":"integer","min":0,"max":3})";
constexpr char kMap[] = R"({"key":"string","value":"string","min":0,"max":"unlimited"})";
constexpr char kEnum[] = R"({"key":{"type":"string","enum":["set",["a","b c"]]},"min":0,"max":1})";
constexpr char kTag[] = R"({"key":{"type":"integer","minInteger":0,"maxInteger":4095},"min":0,"max":1})";

TEST(ColumnTypeTest, JsonComesBackAsTheSpecificationWritesIt) {
  struct {
    const char* type;
    const char* in;
    const char* out;
  } const cases[] = {
      {"\"integer\"", "7", "7"},
      {"\"integer\"", "7.0", "7"},
      {"\"integer\"", "[\"set\",[7]]", "7"},
      {"\"integer\"", "-9223372036854775808", "-9223372036854775808"},
      {"\"real\"", "7", "7"},
      {"\"real\"", "0.1", "0.1"},
      {"\"real\"", "1e300", "1e300"},
      {"\"boolean\"", "true", "true"},
      {"\"string\"", "\"\\u00e9\\\"\"", "\"é\\\"\""},
      {"\"uuid\"", R"(["uuid","550E8400-e29b-41d4-a716-446655440000"])",
       R"(["uuid","550e8400-e29b-41d4-a716-446655440000"])"},
      {kSet, "3", "3"},
      {kSet, R"(["set",[]])", R"(["set",[]])"},
      {kSet, R"(["set",[3]])", "3"},
      {kSet, R"(["set",[3,1,2]])", R"(["set",[1,2,3]])"},
      {kMap, R"(["map",[]])", R"(["map",[]])"},
      {kMap, R"(["map",[["b","1"],["a","2"]]])", R"(["map",[["a","2"],["b","1"]]])"},
  };
  for (const auto& c : cases) {
    ColumnType type = TypeOfColumn(c.type);
    absl::StatusOr<Datum> datum = type.Parse(J(c.in), nullptr);
    ASSERT_TRUE(datum.ok()) << c.in << ": " << Message(datum.status());
    EXPECT_EQ(DatumToJson(*datum, type), J(c.out)) << c.in;
  }
}

TEST(ColumnTypeTest, ErrorsAreThoseOfOvsdbServer) {
  struct {
    const char* type;
    const char* in;
    const char* error;
    const char* details;
  } const cases[] = {
      {"\"integer\"", "7.5", "syntax error", "expected integer"},
      {"\"integer\"", "18446744073709551615", "syntax error", "expected integer"},
      {"\"integer\"", "9223372036854775808", "syntax error", "expected integer"},
      {"\"integer\"", "1e19", "syntax error", "expected integer"},
      {"\"integer\"", "true", "syntax error", "expected integer"},
      {"\"integer\"", "null", "syntax error", "expected integer"},
      {"\"integer\"", R"(["set",[]])", "syntax error", "set must have exactly one member but 0 are present"},
      {"\"real\"", "\"x\"", "syntax error", "expected real"},
      {"\"boolean\"", "1", "syntax error", "expected boolean"},
      {"\"string\"", "1", "syntax error", "expected string"},
      {"\"uuid\"", "\"x\"", "syntax error", "expected [\"uuid\", <string>]"},
      {"\"uuid\"", R"(["uuid",1])", "syntax error", "expected [\"uuid\", <string>]"},
      {"\"uuid\"", R"(["uuid","xx"])", "syntax error", "\"xx\" is not a valid UUID"},
      {"\"uuid\"", R"(["named-uuid","a"])", "syntax error", "expected [\"uuid\", <string>]"},
      {kSet, R"(["set",[1,1]])", "ovsdb error", "set contains duplicate"},
      {kSet, R"(["set",[1,2,3,4]])", "syntax error", "set must have 0 to 3 members but 4 are present"},
      {kSet, R"(["set",1])", "syntax error", "expected [\"set\", <array>]"},
      {kSet, R"(["set"])", "syntax error", "expected [\"set\", <array>]"},
      {kSet, R"(["map",[]])", "syntax error", "expected integer"},
      {kMap, R"(["map",[["a","b"],["a","c"]]])", "ovsdb error", "map contains duplicate key"},
      {kMap, R"(["map",[["a"]]])", "syntax error", "expected 2-element array"},
      {kMap, R"(["map",["a"]])", "syntax error", "expected 2-element array"},
      {kMap, "\"a\"", "syntax error", "expected [\"map\", <array>]"},
      {kEnum, "\"c\"", "constraint violation", "c is not one of the allowed values ([a, \"b c\"])"},
      {kTag, "4096", "constraint violation", "4096 is not in the valid range 0 to 4095 (inclusive)"},
  };
  for (const auto& c : cases) {
    absl::StatusOr<Datum> datum = TypeOfColumn(c.type).Parse(J(c.in), nullptr);
    ASSERT_FALSE(datum.ok()) << c.in;
    Json error = OvsdbErrorToJson(datum.status());
    EXPECT_EQ(error["error"], c.error) << c.in;
    EXPECT_EQ(error["details"], c.details) << c.in;
  }
}

TEST(ColumnTypeTest, NamesStandForTheSameNewUuidEachTime) {
  std::map<std::string, Uuid, std::less<>> symbols;
  ColumnType type = TypeOfColumn("\"uuid\"");
  Datum first = type.Parse(J(R"(["named-uuid","a"])"), &symbols).value();
  EXPECT_EQ(first, type.Parse(J(R"(["named-uuid","a"])"), &symbols).value());
  EXPECT_NE(first, type.Parse(J(R"(["named-uuid","b"])"), &symbols).value());
  EXPECT_EQ(std::get<Uuid>(first.keys[0]), symbols.at("a"));
  EXPECT_EQ(type.Parse(J(R"(["named-uuid","1a"])"), &symbols).status().message(),
            "syntax \"[\"named-uuid\",\"1a\"]\": syntax error: named-uuid string is not a valid <id>");
}

TEST(ColumnTypeTest, TextIsReadLeniently) {
  struct {
    const char* type;
    const char* text;
    const char* json;
  } const cases[] = {
      {"\"integer\"", "7", "7"},
      {"\"integer\"", "-7", "-7"},
      {"\"integer\"", " 7 ", "7"},
      {"\"real\"", "0.5", "0.5"},
      {"\"boolean\"", "yes", "true"},
      {"\"boolean\"", "off", "false"},
      {"\"string\"", "br0", "\"br0\""},
      {"\"string\"", "\"a b\\n\"", "\"a b\\n\""},
      {"\"string\"", "\"\"", "\"\""},
      {kSet, "", R"(["set",[]])"},
      {kSet, "[]", R"(["set",[]])"},
      {kSet, "1,2", R"(["set",[1,2]])"},
      {kSet, "2 1", R"(["set",[1,2]])"},
      {kSet, "[2, 1]", R"(["set",[1,2]])"},
      {kSet, "1-3", R"(["set",[1,2,3]])"},
      {kSet, "-1-1", R"(["set",[-1,0,1]])"},
      {kMap, "a=b", R"(["map",[["a","b"]]])"},
      {kMap, "{a=b, c=\"d e\"}", R"(["map",[["a","b"],["c","d e"]]])"},
      {kMap, "a = b c=d", R"(["map",[["a","b"],["c","d"]]])"},
  };
  for (const auto& c : cases) {
    ColumnType type = TypeOfColumn(c.type);
    absl::StatusOr<Datum> datum = type.ParseText(c.text, nullptr);
    ASSERT_TRUE(datum.ok()) << c.text << ": " << Message(datum.status());
    EXPECT_EQ(DatumToJson(*datum, type), J(c.json)) << c.text;
  }
}

TEST(ColumnTypeTest, TextErrorsAreThoseOfOvsVsctl) {
  struct {
    const char* type;
    const char* text;
    const char* message;
  } const cases[] = {
      {kTag, "5000", "constraint violation: 5000 is not in the valid range 0 to 4095 (inclusive)"},
      {kTag, "x", "\"x\" is not a valid integer or range"},
      {kTag, "[1,2]", "[1,2]: 2 value(s) specified but the maximum number is 1"},
      {kSet, "[4,5", "[4,5: missing \"]\" at end of data"},
      {kSet, "[4,5] x", "[4,5] x: trailing garbage after \"]\""},
      {kSet, "5-3", "\"5-3\" is not a valid range. Range end cannot be before start."},
      {kSet, "4,4", "4,4: set contains duplicate value"},
      {kSet, "4 5,,6", "4 5,,6: unexpected \",\" parsing set of up to 3 integers"},
      {kSet, "4=5", "4=5: unexpected \"=\" parsing set of up to 3 integers"},
      {kSet, "{4}", "{4}: unexpected \"{\" parsing set of up to 3 integers"},
      {kSet, "99999999999999999999", "\"99999999999999999999\" is not a valid integer or range"},
      {kEnum, "foo", "constraint violation: foo is not one of the allowed values ([a, \"b c\"])"},
      {"\"boolean\"", "foo", "\"foo\" is not a valid boolean (use \"true\" or \"false\")"},
      {"\"integer\"", "", ": 0 value(s) specified but the minimum number is 1"},
      {"\"real\"", "nan", "\"nan\" is not a valid real number"},
      {"\"string\"", "\"abc", "\"abc: missing quote at end of quoted string"},
      {"\"uuid\"", "foo", "\"foo\" is not a valid UUID"},
      {"\"uuid\"", "@foo", "\"@foo\" is not a valid UUID"},
      {kMap, "{a=b,a=c}", "{a=b,a=c}: map contains duplicate key"},
      {kMap, "{a=b", "{a=b: missing \"}\" at end of data"},
      {kMap, "{a b}", "{a b}: syntax error at \"b}\" expecting \"=\""},
      {kMap, "a=", "a=: a value must follow the \"=\" after key a"},
  };
  for (const auto& c : cases) {
    absl::StatusOr<Datum> datum = TypeOfColumn(c.type).ParseText(c.text, nullptr);
    ASSERT_FALSE(datum.ok()) << c.text;
    EXPECT_EQ(Message(datum.status()), c.message);
  }
}

TEST(ColumnTypeTest, TextNamesRowsByAtSign) {
  std::map<std::string, Uuid, std::less<>> symbols;
  Datum datum = TypeOfColumn("\"uuid\"").ParseText("@foo", &symbols).value();
  EXPECT_EQ(std::get<Uuid>(datum.keys[0]), symbols.at("@foo"));
}

TEST(ColumnTypeTest, EnglishIsThatOfOvsdbServer) {
  EXPECT_EQ(TypeOfColumn("\"integer\"").ToEnglish(), "integer");
  EXPECT_EQ(TypeOfColumn(kSet).ToEnglish(), "set of up to 3 integers");
  EXPECT_EQ(TypeOfColumn(kMap).ToEnglish(), "map of (string, string) pairs");
  EXPECT_EQ(TypeOfColumn(R"({"key":"string","value":"real","min":1,"max":3})").ToEnglish(),
            "map of 1 to 3 (string, real) pairs");
  EXPECT_EQ(TypeOfColumn(R"({"key":"string","value":"boolean","min":1,"max":"unlimited"})").ToEnglish(),
            "map of 1 or more (string, boolean) pairs");
}

TEST(SchemaTest, SurvivesTheWayThroughJson) {
  DatabaseSchema schema = TestSchema();
  Json json = schema.ToJson();
  EXPECT_EQ(DatabaseSchema::Parse(json).value().ToJson(), json);
  EXPECT_EQ(json["tables"]["root"]["isRoot"], true);
  EXPECT_FALSE(json["tables"]["kid"].contains("isRoot"));
  EXPECT_EQ(json["tables"]["kid"]["indexes"], J(R"([["name"],["i","s"]])"));
  EXPECT_EQ(json["tables"]["root"]["columns"]["best"],
            J(R"({"type":{"key":{"type":"uuid","refTable":"kid","refType":"weak"},"min":0}})"));
  EXPECT_EQ(json["tables"]["kid"]["columns"]["m"],
            J(R"({"type":{"key":"string","value":"string","min":0,"max":"unlimited"}})"));
}

TEST(SchemaTest, AllTablesAreRootWhereNoneSaysSo) {
  DatabaseSchema schema = SchemaOf(R"({"name":"T","tables":{"t":{"columns":{"c":{"type":"integer"}}}}})");
  EXPECT_TRUE(schema.tables.at("t").is_root);
  EXPECT_FALSE(schema.ToJson()["tables"]["t"].contains("isRoot"));
}

TEST(SchemaTest, RefusesWhatIsNoSchema) {
  struct {
    const char* text;
    const char* message;
  } const cases[] = {
      {"[]", "Object expected"},
      {R"({"tables":{}})", "Required 'name' member is missing"},
      {R"({"name":"1x","tables":{}})", "name must be a valid id"},
      {R"({"name":"T"})", "Required 'tables' member is missing"},
      {R"({"name":"T","tables":{},"version":"1.0"})", "schema version \"1.0\" not in format x.y.z"},
      {R"({"name":"T","tables":{},"x":1})", "Member 'x' is present but not allowed here"},
      {R"({"name":"T","tables":{"_t":{"columns":{"c":{"type":"integer"}}}}})", "_t"},
      {R"({"name":"T","tables":{"t":{"columns":{}}}})", "at least one column"},
      {R"({"name":"T","tables":{"t":{"columns":{"_c":{"type":"integer"}}}}})", "reserved"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":"number"}}}}})", "\"number\" is not an atomic-type"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":{"key":"integer","min":2,"max":3}}}}}})", "constraint"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":{"key":"integer","max":0}}}}}})", "constraint"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":{"key":{"type":"integer","minLength":1}}}}}}})",
       "'minLength' is present but not allowed"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":{"key":{"type":"uuid","refTable":"x"}}}}}}})",
       "undefined table x"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":"integer"}},"indexes":[["d"]]}}})", "not a valid column"},
      {R"({"name":"T","tables":{"t":{"columns":{"c":{"type":"integer"}},"maxRows":0}}})", "maxRows"},
  };
  for (const auto& c : cases) {
    absl::StatusOr<DatabaseSchema> schema = DatabaseSchema::Parse(J(c.text));
    ASSERT_FALSE(schema.ok()) << c.text;
    EXPECT_THAT(Message(schema.status()), testing::HasSubstr(c.message));
  }
}

TEST(SchemaTest, TheSwitchsOwnHasItsTables) {
  const DatabaseSchema& schema = VswitchSchema();
  EXPECT_EQ(schema.name, "Open_vSwitch");
  EXPECT_EQ(schema.version, "8.3.1");
  EXPECT_EQ(schema.tables.size(), 19u);
  EXPECT_EQ(schema.tables.at("Interface").columns.size(), 35u);
  const TableSchema& port = schema.tables.at("Port");
  ASSERT_NE(port.FindColumn("interfaces"), TableSchema::npos);
  EXPECT_EQ(port.columns[port.FindColumn("interfaces")].type.key.ref_table, "Interface");
  EXPECT_EQ(port.FindColumn("interface"), TableSchema::npos);
}

TEST(JsonTest, RefusesNullBytesInStrings) {
  EXPECT_FALSE(ParseJson(R"("a\u0000")").ok());
  EXPECT_FALSE(ParseJson(R"("\\\u0000")").ok());
  EXPECT_TRUE(ParseJson(R"("\\u0000")").ok());
  EXPECT_TRUE(ParseJson(R"("\\\\u0000\u0001")").ok());
}

TEST(JsonTest, RefusesDeepNesting) {
  auto nested = [](int depth) { return std::string(depth, '[') + "\"[\\\"[\"" + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(kMaxJsonNesting)).ok());
  EXPECT_EQ(Message(ParseJson(nested(kMaxJsonNesting + 1)).status()), "input exceeds maximum nesting depth 1000");
  std::string flat = "[[]";
  for (int i = 0; i < 2 * kMaxJsonNesting; ++i) flat += ",{}";
  EXPECT_TRUE(ParseJson(flat + "]").ok());
}

TEST(JsonTest, ErrorsSayWhere) {
  EXPECT_THAT(Message(ParseJson("{\"a\":}").status()), testing::HasSubstr("column 6"));
  EXPECT_THAT(Message(ParseJson("{\"a\":}").status()), testing::Not(testing::HasSubstr("json.exception")));
  EXPECT_FALSE(ParseJson("1 2").ok());
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_EQ(DumpJson(Json("\xff")), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace sluice
