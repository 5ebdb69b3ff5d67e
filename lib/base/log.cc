#include "lib/base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <syslog.h>

#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice {

namespace log_internal {

struct ModuleState {
  std::string name;
  std::array<LogLevel, 3> levels{LogLevel::kInfo, LogLevel::kInfo, LogLevel::kInfo};  // by LogDestination
  std::atomic<int> threshold{static_cast<int>(LogLevel::kInfo)};
};

}  // namespace log_internal

namespace {

using log_internal::ModuleState;

constexpr std::array<std::string_view, 6> kLevelNames = {"off", "emer", "err", "warn", "info", "dbg"};
constexpr std::array<std::string_view, 6> kUpperLevelNames = {"OFF", "EMER", "ERR", "WARN", "INFO", "DBG"};
constexpr std::array<std::string_view, 3> kDestinationNames = {"console", "syslog", "file"};
constexpr size_t kConsole = static_cast<size_t>(LogDestination::kConsole);
constexpr size_t kSyslog = static_cast<size_t>(LogDestination::kSyslog);
constexpr size_t kFile = static_cast<size_t>(LogDestination::kFile);

// The identity that syslog shows before the message.
constexpr const char* kSyslogIdentity = "vswitchd";

thread_local std::string thread_name;

LogModule own_module("vlog");

// Everything that the modules share. The sinks are spdlog's unlocked ones: `mutex` serialises them, and with them the
// message numbers.
struct Logger {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<ModuleState>, std::less<>> modules;
  uint64_t message_count = 0;
  spdlog::sinks::stderr_sink_st console;
  std::unique_ptr<spdlog::sinks::syslog_sink_st> syslog;  // opened with the first message for it
  std::unique_ptr<spdlog::sinks::basic_file_sink_st> file;
  std::string file_path;

  Logger() { console.set_pattern("%v"); }
};

// Never destroyed: threads and destructors of statics may log while the process exits.
Logger& GetLogger() {
  static Logger* const logger = new Logger;
  return *logger;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kOff:
    case LogLevel::kEmer:
      return spdlog::level::critical;
    case LogLevel::kErr:
      return spdlog::level::err;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDbg:
      return spdlog::level::debug;
  }
  return spdlog::level::info;
}

// "2026-11-30T16:00:00.123Z", without the milliseconds on request.
std::string Timestamp(bool milliseconds) {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  return milliseconds ? fmt::format("{}.{:03}Z", text, since_epoch.count() % 1000) : fmt::format("{}Z", text);
}

void Emit(spdlog::sinks::sink& sink, LogLevel level, const std::string& line) {
  try {
    sink.log(spdlog::details::log_msg("", SpdlogLevel(level), line));
    sink.flush();
  } catch (const spdlog::spdlog_ex&) {
    // A full disk or a closed terminal: there is no better place to tell it, and logging never stops the switch.
  }
}

absl::StatusOr<std::unique_ptr<spdlog::sinks::basic_file_sink_st>> OpenFile(const std::string& path) {
  try {
    auto sink = std::make_unique<spdlog::sinks::basic_file_sink_st>(path);
    sink->set_pattern("%v");
    return sink;
  } catch (const spdlog::spdlog_ex& error) {
    return FailedPrecondition("log file {}: cannot open for appending: {}", path, error.what());
  }
}

template <size_t N>
std::optional<size_t> Find(const std::array<std::string_view, N>& names, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == word) {
      return i;
    }
  }
  return std::nullopt;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return lower;
}

void UpdateThreshold(ModuleState& module, bool have_file) {
  int threshold = 0;
  for (size_t i = 0; i < module.levels.size(); ++i) {
    if (i != kFile || have_file) {
      threshold = std::max(threshold, static_cast<int>(module.levels[i]));
    }
  }
  module.threshold.store(threshold, std::memory_order_relaxed);
}

struct LevelSpec {
  std::optional<std::string> module;
  std::optional<size_t> destination;
  std::optional<LogLevel> level;
};

// "any" is the default of module and destination; which of the two it stands for makes no difference.
absl::Status AddWord(const Logger& logger, std::string_view spec, const std::string& word, LevelSpec* parsed) {
  if (word == "any") {
    return absl::OkStatus();
  }
  const auto twice = [&](std::string_view what) {
    return InvalidArgument("log level \"{}\": more than one {}; expected MODULE:DESTINATION:LEVEL", spec, what);
  };
  if (const auto level = Find(kLevelNames, word)) {
    if (parsed->level) return twice("level");
    parsed->level = static_cast<LogLevel>(*level);
  } else if (const auto destination = Find(kDestinationNames, word)) {
    if (parsed->destination) return twice("destination");
    parsed->destination = destination;
  } else if (logger.modules.contains(word)) {
    if (parsed->module) return twice("module");
    parsed->module = word;
  } else {
    return InvalidArgument(
        "no destination, level, or module \"{}\"; expected console, syslog, file or any; off, emer, err, warn, info or "
        "dbg; or a module that vlog/list shows",
        word);
  }
  return absl::OkStatus();
}

// What users give (names, options) goes into messages: none of it may begin a line of its own.
std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= ' ' || c == '\t') {
      line += c;
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return line;
}

}  // namespace

LogModule::LogModule(const char* name) {
  Logger& logger = GetLogger();
  std::lock_guard lock(logger.mutex);
  auto& state = logger.modules[name];
  if (state == nullptr) {
    state = std::make_unique<ModuleState>();
    state->name = name;
  }
  state_ = state.get();
  threshold_ = &state->threshold;
}

