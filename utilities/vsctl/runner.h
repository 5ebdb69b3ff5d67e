// Runs a command line's commands on a transaction, and puts together what they print. Knows of no server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "utilities/vsctl/command.h"
#include "utilities/vsctl/options.h"

namespace sluice::vsctl {

// What is wrong with the commands as far as the schema tells, and what they need to see. `*may_change`: whether one of
// them may change the database.
absl::Status PrepareCommands(const CommandLine& line, const DatabaseSchema& schema, Needs& needs, bool* may_change);

struct Outcome {
  // What one invocation left, until it may be printed.
  struct Result {
    std::string output;
    std::optional<Table> table;
    std::optional<Uuid> created;
  };

  std::vector<Result> results;
  std::vector<Uuid> new_interfaces;
  std::vector<std::string> warnings;
  bool try_again = false;        // nothing shall happen until the database has changed
  std::optional<int> exit_code;  // nothing shall happen; end with this
  bool inserted_root = false;    // the database was empty
};

// All of it or an error: then the transaction is not to be committed.
absl::StatusOr<Outcome> RunCommands(const CommandLine& line, Transaction& transaction);

// `inserted`: the UUIDs of new rows in the database, by those in the transaction.
std::string FormatOutput(const Outcome& outcome, const Options& options, const std::map<Uuid, Uuid>& inserted);

}  // namespace sluice::vsctl
