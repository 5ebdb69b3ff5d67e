// The command line of vswitchd (ovs-vswitchd(8)).
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/io/stream.h"

namespace sluice {

struct Options {
  // What to do instead of running, if anything.
  enum class Action { kRun, kShowHelp, kShowVersion };

  Action action = Action::kRun;
  bool detach = false;
  bool monitor = false;
  bool chdir = true;
  bool mlockall = false;
  bool overwrite_pid_file = false;
  std::string pid_file;                 // absolute; "" for none
  std::string log_file;                 // absolute; "" for none
  std::string unixctl_path;             // absolute; "" for the default name, which holds the process id
  std::vector<std::string> log_levels;  // in order, for LogSetLevels

  std::vector<std::string> database;  // remotes of an external server; empty: the embedded one
  std::string database_file;          // absolute; of the embedded server
  std::vector<std::string> remotes;   // further ones that the embedded server serves
  TlsConfig tls;
};

// Reads the command line; nothing is done yet. The error is one line for standard error.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

std::string HelpText();

}  // namespace sluice
