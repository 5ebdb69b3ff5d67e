// dpctl: datapaths and their ports.

#include <charconv>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/commands.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// "NAME[,key=value]..." of add-if and set-if.
struct PortSpec {
  std::string name;
  NetdevOptions options;  // "type" and "port_no" taken out
  std::string type;
  std::optional<uint32_t> number;
};

absl::StatusOr<PortSpec> ParsePortSpec(const std::string& text) {
  PortSpec spec;
  size_t start = text.find(',');
  spec.name = text.substr(0, start);
  if (spec.name.empty()) return InvalidArgument("port \"{}\": expected NAME[,option=value]...", text);
  std::string* last_value = nullptr;
  while (start != std::string::npos) {
    size_t end = text.find(',', start + 1);
    std::string option = text.substr(start + 1, end == std::string::npos ? end : end - start - 1);
    start = end;
    size_t equals = option.find('=');
    if (equals == std::string::npos && last_value != nullptr && option.find(':') != std::string::npos) {
      *last_value += "," + option;  // a list in a value: pmd-rxq-affinity=0:1,1:2
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("port {}: \"{}\": expected option=value", spec.name, option);
    }
    last_value = &(spec.options[option.substr(0, equals)] = option.substr(equals + 1));
  }
  if (auto type = spec.options.extract("type")) spec.type = type.mapped();
  if (auto number = spec.options.extract("port_no")) {
    const std::string& value = number.mapped();
    uint32_t parsed = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size()) {
      return InvalidArgument("port {}: port_no={}: expected a number up to {}", spec.name, value, Datapath::kMaxPorts);
    }
    spec.number = parsed;
  }
  return spec;
}

absl::StatusOr<std::string> AddDp(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"may-create"});
  if (!line.ok()) return line.status();
  if (line->words.empty()) return InvalidArgument("dpctl/add-dp: expected a datapath, as in netdev@dp0");
  std::vector<PortSpec> specs;
  for (size_t i = 1; i < line->words.size(); ++i) {
    auto spec = ParsePortSpec(line->words[i]);
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  auto datapath = manager.Add(line->words[0]);
  if (!datapath.ok()) return datapath.status();
  for (const PortSpec& spec : specs) {
    auto number = manager.AddPort(**datapath, spec.name, spec.type, spec.options, spec.number);
    if (!number.ok()) {
      static_cast<void>(manager.Remove((*datapath)->name()));
      return number.status();
    }
  }
  return std::string();
}

absl::StatusOr<std::string> DelDp(DatapathManager& manager, const UnixctlArgs& args) {
  SLUICE_RETURN_IF_ERROR(manager.Remove(args[0]));
  return std::string();
}

absl::StatusOr<std::string> DumpDps(DatapathManager& manager, const UnixctlArgs& args) {
  Json names = Json::array();
  std::string text;
  for (const auto& [name, datapath] : manager.datapaths()) {
    names.push_back(FullName(*datapath));
    text += FullName(*datapath) + "\n";
  }
  return args.json ? names.dump() : text;
}

absl::StatusOr<std::string> AddIf(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  if (line->words.empty()) return InvalidArgument("dpctl/add-if: expected NAME[,option=value]...");
  std::vector<PortSpec> specs;
  for (const std::string& word : line->words) {
    auto spec = ParsePortSpec(word);
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  std::vector<uint32_t> added;
  for (const PortSpec& spec : specs) {
    auto number = manager.AddPort(**datapath, spec.name, spec.type, spec.options, spec.number);
    if (!number.ok()) {
      for (uint32_t port : added) static_cast<void>((*datapath)->RemovePort(port));
      return number.status();
    }
    added.push_back(*number);
  }
  return std::string();
}

absl::StatusOr<std::string> DelIf(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  std::set<uint32_t> numbers;
  for (const std::string& word : line->words) {
    auto port = FindPortByText(**datapath, word);
    if (!port.ok()) return port.status();
    numbers.insert((*port)->number());
  }
  if (numbers.empty()) return InvalidArgument("dpctl/del-if: expected the name or number of a port");
  for (uint32_t number : numbers) SLUICE_RETURN_IF_ERROR((*datapath)->RemovePort(number));
  return std::string();
}

absl::StatusOr<std::string> SetIf(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {});
  if (!line.ok()) return line.status();
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  if (line->words.size() != 1) return InvalidArgument("dpctl/set-if: expected one NAME,option=value...");
  auto spec = ParsePortSpec(line->words[0]);
  if (!spec.ok()) return spec.status();
  auto port = FindPortByText(**datapath, spec->name);
  if (!port.ok()) return port.status();
  std::string_view type = (*port)->netdev().type();
  if (!spec->type.empty() && spec->type != type) {
    return InvalidArgument("port {}: type={}: the port is of type {}; delete it and add it anew", spec->name,
                           spec->type, type);
  }
  if (spec->number && *spec->number != (*port)->number()) {
    return InvalidArgument("port {}: port_no={}: the port has number {}; delete it and add it anew", spec->name,
                           *spec->number, (*port)->number());
  }
  // What is not named keeps its value; an empty value takes an option back to its default.
  NetdevOptions options = (*port)->options();
  for (const auto& [key, value] : spec->options) {
    if (value.empty()) {
      options.erase(key);
    } else {
      options[key] = value;
    }
  }
  SLUICE_RETURN_IF_ERROR((*datapath)->SetPortOptions((*port)->number(), options));
  return std::string();
}

