// dpif-netdev: PMD threads, their load and who polls what.

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "datapath/command_line.h"
#include "datapath/commands.h"
#include "lib/base/cycle_clock.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// What one thread did since its statistics were cleared.
struct PmdReport {
  int core;
  uint64_t turns, busy_turns, busy_cycles, idle_cycles, sleep_cycles, sleeps, packets, bursts;
  uint64_t recirculations, cache_hits, table_hits, misses, upcall_cycles, batches;

  uint64_t total_cycles() const { return busy_cycles + idle_cycles + sleep_cycles; }
};

PmdReport MakeReport(const Datapath::Pmd& pmd) {
  const PmdThread::Counters& now = pmd.thread->counters();
  const PmdThread::Counters& then = pmd.cleared;
  const Pipeline::Counters& pipe_now = pmd.thread->pipeline_counters();
  const Pipeline::Counters& pipe_then = pmd.pipeline_cleared;
  return {.core = pmd.thread->core(),
          .turns = now.turns - then.turns,
          .busy_turns = now.busy_turns - then.busy_turns,
          .busy_cycles = now.busy_cycles - then.busy_cycles,
          .idle_cycles = now.idle_cycles - then.idle_cycles,
          .sleep_cycles = now.sleep_cycles - then.sleep_cycles,
          .sleeps = now.sleeps - then.sleeps,
          .packets = now.packets - then.packets,
          .bursts = now.bursts - then.bursts,
          .recirculations = pipe_now.recirculations - pipe_then.recirculations,
          .cache_hits = pipe_now.cache_hits - pipe_then.cache_hits,
          .table_hits = pipe_now.table_hits - pipe_then.table_hits,
          .misses = pipe_now.misses - pipe_then.misses,
          .upcall_cycles = pipe_now.upcall_cycles - pipe_then.upcall_cycles,
          .batches = pipe_now.batches - pipe_then.batches};
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
double Percent(uint64_t part, uint64_t whole) { return 100 * Ratio(part, whole); }

std::string ThreadHeading(int core) { return fmt::format("pmd thread numa_id 0 core_id {}:\n", core); }

Json ReportJson(const PmdReport& report) {
  return {{"core_id", report.core},
          {"iterations", report.turns},
          {"busy_iterations", report.busy_turns},
          {"sleeps", report.sleeps},
          {"busy_cycles", report.busy_cycles},
          {"idle_cycles", report.idle_cycles},
          {"sleep_cycles", report.sleep_cycles},
          {"cycles_per_second", CyclesPerSecond()},
          {"packets_received", report.packets},
          {"bursts", report.bursts},
          {"recirculations", report.recirculations},
          {"cache_hits", report.cache_hits},
          {"megaflow_hits", report.table_hits},
          {"misses", report.misses},
          {"upcall_cycles", report.upcall_cycles},
          {"flow_batches", report.batches}};
}

std::string StatsText(const PmdReport& report) {
  uint64_t passes = report.packets + report.recirculations;
  uint64_t looked_up = report.cache_hits + report.table_hits + report.misses;
  std::string text = ThreadHeading(report.core);
  text += fmt::format("  packets received: {}\n", report.packets);
  text += fmt::format("  packet recirculations: {}\n", report.recirculations);
  text += fmt::format("  avg. datapath passes per packet: {:.2f}\n", Ratio(passes, report.packets));
  text += fmt::format("  emc hits: {}\n", report.cache_hits);
  text += fmt::format("  megaflow hits: {}\n", report.table_hits);
  text += fmt::format("  miss with success upcall: {}\n", report.misses);
  text += fmt::format("  avg. packets per receive call: {:.2f}\n", Ratio(report.packets, report.bursts));
  text += fmt::format("  avg. packets per flow batch: {:.2f}\n", Ratio(looked_up, report.batches));
  uint64_t awake = report.busy_cycles + report.idle_cycles;
  text += fmt::format("  idle cycles: {} ({:.2f}%)\n", report.idle_cycles, Percent(report.idle_cycles, awake));
  text += fmt::format("  processing cycles: {} ({:.2f}%)\n", report.busy_cycles, Percent(report.busy_cycles, awake));
  if (report.packets > 0) {
    text +=
        fmt::format("  avg cycles per packet: {:.2f} ({}/{})\n", Ratio(awake, report.packets), awake, report.packets);
    text += fmt::format("  avg processing cycles per packet: {:.2f} ({}/{})\n",
                        Ratio(report.busy_cycles, report.packets), report.busy_cycles, report.packets);
  }
  return text;
}

std::string PerfText(const PmdReport& report) {
  uint64_t total = report.total_cycles();
  std::string text = "\n" + ThreadHeading(report.core) + "\n";
  auto line = [&text](std::string_view label, std::string_view value, const std::string& remark) {
    text += fmt::format("  {:<22}{:>16}  ({})\n", label, value, remark);
  };
  line("Iterations:", std::to_string(report.turns),
       fmt::format("{:.2f} us/it",
                   1e6 * CyclesToSeconds(total) / std::max<double>(1, static_cast<double>(report.turns))));
  line("- busy iterations:", std::to_string(report.busy_turns),
       fmt::format("{:.1f} % of iterations", Percent(report.busy_turns, report.turns)));
  line("- sleep iterations:", std::to_string(report.sleeps),
       fmt::format("{:.1f} % of iterations", Percent(report.sleeps, report.turns)));
  line("Busy cycles:", std::to_string(report.busy_cycles),
       fmt::format("{:.1f} % of time", Percent(report.busy_cycles, total)));
  line("Idle cycles:", std::to_string(report.idle_cycles),
       fmt::format("{:.1f} % of time", Percent(report.idle_cycles, total)));
  line("Sleep time (us):", std::to_string(CyclesToNanoseconds(report.sleep_cycles) / 1000),
       fmt::format("{:.1f} % of time", Percent(report.sleep_cycles, total)));
  line("Rx packets:", std::to_string(report.packets),
       fmt::format("{:.0f} Kpps, {:.0f} cycles/pkt",
                   total == 0 ? 0.0 : static_cast<double>(report.packets) / CyclesToSeconds(total) / 1000,
                   Ratio(report.busy_cycles, report.packets)));
  line("Datapath passes:", std::to_string(report.packets + report.recirculations),
       fmt::format("{:.2f} passes/pkt", Ratio(report.packets + report.recirculations, report.packets)));
  uint64_t lookups = report.cache_hits + report.table_hits + report.misses;
  line("- EMC hits:", std::to_string(report.cache_hits), fmt::format("{:.1f} %", Percent(report.cache_hits, lookups)));
  line("- Megaflow hits:", std::to_string(report.table_hits),
       fmt::format("{:.1f} %", Percent(report.table_hits, lookups)));
  line(
      "- Upcalls:", std::to_string(report.misses),
      fmt::format(
          "{:.1f} %, {:.1f} us/upcall", Percent(report.misses, lookups),
          report.misses == 0 ? 0.0 : 1e6 * CyclesToSeconds(report.upcall_cycles) / static_cast<double>(report.misses)));
  line("Rx batches:", std::to_string(report.bursts),
       fmt::format("{:.2f} pkts/batch", Ratio(report.packets, report.bursts)));
  return text;
}

// Arguments "[-pmd core] [dp]" as Open vSwitch has them.
struct PmdCommand {
  Datapath* datapath = nullptr;
  std::optional<int> core;
  bool json = false;

  bool Selects(const Datapath::Pmd& pmd) const { return !core || pmd.thread->core() == core; }
};

absl::StatusOr<PmdCommand> ParsePmdCommand(DatapathManager& manager, const UnixctlArgs& args) {
  auto line = ParseCommandLine(args, {"pmd"});
  if (!line.ok()) return line.status();
  PmdCommand command{.json = args.json};
  if (line->Has("pmd")) {
    if (line->words.empty()) return InvalidArgument("-pmd: expected a core number");
    auto cores = CpuSet::FromList(line->words[0]);
    if (!cores.ok() || cores->size() != 1) {
      return InvalidArgument("-pmd {}: expected a core number", line->words[0]);
    }
    command.core = *cores->begin();
    line->words.erase(line->words.begin());
  }
  auto datapath = TakeDatapath(manager, *line);
  if (!datapath.ok()) return datapath.status();
  if (!line->words.empty()) return InvalidArgument("unexpected \"{}\": expected [-pmd core] [dp]", line->words[0]);
  command.datapath = *datapath;
  if (command.core) {
    const auto& pmds = command.datapath->pmds();
    if (std::none_of(pmds.begin(), pmds.end(), [&](const auto& pmd) { return command.Selects(pmd); })) {
      return NotFound("{} has no PMD thread on core {}", FullName(*command.datapath), *command.core);
    }
  }
  return command;
}

absl::StatusOr<std::string> ShowReports(DatapathManager& manager, const UnixctlArgs& args, const std::string& heading,
                                        std::string (*format)(const PmdReport&)) {
  auto command = ParsePmdCommand(manager, args);
  if (!command.ok()) return command.status();
  Json json = Json::array();
  std::string text = heading;
  for (const auto& pmd : command->datapath->pmds()) {
    if (!command->Selects(pmd)) continue;
    PmdReport report = MakeReport(pmd);
    json.push_back(ReportJson(report));
    text += format(report);
  }
  return args.json ? json.dump() : text;
}

absl::StatusOr<std::string> StatsShow(DatapathManager& manager, const UnixctlArgs& args) {
  return ShowReports(manager, args, "", StatsText);
}

absl::StatusOr<std::string> PerfShow(DatapathManager& manager, const UnixctlArgs& args) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm broken_down;
  localtime_r(&now.tv_sec, &broken_down);
  return ShowReports(manager, args,
                     fmt::format("\nTime: {:02}:{:02}:{:02}.{:03}\n", broken_down.tm_hour, broken_down.tm_min,
                                 broken_down.tm_sec, now.tv_nsec / 1'000'000),
                     PerfText);
}

