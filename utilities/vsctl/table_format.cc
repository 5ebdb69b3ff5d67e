#include "utilities/vsctl/table_format.h"

#include <algorithm>
#include <functional>

#include "lib/ovsdb/json.h"

namespace sluice::vsctl {
namespace {

const ColumnType& UuidType() {
  static const ColumnType kType{.key = {.type = AtomType::kUuid}};
  return kType;
}

// Characters, not bytes: the length of every UTF-8 sequence is one.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

std::string_view CutToWidth(std::string_view text, size_t width) {
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<uint8_t>(text[end]) & 0xc0) != 0x80;
    if (starts && characters++ == width) break;
  }
  return text.substr(0, end);
}

std::string BareText(const Datum& datum) {
  std::string text;
  for (size_t i = 0; i < datum.size(); ++i) {
    if (i > 0) text += ' ';
    text += AtomToBareText(datum.keys[i]);
    if (i < datum.values.size()) text += "=" + AtomToBareText(datum.values[i]);
  }
  return text;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of("\n\"\r,") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string HtmlText(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

constexpr size_t kUuidLength = 36;
constexpr size_t kShownOfUuid = 8;

// UUIDs become links to their rows, which are shown by the beginning alone.
std::string HtmlCell(const std::string& text, bool is_row_uuid) {
  if (is_row_uuid) {
    return fmt::format("<a name=\"{}\">{}</a>", HtmlText(text), HtmlText(text.substr(0, kShownOfUuid)));
  }
  std::string cell;
  size_t plain = 0;  // begin of what is not in `cell` yet
  for (size_t i = 0; i + kUuidLength <= text.size();) {
    if (!Uuid::Parse(text.substr(i, kUuidLength)).ok()) {
      ++i;
      continue;
    }
    cell += HtmlText(text.substr(plain, i - plain)) +
            fmt::format("<a href=\"#{}\">{}</a>", text.substr(i, kUuidLength), text.substr(i, kShownOfUuid));
    i += kUuidLength;
    plain = i;
  }
  return cell + HtmlText(text.substr(plain));
}

void PrettyJson(const Json& json, size_t depth, std::string& out);

// Members one per line; the last one's line ends with the bracket.
template <typename Members>
void PrettyMembers(const Members& members, char open, char close, size_t depth, std::string& out) {
  out += open;
  bool first = true;
  for (const auto& member : members) {
    out += fmt::format("{}\n{:{}}", first ? "" : ",", "", 2 * (depth + 1));
    first = false;
    member(depth + 1);
  }
  out += close;
}

void PrettyJson(const Json& json, size_t depth, std::string& out) {
  std::vector<std::function<void(size_t)>> members;
  if (json.is_object() && !json.empty()) {
    for (auto member = json.begin(); member != json.end(); ++member) {
      members.push_back([&out, member](size_t inner) {
        out += DumpJson(Json(member.key())) + ": ";
        PrettyJson(member.value(), inner, out);
      });
    }
    PrettyMembers(members, '{', '}', depth, out);
  } else if (json.is_array() && !json.empty()) {
    for (const Json& element : json) {
      members.push_back([&out, &element](size_t inner) { PrettyJson(element, inner, out); });
    }
    PrettyMembers(members, '[', ']', depth, out);
  } else {
    out += DumpJson(json);
  }
}

}  // namespace

absl::Status TableStyle::SetFormat(std::string_view name) {
  if (name == "table") {
    format = Format::kTable;
  } else if (name == "list") {
    format = Format::kList;
  } else if (name == "html") {
    format = Format::kHtml;
  } else if (name == "csv") {
    format = Format::kCsv;
  } else if (name == "json") {
    format = Format::kJson;
  } else {
    return InvalidArgument("unknown output format \"{}\" (use \"table\", \"list\", \"html\", \"csv\" or \"json\")",
                           name);
  }
  return absl::OkStatus();
}

absl::Status TableStyle::SetData(std::string_view name) {
  if (name == "string") {
    data = Data::kString;
  } else if (name == "bare") {
    data = Data::kBare;
  } else if (name == "json") {
    data = Data::kJson;
  } else {
    return InvalidArgument("unknown data format \"{}\" (use \"string\", \"bare\" or \"json\")", name);
  }
  return absl::OkStatus();
}

std::string ValueText(const Datum& datum, const ColumnType& type) {
  return DatumToText(datum, type.is_map(), type.max == 1);
}

std::string Table::Cell(const Datum& datum, const ColumnSchema* column, TableStyle::Data data) const {
  const ColumnType& type = column == nullptr ? UuidType() : column->type;
  switch (data) {
    case TableStyle::Data::kBare:
      return BareText(datum);
    case TableStyle::Data::kJson:
      return DumpJson(DatumToJson(datum, type));
    case TableStyle::Data::kString:
      break;
  }
  return ValueText(datum, type);
}

std::vector<std::string> Table::Headings() const {
  std::vector<std::string> headings;
  for (const ColumnSchema* column : columns_) headings.push_back(column == nullptr ? "_uuid" : column->name);
  return headings;
}

std::vector<std::vector<std::string>> Table::Cells(TableStyle::Data data) const {
  std::vector<std::vector<std::string>> cells;
  for (const std::vector<Datum>& row : rows_) {
    std::vector<std::string>& line = cells.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) line.push_back(Cell(row[i], columns_[i], data));
  }
  return cells;
}

