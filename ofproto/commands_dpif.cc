// dpif/*: the datapath as bridges use it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/execute.h"
#include "datapath/flow_line.h"
#include "lib/base/rcu.h"
#include "lib/base/status.h"
#include "ofproto/commands.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// As Open vSwitch calls what an internal port of a userspace datapath is.
std::string ShownType(const Interface& interface) {
  return interface.config.type == "internal" ? "tap" : interface.config.type;
}

std::string ShownOptions(const Interface& interface) {
  std::string text;
  if (interface.is_patch()) return ": peer=" + interface.config.patch_peer;
  for (const auto& [key, value] : interface.config.options) {
    text += fmt::format("{}{}={}", text.empty() ? ": " : ", ", key, value);
  }
  return text;
}

Json PortJson(const Interface& interface) {
  Json json{{"name", interface.config.name}, {"ofport", interface.ofport}, {"type", ShownType(interface)}};
  if (interface.dp_port != 0) json["datapath_port"] = interface.dp_port;
  if (interface.is_patch()) json["peer"] = interface.config.patch_peer;
  return json;
}

absl::StatusOr<std::string> Show(Switch::Impl& the_switch, const UnixctlArgs& args) {
  if (the_switch.forwarding == nullptr) return std::string(args.json ? "{}" : "");
  const Datapath& datapath = the_switch.forwarding->datapath;
  Datapath::Lookups lookups = datapath.CountLookups();
  std::string text = fmt::format("{}: hit:{} missed:{}\n", FullName(datapath), lookups.hit, lookups.missed);
  Json bridges = Json::object();
  for (const auto& [name, bridge] : the_switch.bridges) {
    text += fmt::format("  {}:\n", name);
    Json ports = Json::array();
    for (const auto& [port, interface] : the_switch.ports.interfaces()) {
      if (interface.bridge != name || !interface.works()) continue;
      std::string number = interface.dp_port != 0 ? std::to_string(interface.dp_port) : "none";
      text += fmt::format("    {} {}/{}: ({}{})\n", port, interface.ofport, number, ShownType(interface),
                          ShownOptions(interface));
      ports.push_back(PortJson(interface));
    }
    bridges[name] = std::move(ports);
  }
  if (!args.json) return text;
  return Json{{"name", FullName(datapath)}, {"hit", lookups.hit}, {"missed", lookups.missed}, {"bridges", bridges}}
      .dump();
}

absl::StatusOr<std::string> DumpFlows(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"more,m", "names", "no-names"});
  if (!line.ok()) return line.status();
  if (line->words.size() != 1) return InvalidArgument("dpif/dump-flows: expected one bridge");
  auto bridge = FindBridge(the_switch, line->words[0]);
  if (!bridge.ok()) return bridge.status();
  if (the_switch.forwarding == nullptr) return std::string(args.json ? "[]" : "");

  const bool more = line->Has("more");
  const bool as_names = line->Has("names") || (more && !line->Has("no-names"));
  Datapath& datapath = the_switch.forwarding->datapath;
  const PortNames names = as_names ? datapath.MakePortNames() : PortNames{};
  const Topology& topology = the_switch.topology();
  std::vector<std::string> lines;
  // In portions: writing the text of 200,000 flows takes long.
  RcuThread rcu;
  std::vector<DpFlow*> portion;
  for (size_t from = FlowTable::kFromStart; from != 0;) {
    RcuQuiescent();
    from = datapath.flows().Collect(from, 256, portion);
    for (const DpFlow* flow : portion) {
      auto port = topology.by_dp_port.find(flow->key().in_port);
      if (port == topology.by_dp_port.end() || port->second->bundle->bridge->name != line->words[0]) continue;
      lines.push_back(args.json ? FormatFlowJson(*flow, names) : FormatFlowLine(*flow, names, more) + "\n");
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& flow : lines) text += (args.json && !text.empty() ? "," : "") + flow;
  return args.json ? "[" + text + "]" : text;
}

absl::StatusOr<std::string> DumpDps(Switch::Impl& the_switch, const UnixctlArgs& args) {
  Json names = Json::array();
  std::string text;
  for (const auto& [name, bridge] : the_switch.bridges) {
    names.push_back(fmt::format("{}@{}", DatapathManager::kType, name));
    text += fmt::format("{}@{}\n", DatapathManager::kType, name);
  }
  return args.json ? names.dump() : text;
}

struct Feature {
  const char* name;
  std::string value;
};
// What actions and keys of the datapath know, by the names of Open vSwitch.
std::vector<Feature> Features() {
  const std::string yes = "Yes";
  const std::string no = "No";
  return {{"Masked set action", yes},
          {"Tunnel push pop", no},
          {"Ufid", yes},
          {"Truncate action", yes},
          {"Clone action", yes},
          {"Sample nesting", std::to_string(kMaxActionDepth)},
          {"Conntrack eventmask", no},
          {"Conntrack clear", no},
          {"Max dp_hash algorithm", "1"},
          {"Check pkt length action", yes},
          {"Conntrack timeout policy", no},
          {"Explicit Drop action", yes},
          {"Optimized Balance TCP mode", no},
          {"Conntrack all-zero IP SNAT", no},
          {"MPLS Label add", no},
          {"Max VLAN headers", "2"},
          {"Max MPLS depth", "3"},
          {"Recirc", yes},
          {"CT state", no},
          {"CT zone", no},
          {"CT mark", no},
          {"CT label", no},
          {"CT state NAT", no},
          {"CT orig tuple", no},
          {"CT orig tuple for IPv6", no},
          {"IPv6 ND Extension", no}};
}

absl::StatusOr<std::string> ShowFeatures(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto bridge = FindBridge(the_switch, args[0]);
  if (!bridge.ok()) return bridge.status();
  Json json = Json::object();
  std::string text;
  for (const Feature& feature : Features()) {
    json[feature.name] = feature.value;
    text += fmt::format("{}: {}\n", feature.name, feature.value);
  }
  return args.json ? json.dump() : text;
}

}  // namespace

void RegisterDpifCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  auto bind = [&the_switch](auto* function) {
    return [&the_switch, function](const UnixctlArgs& args) { return function(the_switch, args); };
  };
  server.Register("dpif/show", "", 0, 0, bind(Show));
  server.Register("dpif/dump-flows", "[-m] [--names | --no-names] bridge", 1, 4, bind(DumpFlows));
  server.Register("dpif/dump-dps", "", 0, 0, bind(DumpDps));
  server.Register("dpif/show-dp-features", "bridge", 1, 1, bind(ShowFeatures));
}

}  // namespace sluice
