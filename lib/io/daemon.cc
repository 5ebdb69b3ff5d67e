#include "lib/io/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/base/log.h"

namespace sluice {

namespace {

LogModule log_module("daemon");

// Crashes closer together than this are not restarted at once, so that a daemon that cannot run does not spin.
constexpr unsigned kRestartPauseSeconds = 10;

DaemonizeOptions active;
int ready_pipe = -1;  // the write end, while someone waits for us

std::string FromEnvironment(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

int ExitCode(int wait_status) { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_FAILURE; }

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool IsCrash(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    return false;
  }
  switch (WTERMSIG(wait_status)) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGXCPU:
    case SIGXFSZ:
      return true;
    default:
      return false;
  }
}

// The original process: waits until the daemon is ready, or dies with it.
[[noreturn]] void WaitUntilReady(int pipe_fd, pid_t child) {
  char byte;
  ssize_t length;
  do {
    length = read(pipe_fd, &byte, 1);
  } while (length < 0 && errno == EINTR);
  if (length == 1) {
    _exit(EXIT_SUCCESS);
  }
  const int status = WaitFor(child);
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "the daemon died while starting: signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
  }
  // Exit code 0 without the byte would claim that a daemon is running.
  _exit(ExitCode(status) == EXIT_SUCCESS ? EXIT_FAILURE : ExitCode(status));
}

// The monitor: returns in each daemon that it starts, ends with the last one.
absl::Status Monitor() {
  while (true) {
    const pid_t daemon = fork();
    if (daemon < 0) {
      return ErrnoStatus(errno, "--monitor: fork");
    }
    if (daemon == 0) {
      return absl::OkStatus();
    }
    if (ready_pipe >= 0) {
      close(std::exchange(ready_pipe, -1));
    }
    const int status = WaitFor(daemon);
    if (!IsCrash(status)) {
      _exit(ExitCode(status));
    }
    SLUICE_LOG(log_module, kErr, "process {} died, killed by {}; starting it again in {} s", daemon,
               strsignal(WTERMSIG(status)), kRestartPauseSeconds);
    sleep(kRestartPauseSeconds);
  }
}

}  // namespace

std::string RunDir() { return FromEnvironment("OVS_RUNDIR", "/run/openvswitch"); }
std::string LogDir() { return FromEnvironment("OVS_LOGDIR", "/var/log/openvswitch"); }
std::string DbDir() { return FromEnvironment("OVS_DBDIR", (FromEnvironment("OVS_SYSCONFDIR", "/etc") + "/openvswitch").c_str()); }

absl::Status EnsureDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("directory {}: cannot create it", path));
  }
  return absl::OkStatus();
}

absl::Status DaemonizeStart(const DaemonizeOptions& options) {
  active = options;
  if (!options.detach) {
    return options.monitor ? Monitor() : absl::OkStatus();
  }
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "--detach: pipe");
  }
  const pid_t child = fork();
  if (child < 0) {
    return ErrnoStatus(errno, "--detach: fork");
  }
  if (child > 0) {
    close(pipe_fds[1]);
    WaitUntilReady(pipe_fds[0], child);
  }
  close(pipe_fds[0]);
  ready_pipe = pipe_fds[1];
  setsid();
  return options.monitor ? Monitor() : absl::OkStatus();
}

void DaemonizeComplete() {
  if (!active.detach) {
    return;
  }
  if (ready_pipe >= 0) {
    // If the parent is gone, nobody needs to know.
    [[maybe_unused]] const ssize_t written = write(ready_pipe, "", 1);
    close(std::exchange(ready_pipe, -1));
  }
  if (active.chdir && chdir("/") != 0) {
    SLUICE_LOG(log_module, kWarn, "cannot change to directory /: {}", std::strerror(errno));
  }
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (int fd = 0; fd <= 2; ++fd) {
      dup2(null, fd);
    }
    if (null > 2) {
      close(null);
    }
  }
}

}  // namespace sluice
