#include "utilities/vsctl/table_format.h"

#include <gtest/gtest.h>

namespace sluice::vsctl {
namespace {

constexpr char kUuid[] = "7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21";

class TableFormatTest : public testing::Test {
 protected:
  TableFormatTest() : table_({nullptr, &name_, &ids_}) {
    table_.AddRow({Datum::Scalar(*Uuid::Parse(kUuid)), Datum::Scalar(std::string("a")),
                   Datum{{std::string("k")}, {std::string("x, \"y\"")}}});
    table_.AddRow({Datum::Scalar(Uuid{}), Datum::Scalar(std::string("bü")), Datum{}});
  }

  std::string Format(const char* format, const char* data = "string") {
    EXPECT_TRUE(style_.SetFormat(format).ok());
    EXPECT_TRUE(style_.SetData(data).ok());
    return table_.Format(style_, true);
  }

  ColumnSchema name_{.name = "name", .type = {.key = {.type = AtomType::kString}}};
  ColumnSchema ids_{.name = "ids",
                    .type = {.key = {.type = AtomType::kString},
                             .value = BaseType{.type = AtomType::kString},
                             .min = 0,
                             .max = ColumnType::kUnlimited}};
  Table table_;
  TableStyle style_;
};

TEST_F(TableFormatTest, List) {
  EXPECT_EQ(Format("list"),
            "_uuid               : 7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21\n"
            "name                : a\n"
            "ids                 : {k=\"x, \\\"y\\\"\"}\n"
            "\n"
            "_uuid               : 00000000-0000-0000-0000-000000000000\n"
            "name                : \"bü\"\n"
            "ids                 : {}\n");
  style_.headings = false;
  EXPECT_EQ(Format("list", "bare"),
            "7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21\na\nk=x, \"y\"\n\n00000000-0000-0000-0000-000000000000\nbü\n\n");
}

TEST_F(TableFormatTest, TableCountsCharactersAndCutsCells) {
  style_.max_column_width = 4;
  EXPECT_EQ(Format("table", "bare"),
            "_uuid name ids\n"
            "----- ---- ----\n"
            "7d5a0 a    k=x,\n"
            "00000 bü   \n");
}

TEST_F(TableFormatTest, CsvQuotesWhatItMust) {
  EXPECT_EQ(Format("csv"),
            "_uuid,name,ids\n"
            "7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21,a,\"{k=\"\"x, \\\"\"y\\\"\"\"\"}\"\n"
            "00000000-0000-0000-0000-000000000000,\"\"\"bü\"\"\",{}\n");
}

TEST_F(TableFormatTest, JsonIsTheProtocols) {
  const std::string expected =
      R"({"data":[[["uuid","7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21"],"a",["map",[["k","x, \"y\""]]]],)"
      R"([["uuid","00000000-0000-0000-0000-000000000000"],"bü",["map",[]]]],"headings":["_uuid","name","ids"]})";
  EXPECT_EQ(Format("json"), expected + "\n");
  style_.pretty = true;
  EXPECT_EQ(Format("json").substr(0, 42), "{\n  \"data\": [\n    [\n      [\n        \"uuid\"");
}

TEST_F(TableFormatTest, HtmlLinksUuidsToTheirRows) {
  const std::string html = Format("html");
  EXPECT_NE(html.find("<td><a name=\"7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21\">7d5a0b7e</a></td>"), std::string::npos);
  EXPECT_NE(html.find("<td>{k=&quot;x, \\&quot;y\\&quot;&quot;}</td>"), std::string::npos);
  Table references({&name_});
  references.AddRow({Datum::Scalar(std::string("<") + kUuid)});
  EXPECT_NE(references.Format(style_, true).find("<a href=\"#7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21\">7d5a0b7e</a>"),
            std::string::npos);
}

TEST_F(TableFormatTest, TablesAreApart) {
  EXPECT_TRUE(style_.SetFormat("table").ok());
  EXPECT_EQ(table_.Format(style_, false), "\n" + table_.Format(style_, true));
  const Table empty({&name_});
  EXPECT_TRUE(style_.SetFormat("list").ok());
  EXPECT_EQ(empty.Format(style_, false), "\n");
}

TEST(TableStyleTest, RefusesUnknownFormats) {
  TableStyle style;
  EXPECT_EQ(style.SetFormat("xml").message().find("unknown output format \"xml\""), 0u);
  EXPECT_EQ(style.SetData("xml").message().find("unknown data format \"xml\""), 0u);
}

}  // namespace
}  // namespace sluice::vsctl
