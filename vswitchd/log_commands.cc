#include "vswitchd/log_commands.h"

#include <fstream>

#include "lib/base/coverage.h"
#include "lib/base/log.h"

namespace sluice {

namespace {

absl::StatusOr<std::string> VlogSet(const UnixctlArgs& args) {
  for (const std::string& spec : args.positional) {
    SLUICE_RETURN_IF_ERROR(LogSetLevels(spec));
  }
  return std::string();
}

absl::StatusOr<std::string> VlogReopen(const UnixctlArgs&) {
  SLUICE_RETURN_IF_ERROR(LogReopen());
  return std::string();
}

absl::StatusOr<std::string> CoverageReadCounter(const UnixctlArgs& args) {
  const auto total = CoverageRead(args[0]);
  if (!total) {
    return NotFound("No such counter");
  }
  return fmt::format("{}\n", *total);
}

// The number of kilobytes after `key` in /proc/self/status, 0 if there is none.
uint64_t StatusKilobytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == key) {
      uint64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  }
  return 0;
}

// In the name:value form of Open vSwitch's memory/show.
absl::StatusOr<std::string> MemoryShow(const UnixctlArgs& args) {
  const uint64_t peak = StatusKilobytes("VmHWM:");
  const uint64_t resident = StatusKilobytes("VmRSS:");
  if (args.json) {
    return fmt::format(R"({{"peak-rss-kb":{},"rss-kb":{}}})", peak, resident);
  }
  return fmt::format("peak-rss-kb:{} rss-kb:{}\n", peak, resident);
}

}  // namespace

void RegisterLogCommands(UnixctlServer& server) {
  server.Register("vlog/set", "{spec}", 1, UnixctlServer::kAnyNumber, VlogSet);
  server.Register("vlog/list", "", 0, 0, [](const UnixctlArgs&) -> absl::StatusOr<std::string> { return LogList(); });
  server.Register("vlog/list-pattern", "", 0, 0,
                  [](const UnixctlArgs&) -> absl::StatusOr<std::string> { return LogListPattern(); });
  server.Register("vlog/reopen", "", 0, 0, VlogReopen);
  server.Register("coverage/show", "", 0, 0,
                  [](const UnixctlArgs&) -> absl::StatusOr<std::string> { return CoverageShow(); });
  server.Register("coverage/read-counter", "counter", 1, 1, CoverageReadCounter);
  server.Register("memory/show", "", 0, 0, MemoryShow);
}

}  // namespace sluice
