#include "utilities/vsctl/suggest.h"

#include <gtest/gtest.h>

namespace sluice::vsctl {
namespace {

TEST(SuggestTest, FindsTheNearestWord) {
  const std::vector<std::string> words = {"add-br", "del-br", "add-port", "list-br", "br-exists"};
  const std::pair<const char*, const char*> kCases[] = {
      {"add-brr", "add-br"},
      {"ad-br", "add-br"},
      {"add_port", "add-port"},
      {"add-prot", "add-port"},
      {"LIST-BR", "list-br"},
      {"br-exsits", "br-exists"},
      {"frobnicate", ""},
      {"x", ""},
      {"", ""},
  };
  for (const auto& [typed, expected] : kCases) EXPECT_EQ(ClosestWord(typed, words), expected) << typed;
  EXPECT_EQ(DidYouMean("add-brr", words), "; did you mean \"add-br\"?");
  EXPECT_EQ(DidYouMean("frobnicate", words), "");
}

}  // namespace
}  // namespace sluice::vsctl
