#include "utilities/vsctl/names.h"

#include <strings.h>

#include <vector>

#include "utilities/vsctl/suggest.h"

namespace sluice::vsctl {
namespace {

enum Match : int { kNone, kAbbreviation, kEquivalent, kExact };

char Fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

Match Compare(std::string_view name, std::string_view typed) {
  if (name == typed) return kExact;
  if (typed.empty() || typed.size() > name.size()) return kNone;
  for (size_t i = 0; i < typed.size(); ++i) {
    if (Fold(name[i]) != Fold(typed[i])) return kNone;
  }
  return typed.size() == name.size() ? kEquivalent : kAbbreviation;
}

// The names that match best.
std::vector<std::string> BestMatches(const std::vector<std::string>& names, std::string_view typed) {
  std::vector<std::string> best;
  int best_match = kAbbreviation;
  for (const std::string& name : names) {
    const Match match = Compare(name, typed);
    if (match < best_match) continue;
    if (match > best_match) best.clear();
    best_match = match;
    best.push_back(name);
  }
  return best;
}

}  // namespace

absl::StatusOr<const TableSchema*> FindTable(const DatabaseSchema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [table, unused] : schema.tables) names.push_back(table);
  const std::vector<std::string> matches = BestMatches(names, name);
  if (matches.empty()) return InvalidArgument("unknown table \"{}\"{}", name, DidYouMean(name, names));
  if (matches.size() > 1) {
    return InvalidArgument("\"{}\" matches multiple table names: {}", name, fmt::join(matches, ", "));
  }
  return &schema.tables.at(matches[0]);
}

absl::StatusOr<const ColumnSchema*> FindColumn(const TableSchema& table, std::string_view name) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : table.columns) names.push_back(column.name);
  const std::vector<std::string> matches = BestMatches(names, name);
  if (matches.empty()) {
    return InvalidArgument("{} does not contain a column whose name matches \"{}\"{}", table.name, name,
                           DidYouMean(name, names));
  }
  if (matches.size() > 1) {
    return InvalidArgument("{} contains more than one column whose name matches \"{}\": {}", table.name, name,
                           fmt::join(matches, ", "));
  }
  return &table.columns[table.FindColumn(matches[0])];
}

bool IsUuidColumn(std::string_view name) { return name.size() == 5 && strncasecmp(name.data(), "_uuid", 5) == 0; }

}  // namespace sluice::vsctl