void LogModule::Write(LogLevel level, std::string_view text) const {
  Logger& logger = GetLogger();
  std::lock_guard lock(logger.mutex);
  const auto wants = [&](size_t destination) { return level <= state_->levels[destination]; };
  const std::string_view level_name = kUpperLevelNames[static_cast<size_t>(level)];
  const std::string module = thread_name.empty() ? state_->name : fmt::format("{}({})", state_->name, thread_name);
  const std::string tail = fmt::format("{:05}|{}|{}|{}", ++logger.message_count, module, level_name, OneLine(text));
  if (wants(kConsole)) {
    Emit(logger.console, level, fmt::format("{}|{}", Timestamp(false), tail));
  }
  if (wants(kSyslog)) {
    if (logger.syslog == nullptr) {
      logger.syslog = std::make_unique<spdlog::sinks::syslog_sink_st>(kSyslogIdentity, LOG_NDELAY, LOG_DAEMON, false);
    }
    Emit(*logger.syslog, level, fmt::format("ovs|{}", tail));
  }
  if (logger.file != nullptr && wants(kFile)) {
    Emit(*logger.file, level, fmt::format("{}|{}", Timestamp(true), tail));
  }
}

bool LogRateLimiter::Admit(uint64_t* suppressed) {
  constexpr uint64_t kTokensPerMessage = 60'000;  // so that each millisecond adds per_minute_ tokens
  // A second thread that logs at this very moment is refused rather than made to wait.
  if (busy_.test_and_set(std::memory_order_acquire)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const uint64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  const uint64_t rate = static_cast<uint64_t>(per_minute_);
  const uint64_t capacity = rate * kTokensPerMessage;
  tokens_ = last_fill_ms_ == kNever ? capacity : std::min(capacity, tokens_ + (now - last_fill_ms_) * rate);
  last_fill_ms_ = now;
  const bool admitted = tokens_ >= kTokensPerMessage;
  if (admitted) {
    tokens_ -= kTokensPerMessage;
    *suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
  } else {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
  }
  busy_.clear(std::memory_order_release);
  return admitted;
}

absl::Status LogSetLevels(std::string_view spec) {
  Logger& logger = GetLogger();
  std::lock_guard lock(logger.mutex);
  LevelSpec parsed;
  for (size_t start = 0; start < spec.size();) {
    const size_t end = std::min(spec.find_first_of(" ,:", start), spec.size());
    const std::string word = Lower(spec.substr(start, end - start));
    if (word == "pattern" || word == "facility") {
      return InvalidArgument("log level \"{}\": the {} cannot be changed; expected MODULE:DESTINATION:LEVEL", spec,
                             word);
    }
    if (!word.empty()) {
      SLUICE_RETURN_IF_ERROR(AddWord(logger, spec, word, &parsed));
    }
    start = end + 1;
  }
  for (auto& [name, module] : logger.modules) {
    if (parsed.module && *parsed.module != name) {
      continue;
    }
    for (size_t i = 0; i < module->levels.size(); ++i) {
      if (!parsed.destination || *parsed.destination == i) {
        module->levels[i] = parsed.level.value_or(LogLevel::kDbg);
      }
    }
    UpdateThreshold(*module, logger.file != nullptr);
  }
  return absl::OkStatus();
}

std::string LogList() {
  Logger& logger = GetLogger();
  std::lock_guard lock(logger.mutex);
  std::string text =
      "                 console    syslog    file\n"
      "                 -------    ------    ------\n";
  const auto level = [](const ModuleState& module, size_t i) { return LogLevelName(module.levels[i]); };
  for (const auto& [name, module] : logger.modules) {
    text += fmt::format("{:<16}  {:>4}       {:>4}       {:>4}\n", name, level(*module, kConsole),
                        level(*module, kSyslog), level(*module, kFile));
  }
  return text;
}

std::string LogListPattern() {
  return "         prefix                            format\n"
         "         ------                            ------\n"
         "SYSLOG   <%B> %D{%h %e %T} %E %A:          ovs|%05N|%c%T|%p|%m\n"
         "CONSOLE  none                              %D{%Y-%m-%dT%H:%M:%SZ}|%05N|%c%T|%p|%m\n"
         "FILE     none                              %D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m\n";
}

absl::Status LogSetFile(const std::string& path) {
  auto file = OpenFile(path);
  if (!file.ok()) {
    return file.status();
  }
  Logger& logger = GetLogger();
  {
    std::lock_guard lock(logger.mutex);
    logger.file = *std::move(file);
    logger.file_path = path;
    for (auto& [name, module] : logger.modules) {
      UpdateThreshold(*module, true);
    }
  }
  SLUICE_LOG(own_module, kInfo, "opened log file {}", path);
  return absl::OkStatus();
}

std::string LogFileName() {
  Logger& logger = GetLogger();
  std::lock_guard lock(logger.mutex);
  return logger.file_path;
}

absl::Status LogReopen() {
  const std::string path = LogFileName();
  if (path.empty()) {
    return FailedPrecondition("no log file is configured; start with --log-file");
  }
  return LogSetFile(path);
}

void LogSetThreadName(std::string name) { thread_name = std::move(name); }

std::string_view LogLevelName(LogLevel level) { return kUpperLevelNames[static_cast<size_t>(level)]; }

}  // namespace sluice
