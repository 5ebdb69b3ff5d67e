#include "utilities/vsctl/rows.h"

#include <strings.h>

#include <algorithm>

#include "utilities/vsctl/names.h"

namespace sluice::vsctl {

const std::vector<RowName>& RowNames() {
  static const std::vector<RowName> kNames = {
      {"AutoAttach", "name", "Bridge", "auto_attach"},
      {"Bridge", "name", "", ""},
      {"Controller", "name", "Bridge", "controller"},
      {"Flow_Sample_Collector_Set", "id", "", ""},
      {"Flow_Table", "name", "", ""},
      {"IPFIX", "name", "Bridge", "ipfix"},
      {"Interface", "name", "", ""},
      {"Manager", "target", "", ""},
      {"Mirror", "name", "", ""},
      {"NetFlow", "name", "Bridge", "netflow"},
      {"Open_vSwitch", "", "", ""},
      {"Port", "name", "", ""},
      {"QoS", "name", "Port", "qos"},
      {"SSL", "", "", ""},
      {"sFlow", "name", "Bridge", "sflow"},
  };
  return kNames;
}

void NeedRowNames(std::string_view table, Needs& needs) {
  for (const RowName& row_name : RowNames()) {
    if (row_name.table != table) continue;
    if (!row_name.via_table.empty()) {
      needs.Add(row_name.via_table, {row_name.name_column, row_name.reference_column});
    } else if (!row_name.name_column.empty()) {
      needs.Add(table, row_name.name_column);
    }
  }
}

namespace {

// The rows whose column reads `name`.
std::vector<Uuid> RowsNamed(Context& context, std::string_view table, std::string_view column, std::string_view name) {
  std::vector<Uuid> rows;
  for (const Uuid& row : context.transaction.Rows(table)) {
    const Datum& value = context.transaction.Get(table, row, column);
    if (value.size() == 1 && AtomToBareText(value.keys[0]) == name) rows.push_back(row);
  }
  return rows;
}

// What the only row of that name refers to, if it is one row.
std::vector<Uuid> RowsReferredTo(Context& context, const RowName& row_name, std::string_view name) {
  const std::vector<Uuid> referrers = RowsNamed(context, row_name.via_table, row_name.name_column, name);
  if (referrers.size() != 1) return {};
  const Datum& references = context.transaction.Get(row_name.via_table, referrers[0], row_name.reference_column);
  if (references.size() != 1) return {};
  const Uuid row = std::get<Uuid>(references.keys[0]);
  return context.transaction.Exists(row_name.table, row) ? std::vector<Uuid>{row} : std::vector<Uuid>{};
}

std::vector<Uuid> RowsByName(Context& context, std::string_view table, std::string_view name) {
  for (const RowName& row_name : RowNames()) {
    if (row_name.table != table) continue;
    std::vector<Uuid> rows;
    if (row_name.name_column.empty()) {
      if (name == ".") rows = context.transaction.Rows(table);
    } else if (row_name.via_table.empty()) {
      rows = RowsNamed(context, table, row_name.name_column, name);
    } else {
      rows = RowsReferredTo(context, row_name, name);
    }
    if (!rows.empty()) return rows;
  }
  return {};
}

constexpr size_t kMinUuidPrefix = 4;

std::vector<Uuid> RowsByUuidPrefix(Context& context, std::string_view table, std::string_view prefix) {
  std::vector<Uuid> rows;
  if (prefix.size() < kMinUuidPrefix || prefix.ends_with('-')) return rows;
  for (const Uuid& row : context.transaction.Rows(table)) {
    const std::string text = row.ToString();
    if (prefix.size() <= text.size() && strncasecmp(text.data(), prefix.data(), prefix.size()) == 0)
      rows.push_back(row);
  }
  return rows;
}

}  // namespace

absl::StatusOr<const TableSchema*> PrepareTable(const Invocation& invocation, const DatabaseSchema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = FindTable(schema, invocation.argv[1]);
  if (table.ok()) {
    NeedRowNames((*table)->name, needs);
    needs.Add((*table)->name, (*table)->columns[0].name);
  }
  return table;
}

absl::StatusOr<std::optional<Uuid>> FindRow(Context& context, std::string_view table, std::string_view name) {
  if (const absl::StatusOr<Uuid> uuid = Uuid::Parse(name); uuid.ok()) {
    return context.transaction.Exists(table, *uuid) ? std::optional(*uuid) : std::nullopt;
  }
  std::vector<Uuid> rows = RowsByName(context, table, name);
  if (rows.empty()) rows = RowsByUuidPrefix(context, table, name);
  if (rows.size() > 1) return InvalidArgument("multiple rows in {} match \"{}\"", table, name);
  return rows.empty() ? std::nullopt : std::optional(rows[0]);
}

absl::StatusOr<std::optional<Uuid>> GetRow(Context& context, std::string_view table, std::string_view name,
                                           bool if_exists) {
  absl::StatusOr<std::optional<Uuid>> row = FindRow(context, table, name);
  if (row.ok() && !row->has_value() && !if_exists) return NotFound("no row \"{}\" in table {}", name, table);
  return row;
}

}  // namespace sluice::vsctl
