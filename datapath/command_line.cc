#include "datapath/command_line.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "lib/base/status.h"

namespace sluice {
namespace {

// The name of the known flag that `word` (without dashes) is a form of, or empty.
std::string_view MatchFlag(std::string_view word, std::string_view forms) {
  std::string_view name = forms.substr(0, forms.find(','));
  while (!forms.empty()) {
    size_t comma = forms.find(',');
    if (forms.substr(0, comma) == word) return name;
    if (comma == std::string_view::npos) break;
    forms.remove_prefix(comma + 1);
  }
  return {};
}

bool IsNumber(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text == "-");
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const UnixctlArgs& args, std::initializer_list<std::string_view> known) {
  CommandLine line;
  line.json = args.json;
  for (const std::string& word : args.positional) {
    if (!word.starts_with('-') || word == "-") {
      line.words.push_back(word);
      continue;
    }
    std::string_view flag = std::string_view(word).substr(word.starts_with("--") ? 2 : 1);
    std::string_view name;
    std::string expected;
    for (std::string_view forms : known) {
      if (name.empty()) name = MatchFlag(flag, forms);
      expected += fmt::format("{}--{}", expected.empty() ? "" : ", ", forms.substr(0, forms.find(',')));
    }
    if (name.empty()) {
      return InvalidArgument("unknown option {}: expected {}", word, expected.empty() ? "no options" : expected);
    }
    line.flags.insert(std::string(name));
  }
  return line;
}

absl::StatusOr<Datapath*> TakeDatapath(const DatapathManager& manager, CommandLine& line) {
  if (line.words.empty()) return manager.Find("");
  const std::string& first = line.words.front();
  if (!IsDatapathName(first) && !manager.datapaths().contains(first)) return manager.Find("");
  auto datapath = manager.Find(first);
  if (datapath.ok()) line.words.erase(line.words.begin());
  return datapath;
}

absl::StatusOr<Port*> FindPortByText(const Datapath& datapath, std::string_view text) {
  if (Port* port = datapath.FindPort(text)) return port;
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (Port* port = datapath.FindPort(number)) return port;
  }
  std::string names;
  for (const auto& [unused, port] : datapath.ports()) names += (names.empty() ? "" : ", ") + port->name();
  return NotFound("{} has no port {}: expected one of {}", FullName(datapath), text, names.empty() ? "(none)" : names);
}

std::string FullName(const Datapath& datapath) { return fmt::format("{}@{}", DatapathManager::kType, datapath.name()); }

std::string Table::Format(std::string_view indent) const {
  std::vector<size_t> widths(rows_.front().size());
  std::vector<bool> numeric(widths.size(), rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !IsNumber(rows_[r][c])) numeric[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t c = 0; c < widths.size(); ++c) {
      line += numeric[c] ? fmt::format("{:>{}}", row[c], widths[c]) : fmt::format("{:<{}}", row[c], widths[c]);
      if (c + 1 < widths.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace sluice