std::string Table::FormatTable(const TableStyle& style) const {
  std::vector<std::vector<std::string>> lines = Cells(style.data);
  std::vector<size_t> widths(columns_.size());
  const std::vector<std::string> headings = Headings();
  for (size_t i = 0; i < widths.size(); ++i) {
    for (const auto& line : lines) widths[i] = std::max(widths[i], Width(line[i]));
    if (style.max_column_width != 0) widths[i] = std::min(widths[i], style.max_column_width);
    if (style.headings) widths[i] = std::max(widths[i], Width(headings[i]));
  }
  if (style.headings) {
    std::vector<std::string> rules;
    for (size_t width : widths) rules.emplace_back(width, '-');
    lines.insert(lines.begin(), {headings, rules});
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string_view cell = CutToWidth(line[i], widths[i]);
      row += cell;
      if (i + 1 < line.size()) row.append(widths[i] - Width(cell) + 1, ' ');
    }
    text += row + '\n';
  }
  return text;
}

std::string Table::FormatList(const TableStyle& style) const {
  const std::vector<std::string> headings = Headings();
  std::string text;
  bool first = true;
  for (const auto& line : Cells(style.data)) {
    if (!first) text += '\n';
    first = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (style.headings) text += fmt::format("{:<20}: ", headings[i]);
      text += line[i] + '\n';
    }
  }
  return text;
}

std::string Table::FormatHtml(const TableStyle& style) const {
  std::string text = "<table border=1>\n";
  if (style.headings) {
    text += "  <tr>\n";
    for (const std::string& heading : Headings()) text += fmt::format("    <th>{}</th>\n", HtmlText(heading));
    text += "  </tr>\n";
  }
  for (const auto& line : Cells(style.data)) {
    text += "  <tr>\n";
    for (size_t i = 0; i < line.size(); ++i) {
      text += fmt::format("    <td>{}</td>\n", HtmlCell(line[i], columns_[i] == nullptr));
    }
    text += "  </tr>\n";
  }
  return text + "</table>\n";
}

std::string Table::FormatCsv(const TableStyle& style) const {
  std::vector<std::vector<std::string>> lines = Cells(style.data);
  if (style.headings) lines.insert(lines.begin(), Headings());
  std::string text;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) text += (i > 0 ? "," : "") + CsvField(line[i]);
    text += '\n';
  }
  return text;
}

std::string Table::FormatJson(const TableStyle& style) const {
  Json data = Json::array();
  for (const auto& row : rows_) {
    Json& line = data.emplace_back(Json::array());
    for (size_t i = 0; i < row.size(); ++i) {
      line.push_back(DatumToJson(row[i], columns_[i] == nullptr ? UuidType() : columns_[i]->type));
    }
  }
  const Json table = {{"headings", Headings()}, {"data", data}};
  if (!style.pretty) return DumpJson(table) + '\n';
  std::string text;
  PrettyJson(table, 0, text);
  return text + '\n';
}

std::string Table::Format(const TableStyle& style, bool first) const {
  switch (style.format) {
    case TableStyle::Format::kTable:
      return (first ? "" : "\n") + FormatTable(style);
    case TableStyle::Format::kList:
      return (first ? "" : "\n") + FormatList(style);
    case TableStyle::Format::kHtml:
      return FormatHtml(style);
    case TableStyle::Format::kCsv:
      return (first ? "" : "\n") + FormatCsv(style);
    case TableStyle::Format::kJson:
      return FormatJson(style);
  }
  return {};
}

}  // namespace sluice::vsctl