absl::StatusOr<std::string> StatsClear(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParsePmdCommand(manager, args);
  if (!command.ok()) return command.status();
  command->datapath->ClearPmdStats();
  return std::string();
}

struct PolledBy {
  std::string port;
  uint32_t queue;
  uint64_t cycles;
  bool enabled;
};

std::vector<PolledBy> QueuesOf(const Datapath& datapath, const PmdThread& thread) {
  std::vector<PolledBy> queues;
  for (const auto& [number, port] : datapath.ports()) {
    for (const auto& rxq : port->rxqs()) {
      if (rxq->thread != &thread) continue;
      queues.push_back({.port = port->name(),
                        .queue = rxq->polled.queue,
                        .cycles = rxq->history.Recent(rxq->polled.busy_cycles),
                        .enabled = port->netdev().state().present});
    }
  }
  return queues;
}

absl::StatusOr<std::string> RxqShow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParsePmdCommand(manager, args);
  if (!command.ok()) return command.status();
  Datapath& datapath = *command->datapath;
  Json json = Json::array();
  std::string text = "Displaying last 60 seconds pmd usage %\n";
  for (size_t i = 0; i < datapath.pmds().size(); ++i) {
    const Datapath::Pmd& pmd = datapath.pmds()[i];
    if (!command->Selects(pmd)) continue;
    const PmdThread::Counters& counters = pmd.thread->counters();
    uint64_t total = datapath.RecentCycles();
    uint64_t idle = pmd.idle.Recent(counters.idle_cycles);
    text += ThreadHeading(pmd.thread->core());
    text += fmt::format("  isolated : {}\n", datapath.IsIsolated(i));
    Json queues = Json::array();
    for (const PolledBy& queue : QueuesOf(datapath, *pmd.thread)) {
      text += fmt::format("  port: {:<16}  queue-id: {:>2} ({})  pmd usage: {:>2.0f} %\n", queue.port, queue.queue,
                          queue.enabled ? "enabled" : "disabled", Percent(queue.cycles, total));
      queues.push_back({{"port", queue.port},
                        {"queue", queue.queue},
                        {"enabled", queue.enabled},
                        {"usage_percent", Percent(queue.cycles, total)}});
    }
    text += fmt::format("  overhead: {:>2.0f} %\n", Percent(idle, total));
    json.push_back({{"core_id", pmd.thread->core()},
                    {"isolated", datapath.IsIsolated(i)},
                    {"overhead_percent", Percent(idle, total)},
                    {"rxqs", queues}});
  }
  return args.json ? json.dump() : text;
}

