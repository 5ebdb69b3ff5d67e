// dpctl: flows, in the text of ovs-dpctl(8).

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/commands.h"
#include "datapath/flow_line.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

uint64_t MonotonicMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// "[ufid:..., ]MATCH" as dump-flows prints it.
struct FlowSpec {
  std::optional<Ufid> ufid;
  std::optional<Match> match;
};

absl::StatusOr<FlowSpec> ParseFlowSpec(std::string_view text, const PortNames& names) {
  FlowSpec spec;
  constexpr std::string_view kPrefix = "ufid:";
  if (text.starts_with(kPrefix)) {
    size_t end = text.find_first_of(", ");
    auto ufid = ParseUfid(text.substr(0, end));
    if (!ufid.ok()) return ufid.status();
    spec.ufid = *ufid;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty()) return spec;
  }
  auto match = ParseMatch(text, names);
  if (!match.ok()) return match.status();
  spec.match = *match;
  return spec;
}

// Numbers are always understood; names where the datapath has such a port.
PortNames PrintNames(const Datapath& datapath, bool as_names) {
  return as_names ? datapath.MakePortNames() : PortNames{};
}

// Packets as Open vSwitch counts them, a super-packet as one; `with_frames` adds the wire frames that they stand for.
std::string StatsText(const FlowStats& stats, bool with_frames) {
  std::string used = "never";
  if (stats.last_used_ms > 0) {
    uint64_t now = MonotonicMilliseconds();
    uint64_t age = now > stats.last_used_ms ? now - stats.last_used_ms : 0;
    used = fmt::format("{}.{:03}s", age / 1000, age % 1000);
  }
  std::string flags;
  if (stats.tcp_flags != 0) flags = ", flags:" + FormatTcpFlagLetters(static_cast<uint16_t>(stats.tcp_flags.Get()));
  std::string frames;
  if (with_frames) frames = fmt::format("frames:{}, ", stats.wire_frames.Get());
  return fmt::format("packets:{}, {}bytes:{}, used:{}{}", stats.packets.Get(), frames, stats.bytes.Get(), used, flags);
}

Json FlowJson(const DpFlow& flow, const PortNames& names) {
  FlowStats stats = flow.TotalStats();
  return {{"ufid", FormatUfid(flow.ufid())},
          {"match", FormatMatch(flow.match(), names)},
          {"actions", FormatActions(flow.actions(), names)},
          {"packets", stats.packets.Get()},
          {"wire_frames", stats.wire_frames.Get()},
          {"bytes", stats.bytes.Get()},
          {"last_used_ms", stats.last_used_ms.Get()},
          {"tcp_flags", stats.tcp_flags.Get()}};
}

// The common start of the commands that take a flow and actions.
struct FlowCommand {
  CommandLine line;
  Datapath* datapath = nullptr;
  FlowSpec spec;
  ActionList actions;
};

absl::StatusOr<FlowCommand> ParseFlowCommand(DatapathManager& manager, const UnixctlArgs& args, bool with_actions) {
  auto line =
      ParseCommandLine(args, {"statistics,s", "may-create", "clear", "read-only", "more,m", "names", "no-names"});
  if (!line.ok()) return line.status();
  FlowCommand command{.line = *std::move(line)};
  auto datapath = TakeDatapath(manager, command.line);
  if (!datapath.ok()) return datapath.status();
  command.datapath = *datapath;
  size_t expected = with_actions ? 2 : 1;
  if (command.line.words.size() != expected) {
    return InvalidArgument("expected {}, got {} words", with_actions ? "FLOW ACTIONS" : "FLOW",
                           command.line.words.size());
  }
  PortNames names = command.datapath->MakePortNames();
  auto spec = ParseFlowSpec(command.line.words[0], names);
  if (!spec.ok()) return spec.status();
  command.spec = *std::move(spec);
  if (with_actions) {
    auto actions = ParseActions(command.line.words[1], names);
    if (!actions.ok()) return actions.status();
    command.actions = *std::move(actions);
  }
  return command;
}

absl::Status ModifyFlow(FlowTable& flows, const FlowCommand& command) {
  bool clear = command.line.Has("clear");
  return command.spec.ufid ? flows.ModifyByUfid(*command.spec.ufid, command.actions, clear)
                           : flows.Modify(*command.spec.match, command.actions, clear);
}

