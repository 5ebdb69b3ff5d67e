// Messages and what Debian's `ovs-ofctl ofp-print` (3.1) says of them.
#include <gtest/gtest.h>

#include <fstream>

#include "lib/openflow/message.h"

namespace sluice {
namespace {

struct Case {
  std::string hex;
  int verbosity = 0;
  std::string text;
};

// ofp_print_cases.txt: "> VERBOSITY HEX", then the lines of the text, each behind "| ".
std::vector<Case> ReadCases() {
  std::ifstream file(OFP_PRINT_CASES);
  EXPECT_TRUE(file) << "cannot open " << OFP_PRINT_CASES;
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) {
      cases.push_back({line.substr(4), line[2] - '0', ""});
    } else if (line.starts_with("| ") || line == "|") {
      cases.back().text += line.substr(std::min<size_t>(line.size(), 2)) + "\n";
    }
  }
  return cases;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(OfpPrintTest, SaysWhatOvsOfctlSays) {
  std::vector<Case> cases = ReadCases();
  EXPECT_GT(cases.size(), 100u);
  for (const Case& c : cases) {
    EXPECT_EQ(FormatMessage(AsBytes(FromHex(c.hex)), {}, c.verbosity), c.text) << c.hex;
  }
}

}  // namespace
}  // namespace sluice
