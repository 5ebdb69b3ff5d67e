#include "lib/io/json_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Texts = std::vector<std::string>;

TEST(JsonSplitterTest, CutsWholeTextsOfOneRead) {
  JsonSplitter splitter(1000);
  Texts texts;
  ASSERT_TRUE(splitter
                  .Feed(R"( {"a":1}[2]{"b":{"c":[]}}
)",
                        &texts)
                  .ok());
  EXPECT_THAT(texts, ElementsAre(R"({"a":1})", "[2]", R"({"b":{"c":[]}})"));
  EXPECT_FALSE(splitter.mid_text());
}

TEST(JsonSplitterTest, BracketsAndQuotesInStringsDoNotCount) {
  const std::string text = R"({"a":"}]{[\"}","b\\":"\\\"}"})";
  JsonSplitter splitter(1000);
  Texts texts;
  ASSERT_TRUE(splitter.Feed(text + text, &texts).ok());
  EXPECT_THAT(texts, ElementsAre(text, text));
}

TEST(JsonSplitterTest, EveryCutOfTheStreamGivesTheSameTexts) {
  const std::string stream = R"({"id":0,"method":"a}\"{"}  {"id":[1,{}]})";
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second = first; second <= stream.size(); ++second) {
      JsonSplitter splitter(1000);
      Texts texts;
      ASSERT_TRUE(splitter.Feed(stream.substr(0, first), &texts).ok());
      ASSERT_TRUE(splitter.Feed(stream.substr(first, second - first), &texts).ok());
      ASSERT_TRUE(splitter.Feed(stream.substr(second), &texts).ok());
      ASSERT_THAT(texts, ElementsAre(R"({"id":0,"method":"a}\"{"})", R"({"id":[1,{}]})")) << first << ' ' << second;
    }
  }
}

TEST(JsonSplitterTest, KeepsAnIncompleteText) {
  JsonSplitter splitter(1000);
  Texts texts;
  ASSERT_TRUE(splitter.Feed(R"({"a":)", &texts).ok());
  EXPECT_THAT(texts, IsEmpty());
  EXPECT_TRUE(splitter.mid_text());
}

TEST(JsonSplitterTest, RefusesWhatBeginsNoText) {
  for (const char* garbage : {"GET / HTTP/1.0", "\"a\"", "1", "}", "]", "\xff", "[}", "{]", "[[}"}) {
    JsonSplitter splitter(1000);
    Texts texts;
    EXPECT_FALSE(splitter.Feed(garbage, &texts).ok()) << garbage;
  }
  JsonSplitter splitter(1000);
  Texts texts;
  EXPECT_FALSE(splitter.Feed("{}x", &texts).ok());
  EXPECT_THAT(texts, ElementsAre("{}"));
}

TEST(JsonSplitterTest, BoundsLengthExactlyAndHoweverItArrives) {
  const std::string fits = "[" + std::string(98, '1') + "]";
  const std::string too_long = "[" + std::string(99, '1') + "]";
  for (size_t piece : {1u, 7u, 200u}) {
    JsonSplitter splitter(100);
    Texts texts;
    absl::Status status;
    for (size_t i = 0; i < fits.size(); i += piece) {
      ASSERT_TRUE(splitter.Feed(std::string_view(fits).substr(i, piece), &texts).ok());
    }
    EXPECT_THAT(texts, ElementsAre(fits));
    for (size_t i = 0; status.ok() && i < too_long.size(); i += piece) {
      status = splitter.Feed(std::string_view(too_long).substr(i, piece), &texts);
    }
    EXPECT_THAT(Message(status), HasSubstr("longer than 100 bytes"));
  }
}

TEST(JsonSplitterTest, BoundsNesting) {
  JsonSplitter splitter(1 << 20);
  Texts texts;
  EXPECT_TRUE(splitter.Feed(std::string(JsonSplitter::kMaxDepth, '['), &texts).ok());
  EXPECT_FALSE(splitter.Feed("[", &texts).ok());
}

}  // namespace
}  // namespace sluice
