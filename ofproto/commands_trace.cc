// ofproto/trace: what would become of a packet.

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "lib/base/status.h"
#include "ofproto/ofport_text.h"
#include "ofproto/commands.h"
#include "ofproto/trace_flow.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// A datapath port number that no port has.
constexpr uint32_t kNowhere = UINT32_MAX;

struct Trace {
  std::string bridge;
  FlowKey key;
  std::string in_port;  // as printed
  bool known_port = true;
  bool generate = false;  // a packet is made, and what it teaches is learned
};

// "3", "p3" or "LOCAL" of the bridge; nullptr if there is no such port.
const XPort* FindInPort(const XBridge& bridge, const Topology& topology, const std::string& text) {
  uint16_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    auto port = bridge.by_ofport.find(number);
    return port == bridge.by_ofport.end() ? nullptr : port->second;
  }
  if (text == "LOCAL" || text == "local") return bridge.local;
  return topology.FindPort(bridge, text);
}

absl::Status ReadOpenflowFlow(Switch::Impl& the_switch, const std::string& text, Trace& trace) {
  const Topology& topology = the_switch.topology();
  const XBridge* bridge = topology.FindBridge(trace.bridge);
  auto flow = ParseTraceFlow(text);
  if (!flow.ok()) return flow.status();
  trace.key = flow->key;
  const XPort* port = FindInPort(*bridge, topology, flow->in_port);
  trace.known_port = port != nullptr;
  trace.key.in_port = kNowhere;
  trace.in_port = flow->in_port.empty() ? "0" : flow->in_port;
  if (port == nullptr) return absl::OkStatus();
  if (port->is_patch) {
    return InvalidArgument("in_port={}: {} is a patch port: trace from the port where packets come in", flow->in_port,
                           port->name);
  }
  trace.key.in_port = port->dp_port;
  trace.in_port = OfportText(port->ofport);
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
  trace.in_port = OfportText(port->second->ofport);
  return absl::OkStatus();
}

// "[dpname] odp_flow" or "bridge flow", and -generate anywhere.
absl::StatusOr<Trace> ReadTrace(Switch::Impl& the_switch, const UnixctlArgs& args) {
  Trace trace;
  std::vector<std::string> words;
  for (const std::string& word : args.positional) {
    if (word == "-generate" || word == "--generate") {
      trace.generate = true;
    } else {
      words.push_back(word);
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
  return trace;
}

std::string UnknownPortReport(const Trace& trace) {
  const std::string heading = fmt::format("bridge(\"{}\")", trace.bridge);
  return fmt::format(
      "\n{}\n{}\n 0. priority 0\n    NORMAL\n     >>>> received packet on unknown port {} <<<<\n"
      "     >> no input bundle, dropping\n",
      heading, std::string(heading.size(), '-'), trace.in_port);
}

absl::StatusOr<std::string> RunTrace(Switch::Impl& the_switch, const UnixctlArgs& args) {
  auto trace = ReadTrace(the_switch, args);
  if (!trace.ok()) return trace.status();
  std::string report;
  XlateOut out = Translate({.topology = the_switch.topology(),
                            .key = trace->key,
                            .learn = trace->generate,
                            .now = MacTable::Clock::now(),
                            .report = [&report](int, const std::string& line) { report += line + "\n"; }});
  if (!trace->known_port) report = UnknownPortReport(*trace);
  if (trace->generate) the_switch.MacsChanged();
  const std::string flow = FormatTraceFlow(trace->key, trace->in_port);
  const std::string megaflow = FormatMegaflow(ApplyMask(trace->key, out.wildcards), out.wildcards, trace->in_port);
  const std::string actions = FormatActions(out.actions, {});
  if (args.json) {
    return Json{{"bridge", trace->bridge}, {"flow", flow},       {"report", report},
                {"megaflow", megaflow},    {"actions", actions}, {"drop_reason", out.drop_reason}}
        .dump();
  }
  return fmt::format("Flow: {}\n{}\nFinal flow: unchanged\nMegaflow: {}\nDatapath actions: {}\n", flow, report,
                     megaflow, actions);
}

}  // namespace

void RegisterTraceCommands(UnixctlServer& server, Switch::Impl& the_switch) {
  server.Register("ofproto/trace", "{[dp_name] odp_flow | bridge br_flow} [-generate]", 1, 3,
                  [&the_switch](const UnixctlArgs& args) { return RunTrace(the_switch, args); });
}

}  // namespace sluice
