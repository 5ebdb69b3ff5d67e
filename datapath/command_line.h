// What the datapath's commands have in common: taking their arguments apart, and laying out tables.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/datapath_manager.h"
#include "lib/io/unixctl.h"

namespace sluice {

// "-s", "--more" and the like, and the other words in order.
struct CommandLine {
  std::set<std::string, std::less<>> flags;
  std::vector<std::string> words;
  bool json = false;

  bool Has(std::string_view flag) const { return flags.contains(flag); }
};

// Sorts the arguments. Each entry of `known` is a flag with its short forms, "more,m"; the first is its name in
// `flags`. A flag that is not known is an error.
absl::StatusOr<CommandLine> ParseCommandLine(const UnixctlArgs& args, std::initializer_list<std::string_view> known);

// The datapath that the first word names, taken off the words; else the only datapath there is.
absl::StatusOr<Datapath*> TakeDatapath(const DatapathManager& manager, CommandLine& line);

// The port of the datapath with this name or number.
absl::StatusOr<Port*> FindPortByText(const Datapath& datapath, std::string_view text);

// "netdev@dp0".
std::string FullName(const Datapath& datapath);

// Columns as wide as their widest cell, two spaces between, numbers to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Format(std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice
