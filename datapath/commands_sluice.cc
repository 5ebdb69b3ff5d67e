// sluice: what this switch shows and does that Open vSwitch has no command for; and netdev-dummy/receive.

#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/commands.h"
#include "lib/base/status.h"
#include "netdev/dummy/dummy_netdev.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// The arguments "[DP] [PORT]": one port, or all.
struct PortSelection {
  Datapath* datapath = nullptr;
  std::vector<Port*> ports;
};

absl::StatusOr<PortSelection> SelectPorts(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  PortSelection selection{.datapath = *datapath};
  if (line->words.size() > 1) return InvalidArgument("unexpected \"{}\": expected [DP] [PORT]", line->words[1]);
  if (!line->words.empty()) {
    auto port = FindPortByText(**datapath, line->words[0]);
    if (!port.ok()) return port.status();
    selection.ports.push_back(*port);
    return selection;
  }
  for (const auto& [number, port] : (*datapath)->ports()) selection.ports.push_back(port.get());
  return selection;
}

Json DropsJson(const DropCounters& drops) {
  Json json = Json::object();
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.frames[i] > 0) json[std::string(DropReasonName(static_cast<DropReason>(i)))] = drops.frames[i].Get();
  }
  return json;
}

void AddDropRows(Table& table, const std::string& port, const DropCounters& drops) {
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.frames[i] == 0) continue;
    auto reason = static_cast<DropReason>(i);
    table.Add({port, std::string(DropReasonName(reason)), std::to_string(drops.frames[i]),
               std::string(DropReasonText(reason))});
  }
}

absl::StatusOr<std::string> PortDrops(DatapathManager& manager, const UnixctlArgs& args) {
  auto selection = SelectPorts(manager, args);
  if (!selection.ok()) return selection.status();
  Json json = Json::object();
  Table table({"port", "reason", "frames", "what happened"});
  for (const Port* port : selection->ports) {
    PortStats stats = port->Stats();
    json[port->name()] = {{"rx", DropsJson(stats.rx_drops)}, {"tx", DropsJson(stats.tx_drops)}};
    AddDropRows(table, port->name(), stats.rx_drops);
    AddDropRows(table, port->name(), stats.tx_drops);
  }
  return args.json ? json.dump() : table.Format();
}

Json DirectionJson(const PortStats::Direction& direction, const DropCounters& drops) {
  return {{"frames", direction.frames}, {"packets", direction.packets}, {"super_packets", direction.super_packets},
          {"bytes", direction.bytes},   {"drops", TotalDrops(drops)},   {"system_calls", direction.system_calls}};
}

void AddDirectionRow(Table& table, const std::string& port, const char* name, const PortStats::Direction& direction,
                     const DropCounters& drops) {
  table.Add({port, name, std::to_string(direction.frames), std::to_string(direction.packets),
             std::to_string(direction.super_packets), std::to_string(direction.bytes),
             std::to_string(TotalDrops(drops)), std::to_string(direction.system_calls)});
}

absl::StatusOr<std::string> ShowPortStats(DatapathManager& manager, const UnixctlArgs& args) {
  auto selection = SelectPorts(manager, args);
  if (!selection.ok()) return selection.status();
  Json json = Json::object();
  Table table({"port", "", "frames", "packets", "supers", "bytes", "drops", "syscalls"});
  for (const Port* port : selection->ports) {
    PortStats stats = port->Stats();
    Json rx = DirectionJson(stats.rx, stats.rx_drops);
    rx["coalesced_packets"] = stats.coalesced_packets;
    rx["coalesced_segments"] = stats.coalesced_segments;
    json[port->name()] = {{"number", port->number()},
                          {"rx", rx},
                          {"tx", DirectionJson(stats.tx, stats.tx_drops)},
                          {"copies", stats.copies},
                          {"consumed", stats.consumed}};
    AddDirectionRow(table, port->name(), "rx", stats.rx, stats.rx_drops);
    AddDirectionRow(table, port->name(), "tx", stats.tx, stats.tx_drops);
  }
  return args.json ? json.dump() : table.Format();
}

Json HistogramJson(const SegmentHistogram& histogram) {
  Json packets = Json::object();
  for (size_t n = 1; n <= SegmentHistogram::kMaxExact; ++n) {
    if (histogram.packets[n] > 0) packets[std::to_string(n)] = histogram.packets[n].Get();
  }
  return {{"packets_by_segments", packets}, {"larger", histogram.larger.Get()}, {"segments", histogram.segments.Get()}};
}

void AddHistogramRows(Table& table, const std::string& port, const char* direction, const SegmentHistogram& histogram) {
  for (size_t n = 1; n <= SegmentHistogram::kMaxExact; ++n) {
    if (histogram.packets[n] == 0) continue;
    table.Add({port, direction, std::to_string(n), std::to_string(histogram.packets[n])});
  }
  if (histogram.larger > 0) {
    table.Add({port, direction, fmt::format(">{}", SegmentHistogram::kMaxExact), std::to_string(histogram.larger)});
  }
  if (histogram.segments > 0) table.Add({port, direction, "segments", std::to_string(histogram.segments)});
}

