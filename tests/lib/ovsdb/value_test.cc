#include "lib/ovsdb/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

TEST(UuidTest, ReadsWhatItWrites) {
  Uuid uuid = Uuid::Parse("550E8400-e29b-41d4-a716-44665544000f").value();
  EXPECT_EQ(uuid.ToString(), "550e8400-e29b-41d4-a716-44665544000f");
  EXPECT_EQ(uuid.bytes[0], 0x55);
  EXPECT_EQ(uuid.bytes[15], 0x0f);
  EXPECT_TRUE(Uuid{}.IsZero());
}

TEST(UuidTest, RefusesWhatIsNone) {
  for (const char* text : {"", "550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-44665544000g",
                           "550e8400-e29b-41d4-a716-4466554400000", "550e8400-e29b-41d4-a716_446655440000",
                           "550e8400-e29b-41d4-a716-44665544000"}) {
    EXPECT_FALSE(Uuid::Parse(text).ok()) << text;
  }
}

TEST(UuidTest, RandomOnesAreVersionFourAndDiffer) {
  Uuid a = Uuid::Random();
  EXPECT_EQ(a.ToString()[14], '4');
  EXPECT_THAT(std::string("89ab"), testing::HasSubstr(std::string(1, a.ToString()[19])));
  EXPECT_NE(a, Uuid::Random());
}

TEST(AtomTest, OrderIsThatOfTheSpecification) {
  EXPECT_LT(Atom(int64_t{-1}), Atom(int64_t{0}));
  EXPECT_LT(Atom(-0.5), Atom(0.25));
  EXPECT_LT(Atom(false), Atom(true));
  EXPECT_LT(Atom(std::string("Z")), Atom(std::string("a")));
  EXPECT_LT(Atom(std::string("z")), Atom(std::string("\xc3\xa9")));
  EXPECT_LT(Atom(Uuid::Parse("0fffffff-0000-0000-0000-000000000000").value()),
            Atom(Uuid::Parse("f0000000-0000-0000-0000-000000000000").value()));
}

TEST(DatumTest, NormalizeSortsAndKeepsTheFirstOfEqualKeys) {
  Datum map{{std::string("b"), std::string("a"), std::string("b")}, {int64_t{1}, int64_t{2}, int64_t{3}}};
  EXPECT_TRUE(map.Normalize(true));
  EXPECT_EQ(map, (Datum{{std::string("a"), std::string("b")}, {int64_t{2}, int64_t{1}}}));
  EXPECT_FALSE(map.Normalize(true));
  EXPECT_EQ(map.Find(std::string("b")), 1u);
  EXPECT_EQ(map.Find(std::string("c")), Datum::npos);
}

TEST(DatumTest, ShortcutsFallBackOnOtherTypesAndAbsence) {
  EXPECT_EQ(Datum::Scalar(std::string("x")).StringOr("y"), "x");
  EXPECT_EQ(Datum().StringOr("y"), "y");
  EXPECT_EQ(Datum::Scalar(int64_t{3}).StringOr("y"), "y");
  EXPECT_EQ(Datum::Scalar(int64_t{3}).IntegerOr(1), 3);
  EXPECT_EQ(Datum().IntegerOr(1), 1);
  EXPECT_TRUE(Datum::Scalar(true).BooleanOr(false));
  EXPECT_TRUE(Datum::Scalar(1.0).BooleanOr(true));
  Datum map{{std::string("a"), std::string("b")}, {std::string("1"), std::string("2")}};
  ASSERT_NE(map.FindString("b"), nullptr);
  EXPECT_EQ(*map.FindString("b"), "2");
  EXPECT_EQ(map.FindString("ab"), nullptr);
  EXPECT_EQ(map.FindString("c"), nullptr);
  EXPECT_EQ(Datum::Scalar(std::string("a")).FindString("a"), nullptr);
}

TEST(ValueTextTest, StringsAreQuotedOnlyWhereTheyMustBe) {
  struct {
    const char* string;
    const char* text;
  } const cases[] = {
      {"br0", "br0"},
      {"a.b-c_d", "a.b-c_d"},
      {"_x", "_x"},
      {"", "\"\""},
      {"true", "\"true\""},
      {"false", "\"false\""},
      {"truest", "truest"},
      {"0a", "\"0a\""},
      {"-a", "\"-a\""},
      {"a b", "\"a b\""},
      {"a=b", "\"a=b\""},
      {"a\"b", "\"a\\\"b\""},
      {"\xc3\xa9", "\"\xc3\xa9\""},
      {"b50e8400-e29b-41d4-a716-446655440000", "\"b50e8400-e29b-41d4-a716-446655440000\""},
  };
  for (const auto& c : cases) EXPECT_EQ(AtomToText(Atom(std::string(c.string))), c.text);
  EXPECT_EQ(AtomToBareText(Atom(std::string("a b"))), "a b");
}

TEST(ValueTextTest, NumbersAreShortAndExact) {
  EXPECT_EQ(AtomToText(Atom(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(AtomToText(Atom(1.0)), "1");
  EXPECT_EQ(AtomToText(Atom(-0.0)), "0");
  EXPECT_EQ(AtomToText(Atom(0.1)), "0.1");
  EXPECT_EQ(AtomToText(Atom(1e100)), "1e+100");
  EXPECT_EQ(AtomToText(Atom(true)), "true");
}

TEST(ValueTextTest, SetsAndMapsHaveBracketsUnlessOneValueIsShownAlone) {
  Datum set{{int64_t{1}, int64_t{2}}, {}};
  EXPECT_EQ(DatumToText(set, false, false), "[1, 2]");
  EXPECT_EQ(DatumToText(Datum::Scalar(int64_t{1}), false, false), "[1]");
  EXPECT_EQ(DatumToText(Datum::Scalar(int64_t{1}), false, true), "1");
  EXPECT_EQ(DatumToText(Datum(), false, true), "[]");
  EXPECT_EQ(DatumToText(Datum(), true, false), "{}");
  Datum map{{std::string("a"), std::string("b c")}, {std::string("1"), std::string("x")}};
  EXPECT_EQ(DatumToText(map, true, false), "{a=\"1\", \"b c\"=x}");
}

}  // namespace
}  // namespace sluice
