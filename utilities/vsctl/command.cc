#include "utilities/vsctl/command.h"

namespace sluice::vsctl {

void Needs::Add(std::string_view table, std::initializer_list<std::string_view> columns) {
  for (std::string_view column : columns) tables_[std::string(table)].emplace(column);
}

void Needs::AddWhole(const TableSchema& table) {
  for (const ColumnSchema& column : table.columns) tables_[table.name].insert(column.name);
}

std::string Invocation::ToString() const {
  std::vector<std::string> words;
  for (const auto& [option, value] : options) words.push_back(value ? fmt::format("{}={}", option, *value) : option);
  words.insert(words.end(), argv.begin(), argv.end());
  return fmt::format("{}", fmt::join(words, " "));
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : Commands()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

namespace {

// Calls visit(option without '=', takes_value) for each.
template <typename Visitor>
void ForEachOption(const Command& command, Visitor visit) {
  std::string_view rest = command.options;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view option = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const bool takes_value = option.ends_with('=');
    if (takes_value) option.remove_suffix(1);
    visit(option, takes_value);
  }
}

}  // namespace

bool FindOption(const Command& command, std::string_view option, bool* takes_value) {
  bool found = false;
  ForEachOption(command, [&](std::string_view known, bool value) {
    if (known != option) return;
    found = true;
    *takes_value = value;
  });
  return found;
}

std::map<std::string, bool> AllCommandOptions() {
  std::map<std::string, bool> options;
  for (const Command& command : Commands()) {
    ForEachOption(command, [&](std::string_view option, bool value) { options[std::string(option)] = value; });
  }
  return options;
}

}  // namespace sluice::vsctl
