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
}

}  // namespace sluice
