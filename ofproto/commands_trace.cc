// ofproto/trace, ofproto/trace-packet-out: what would become of a packet.

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "lib/base/rcu.h"
#include "lib/base/status.h"
#include "ofproto/commands.h"
#include "ofproto/port_names.h"
#include "ofproto/trace_flow.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// A datapath port number that no port has.
constexpr uint32_t kNowhere = UINT32_MAX;
// Packets that come round and round.
constexpr size_t kMaxRecirculations = 4096;

struct Trace {
  std::string bridge;
  FlowKey key;
  std::optional<OfFlow> pipeline;  // of a flow that was given in OpenFlow's words
  std::optional<OfActions> actions;
  bool generate = false;  // a packet is made, and what it teaches is learned
};

// One way through the tables; a packet that comes round takes several.
struct Told {
  std::string flow, report, final_flow, megaflow, actions, drop_reason;
  bool failed = false;
};

// Reading
// ------------------------------------------------------------------------------------------------------------------

// "0123abcd..." with blanks between bytes.
std::optional<std::string> ParseHex(std::string_view text) {
  std::string bytes;
  int digits = 0;
  unsigned byte = 0;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    const std::string_view all = "0123456789abcdef";
    const size_t digit = all.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    if (digit == std::string_view::npos) return std::nullopt;
    byte = byte << 4 | static_cast<unsigned>(digit);
    if (++digits % 2 == 0) bytes.push_back(static_cast<char>(byte));
  }
  if (digits % 2 != 0 || bytes.empty()) return std::nullopt;
  return bytes;
}

absl::Status ReadOpenflowFlow(Switch::Impl& the_switch, const std::string& text, Trace& trace) {
  const Topology& topology = the_switch.topology();
  const XBridge* bridge = topology.FindBridge(trace.bridge);
  auto flow = ParseTraceFlow(text, NamesOf(topology, trace.bridge));
  if (!flow.ok()) return flow.status();
  trace.key = flow->packet;
  auto port = bridge->by_ofport.find(static_cast<uint16_t>(flow->in_port));
  const bool has_device = port != bridge->by_ofport.end() && !port->second->is_patch;
  trace.key.in_port = has_device ? port->second->dp_port : kNowhere;
  trace.pipeline = *flow;
  return absl::OkStatus();
}

absl::Status ReadDatapathFlow(Switch::Impl& the_switch, const std::string& text, Trace& trace) {
  auto match = ParseMatch(text, the_switch.forwarding->datapath.MakePortNames());
  if (!match.ok()) return match.status();
  trace.key = match->key;
  const Topology& topology = the_switch.topology();
  auto port = topology.by_dp_port.find(trace.key.in_port);
  if (port == topology.by_dp_port.end()) {
    return NotFound("in_port({}): no bridge has a port of that number in the datapath", trace.key.in_port);
  }
  const std::string& bridge = port->second->bundle->bridge->name;
  if (!trace.bridge.empty() && trace.bridge != bridge) {
    return InvalidArgument("in_port({}): the port is in bridge {}, not in {}", trace.key.in_port, bridge, trace.bridge);
  }
  trace.bridge = bridge;
  return absl::OkStatus();
}

// A packet's own fields instead of the flow's.
absl::Status ReadPacket(Switch::Impl& the_switch, const std::string& frame, Trace& trace) {
  absl::StatusOr<FlowKey> key = the_switch.frames.Parse(frame);
  if (!key.ok()) return key.status();
  key->in_port = trace.key.in_port;
  key->recirc_id = trace.key.recirc_id;
  key->dp_hash = trace.key.dp_hash;
  key->skb_mark = trace.key.skb_mark;
  key->skb_priority = trace.key.skb_priority;
  trace.key = *key;
  trace.generate = true;
  return absl::OkStatus();
}

