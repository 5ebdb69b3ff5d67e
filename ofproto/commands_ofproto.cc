// ofproto/list, bridge/*, qos/show-types, and what the commands have in common.

#include <nlohmann/json.hpp>

#include "lib/base/status.h"
#include "ofproto/commands.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::string> List(Switch::Impl& the_switch, const UnixctlArgs& args) {
  Json names = Json::array();
  std::string text;
  for (const auto& [name, bridge] : the_switch.bridges) {
    names.push_back(name);
    text += name + "\n";
  }
  return args.json ? names.dump() : text;
}

std::string FlowLine(const FlowTables& tables, const Rule& rule, bool offload) {
  const OfFlowStats stats = tables.StatsOf(rule, OfClock::now());
  const std::string match = FormatMatch(stats.match, stats.priority, {});
  return fmt::format("{}duration={}s, n_packets={}, n_bytes={}, {}{}{}actions={}\n",
                     stats.table == 0 ? "" : fmt::format("table_id={}, ", stats.table),
                     std::chrono::duration_cast<std::chrono::seconds>(stats.duration).count(), stats.packets,
                     stats.bytes, offload ? "n_offload_packets=0, n_offload_bytes=0, " : "", match,
                     match.empty() ? "" : ",", FormatActions(stats.actions, OfNames{}));
}

// All of them, also those that OpenFlow does not show.
absl::StatusOr<std::string> DumpFlows(Switch::Impl& the_switch, const UnixctlArgs& args) {
  const bool offload = args[0] == "--offload-stats";
  if (args.size() != (offload ? 2 : 1)) return InvalidArgument("bridge/dump-flows: expected [--offload-stats] bridge");
  auto bridge = FindBridge(the_switch, args[offload ? 1 : 0]);
  if (!bridge.ok()) return NotFound("Unknown bridge");
  the_switch.SyncStatistics();
  const FlowTables& tables = (*bridge)->pipeline()->tables;
  std::string text;
  for (bool hidden : {false, true}) {
    for (const RulePtr& rule : tables.Collect(FlowStatsRequest{}, hidden)) text += FlowLine(tables, *rule, offload);
  }
  return text;
}

// Of one bridge or of all: connections to controllers are dropped and made again.
absl::StatusOr<std::string> Reconnect(Switch::Impl& the_switch, const UnixctlArgs& args) {
  if (!args.empty() && !FindBridge(the_switch, args[0]).ok()) return NotFound("Unknown bridge");
  if (the_switch.openflow == nullptr) return std::string();
  for (const auto& [name, bridge] : the_switch.bridges) {
    if (!args.empty() && args[0] != name) continue;
    if (ConnectionManager* manager = the_switch.openflow->Find(name)) manager->Reconnect();
  }
  return std::string();
}

absl::StatusOr<std::string> ShowQosTypes(Switch::Impl& the_switch, const UnixctlArgs& args) {
  if (the_switch.ports.Find(args[0]) == nullptr) return NotFound("no such interface");
  return args.json ? std::string("[]") : fmt::format("No QoS types supported for interface: {}\n", args[0]);
}

}  // namespace

absl::StatusOr<Bridge*> FindBridge(Switch::Impl& the_switch, std::string_view name) {
  auto it = the_switch.bridges.find(name);
  if (it == the_switch.bridges.end()) return NotFound("no such bridge");
  return &it->second;
}

void RegisterOfprotoCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  auto bind = [&the_switch](auto* function) {
    return [&the_switch, function](const UnixctlArgs& args) { return function(the_switch, args); };
  };
  server.Register("ofproto/list", "", 0, 0, bind(List));
  server.Register("bridge/dump-flows", "[--offload-stats] bridge", 1, 2, bind(DumpFlows));
  server.Register("bridge/reconnect", "[bridge]", 0, 1, bind(Reconnect));
  server.Register("qos/show-types", "interface", 1, 1, bind(ShowQosTypes));
  RegisterFdbCommands(server, the_switch);
  RegisterDpifCommands(server, the_switch);
  RegisterUpcallCommands(server, the_switch);
  RegisterTraceCommands(server, the_switch);
}

}  // namespace sluice