absl::StatusOr<std::string> RxqRebalance(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParsePmdCommand(manager, args);
  if (!command.ok()) return command.status();
  size_t moved = command->datapath->Rebalance();
  if (args.json) return Json{{"moved", moved}}.dump();
  return fmt::format("pmd rxq rebalance requested.\n{} receive queue{} moved.\n", moved, moved == 1 ? "" : "s");
}

absl::StatusOr<std::string> SleepShow(DatapathManager& manager, const UnixctlArgs& args) {
  auto command = ParsePmdCommand(manager, args);
  if (!command.ok()) return command.status();
  Json json = Json::array();
  std::string text = "PMD threads sleep until a packet arrives as soon as all their queues are empty.\n";
  for (const auto& pmd : command->datapath->pmds()) {
    if (!command->Selects(pmd)) continue;
    PmdReport report = MakeReport(pmd);
    uint64_t microseconds = CyclesToNanoseconds(report.sleep_cycles) / 1000;
    text += ThreadHeading(report.core);
    text += fmt::format("  sleeps: {}\n  time asleep: {} us ({:.1f} %)\n", report.sleeps, microseconds,
                        Percent(report.sleep_cycles, report.total_cycles()));
    json.push_back({{"core_id", report.core}, {"sleeps", report.sleeps}, {"sleep_microseconds", microseconds}});
  }
  return args.json ? json.dump() : text;
}

}  // namespace

void RegisterPmdCommands(UnixctlServer& server, DatapathManager& manager) {
  constexpr int kMost = 3;
  auto bind = [&manager](auto* function) {
    return [&manager, function](const UnixctlArgs& args) { return function(manager, args); };
  };
  server.Register("dpif-netdev/pmd-stats-show", "[-pmd core] [dp]", 0, kMost, bind(StatsShow));
  server.Register("dpif-netdev/pmd-stats-clear", "[-pmd core] [dp]", 0, kMost, bind(StatsClear));
  server.Register("dpif-netdev/pmd-perf-show", "[-pmd core] [dp]", 0, kMost, bind(PerfShow));
  server.Register("dpif-netdev/pmd-rxq-show", "[-pmd core] [dp]", 0, kMost, bind(RxqShow));
  server.Register("dpif-netdev/pmd-rxq-rebalance", "[dp]", 0, 1, bind(RxqRebalance));
  server.Register("dpif-netdev/pmd-sleep-show", "[dp]", 0, 1, bind(SleepShow));
}

}  // namespace sluice