absl::StatusOr<std::string> ShowSegmentHistogram(DatapathManager& manager, const UnixctlArgs& args) {
  auto selection = SelectPorts(manager, args);
  if (!selection.ok()) return selection.status();
  Json json = Json::object();
  Table table({"port", "", "segments", "packets"});
  for (const Port* port : selection->ports) {
    PortStats stats = port->Stats();
    json[port->name()] = {{"rx", HistogramJson(stats.rx_histogram)}, {"tx", HistogramJson(stats.tx_histogram)}};
    AddHistogramRows(table, port->name(), "rx", stats.rx_histogram);
    AddHistogramRows(table, port->name(), "tx", stats.tx_histogram);
  }
  return args.json ? json.dump() : table.Format();
}

std::string SegmentationNames(uint8_t bits) {
  std::string names;
  for (auto [segmentation, name] : {std::pair{Segmentation::kTcp4, "tcp4"},
                                    {Segmentation::kTcp6, "tcp6"},
                                    {Segmentation::kUdp4, "udp4"},
                                    {Segmentation::kUdp6, "udp6"}}) {
    if ((bits & SegmentationBit(segmentation)) != 0) names += fmt::format("{}{}", names.empty() ? "" : ",", name);
  }
  return names.empty() ? "none" : names;
}

// What the transmit queues of a port take, and what its device says of itself.
std::map<std::string, std::string> Capabilities(const Datapath& datapath, Port& port) {
  auto yes_no = [](bool value) { return std::string(value ? "true" : "false"); };
  std::map<std::string, std::string> pairs = port.netdev().status();
  EgressCaps caps = port.slot(datapath.pmds().front().thread->slot()).caps();
  pairs["tx_mtu"] = std::to_string(caps.mtu);
  pairs["tx_segmentations"] = SegmentationNames(caps.segmentations);
  pairs["tx_segmentation_ecn"] = yes_no(caps.segmentation_ecn);
  pairs["tx_max_super_length"] = std::to_string(caps.max_super_length);
  pairs["tx_max_segments"] = caps.max_segments == 0 ? "no limit" : std::to_string(caps.max_segments);
  pairs["tx_max_buffers"] = std::to_string(caps.max_buffers);
  pairs["tx_partial_checksum"] = yes_no(caps.partial_checksum);
  pairs["tx_sctp_checksum"] = yes_no(caps.sctp_checksum);
  pairs["rx_gro"] = yes_no(port.netdev().rx_gro());
  pairs["n_rxq"] = std::to_string(port.netdev().rxq_count());
  pairs["userspace_tso_enable"] = yes_no(port.tso());
  return pairs;
}

absl::StatusOr<std::string> ShowCapabilities(DatapathManager& manager, const UnixctlArgs& args) {
  auto selection = SelectPorts(manager, args);
  if (!selection.ok()) return selection.status();
  Json json = Json::object();
  Table table({"port", "capability", "value"});
  for (Port* port : selection->ports) {
    auto pairs = Capabilities(*selection->datapath, *port);
    json[port->name()] = pairs;
    for (const auto& [key, value] : pairs) table.Add({port->name(), key, value});
  }
  return args.json ? json.dump() : table.Format();
}

// TSO
// ---------------------------------------------------------------------------------------------------------------------

std::string TsoText(const DatapathManager& manager, bool as_json) {
  Json json{{"switch", manager.config().tso}, {"ports", Json::object()}};
  std::string text = fmt::format("userspace-tso-enable: {}\n", manager.config().tso ? "on" : "off");
  for (const auto& [name, datapath] : manager.datapaths()) {
    for (const auto& [number, port] : datapath->ports()) {
      json["ports"][port->name()] = {{"tso", port->tso()}, {"own", port->config().tso.has_value()}};
      text += fmt::format("  {}: {}{}\n", port->name(), port->tso() ? "on" : "off",
                          port->config().tso ? " (set for this port)" : "");
    }
  }
  return as_json ? json.dump() : text;
}

absl::StatusOr<std::string> Tso(DatapathManager& manager, const UnixctlArgs& args) {
  if (args.empty()) return TsoText(manager, args.json);
  const std::string& value = args.positional.back();
  if (value != "on" && value != "off" && !(args.size() == 2 && value == "default")) {
    return InvalidArgument("sluice/tso: \"{}\": expected on or off{}", value,
                           args.size() == 2 ? ", or default to follow the switch" : "");
  }
  if (args.size() == 1) {
    manager.SetTso(value == "on");
    return std::string();
  }
  for (const auto& [name, datapath] : manager.datapaths()) {
    Port* port = datapath->FindPort(std::string_view(args[0]));
    if (port == nullptr) continue;
    NetdevOptions options = port->options();
    options.erase("userspace-tso-enable");
    if (value != "default") options["userspace-tso-enable"] = value == "on" ? "true" : "false";
    SLUICE_RETURN_IF_ERROR(datapath->SetPortOptions(port->number(), options));
    return std::string();
  }
  return NotFound("sluice/tso: no datapath has a port {}: dpctl/show lists them", args[0]);
}

