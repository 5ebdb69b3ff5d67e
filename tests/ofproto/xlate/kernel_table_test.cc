// Translation against the table that the kernel's own bridge made (tests/system/vlan_oracle.py says how).
#include <absl/strings/str_split.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

Json ReadTable() {
  std::ifstream file(SLUICE_VLAN_TABLE);
  return Json::parse(file);
}

void AddPorts(TestSwitch& tested, const Json& ports) {
  const std::map<std::string, VlanMode> modes = {{"access", VlanMode::kAccess},
                                                 {"trunk", VlanMode::kTrunk},
                                                 {"native-tagged", VlanMode::kNativeTagged},
                                                 {"native-untagged", VlanMode::kNativeUntagged},
                                                 {"dot1q-tunnel", VlanMode::kDot1qTunnel}};
  XBridge& bridge = tested.AddBridge("br0");
  for (const Json& port : ports) {
    XBundle& bundle = tested.AddPort(bridge, port["number"], modes.at(port["mode"]), port["tag"]);
    if (!port["trunks"].empty()) bundle.trunks.reset();
    for (uint16_t vlan : port["trunks"]) bundle.trunks.set(vlan);
  }
}

MacAddress ParseMac(const std::string& text) {
  MacAddress mac;
  std::vector<std::string> bytes = absl::StrSplit(text, ':');
  for (size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<uint8_t>(std::stoul(bytes.at(i), nullptr, 16));
  return mac;
}

// What the kernel forwards and the manual drops: frames that arrive at an access port with that port's own VLAN.
bool IsTaggedAtAccessPort(const Json& ports, uint32_t in_port, const TestTags& tags) {
  for (const Json& port : ports) {
    if (port["number"] == in_port) return port["mode"] == "access" && !tags.empty() && tags[0].id == port["tag"];
  }
  return false;
}

TEST(KernelTableTest, FloodsAsTheKernelsBridgeDoes) {
  Json table = ReadTable();
  for (const char* scenario : {"802.1Q", "802.1ad"}) {
    TestSwitch tested;
    AddPorts(tested, table[scenario]["ports"]);
    uint64_t number = 100;
    for (const auto& [description, leaves] : table[scenario]["results"].items()) {
      std::vector<std::string> words = absl::StrSplit(description, ' ');
      TestFrame frame{.in_port = static_cast<uint32_t>(std::stoul(words.at(0))), .tags = words.at(1)};
      frame.src = Mac(++number);
      frame.dst = Mac(0xffffffffffff);
      TestTags tags = ParseTags(frame.tags);
      if (tags.size() > 2) continue;  // what is below the second is payload here
      bool refused = IsTaggedAtAccessPort(table[scenario]["ports"], frame.in_port, tags);
      EXPECT_EQ(tested.Send(frame), refused ? "" : leaves.get<std::string>()) << scenario << ": " << description;
    }
  }
}

TEST(KernelTableTest, LearnsAsTheKernelsBridgeDoes) {
  Json table = ReadTable()["learning"];
  TestSwitch tested;
  AddPorts(tested, table["ports"]);
  std::map<int, std::pair<TestFrame, std::string>> steps;  // JSON objects come sorted as text
  for (const auto& [description, leaves] : table["results"].items()) {
    // "NUMBER: PORT TAGS SOURCE > TARGET"
    std::vector<std::string> words = absl::StrSplit(description, ' ');
    TestFrame frame{.in_port = static_cast<uint32_t>(std::stoul(words.at(1))),
                    .tags = words.at(2),
                    .src = ParseMac(words.at(3)),
                    .dst = ParseMac(words.at(5))};
    steps[std::stoi(words.at(0))] = {frame, leaves.get<std::string>()};
  }
  ASSERT_GT(steps.size(), 10u);
  for (const auto& [number, step] : steps) EXPECT_EQ(tested.Send(step.first), step.second) << "step " << number;
}

}  // namespace
}  // namespace sluice