std::string OptionsText(const NetdevOptions& options) {
  std::string text;
  for (const auto& [key, value] : options) text += fmt::format("{}{}={}", text.empty() ? ": " : ", ", key, value);
  return text;
}

std::string PortStatsText(const Port& port) {
  PortStats stats = port.Stats();
  return fmt::format(
      "    RX packets:{} errors:0 dropped:{} overruns:0 frame:0\n"
      "    TX packets:{} errors:0 dropped:{} aborted:0 carrier:0\n"
      "    collisions:0\n"
      "    RX bytes:{}  TX bytes:{}\n"
      "    RX super-packets:{}  TX super-packets:{}\n",
      stats.rx.frames, TotalDrops(stats.rx_drops), stats.tx.frames, TotalDrops(stats.tx_drops), stats.rx.bytes,
      stats.tx.bytes, stats.rx.super_packets, stats.tx.super_packets);
}

Json PortJson(const Port& port) {
  NetdevState state = port.netdev().state();
  Json json{{"number", port.number()},   {"name", port.name()},      {"type", port.netdev().type()},
            {"options", port.options()}, {"present", state.present}, {"admin_up", state.admin_up},
            {"carrier", state.carrier},  {"mtu", state.mtu}};
  if (!state.error.empty()) json["error"] = state.error;
  return json;
}

std::string ShowText(Datapath& datapath, bool with_stats) {
  Datapath::Lookups lookups = datapath.CountLookups();
  std::string text =
      fmt::format("{}:\n  lookups: hit:{} missed:{} lost:0\n  flows: {}\n  masks: {}\n", FullName(datapath),
                  lookups.hit, lookups.missed, datapath.flows().flow_count(), datapath.flows().mask_count());
  for (const auto& [number, port] : datapath.ports()) {
    std::string error = port->netdev().state().error;
    text += fmt::format("  port {}: {} ({}{}){}{}\n", number, port->name(), port->netdev().type(),
                        OptionsText(port->options()), error.empty() ? "" : " error: ", error);
    if (with_stats) text += PortStatsText(*port);
  }
  return text;
}

Json ShowJson(Datapath& datapath) {
  Datapath::Lookups lookups = datapath.CountLookups();
  Json ports = Json::array();
  for (const auto& [number, port] : datapath.ports()) ports.push_back(PortJson(*port));
  return {{"name", FullName(datapath)},
          {"lookups", {{"hit", lookups.hit}, {"missed", lookups.missed}, {"lost", 0}}},
          {"flows", datapath.flows().flow_count()},
          {"masks", datapath.flows().mask_count()},
          {"ports", ports}};
}

absl::StatusOr<std::string> Show(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"statistics,s"});
  if (!line.ok()) return line.status();
  std::vector<Datapath*> shown;
  for (const std::string& word : line->words) {
    auto datapath = manager.Find(word);
    if (!datapath.ok()) return datapath.status();
    shown.push_back(*datapath);
  }
  if (line->words.empty()) {
    for (const auto& [name, datapath] : manager.datapaths()) shown.push_back(datapath.get());
  }
  Json json = Json::array();
  std::string text;
  for (Datapath* datapath : shown) {
    if (args.json) {
      json.push_back(ShowJson(*datapath));
    } else {
      text += ShowText(*datapath, line->Has("statistics"));
    }
  }
  return args.json ? json.dump() : text;
}

}  // namespace

void RegisterDpctlCommands(UnixctlServer& server, DatapathManager& manager) {
  constexpr int kAny = UnixctlServer::kAnyNumber;
  auto bind = [&manager](auto* function) {
    return [&manager, function](const UnixctlArgs& args) { return function(manager, args); };
  };
  server.Register("dpctl/add-dp", "dp [netdev[,option=value]...]...", 1, kAny, bind(AddDp));
  server.Register("dpctl/del-dp", "dp", 1, 1, bind(DelDp));
  server.Register("dpctl/dump-dps", "", 0, 0, bind(DumpDps));
  server.Register("dpctl/show", "[-s] [dp]...", 0, kAny, bind(Show));
  server.Register("dpctl/add-if", "[dp] netdev[,option=value]...", 1, kAny, bind(AddIf));
  server.Register("dpctl/del-if", "[dp] netdev...", 1, kAny, bind(DelIf));
  server.Register("dpctl/set-if", "[dp] netdev,option=value...", 1, 2, bind(SetIf));
}

}  // namespace sluice