absl::StatusOr<std::string> AddFlow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParseFlowCommand(manager, args, true);
  if (!command.ok()) return command.status();
  if (!command->spec.match) return InvalidArgument("a new flow needs a match, not only its ufid");
  const Match& match = *command->spec.match;
  FlowTable& flows = command->datapath->flows();
  auto flow = flows.Insert(match, command->actions, command->spec.ufid.value_or(FlowTable::MakeUfid(match)));
  if (!flow.ok()) return flow.status();
  return std::string();
}

absl::StatusOr<std::string> ModFlow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParseFlowCommand(manager, args, true);
  if (!command.ok()) return command.status();
  absl::Status status = ModifyFlow(command->datapath->flows(), *command);
  if (absl::IsNotFound(status) && command->line.Has("may-create")) return AddFlow(manager, args);
  if (!status.ok()) return status;
  return std::string();
}

absl::StatusOr<std::string> DelFlow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParseFlowCommand(manager, args, false);
  if (!command.ok()) return command.status();
  FlowTable& flows = command->datapath->flows();
  auto stats = command->spec.ufid ? flows.RemoveByUfid(*command->spec.ufid) : flows.Remove(*command->spec.match);
  if (!stats.ok()) return stats.status();
  return command->line.Has("statistics") ? StatsText(*stats, false) + "\n" : std::string();
}

absl::StatusOr<std::string> DelFlows(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  if (!line->words.empty()) {
    return InvalidArgument(
        "dpctl/del-flows: unexpected \"{}\": it removes all flows of a datapath; dpctl/del-flow "
        "removes one",
        line->words[0]);
  }
  (*datapath)->flows().Clear();
  return std::string();
}

absl::StatusOr<std::string> GetFlow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParseFlowCommand(manager, args, false);
  if (!command.ok()) return command.status();
  PortNames names = PrintNames(*command->datapath, command->line.Has("names"));
  std::string text;
  command->datapath->flows().ForEach([&](DpFlow& flow) {
    bool same = command->spec.ufid ? flow.ufid() == *command->spec.ufid
                                   : flow.key() == command->spec.match->key && flow.mask() == command->spec.match->mask;
    if (same)
      text = args.json ? FlowJson(flow, names).dump() : FormatFlowLine(flow, names, command->line.Has("more")) + "\n";
  });
  if (text.empty()) {
    return NotFound("{} has no flow {}: dpctl/dump-flows -m lists them", FullName(*command->datapath),
                    command->line.words[0]);
  }
  return text;
}

absl::StatusOr<std::string> DumpFlows(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"more,m", "names", "no-names"});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  if (!line->words.empty()) return InvalidArgument("dpctl/dump-flows: unexpected \"{}\"", line->words[0]);
  PortNames names = PrintNames(**datapath, line->Has("names"));
  std::vector<std::string> lines;
  Json json = Json::array();
  (*datapath)->flows().ForEach([&](DpFlow& flow) {
    if (args.json) {
      json.push_back(FlowJson(flow, names));
    } else {
      lines.push_back(FormatFlowLine(flow, names, line->Has("more")) + "\n");
    }
  });
  if (args.json) return json.dump();
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& flow_line : lines) text += flow_line;
  return text;
}

}  // namespace

std::string FormatFlowLine(const DpFlow& flow, const PortNames& names, bool more) {
  return fmt::format("{}{}, {}, actions:{}", more ? FormatUfid(flow.ufid()) + ", " : "",
                     FormatMatch(flow.match(), names), StatsText(flow.TotalStats(), more),
                     FormatActions(flow.actions(), names));
}

std::string FormatFlowJson(const DpFlow& flow, const PortNames& names) { return FlowJson(flow, names).dump(); }

void RegisterFlowCommands(UnixctlServer& server, DatapathManager& manager) {
  constexpr int kAny = UnixctlServer::kAnyNumber;
  auto bind = [&manager](auto* function) {
    return [&manager, function](const UnixctlArgs& args) { return function(manager, args); };
  };
  server.Register("dpctl/add-flow", "[dp] flow actions", 2, kAny, bind(AddFlow));
  server.Register("dpctl/mod-flow", "[--may-create] [--clear] [dp] flow actions", 2, kAny, bind(ModFlow));
  server.Register("dpctl/del-flow", "[-s] [dp] flow", 1, kAny, bind(DelFlow));
  server.Register("dpctl/del-flows", "[dp]", 0, 1, bind(DelFlows));
  server.Register("dpctl/get-flow", "[-m] [--names] [dp] flow", 1, kAny, bind(GetFlow));
  server.Register("dpctl/dump-flows", "[-m] [--names] [dp]", 0, kAny, bind(DumpFlows));
}

}  // namespace sluice
