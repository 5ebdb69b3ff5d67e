// vswitchd: reads its options, becomes a daemon, and serves until told to end.

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/base/log.h"
#include "lib/io/daemon.h"
#include "lib/io/version.h"
#include "vswitchd/daemon.h"
#include "vswitchd/options.h"

namespace sluice {
namespace {

LogModule log_module("vswitchd");

absl::Status SetUpLog(const Options& options) {
  for (const std::string& spec : options.log_levels) {
    SLUICE_RETURN_IF_ERROR(LogSetLevels(spec));
  }
  if (options.log_file.empty()) {
    return absl::OkStatus();
  }
  SLUICE_RETURN_IF_ERROR(EnsureDirectory(options.log_file.substr(0, options.log_file.rfind('/'))));
  return LogSetFile(options.log_file);
}

// The database alone serves a thousand clients, and each port has sockets of its own.
void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

// Runs the daemon to its end, in the process that stays.
absl::Status Serve(const Options& options) {
  PidFile pid_file;
  if (!options.pid_file.empty()) {
    absl::StatusOr<PidFile> created = PidFile::Create(options.pid_file, options.overwrite_pid_file);
    if (!created.ok()) {
      return created.status();
    }
    pid_file = *std::move(created);
  }
  // After the last fork: memory locks do not pass to a child.
  if (options.mlockall && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    SLUICE_LOG(log_module, kErr, "--mlockall: mlockall failed: {}", std::strerror(errno));
  }
  RaiseFileLimit();
  Daemon daemon;
  SLUICE_LOG(log_module, kInfo, "{}", kVersionLine);
  SLUICE_RETURN_IF_ERROR(daemon.Start(options, DaemonizeComplete));
  daemon.Run();
  return absl::OkStatus();
}

absl::Status Main(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  SLUICE_RETURN_IF_ERROR(EnsureDirectory(RunDir()));
  SLUICE_RETURN_IF_ERROR(SetUpLog(options));
  SLUICE_RETURN_IF_ERROR(
      DaemonizeStart({.detach = options.detach, .monitor = options.monitor, .chdir = options.chdir}));
  return Serve(options);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  using sluice::Options;
  const absl::StatusOr<Options> options = sluice::ParseOptions(argc, argv);
  absl::Status status = options.status();
  if (options.ok()) {
    if (options->action == Options::Action::kShowHelp) {
      std::fputs(sluice::HelpText().c_str(), stdout);
      return EXIT_SUCCESS;
    }
    if (options->action == Options::Action::kShowVersion) {
      std::printf("%s\n", std::string(sluice::kVersionLine).c_str());
      return EXIT_SUCCESS;
    }
    status = sluice::Main(*options);
  }
  if (!status.ok()) {
    const std::string message = sluice::Message(status);
    std::fprintf(stderr, "vswitchd: %s\n", message.c_str());
    // The log too, for a start from a service manager; but the console has it now.
    if (sluice::LogSetLevels("any:console:off").ok()) {
      SLUICE_LOG(sluice::log_module, kEmer, "{}", message);
    }
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
