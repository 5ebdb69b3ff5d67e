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

// What came into the bridge: wire frames and bytes.
struct Received {
  uint64_t frames = 0;
  uint64_t bytes = 0;
};
Received ReceivedBy(const Switch::Impl& the_switch, std::string_view bridge) {
  Received received;
  for (const auto& [name, interface] : the_switch.ports.interfaces()) {
    if (interface.bridge != bridge || !interface.works()) continue;
    if (interface.is_patch()) {
      received.frames += interface.patch_counters->rx_packets;
      received.bytes += interface.patch_counters->rx_bytes;
    } else if (const Port* port = the_switch.ports.DatapathPort(interface)) {
      PortStats stats = port->Stats();
      received.frames += stats.rx.frames;
      received.bytes += stats.rx.bytes;
    }
  }
  return received;
}

// Without flow tables a bridge has one flow, or none if it is secure.
absl::StatusOr<std::string> DumpFlows(Switch::Impl& the_switch, const UnixctlArgs& args) {
  const bool offload = args[0] == "--offload-stats";
  if (args.size() != (offload ? 2 : 1)) return InvalidArgument("bridge/dump-flows: expected [--offload-stats] bridge");
  auto bridge = FindBridge(the_switch, args[offload ? 1 : 0]);
  if (!bridge.ok()) return NotFound("Unknown bridge");
  if ((*bridge)->config().secure) return std::string();
  Received received = ReceivedBy(the_switch, (*bridge)->name());
  auto age = std::chrono::duration_cast<std::chrono::seconds>(MacTable::Clock::now() - (*bridge)->made());
  return fmt::format("duration={}s, n_packets={}, n_bytes={}, {}priority=0,actions=NORMAL\n", age.count(),
                     received.frames, received.bytes, offload ? "n_offload_packets=0, n_offload_bytes=0, " : "");
}

// No bridge has controllers yet: there is nothing to connect.
absl::StatusOr<std::string> Reconnect(Switch::Impl& the_switch, const UnixctlArgs& args) {
  if (!args.empty() && !FindBridge(the_switch, args[0]).ok()) return NotFound("Unknown bridge");
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
