#include "utilities/vsctl/options.h"

#include <absl/strings/numbers.h>
#include <getopt.h>

#include <cstdlib>

#include "lib/base/log.h"
#include "lib/io/daemon.h"
#include "lib/io/tls_options.h"
#include "utilities/vsctl/suggest.h"

namespace sluice::vsctl {
namespace {

// getopt_long's results: a global option is kGlobal plus its index, a command's own option kOwn plus its.
constexpr int kGlobal = 0x1000;
constexpr int kOwn = 0x2000;

}  // namespace

const std::vector<GlobalOption>& GlobalOptions() {
  static const std::vector<GlobalOption> kOptions = {
      {"db", true, 0},
      {"no-syslog", false, 0},
      {"no-wait", false, 0},
      {"dry-run", false, 0},
      {"oneline", false, 0},
      {"timeout", true, 't'},
      {"retry", false, 0},
      {"help", false, 'h'},
      {"commands", false, 0},
      {"options", false, 0},
      {"leader-only", false, 0},
      {"no-leader-only", false, 0},
      {"shuffle-remotes", false, 0},
      {"no-shuffle-remotes", false, 0},
      {"version", false, 'V'},
      {"verbose", true, 'v'},
      {"log-file", true, 0},
      {"syslog-method", true, 0},
      {"syslog-target", true, 0},
      {"format", true, 'f'},
      {"data", true, 'd'},
      {"no-headings", false, 0},
      {"pretty", false, 0},
      {"bare", false, 0},
      {"max-column-width", true, 0},
      {"private-key", true, 'p'},
      {"certificate", true, 'c'},
      {"ca-cert", true, 'C'},
      {"ssl-protocols", true, 0},
      {"ssl-ciphers", true, 0},
      {"bootstrap-ca-cert", true, 0},
      {"peer-ca-cert", true, 0},
  };
  return kOptions;
}

namespace {

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments), own_(AllCommandOptions()) {
    line_.options.remotes = {fmt::format("unix:{}/db.sock", RunDir())};
    if (const char* seconds = std::getenv("OVS_CTL_TIMEOUT")) default_timeout_ = seconds;
  }

  absl::StatusOr<CommandLine> Run() {
    if (!default_timeout_.empty()) SLUICE_RETURN_IF_ERROR(SetTimeout(default_timeout_));
    std::vector<char*> argv = {program_};
    for (std::string& argument : arguments_) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int argc = static_cast<int>(argv.size()) - 1;
    const std::vector<option> longs = LongOptions();
    optind = 0;  // starts anew
    opterr = 0;
    int choice;
    while (!line_.answer &&
           (choice = getopt_long(argc, argv.data(), "+:t:hVv::f:d:p:c:C:", longs.data(), nullptr)) != -1) {
      SLUICE_RETURN_IF_ERROR(Take(choice, argv[static_cast<size_t>(optind) - 1]));
    }
    if (line_.answer) return std::move(line_);
    const std::vector<std::string> words(argv.begin() + optind, argv.begin() + argc);
    absl::StatusOr<std::vector<Invocation>> invocations = ParseCommands(words, std::move(own_options_));
    if (!invocations.ok()) return invocations.status();
    line_.invocations = *std::move(invocations);
    return std::move(line_);
  }

 private:
  std::vector<option> LongOptions() {
    std::vector<option> longs;
    for (size_t i = 0; i < GlobalOptions().size(); ++i) {
      const GlobalOption& global = GlobalOptions()[i];
      const std::string_view name = global.name;
      const bool optional = name == "verbose" || name == "log-file";
      longs.push_back({global.name,
                       !global.takes_value ? no_argument
                       : optional          ? optional_argument
                                           : required_argument,
                       nullptr, global.letter != 0 ? global.letter : kGlobal + static_cast<int>(i)});
    }
    // The first command's options may stand among ours.
    int index = 0;
    for (const auto& [name, takes_value] : own_) {
      longs.push_back({name.c_str() + 2, takes_value ? required_argument : no_argument, nullptr, kOwn + index++});
    }
    longs.push_back({});
    return longs;
  }

