// Logging by module, with Open vSwitch's levels, destinations and line format (ovs-appctl(8), vlog/set).
//
//   static LogModule log_module("netdev");        // at namespace scope, one per .cc; the same name may be used by many
//   SLUICE_LOG(log_module, kInfo, "port {}: opened", name);
//   SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "port {}: short packet", name);   // at most 5 a minute from here
//
// A message below the module's levels costs one relaxed load. Not for the per-packet path. Any thread may log; a line
// is written whole. The three destinations are the console (standard error), syslog and the log file; each has a level
// per module. At start the console takes what is at least info, syslog at least info, and the file (once
// LogSetFile gave one) at least info. A line in the file reads
//
//   2026-11-30T16:00:00.123Z|00001|netdev|INFO|port p0: opened
//
// the number counting messages since start, with "(thread name)" after the module in threads that have one.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {

// Ordered: a destination at level L takes messages of a level <= L.
enum class LogLevel : int { kOff, kEmer, kErr, kWarn, kInfo, kDbg };
enum class LogDestination : int { kConsole, kSyslog, kFile };

namespace log_internal {
struct ModuleState;
}  // namespace log_internal

class LogModule {
 public:
  // Joins the module called `name` (a literal; letters, digits and _), creating it if it is the first of that name.
  explicit LogModule(const char* name);

  bool Enabled(LogLevel level) const { return static_cast<int>(level) <= threshold_->load(std::memory_order_relaxed); }

  // Writes one message to the destinations whose level admits it.
  void Write(LogLevel level, std::string_view text) const;

 private:
  log_internal::ModuleState* state_;
  const std::atomic<int>* threshold_;  // the highest level that some destination takes
};

// A token bucket: `per_minute` messages a minute on average, as many in one burst. What is suppressed is counted and
// told with the next message that passes. Thread-safe.
class LogRateLimiter {
 public:
  explicit constexpr LogRateLimiter(int per_minute) : per_minute_(per_minute) {}

  // True if a message may be written now; then `*suppressed` is the number of those refused since the last.
  bool Admit(uint64_t* suppressed);

 private:
  static constexpr uint64_t kNever = 0;

  const int per_minute_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  uint64_t last_fill_ms_ = kNever;  // monotonic, guarded by busy_
  uint64_t tokens_ = 0;             // in 1/60000 of a message, guarded by busy_
  std::atomic<uint64_t> suppressed_{0};
};

// "SPEC..." as vlog/set takes it: words separated by space, comma or colon in any order, each a module or "any", a
// destination ("console", "syslog", "file" or "any") or a level ("off", "emer", "err", "warn", "info", "dbg"). What is
// left out means any, any and dbg. Nothing is changed if a word is unknown; the error lists what is known.
absl::Status LogSetLevels(std::string_view spec);

// The tables that vlog/list and vlog/list-pattern print.
std::string LogList();
std::string LogListPattern();

// Opens (creates, appends to) the log file and sends messages there from now on.
absl::Status LogSetFile(const std::string& path);
// The file's name, "" if there is none.
std::string LogFileName();
// Closes and opens the file again, after log rotation moved it away.
absl::Status LogReopen();

// Names the calling thread in its messages ("pmd-c01"); the main thread has no name.
void LogSetThreadName(std::string name);

std::string_view LogLevelName(LogLevel level);  // "INFO"

}  // namespace sluice

#define SLUICE_LOG(module, level, ...)                                       \
  do {                                                                       \
    if ((module).Enabled(::sluice::LogLevel::level)) [[unlikely]] {          \
      (module).Write(::sluice::LogLevel::level, ::fmt::format(__VA_ARGS__)); \
    }                                                                        \
  } while (false)

#define SLUICE_LOG_RATE_LIMITED(module, level, per_minute, ...)                                      \
  do {                                                                                               \
    if ((module).Enabled(::sluice::LogLevel::level)) [[unlikely]] {                                  \
      static ::sluice::LogRateLimiter sluice_limiter(per_minute);                                    \
      uint64_t sluice_suppressed = 0;                                                                \
      if (sluice_limiter.Admit(&sluice_suppressed)) {                                                \
        if (sluice_suppressed > 0) {                                                                 \
          (module).Write(::sluice::LogLevel::level,                                                  \
                         ::fmt::format("dropped {} log messages like the next", sluice_suppressed)); \
        }                                                                                            \
        (module).Write(::sluice::LogLevel::level, ::fmt::format(__VA_ARGS__));                       \
      }                                                                                              \
    }                                                                                                \
  } while (false)