struct Words {
  std::vector<std::string> words;
  bool generate = false;
};
absl::StatusOr<Words> ReadOptions(std::string_view command, const UnixctlArgs& args) {
  Words result;
  for (const std::string& word : args.positional) {
    if (word == "-generate" || word == "--generate") {
      result.generate = true;
    } else if (word == "--ct-next") {
      return InvalidArgument("{}: --ct-next: there is no connection tracking", command);
    } else if (word == "-consistent" || word == "--consistent") {
      continue;
    } else if (word.size() > 1 && word[0] == '-') {
      return InvalidArgument("{}: unknown option", word);
    } else {
      result.words.push_back(word);
    }
  }
  return result;
}

// "[dpname] odp_flow [packet]" or "bridge flow [packet]".
absl::StatusOr<Trace> ReadTrace(Switch::Impl& the_switch, std::vector<std::string> words, bool generate) {
  Trace trace{.generate = generate};
  std::optional<std::string> frame;
  if (!generate && words.size() > 1) {
    frame = ParseHex(words.back());
    if (frame) {
      words.pop_back();
    } else if (words.size() > 2) {
      return InvalidArgument("Trailing garbage in packet data");
    }
  }
  if (words.empty() || words.size() > 2) {
    return InvalidArgument("ofproto/trace: expected a bridge and a flow, or a flow as dpif/dump-flows prints it");
  }
  const std::string& flow = words.back();
  const bool is_datapath_flow = flow.find('(') != std::string::npos;
  if (words.size() == 2 && the_switch.bridges.contains(words[0])) {
    trace.bridge = words[0];
  } else if (words.size() == 2) {
    const bool is_ours = is_datapath_flow && the_switch.forwarding != nullptr &&
                         (words[0] == FullName(the_switch.forwarding->datapath) || words[0] == Switch::Impl::kDatapath);
    if (!is_ours) return NotFound("{}: unknown bridge", words[0]);
  } else if (!is_datapath_flow) {
    return NotFound("{}: unknown bridge", words[0]);
  }
  if (the_switch.forwarding == nullptr) return FailedPrecondition("there is no bridge");
  SLUICE_RETURN_IF_ERROR(is_datapath_flow ? ReadDatapathFlow(the_switch, flow, trace)
                                          : ReadOpenflowFlow(the_switch, flow, trace));
  if (frame) SLUICE_RETURN_IF_ERROR(ReadPacket(the_switch, *frame, trace));
  return trace;
}

// Tracing
// ------------------------------------------------------------------------------------------------------------------

Told TellOne(Switch::Impl& the_switch, const Trace& trace, const FlowKey& key, const XlateStart* start,
             std::vector<XlateOut>& outs) {
  std::deque<TraceNode> nodes;
  XlateOut out = Translate({.topology = the_switch.topology(),
                            .key = key,
                            .learn = trace.generate,
                            .now = MacTable::Clock::now(),
                            .trace = &nodes,
                            .ids = &the_switch.state.ids,
                            .start = start});
  Told told{.flow = FormatTraceFlow(out.first_flow),
            .report = FormatTrace(nodes),
            .final_flow = out.first_flow == out.final_flow ? "unchanged" : FormatTraceFlow(out.final_flow),
            .megaflow = FormatMegaflow(out.first_flow, out.of_wildcards),
            .actions = FormatActions(out.actions, PortNames{}),
            .drop_reason = out.drop_reason,
            .failed = out.failed};
  outs.push_back(std::move(out));
  return told;
}

