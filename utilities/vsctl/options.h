// The command line: global options, then commands separated by "--", each with its own options and arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/io/stream.h"
#include "utilities/vsctl/command.h"
#include "utilities/vsctl/table_format.h"

namespace sluice::vsctl {

struct Options {
  std::vector<std::string> remotes;  // default: unix:<run directory>/db.sock
  bool wait = true;
  bool dry_run = false;
  bool oneline = false;
  bool retry = false;
  unsigned timeout_seconds = 0;  // 0: for ever
  TableStyle style;
  TlsConfig tls;
};

struct CommandLine {
  Options options;
  std::vector<Invocation> invocations;
  // Print this and be done: --help, --version, --commands, --options.
  std::optional<std::string> answer;
};

// `arguments`: without the program's name. Not thread-safe (getopt). Sets log levels where the options say so.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

// The commands alone; `options` are those that preceded the first, among the global ones.
absl::StatusOr<std::vector<Invocation>> ParseCommands(const std::vector<std::string>& words,
                                                      std::map<std::string, std::optional<std::string>> options);

// help.cc
std::string HelpText();
std::string VersionText();
std::string CommandsText();  // for completion scripts: "[--may-exist] ,add-br,!NEW-BRIDGE ?PARENT ?NEW-VLAN"
std::string OptionsText();   // "--db=ARG"

// The long options that are ours, "db" with whether it takes an argument, and the letters that stand for them.
struct GlobalOption {
  const char* name;
  bool takes_value;
  char letter;  // 0 for none
};
const std::vector<GlobalOption>& GlobalOptions();

}  // namespace sluice::vsctl
