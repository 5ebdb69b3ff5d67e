#include "lib/ovsdb/monitor_request.h"

#include <algorithm>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json_members.h"

namespace sluice {
namespace {

// The columns of a request without "columns": all but _uuid, which names the row anyway.
std::vector<size_t> AllColumns(const TableSchema& table) {
  std::vector<size_t> columns{MonitorColumn::kVersion};
  for (size_t i = 0; i < table.columns.size(); ++i) columns.push_back(i);
  return columns;
}

size_t FindColumn(const TableSchema& table, std::string_view name) {
  if (name == "_uuid") return MonitorColumn::kUuid;
  if (name == "_version") return MonitorColumn::kVersion;
  return table.FindColumn(name);
}

absl::StatusOr<std::vector<size_t>> ParseColumns(const TableSchema& table, const Json& names) {
  std::vector<size_t> columns;
  for (const Json& name : names) {
    if (!name.is_string()) return OvsdbSyntaxError(names, "array of column names expected");
    const std::string& text = name.get_ref<const std::string&>();
    const size_t column = FindColumn(table, text);
    if (column == TableSchema::npos) return OvsdbSyntaxError(names, fmt::format("{} is not a valid column name", text));
    columns.push_back(column);
  }
  return columns;
}

std::string_view ColumnName(const TableSchema& table, size_t column) {
  if (column == MonitorColumn::kUuid) return "_uuid";
  if (column == MonitorColumn::kVersion) return "_version";
  return table.columns[column].name;
}

// `names`: the request's "columns", or nullptr.
absl::Status AddColumns(MonitoredTable& monitored, const std::vector<size_t>& columns, uint8_t select,
                        const Json* names) {
  for (size_t column : columns) {
    for (const MonitorColumn& other : monitored.columns) {
      if (other.index != column) continue;
      std::string details = fmt::format("column {} mentioned more than once", ColumnName(*monitored.table, column));
      return names != nullptr ? OvsdbSyntaxError(*names, std::move(details))
                              : OvsdbError("syntax error", std::move(details));
    }
    monitored.columns.push_back({column, select});
  }
  return absl::OkStatus();
}

absl::StatusOr<uint8_t> ParseSelect(const TableSchema& table, const Json* json) {
  if (json == nullptr) return kSelectAll;
  static constexpr std::pair<const char*, MonitorSelect> kKinds[] = {
      {"initial", kSelectInitial}, {"insert", kSelectInsert}, {"delete", kSelectDelete}, {"modify", kSelectModify}};
  JsonMembers members(*json, fmt::format("table {} select", table.name));
  uint8_t select = 0;
  for (const auto& [name, kind] : kKinds) {
    const Json* wanted = members.Optional(name, JsonMembers::IsBoolean);
    if (wanted == nullptr || wanted->get<bool>()) select |= kind;
  }
  SLUICE_RETURN_IF_ERROR(members.Finish());
  return select;
}

// Of one request, with its own "where" or without: then all rows match.
absl::Status AddCondition(const TableSchema& table, const Json* where, std::vector<Condition>* conditions) {
  absl::StatusOr<Condition> condition =
      Condition::Parse(table, where != nullptr ? *where : Json::array(), Condition::Combine::kAny);
  if (!condition.ok()) return condition.status();
  conditions->push_back(*std::move(condition));
  return absl::OkStatus();
}

absl::Status AddRequest(MonitoredTable& monitored, const Json& request, bool conditional) {
  const TableSchema& table = *monitored.table;
  JsonMembers members(request, fmt::format("table {}", table.name));
  const Json* names = members.Optional("columns", JsonMembers::IsArray);
  const Json* where = conditional ? members.Optional("where", JsonMembers::IsArray) : nullptr;
  const Json* select_json = members.Optional("select", JsonMembers::IsObject);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  const absl::StatusOr<uint8_t> select = ParseSelect(table, select_json);
  if (!select.ok()) return select.status();
  monitored.select |= *select;
  const absl::StatusOr<std::vector<size_t>> columns =
      names != nullptr ? ParseColumns(table, *names) : AllColumns(table);
  if (!columns.ok()) return columns.status();
  SLUICE_RETURN_IF_ERROR(AddColumns(monitored, *columns, *select, names));
  return conditional ? AddCondition(table, where, &monitored.conditions) : absl::OkStatus();
}

absl::StatusOr<const TableSchema*> FindTable(const DatabaseSchema& schema, const std::string& name) {
  const auto table = schema.tables.find(name);
  if (table == schema.tables.end()) return OvsdbError("syntax error", fmt::format("no table named {}", name));
  return &table->second;
}

// That all rows match needs no condition to say so.
void DropIfAlways(std::vector<Condition>* conditions) {
  if (std::any_of(conditions->begin(), conditions->end(), [](const Condition& c) { return c.always(); })) {
    conditions->clear();
  }
}

absl::Status AddConditionRequest(const TableSchema& table, const Json& request, std::vector<Condition>* conditions) {
  JsonMembers members(request, fmt::format("table {}", table.name));
  const Json* columns = members.Optional("columns", JsonMembers::IsArray);
  const Json* where = members.Optional("where", JsonMembers::IsArray);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  if (columns != nullptr) return OvsdbSyntaxError(request, "changing columns is unsupported");
  return AddCondition(table, where, conditions);
}

}  // namespace

bool MonitoredTable::Matches(const Row& row) const {
  return conditions.empty() || std::any_of(conditions.begin(), conditions.end(),
                                           [&](const Condition& condition) { return condition.Matches(row); });
}

MonitoredTable* MonitorSpec::Find(const TableSchema* table) {
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const MonitoredTable& entry) { return entry.table == table; });
  return found != tables.end() ? &*found : nullptr;
}

