// appctl: sends one command to a running daemon and prints the answer, with the options, messages and exit codes of
// ovs-appctl(8): 0 for an answer, 1 if there was none, 2 if the daemon answered with an error.

#include <getopt.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/io/daemon.h"
#include "lib/io/unixctl.h"
#include "lib/io/version.h"

namespace sluice {
namespace {

constexpr int kNoAnswer = 1;
constexpr int kErrorAnswer = 2;

struct Request {
  std::string target = "ovs-vswitchd";
  int timeout_seconds = 0;
  bool json = false;
  std::string command;
  std::vector<std::string> args;
};

constexpr option kLongOptions[] = {
    {"target", required_argument, nullptr, 't'}, {"timeout", required_argument, nullptr, 'T'},
    {"format", required_argument, nullptr, 'f'}, {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},      {nullptr, 0, nullptr, 0},
};

constexpr const char* kHelp =
    "appctl, for querying and controlling a running switch\n"
    "usage: appctl [TARGET] COMMAND [ARG...]\n"
    "Targets:\n"
    "  -t, --target=TARGET  pidfile or socket to contact (default: ovs-vswitchd)\n"
    "Common commands:\n"
    "  list-commands      List commands supported by the target\n"
    "  version            Print version of the target\n"
    "  vlog/list          List current logging levels\n"
    "  vlog/list-pattern  List logging patterns for each destination.\n"
    "  vlog/set [SPEC]\n"
    "      Set log levels as detailed in SPEC, which may include:\n"
    "      A valid module name (all modules, by default)\n"
    "      'syslog', 'console', 'file' (all destinations, by default)\n"
    "      'off', 'emer', 'err', 'warn', 'info', or 'dbg' ('dbg', by default)\n"
    "  vlog/reopen        Make the program reopen its log file\n"
    "Other options:\n"
    "  -T, --timeout=SECS  wait at most SECS seconds for a response\n"
    "  -f, --format=FMT    output as 'text' (default) or 'json'\n"
    "  -h, --help          Print this helpful information\n"
    "  -V, --version       Display version information\n";

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "appctl: %s\n", message.c_str());
  std::exit(kNoAnswer);
}

int ParseTimeout(std::string_view text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds <= 0) {
    Fail(fmt::format("value {} on -T or --timeout is invalid; expected a number of seconds above 0", text));
  }
  return seconds;
}

bool ParseFormat(std::string_view text) {
  if (text != "json" && text != "text") {
    Fail(fmt::format("value {} on -f or --format is invalid; expected json or text", text));
  }
  return text == "json";
}

// "+": the command's own options, after its name, are not ours.
Request ParseCommandLine(int argc, char** argv) {
  Request request;
  int choice;
  while ((choice = getopt_long(argc, argv, "+t:T:f:hV", kLongOptions, nullptr)) != -1) {
    switch (choice) {
      case 't':
        request.target = optarg;
        break;
      case 'T':
        request.timeout_seconds = ParseTimeout(optarg);
        break;
      case 'f':
        request.json = ParseFormat(optarg);
        break;
      case 'h':
        std::fputs(kHelp, stdout);
        std::exit(EXIT_SUCCESS);
      case 'V':
        std::printf("appctl (Sluice) %s\n", std::string(kVersion).c_str());
        std::exit(EXIT_SUCCESS);
      default:
        std::exit(kNoAnswer);  // getopt_long has said what is wrong
    }
  }
  if (optind >= argc) {
    Fail("at least one non-option argument is required (use --help for help)");
  }
  request.command = argv[optind];
  request.args.assign(argv + optind + 1, argv + argc);
  return request;
}

// A target is a socket's path, or a daemon's name that its pid file in the run directory leads to the socket.
std::string SocketPath(const std::string& target) {
  if (target.starts_with('/')) {
    return target;
  }
  const absl::StatusOr<pid_t> pid = ReadPidFile(fmt::format("{}/{}.pid", RunDir(), target));
  if (!pid.ok()) {
    Fail(Message(pid.status()));
  }
  return fmt::format("{}/{}.{}.ctl", RunDir(), target, *pid);
}

void PrintLine(std::FILE* stream, const std::string& text) {
  std::fputs(text.c_str(), stream);
  if (!text.empty() && text.back() != '\n') {
    std::fputc('\n', stream);
  }
}

int Main(int argc, char** argv) {
  const Request request = ParseCommandLine(argc, argv);
  const absl::StatusOr<UnixctlAnswer> answer = UnixctlClient::Call(SocketPath(request.target), request.command,
                                                                   request.args, request.timeout_seconds, request.json);
  if (!answer.ok()) {
    Fail(Message(answer.status()));
  }
  PrintLine(answer->is_error ? stderr : stdout, answer->text);
  if (answer->is_error) {
    std::fprintf(stderr, "appctl: %s: server returned an error\n", request.target.c_str());
    return kErrorAnswer;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
