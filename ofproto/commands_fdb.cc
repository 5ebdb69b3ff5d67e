// fdb/*: the MAC tables.

#include <charconv>
#include <nlohmann/json.hpp>

#include "lib/base/status.h"
#include "lib/flow/mac_text.h"
#include "ofproto/ofport_text.h"
#include "ofproto/commands.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// The OpenFlow port of a bundle as fdb/show has it: a number or LOCAL; of a bond its first.
std::string BundlePort(const Topology& topology, std::string_view bridge_name, uint64_t id) {
  const XBridge* bridge = topology.FindBridge(bridge_name);
  if (bridge == nullptr) return "?";
  for (const XBundle* bundle : bridge->bundles) {
    if (bundle->id == id && !bundle->ports.empty()) return OfportText(bundle->ports[0]->ofport);
  }
  return "?";
}

absl::StatusOr<uint16_t> ParseVlan(const std::string& text) {
  uint16_t vlan = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vlan);
  if (error != std::errc() || end != text.data() + text.size() || vlan > 4095) {
    return InvalidArgument("bad VLAN \"{}\": expected 0 to 4095", text);
  }
  return vlan;
}

struct EntryName {
  uint16_t vlan = 0;
  MacAddress mac{};
};
absl::StatusOr<EntryName> ParseEntry(const std::string& vlan_text, const std::string& mac_text) {
  auto vlan = ParseVlan(vlan_text);
  if (!vlan.ok()) return vlan.status();
  auto mac = ParseMac(mac_text);
  if (!mac) return InvalidArgument("bad MAC address");
  return EntryName{*vlan, *mac};
}

Json EntryJson(const MacTable::Entry& entry, const Bridge& bridge, const std::string& ofport) {
  const std::string* name = bridge.BundleName(entry.bundle);
  Json json{{"ofport", ofport},
            {"port", name != nullptr ? *name : ""},
            {"vlan", entry.vlan},
            {"mac", FormatMac(entry.mac)},
            {"static", entry.is_static}};
  if (!entry.is_static) json["age_s"] = entry.age.count() / 1000;
  return json;
}

absl::StatusOr<std::string> Show(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridge = FindBridge(the_switch, args[0]);
  if (!bridge.ok()) return bridge.status();
  Json json = Json::array();
  std::string text = " port  VLAN  MAC                Age\n";
  for (const MacTable::Entry& entry : (*bridge)->macs()->Entries(MacTable::Clock::now())) {
    std::string ofport = BundlePort(the_switch.topology(), args[0], entry.bundle);
    std::string age = entry.is_static ? "static" : fmt::format("{:3}", entry.age.count() / 1000);
    text += fmt::format("{:>5}  {:4}  {}  {}\n", ofport, entry.vlan, FormatMac(entry.mac), age);
    if (args.json) json.push_back(EntryJson(entry, **bridge, ofport));
  }
  return args.json ? json.dump() : text;
}

absl::StatusOr<std::string> Add(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridge = FindBridge(the_switch, args[0]);
  if (!bridge.ok()) return bridge.status();
  uint64_t bundle = (*bridge)->BundleId(args[1]);
  if (bundle == 0) return NotFound("bridge {} has no port {}", args[0], args[1]);
  auto entry = ParseEntry(args[2], args[3]);
  if (!entry.ok()) return entry.status();
  (*bridge)->macs()->AddStatic(entry->vlan, entry->mac, bundle);
  the_switch.MacsChanged();
  return std::string();
}

absl::StatusOr<std::string> Delete(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridge = FindBridge(the_switch, args[0]);
  if (!bridge.ok()) return bridge.status();
  auto entry = ParseEntry(args[1], args[2]);
  if (!entry.ok()) return entry.status();
  if (!(*bridge)->macs()->Remove(entry->vlan, entry->mac)) return NotFound("could not find static mac entry");
  the_switch.MacsChanged();
  return std::string();
}

// The bridge that is named, or all.
absl::StatusOr<std::vector<Bridge*>> NamedOrAll(Switch::Impl& the_switch, const UnixctlArgs& args) {
  std::vector<Bridge*> bridges;
  if (!args.empty()) {
    auto bridge = FindBridge(the_switch, args[0]);
    if (!bridge.ok()) return bridge.status();
    bridges.push_back(*bridge);
  } else {
    for (auto& [name, bridge] : the_switch.bridges) bridges.push_back(&bridge);
  }
  return bridges;
}

absl::StatusOr<std::string> Flush(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridges = NamedOrAll(the_switch, args);
  if (!bridges.ok()) return bridges.status();
  for (Bridge* bridge : *bridges) bridge->macs()->Flush();
  the_switch.MacsChanged();
  return std::string("table successfully flushed\n");
}

absl::StatusOr<std::string> StatsShow(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridge = FindBridge(the_switch, args[0]);
  if (!bridge.ok()) return bridge.status();
  MacTable::Statistics statistics = (*bridge)->macs()->statistics();
  if (args.json) {
    return Json{
        {"entries", statistics.entries}, {"max_entries", statistics.max_entries}, {"static", statistics.static_entries},
        {"learned", statistics.learned}, {"expired", statistics.expired},         {"evicted", statistics.evicted},
        {"moved", statistics.moved}}
        .dump();
  }
  return fmt::format(
      "Statistics for bridge \"{}\":\n"
      "  Current/maximum MAC entries in the table: {}/{}\n"
      "  Current static MAC entries in the table : {}\n"
      "  Total number of learned MAC entries     : {}\n"
      "  Total number of expired MAC entries     : {}\n"
      "  Total number of evicted MAC entries     : {}\n"
      "  Total number of port moved MAC entries  : {}\n",
      args[0], statistics.entries, statistics.max_entries, statistics.static_entries, statistics.learned,
      statistics.expired, statistics.evicted, statistics.moved);
}

absl::StatusOr<std::string> StatsClear(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridges = NamedOrAll(the_switch, args);
  if (!bridges.ok()) return bridges.status();
  for (Bridge* bridge : *bridges) bridge->macs()->ClearStatistics();
  return std::string("statistics successfully cleared\n");
}

}  // namespace

void RegisterFdbCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  auto bind = [&the_switch](auto* function) {
    return [&the_switch, function](const UnixctlArgs& args) { return function(the_switch, args); };
  };
  server.Register("fdb/show", "bridge", 1, 1, bind(Show));
  server.Register("fdb/add", "bridge port vlan mac", 4, 4, bind(Add));
  server.Register("fdb/del", "bridge vlan mac", 3, 3, bind(Delete));
  server.Register("fdb/flush", "[bridge]", 0, 1, bind(Flush));
  server.Register("fdb/stats-show", "bridge", 1, 1, bind(StatsShow));
  server.Register("fdb/stats-clear", "[bridge]", 0, 1, bind(StatsClear));
}

}  // namespace sluice