// What the recirculations lead to too.
std::vector<std::pair<uint32_t, Told>> TellAll(Switch::Impl& the_switch, const Trace& trace) {
  RcuThread rcu;
  std::vector<XlateOut> outs;
  std::vector<std::pair<uint32_t, Told>> told;
  std::deque<XlateOut::Recirculation> waiting;
  auto tell = [&](uint32_t id, const FlowKey& key, const XlateStart* start) {
    told.emplace_back(id, TellOne(the_switch, trace, key, start, outs));
    for (const auto& recirculation : outs.back().recirculations) waiting.push_back(recirculation);
  };
  const XBridge* bridge = the_switch.topology().FindBridge(trace.bridge);
  if ((trace.pipeline || trace.actions) && bridge != nullptr) {
    OfFlow pipeline = trace.pipeline.value_or(OfFlow{});
    if (!trace.pipeline) {
      auto port = the_switch.topology().by_dp_port.find(trace.key.in_port);
      if (port != the_switch.topology().by_dp_port.end()) pipeline.in_port = port->second->ofport;
    }
    pipeline.actset_output = kOfpUnset;
    XlateStart start{.bridge = *bridge, .pipeline = pipeline, .actions = trace.actions ? &*trace.actions : nullptr};
    tell(0, trace.key, &start);
  } else {
    tell(0, trace.key, nullptr);
  }
  while (!waiting.empty() && told.size() < kMaxRecirculations) {
    const XlateOut::Recirculation next = waiting.front();
    waiting.pop_front();
    tell(next.id, next.key, nullptr);
  }
  return told;
}

std::string Text(const Told& told) {
  std::string text = fmt::format("Flow: {}\n{}\nFinal flow: {}\nMegaflow: {}\nDatapath actions: {}\n", told.flow,
                                 told.report, told.final_flow, told.megaflow, told.actions);
  if (told.failed) text += fmt::format("Translation failed ({}), packet is dropped.\n", told.drop_reason);
  return text;
}

std::string Answer(Switch::Impl& the_switch, const Trace& trace, bool json) {
  const auto all = TellAll(the_switch, trace);
  if (trace.generate) the_switch.MacsChanged();
  const std::string line(79, '=');
  std::string text;
  Json array = Json::array();
  for (const auto& [id, told] : all) {
    if (id != 0) text += fmt::format("\n{}\nrecirc({:#x})\n{}\n\n", line, id, line);
    text += Text(told);
    array.push_back({{"bridge", trace.bridge},
                     {"recirc_id", id},
                     {"flow", told.flow},
                     {"report", told.report},
                     {"final_flow", told.final_flow},
                     {"megaflow", told.megaflow},
                     {"actions", told.actions},
                     {"drop_reason", told.drop_reason}});
  }
  if (!json) return text;
  Json first = array.front();
  array.erase(array.begin());
  if (!array.empty()) first["recirculations"] = std::move(array);
  return first.dump();
}

absl::StatusOr<std::string> RunTrace(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto words = ReadOptions("ofproto/trace", args);
  if (!words.ok()) return words.status();
  auto trace = ReadTrace(the_switch, std::move(words->words), words->generate);
  if (!trace.ok()) return trace.status();
  return Answer(the_switch, *trace, args.json);
}

absl::StatusOr<std::string> RunTracePacketOut(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto words = ReadOptions("ofproto/trace-packet-out", args);
  if (!words.ok()) return words.status();
  if (words->words.size() < 2) return InvalidArgument("ofproto/trace-packet-out: expected a flow and actions");
  const std::string text = words->words.back();
  words->words.pop_back();
  auto trace = ReadTrace(the_switch, std::move(words->words), words->generate);
  if (!trace.ok()) return trace.status();
  auto actions = ParseActions(text, NamesOf(the_switch.topology(), trace->bridge));
  if (!actions.ok()) return InvalidArgument("Bad actions: {}", Message(actions.status()));
  trace->actions = *std::move(actions);
  return Answer(the_switch, *trace, args.json);
}

}  // namespace

void RegisterTraceCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  server.Register("ofproto/trace", "{[dp_name] odp_flow | bridge br_flow} [OPTIONS...] [-generate|packet]", 1, 8,
                  [&the_switch](const UnixctlArgs& args) { return RunTrace(the_switch, args); });
  server.Register("ofproto/trace-packet-out",
                  "[-consistent] {[dp_name] odp_flow | bridge br_flow} [OPTIONS...] [-generate|packet] actions", 2, 8,
                  [&the_switch](const UnixctlArgs& args) { return RunTracePacketOut(the_switch, args); });
}

}  // namespace sluice