absl::StatusOr<MonitorSpec> ParseMonitorRequests(const DatabaseSchema& schema, const Json& requests, bool conditional) {
  if (!requests.is_object()) return OvsdbSyntaxError(requests, "monitor-requests must be object");
  MonitorSpec spec;
  for (const auto& [name, of_table] : requests.items()) {
    const absl::StatusOr<const TableSchema*> table = FindTable(schema, name);
    if (!table.ok()) return table.status();
    MonitoredTable monitored;
    monitored.table = *table;
    if (of_table.is_array()) {
      for (const Json& request : of_table) SLUICE_RETURN_IF_ERROR(AddRequest(monitored, request, conditional));
    } else {
      // RFC 7047 wants an array; older clients send the one request itself.
      SLUICE_RETURN_IF_ERROR(AddRequest(monitored, of_table, conditional));
    }
    DropIfAlways(&monitored.conditions);
    spec.tables.push_back(std::move(monitored));
  }
  return spec;
}

absl::StatusOr<std::vector<ConditionChange>> ParseConditionChanges(const DatabaseSchema& schema, MonitorSpec& spec,
                                                                   const Json& requests) {
  std::vector<ConditionChange> changes;
  if (!requests.is_object()) {
    return OvsdbError("syntax error", "monitor-cond-change-requests must be object");
  }
  for (const auto& [name, of_table] : requests.items()) {
    const absl::StatusOr<const TableSchema*> table = FindTable(schema, name);
    if (!table.ok()) return table.status();
    if (spec.Find(*table) == nullptr) {
      return OvsdbError("syntax error", fmt::format("no table named {} in monitor session", name));
    }
    if (!of_table.is_array()) {
      return OvsdbError("syntax error", fmt::format("table {} no monitor-cond-change JSON array", name));
    }
    if (of_table.empty()) continue;  // retains its conditions
    ConditionChange change{*table, {}};
    for (const Json& request : of_table)
      SLUICE_RETURN_IF_ERROR(AddConditionRequest(**table, request, &change.conditions));
    DropIfAlways(&change.conditions);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace sluice