  absl::Status Take(int choice, const std::string& word) {
    const std::string value = optarg == nullptr ? "" : optarg;
    if (choice == '?') return Unrecognized(word);
    if (choice == ':') return InvalidArgument("option '{}' requires an argument", word);
    if (choice >= kOwn) {
      auto own = std::next(own_.begin(), choice - kOwn);
      const auto [place, added] = own_options_.try_emplace(own->first);
      if (!added) return InvalidArgument("'{}' option specified multiple times", own->first);
      if (own->second) place->second = value;
      return absl::OkStatus();
    }
    for (size_t i = 0; i < GlobalOptions().size(); ++i) {
      const GlobalOption& global = GlobalOptions()[i];
      if (choice == (global.letter != 0 ? global.letter : kGlobal + static_cast<int>(i))) {
        return TakeGlobal(global.name, value);
      }
    }
    return Unrecognized(word);
  }

  absl::Status Unrecognized(const std::string& word) {
    if (!word.starts_with("--")) return InvalidArgument("invalid option -- '{}'", static_cast<char>(optopt));
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    for (const GlobalOption& global : GlobalOptions()) known.push_back(fmt::format("--{}", global.name));
    for (const auto& [own, unused] : own_) known.push_back(own);
    if (optopt != 0) return InvalidArgument("option '{}' doesn't allow an argument", name);
    return InvalidArgument("unrecognized option '{}'{}", name, DidYouMean(name, known));
  }

  absl::Status SetTimeout(const std::string& text) {
    uint32_t seconds = 0;
    if (!absl::SimpleAtoi(text, &seconds)) return InvalidArgument("value {} on -t or --timeout is invalid", text);
    line_.options.timeout_seconds = seconds;
    return absl::OkStatus();
  }

  absl::Status SetRemotes(const std::string& text) {
    line_.options.remotes.clear();
    size_t start = 0;
    while (start <= text.size()) {
      const size_t comma = std::min(text.find(',', start), text.size());
      if (comma > start) line_.options.remotes.push_back(text.substr(start, comma - start));
      start = comma + 1;
    }
    if (line_.options.remotes.empty()) return InvalidArgument("--db needs a server, as in --db=unix:/run/db.sock");
    return absl::OkStatus();
  }

  absl::Status SetColumnWidth(const std::string& text) {
    uint32_t width = 0;
    if (!absl::SimpleAtoi(text, &width)) return InvalidArgument("--max-column-width={}: expected a number", text);
    line_.options.style.max_column_width = width;
    return absl::OkStatus();
  }

  absl::Status TakeGlobal(std::string_view name, const std::string& value) {
    Options& options = line_.options;
    if (name == "db") return SetRemotes(value);
    if (name == "timeout") return SetTimeout(value);
    if (name == "format") return options.style.SetFormat(value);
    if (name == "data") return options.style.SetData(value);
    if (name == "max-column-width") return SetColumnWidth(value);
    if (name == "verbose") return LogSetLevels(value);
    if (name == "log-file") return LogSetFile(value.empty() ? LogDir() + "/vsctl.log" : value);
    if (name == "no-syslog") return LogSetLevels("syslog:warn");
    if (name == "no-wait") options.wait = false;
    if (name == "dry-run") options.dry_run = true;
    if (name == "oneline") options.oneline = true;
    if (name == "retry") options.retry = true;
    if (name == "no-headings") options.style.headings = false;
    if (name == "pretty") options.style.pretty = true;
    if (name == "bare") {
      options.style.format = TableStyle::Format::kList;
      options.style.data = TableStyle::Data::kBare;
      options.style.headings = false;
    }
    if (name == "help") line_.answer = HelpText();
    if (name == "version") line_.answer = VersionText();
    if (name == "commands") line_.answer = CommandsText();
    if (name == "options") line_.answer = OptionsText();
    for (const option& tls : kTlsLongOptions) {
      if (name == tls.name) TakeTlsOption(tls.val, value.c_str(), &options.tls);
    }
    // --leader-only and its like are about clusters, whose members the client tries in turn; syslog options about a
    // syslog that we do not choose. Both are accepted for the sake of scripts.
    return absl::OkStatus();
  }

