// What a command is: its syntax, what it needs to see of the database, what it does.
//
// A command line is a list of invocations that run one after another on one Transaction. It may run several times: when
// somebody else changed the database meanwhile, everything starts anew from the replica. So a command leaves nothing
// behind but what is in its Context.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/ovsdb/schema.h"
#include "utilities/vsctl/table_format.h"
#include "utilities/vsctl/topology.h"
#include "utilities/vsctl/transaction.h"
#include "utilities/vsctl/value_text.h"

namespace sluice::vsctl {

// The tables and columns that a command line reads, or writes in rows that exist.
class Needs {
 public:
  void Add(std::string_view table, std::initializer_list<std::string_view> columns);
  void Add(std::string_view table, std::string_view column) { Add(table, {column}); }
  void AddWhole(const TableSchema& table);

  const std::map<std::string, std::set<std::string>>& tables() const { return tables_; }

 private:
  std::map<std::string, std::set<std::string>> tables_;
};

struct Command;

// A command with its options and arguments, as typed.
struct Invocation {
  const Command* command = nullptr;
  std::map<std::string, std::optional<std::string>> options;  // "--may-exist", "--id" with its value
  std::vector<std::string> argv;                              // the name, then the arguments

  bool Has(const std::string& option) const { return options.contains(option); }
  // "--may-exist add-br br0".
  std::string ToString() const;
};

// What one invocation works with and produces.
struct Context {
  const Invocation& invocation;
  Transaction& transaction;
  Topology& topology;
  Symbols& symbols;
  // The one row of Open_vSwitch.
  Uuid root;

  std::string output;
  std::optional<Table> table;         // printed instead of the output
  bool try_again = false;             // wait for the database to change, then run the whole line again
  std::optional<int> exit_code;       // end here, with nothing done
  std::optional<Uuid> created;        // print the UUID that this row got, after the commit
  std::vector<Uuid>& new_interfaces;  // to be checked when the daemon has set them up
  std::vector<std::string>& warnings;

  const std::vector<std::string>& argv() const { return invocation.argv; }
  const std::string& arg(size_t index) const { return invocation.argv[index]; }
  size_t argc() const { return invocation.argv.size(); }
};

struct Command {
  const char* name;
  int min_args;
  int max_args;  // kAnyNumber
  // For --commands: ! one, ? at most one, + at least one, * any number.
  const char* arguments;
  // "--may-exist,--columns=": with '=' where the option has a value.
  const char* options;
  // Says what is wrong with the invocation as far as the schema tells, before the server is asked; notes what it needs.
  absl::Status (*prepare)(const Invocation& invocation, const DatabaseSchema& schema, Needs& needs);
  absl::Status (*run)(Context& context);
  bool changes;  // whether it may change the database

  static constexpr int kAnyNumber = 1 << 20;
};

// All commands, in the order of the help text. Defined in command_list.cc.
const std::vector<Command>& Commands();
const Command* FindCommand(std::string_view name);

// The command's option of that name ("--columns"), or nullptr; `*takes_value` says whether it has one.
bool FindOption(const Command& command, std::string_view option, bool* takes_value);
// All options of all commands.
std::map<std::string, bool> AllCommandOptions();

}  // namespace sluice::vsctl
