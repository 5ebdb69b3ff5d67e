// sluice/kernel-*: what the kernel forwards by itself.

#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/commands.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::string> ShowKernelFlows(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  const KernelForwarding::Report report = (*datapath)->kernel_forwarding().GetReport();
  const std::tuple<const char*, uint64_t, const char*> counts[] = {
      {"flows", report.flows, "exact flows that the kernel forwards now"},
      {"packets", report.forwarded.packets, "forwarded; a super-packet is one"},
      {"frames", report.forwarded.frames, "forwarded, on the wire"},
      {"bytes", report.forwarded.bytes, "of them"},
      {"over_mtu", report.forwarded.over_mtu, "frames dropped: the MTU of the device had just become smaller"},
      {"no_device", report.forwarded.no_device, "frames dropped: the device had just gone"},
      {"installed", report.installed, "flows given to the kernel since the start"},
      {"late", report.late, "of them, begun while their receive queue was never empty"},
      {"idle", report.idle, "flows taken back because they were idle"},
      {"withdrawn", report.withdrawn, "flows taken back because they or their ports changed"},
      {"refused", report.refused, "offers of flows that had just changed"},
      {"full", report.full, "offers that found no room"},
      {"lost", report.lost, "offers that came too fast"},
  };
  Json json = Json::object();
  Table table({"", "count", "what"});
  for (const auto& [name, count, text] : counts) {
    json[name] = count;
    table.Add({name, std::to_string(count), text});
  }
  return args.json ? json.dump() : table.Format();
}

absl::StatusOr<std::string> SwitchKernelForwarding(DatapathManager& manager, const UnixctlArgs& args) {
  if (args.empty()) {
    bool on = manager.config().kernel_forwarding;
    return args.json ? Json{{"kernel_forwarding", on}}.dump()
                     : fmt::format("kernel forwarding: {}\n", on ? "on" : "off");
  }
  if (args[0] != "on" && args[0] != "off") {
    return InvalidArgument("sluice/kernel-forwarding: \"{}\": expected on or off", args[0]);
  }
  manager.SetKernelForwarding(args[0] == "on");
  return std::string();
}

}  // namespace

void RegisterKernelCommands(UnixctlServer& server, DatapathManager& manager) {
  auto bind = [&manager](auto* function) {
    return [&manager, function](const UnixctlArgs& args) { return function(manager, args); };
  };
  server.Register("sluice/kernel-flows", "[dp]", 0, 1, bind(ShowKernelFlows));
  server.Register("sluice/kernel-forwarding", "[on|off]", 0, 1, bind(SwitchKernelForwarding));
}

}  // namespace sluice
