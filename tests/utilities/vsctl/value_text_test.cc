#include "utilities/vsctl/value_text.h"

#include <gtest/gtest.h>

namespace sluice::vsctl {
namespace {

const TableSchema& Table(const char* name) { return VswitchSchema().tables.at(name); }

TEST(ValueTextTest, SplitsColumnKeyOperatorAndValue) {
  struct Case {
    const char* text;
    const char* column;
    std::optional<std::string> key;
    const char* op;
    const char* value;
  };
  const Case kCases[] = {
      {"name=x", "name", std::nullopt, "=", "x"},
      {"external-ids:a=b=c", "external_ids", "a", "=", "b=c"},
      {"external_ids:\"a b\"{in}c,d", "external_ids", "\"a b\"", "{in}", "c,d"},
      {"name!=x", "name", std::nullopt, "!=", "x"},
      {"name<=x", "name", std::nullopt, "<=", "x"},
      {"name<x", "name", std::nullopt, "<", "x"},
      {"ports{<=}[]", "ports", std::nullopt, "{<=}", "[]"},
      {"name==x", "name", std::nullopt, "=", "=x"},
  };
  for (const Case& c : kCases) {
    const absl::StatusOr<ColumnArgument> argument = ParseColumnArgument(c.text, Table("Bridge"), kFindOperators);
    ASSERT_TRUE(argument.ok()) << c.text << ": " << argument.status();
    EXPECT_EQ(argument->column->name, c.column);
    EXPECT_EQ(argument->key, c.key) << c.text;
    EXPECT_EQ(argument->op, c.op) << c.text;
    EXPECT_EQ(argument->value, c.value) << c.text;
  }
}

TEST(ValueTextTest, RefusesWhatIsNoArgument) {
  const std::pair<const char*, const char*> kCases[] = {
      {"=x", "=x: missing column name"},
      {"name", "name: argument does not end in \"=\" followed by a value."},
      {"name=", "name=: argument does not end in \"=\" followed by a value."},
      {"name!=x", "name!=x: argument does not end in \"=\" followed by a value."},
      {"external_ids:\"a=x", "\"a=x: quoted string extends past end of argument"},
  };
  for (const auto& [text, error] : kCases) {
    const absl::StatusOr<ColumnArgument> argument = ParseColumnArgument(text, Table("Bridge"), kSetOperators);
    EXPECT_EQ(Message(argument.status()), error);
  }
  EXPECT_EQ(Message(ParseColumnArgument("external_ids:a=x", Table("Bridge")).status()),
            "external_ids:a=x: trailing garbage \"=x\" in argument");
}

TEST(ValueTextTest, AnAtomIsTheWholeText) {
  Symbols symbols;
  const BaseType kString{.type = AtomType::kString};
  EXPECT_EQ(*ParseAtom("a, b", kString, symbols), Atom(std::string("a, b")));
  EXPECT_EQ(*ParseAtom("\"a\\\"\\u00e9\"", kString, symbols), Atom(std::string("a\"é")));
  EXPECT_EQ(Message(ParseAtom("", kString, symbols).status()),
            "An empty string is not valid as input; use \"\" to represent the empty string");
  EXPECT_EQ(Message(ParseAtom("\"a\"b", kString, symbols).status()), "\"a\"b: missing quote at end of quoted string");
  EXPECT_EQ(*ParseAtom("7", BaseType{.type = AtomType::kInteger}, symbols), Atom(int64_t{7}));
  EXPECT_FALSE(ParseAtom("1,2", BaseType{.type = AtomType::kInteger}, symbols).ok());
}

TEST(SymbolsTest, NamesAreDefinedOnceAndSomewhere) {
  Symbols symbols;
  const ColumnType& ports = Table("Bridge").columns[Table("Bridge").FindColumn("ports")].type;
  const absl::StatusOr<Datum> datum = ParseDatum("@a,@b", ports, symbols);
  ASSERT_TRUE(datum.ok()) << datum.status();
  symbols.NoteReferences(*datum, ports);
  const absl::StatusOr<Uuid> a = symbols.DefineNew("@a");
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_TRUE(datum->Contains(*a));
  EXPECT_FALSE(symbols.DefineNew("@a").ok());
  EXPECT_FALSE(symbols.DefineNew("b").ok());
  std::vector<std::string> warnings;
  EXPECT_NE(symbols.Check(&warnings).message().find("\"@b\" is referenced but never created"), std::string::npos);
  EXPECT_EQ(Message(symbols.DefineExisting("@b", Uuid{})),
            "row id \"@b\" specified on \"get\" command was used before it was defined");
  EXPECT_TRUE(symbols.DefineNew("@b").ok());
  EXPECT_TRUE(symbols.Check(&warnings).ok());
  EXPECT_TRUE(warnings.empty());
}

TEST(SymbolsTest, WarnsOfRowsThatNothingHolds) {
  Symbols symbols;
  const ColumnType& weak = Table("Mirror").columns[Table("Mirror").FindColumn("output_port")].type;
  symbols.NoteReferences(*ParseDatum("@weak", weak, symbols), weak);
  ASSERT_TRUE(symbols.DefineNew("@weak").ok());
  ASSERT_TRUE(symbols.DefineNew("@none").ok());
  std::vector<std::string> warnings;
  EXPECT_TRUE(symbols.Check(&warnings).ok());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("\"@none\" was created but no reference to it was inserted"), std::string::npos);
  EXPECT_NE(warnings[1].find("\"@weak\" was created but only a weak reference to it was inserted"), std::string::npos);
}

}  // namespace
}  // namespace sluice::vsctl
