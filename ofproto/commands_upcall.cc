// upcall/show and revalidator/*.

#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "lib/base/status.h"
#include "ofproto/commands.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// Long enough for any number of flows.
constexpr std::chrono::seconds kWait{10};

absl::StatusOr<std::string> Show(Switch::Impl& the_switch, const UnixctlArgs& args) {
  if (the_switch.forwarding == nullptr) return std::string(args.json ? "{}" : "");
  const Datapath& datapath = the_switch.forwarding->datapath;
  const Revalidator::Statistics statistics = the_switch.forwarding->revalidator.statistics();
  const size_t flows = the_switch.forwarding->datapath.flows().flow_count();
  const ForwardingState& state = the_switch.state;
  if (args.json) {
    return Json{{"datapath", FullName(datapath)},
                {"flows", flows},
                {"average_flows", static_cast<uint64_t>(statistics.average_flows)},
                {"max_flows", statistics.max_flows},
                {"flow_limit", state.flow_limit.load()},
                {"dump_duration_ms", statistics.last_pass.count()},
                {"passes", statistics.passes},
                {"removed", statistics.removed},
                {"modified", statistics.modified},
                {"upcalls", state.upcalls.load()},
                {"upcalls_over_limit", state.upcalls_over_limit.load()}}
        .dump();
  }
  return fmt::format(
      "{}:\n"
      "  flows         : (current {}) (avg {}) (max {}) (limit {})\n"
      "  dump duration : {}ms\n"
      "  ufid enabled : true\n"
      "\n"
      "  0: (keys {})\n",
      FullName(datapath), flows, static_cast<uint64_t>(statistics.average_flows), statistics.max_flows,
      state.flow_limit.load(), statistics.last_pass.count(), statistics.last_pass_flows);
}

absl::StatusOr<std::string> Wait(Switch::Impl& the_switch, const UnixctlArgs&) {
  if (the_switch.forwarding != nullptr && !the_switch.forwarding->revalidator.Revalidate(kWait)) {
    return ResourceExhausted("revalidator/wait: the pass is not at its end after {} s", kWait.count());
  }
  return std::string();
}

absl::StatusOr<std::string> Purge(Switch::Impl& the_switch, const UnixctlArgs&) {
  if (the_switch.forwarding != nullptr) the_switch.forwarding->revalidator.Purge();
  return std::string();
}

}  // namespace

void RegisterUpcallCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  auto bind = [&the_switch](auto* function) {
    return [&the_switch, function](const UnixctlArgs& args) { return function(the_switch, args); };
  };
  server.Register("upcall/show", "", 0, 0, bind(Show));
  server.Register("revalidator/wait", "", 0, 0, bind(Wait));
  server.Register("revalidator/purge", "", 0, 0, bind(Purge));
}

}  // namespace sluice
