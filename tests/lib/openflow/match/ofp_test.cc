#include "lib/openflow/ofp.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

OfNames Names() {
  OfNames names;
  names.port_name = [](OfPort port) -> std::string {
    switch (port) {
      case 1:
        return "eth0";
      case 2:
        return "br-int";
      case 3:
        return "a\"b";
      case 4:
        return "1p";
      case 5:
        return "local";
      default:
        return "";
    }
  };
  names.port_number = [port_name = names.port_name](std::string_view name) -> std::optional<OfPort> {
    for (OfPort port = 1; port <= 5; ++port) {
      if (port_name(port) == name) return port;
    }
    return std::nullopt;
  };
  names.table_name = [](uint8_t table) -> std::string { return table == 7 ? "in gress" : table == 8 ? "acl" : ""; };
  return names;
}

TEST(OfpTest, QuotesNamesThatAreNoPlainWords) {
  // As dump-flows of Open vSwitch 3.1 prints ports of these names, except for "local", which it leaves bare.
  EXPECT_EQ(FormatOfPort(1, Names()), "eth0");
  EXPECT_EQ(FormatOfPort(2, Names()), "\"br-int\"");
  EXPECT_EQ(FormatOfPort(3, Names()), "\"a\\\"b\"");
  EXPECT_EQ(FormatOfPort(4, Names()), "\"1p\"");
  EXPECT_EQ(FormatOfPort(5, Names()), "\"local\"");
  EXPECT_EQ(FormatOfPort(6, Names()), "6");
  EXPECT_EQ(FormatOfPort(1, {}), "1");
  EXPECT_EQ(FormatOfTable(7, Names()), "\"in gress\"");
  EXPECT_EQ(FormatOfTable(8, Names()), "acl");
  EXPECT_EQ(FormatOfTable(9, Names()), "9");
}

TEST(OfpTest, ReadsBackWhatItPrints) {
  for (uint32_t port = 0; port <= 0xffff; ++port) {
    std::string text = FormatOfPort(static_cast<OfPort>(port), Names());
    ASSERT_EQ(ParseOfPort(text, Names()), static_cast<OfPort>(port)) << text;
  }
}

TEST(OfpTest, TakesReservedPortsInAnyCaseAndIn32Bits) {
  EXPECT_EQ(ParseOfPort("local", {}), kOfpLocal);
  EXPECT_EQ(ParseOfPort("LOCAL", {}), kOfpLocal);
  EXPECT_EQ(ParseOfPort("Controller", {}), kOfpController);
  EXPECT_EQ(ParseOfPort("any", {}), kOfpNone);
  EXPECT_EQ(ParseOfPort("NONE", {}), kOfpNone);
  EXPECT_EQ(FormatOfPort(kOfpNone, {}), "ANY");
  EXPECT_EQ(ParseOfPort("4294967294", {}), kOfpLocal);
  EXPECT_EQ(ParseOfPort("65534", {}), kOfpLocal);
  EXPECT_EQ(ParseOfPort("br-int", Names()), OfPort{2});
  EXPECT_EQ(ParseOfPort("\"br-int\"", Names()), OfPort{2});
  EXPECT_EQ(ParseOfPort("\"local\"", Names()), OfPort{5});
}

TEST(OfpTest, RefusesWhatIsNoPort) {
  for (const char* text : {"", "eth0", "65536", "4294901760", "4294967296", "-1", "\"LOCAL\"", "1x", "\""}) {
    EXPECT_EQ(ParseOfPort(text, {}), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sluice