// Threads and accounts
// ----------------------------------------------------------------------------------------------------

absl::StatusOr<std::string> PmdCpuMask(DatapathManager& manager, const UnixctlArgs& args) {
  if (args.empty()) {
    const auto& cores = manager.config().pmd_cores;
    if (args.json) return Json{{"pmd_cpu_mask", cores ? Json(cores->ToMask()) : Json(nullptr)}}.dump();
    return cores ? fmt::format("{}\n", cores->ToMask()) : "default (one thread, on the first processor)\n";
  }
  std::optional<CpuSet> cores;
  if (args[0] != "default") {
    auto mask = CpuSet::FromMask(args[0]);
    if (!mask.ok()) return mask.status();
    cores = *std::move(mask);
  }
  SLUICE_RETURN_IF_ERROR(manager.SetPmdCores(cores));
  return std::string();
}

absl::StatusOr<std::string> PmdRxqAssign(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"isolate", "no-isolate"});
  if (!line.ok()) return line.status();
  if (line->words.empty() && line->flags.empty()) {
    std::string_view name = RxqAssignmentName(manager.config().assignment);
    bool isolate = manager.config().isolate;
    if (args.json) return Json{{"pmd_rxq_assign", name}, {"pmd_rxq_isolate", isolate}}.dump();
    return fmt::format("{}, {}\n", name, isolate ? "isolating" : "not isolating");
  }
  RxqAssignment assignment = manager.config().assignment;
  if (!line->words.empty()) {
    auto parsed = ParseRxqAssignment(line->words[0]);
    if (!parsed.ok()) return parsed.status();
    assignment = *parsed;
  }
  bool isolate = line->Has("isolate") || (manager.config().isolate && !line->Has("no-isolate"));
  manager.SetAssignment(assignment, isolate);
  return std::string();
}

absl::StatusOr<std::string> ShowConservation(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  Conservation sum = (*datapath)->GetConservation();
  if (args.json) {
    return Json{{"received", sum.received},
                {"copies", sum.copies},
                {"sent", sum.sent},
                {"consumed", sum.consumed},
                {"dropped", TotalDrops(sum.drops)},
                {"drops", DropsJson(sum.drops)},
                {"balanced", sum.Balanced()}}
        .dump();
  }
  Table table({"frames", ""});
  table.Add({std::to_string(sum.received), "received"});
  table.Add({std::to_string(sum.copies), "copies made"});
  table.Add({std::to_string(sum.sent), "sent"});
  table.Add({std::to_string(sum.consumed), "consumed by upcalls"});
  table.Add({std::to_string(TotalDrops(sum.drops)), "dropped, of them"});
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (sum.drops.frames[i] == 0) continue;
    table.Add({std::to_string(sum.drops.frames[i]), fmt::format("  {}", DropReasonName(static_cast<DropReason>(i)))});
  }
  return table.Format() + (sum.Balanced() ? "balanced\n" : "NOT BALANCED\n");
}

absl::StatusOr<std::string> DummyReceive(DatapathManager&, const UnixctlArgs& args) {
  DummyNetdev* dummy = FindDummy(args[0]);
  if (dummy == nullptr) return NotFound("no dummy port {}: add one with type=dummy", args[0]);
  for (size_t i = 1; i < args.size(); ++i) SLUICE_RETURN_IF_ERROR(dummy->Receive(args[i]));
  return std::string();
}

}  // namespace

void RegisterSluiceCommands(UnixctlServer& server, DatapathManager& manager) {
  auto bind = [&manager](auto* function) {
    return [&manager, function](const UnixctlArgs& args) { return function(manager, args); };
  };
  server.Register("sluice/port-drops", "[dp] [port]", 0, 2, bind(PortDrops));
  server.Register("sluice/port-stats", "[dp] [port]", 0, 2, bind(ShowPortStats));
  server.Register("sluice/segment-histogram", "[dp] [port]", 0, 2, bind(ShowSegmentHistogram));
  server.Register("sluice/capabilities", "[dp] [port]", 0, 2, bind(ShowCapabilities));
  server.Register("sluice/tso", "[[port] on|off|default]", 0, 2, bind(Tso));
  server.Register("sluice/pmd-cpu-mask", "[mask|default]", 0, 1, bind(PmdCpuMask));
  server.Register("sluice/pmd-rxq-assign", "[roundrobin|cycles|group] [--isolate|--no-isolate]", 0, 2,
                  bind(PmdRxqAssign));
  server.Register("sluice/conservation", "[dp]", 0, 1, bind(ShowConservation));
  server.Register("netdev-dummy/receive", "port hex...", 2, UnixctlServer::kAnyNumber, bind(DummyReceive));
}

void RegisterDatapathCommands(UnixctlServer& server, DatapathManager& manager) {
  RegisterDpctlCommands(server, manager);
  RegisterFlowCommands(server, manager);
  RegisterPmdCommands(server, manager);
  RegisterSluiceCommands(server, manager);
  RegisterKernelCommands(server, manager);
}

}  // namespace sluice
