// vsctl: queries and changes the configuration of a running switch, with the commands, output and exit codes of
// ovs-vsctl(8).

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "lib/base/log.h"
#include "utilities/vsctl/options.h"
#include "utilities/vsctl/session.h"

namespace sluice::vsctl {
namespace {

constexpr int kFailure = 1;

// Dies of the signal, as ovs-vsctl does, so that scripts see that it was the time.
void OnAlarm(int signal_number) {
  constexpr char kMessage[] = "vsctl: terminating with signal 14 (Alarm clock)\n";
  // Nothing can be done about an error here.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// The process that started us, for the database's log: " (invoked by bash)".
std::string Invoker() {
  std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
  std::string name;
  return std::getline(file, name) && !name.empty() ? fmt::format(" (invoked by {})", name) : "";
}

std::string QuotedLine(const std::vector<std::string>& arguments) {
  std::string line = "vsctl";
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n\"'\\$*") == std::string::npos;
    line += plain ? " " + argument : " \"" + argument + "\"";
  }
  return line;
}

int Main(int argc, char** argv) {
  // What goes well is not worth a word on the terminal.
  if (const absl::Status status = LogSetLevels("console:warn"); !status.ok()) return kFailure;
  if (const absl::Status status = LogSetLevels("reconnect:console:err"); !status.ok()) return kFailure;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  absl::StatusOr<CommandLine> command_line = ParseCommandLine(arguments);
  if (!command_line.ok()) {
    std::fprintf(stderr, "vsctl: %s\n", Message(command_line.status()).c_str());
    return kFailure;
  }
  if (command_line->answer) {
    std::fputs(command_line->answer->c_str(), stdout);
    return std::fflush(stdout) == 0 ? EXIT_SUCCESS : kFailure;
  }
  if (command_line->options.timeout_seconds != 0) {
    std::signal(SIGALRM, OnAlarm);
    alarm(command_line->options.timeout_seconds);
  }
  std::signal(SIGPIPE, SIG_IGN);
  const std::string line = QuotedLine(arguments);
  return Session(*std::move(command_line), fmt::format("vsctl{}: {}", Invoker(), line)).Run();
}

}  // namespace
}  // namespace sluice::vsctl

int main(int argc, char** argv) { return sluice::vsctl::Main(argc, argv); }