  char program_[6] = "vsctl";
  std::vector<std::string> arguments_;
  const std::map<std::string, bool> own_;
  std::map<std::string, std::optional<std::string>> own_options_;
  std::string default_timeout_;
  CommandLine line_;
};

// The words between two "--".
absl::StatusOr<Invocation> ParseCommand(const std::vector<std::string>& words,
                                        std::map<std::string, std::optional<std::string>> options) {
  Invocation invocation;
  invocation.options = std::move(options);
  size_t next = 0;
  for (; next < words.size() && words[next].starts_with('-'); ++next) {
    const size_t equals = words[next].find('=');
    const std::string option = words[next].substr(0, equals);
    const auto [place, added] = invocation.options.try_emplace(option);
    if (!added) return InvalidArgument("'{}' option specified multiple times", option);
    if (equals != std::string::npos) place->second = words[next].substr(equals + 1);
  }
  if (next == words.size()) return InvalidArgument("missing command name (use --help for help)");
  invocation.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return invocation;
}

absl::Status CheckOptions(const Invocation& invocation) {
  const std::string& name = invocation.argv[0];
  for (const auto& [option, value] : invocation.options) {
    bool takes_value = false;
    if (!FindOption(*invocation.command, option, &takes_value)) {
      std::vector<std::string> known;
      for (const auto& [own, unused] : AllCommandOptions()) {
        bool ignored = false;
        if (FindOption(*invocation.command, own, &ignored)) known.push_back(own);
      }
      return InvalidArgument("'{}' command has no '{}' option{}", name, option, DidYouMean(option, known));
    }
    if (takes_value && !value) {
      return InvalidArgument("missing argument to '{}' option on '{}' command", option, name);
    }
    if (!takes_value && value) {
      return InvalidArgument("'{}' option on '{}' does not accept an argument", option, name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArguments(const Invocation& invocation) {
  const Command& command = *invocation.command;
  const auto count = static_cast<int>(invocation.argv.size()) - 1;
  if (count < command.min_args) {
    return InvalidArgument("'{}' command requires at least {} arguments", command.name, command.min_args);
  }
  if (count <= command.max_args) return absl::OkStatus();
  const std::string message = fmt::format("'{}' command takes at most {} arguments", command.name, command.max_args);
  for (const std::string& word : invocation.argv) {
    if (word.starts_with("--")) {
      return InvalidArgument("{} (note that options must precede command names and follow a \"--\" argument)", message);
    }
  }
  return InvalidArgument("{}", message);
}

absl::Status Resolve(Invocation& invocation) {
  const std::string& name = invocation.argv[0];
  invocation.command = FindCommand(name);
  if (invocation.command == nullptr) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.emplace_back(command.name);
    return InvalidArgument("unknown command '{}'; use --help for help{}", name, DidYouMean(name, names));
  }
  SLUICE_RETURN_IF_ERROR(CheckOptions(invocation));
  return CheckArguments(invocation);
}

}  // namespace

absl::StatusOr<std::vector<Invocation>> ParseCommands(const std::vector<std::string>& words,
                                                      std::map<std::string, std::optional<std::string>> options) {
  std::vector<Invocation> invocations;
  size_t start = 0;
  for (size_t i = 0; i <= words.size(); ++i) {
    if (i < words.size() && words[i] != "--") continue;
    if (i > start) {
      const std::vector<std::string> between(words.begin() + static_cast<std::ptrdiff_t>(start),
                                             words.begin() + static_cast<std::ptrdiff_t>(i));
      absl::StatusOr<Invocation> invocation = ParseCommand(between, std::exchange(options, {}));
      if (!invocation.ok()) return invocation.status();
      SLUICE_RETURN_IF_ERROR(Resolve(*invocation));
      invocations.push_back(*std::move(invocation));
    }
    start = i + 1;
  }
  if (invocations.empty()) return InvalidArgument("missing command name (use --help for help)");
  return invocations;
}

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  return Parser(arguments).Run();
}

}  // namespace sluice::vsctl
