// list, find, get, wait-until.
#include <algorithm>

#include "utilities/vsctl/commands.h"
#include "utilities/vsctl/conditions.h"
#include "utilities/vsctl/names.h"
#include "utilities/vsctl/rows.h"

namespace sluice::vsctl {
namespace {

// The columns to show, by --columns: all if it is not there. nullptr is _uuid.
absl::StatusOr<std::vector<const ColumnSchema*>> ColumnsToShow(const Invocation& invocation, const TableSchema& table) {
  std::vector<const ColumnSchema*> columns;
  const auto option = invocation.options.find("--columns");
  if (option == invocation.options.end()) {
    columns.push_back(nullptr);
    for (const ColumnSchema& column : table.columns) columns.push_back(&column);
    return columns;
  }
  std::string_view rest = *option->second;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(", "), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty()) continue;
    if (IsUuidColumn(name)) {
      columns.push_back(nullptr);
      continue;
    }
    const absl::StatusOr<const ColumnSchema*> column = FindColumn(table, name);
    if (!column.ok()) return column.status();
    columns.push_back(*column);
  }
  if (columns.empty()) return InvalidArgument("must specify at least one column name");
  return columns;
}

void NeedColumns(const TableSchema& table, const std::vector<const ColumnSchema*>& columns, Needs& needs) {
  // For the sake of the rows, if no column is wanted.
  needs.Add(table.name, table.columns[0].name);
  for (const ColumnSchema* column : columns) {
    if (column != nullptr) needs.Add(table.name, column->name);
  }
}

absl::Status PrepareConditions(const Invocation& invocation, const TableSchema& table, size_t first, Needs& needs) {
  for (size_t i = first; i < invocation.argv.size(); ++i) {
    const absl::StatusOr<const ColumnSchema*> column = ParseColumnName(invocation.argv[i], table);
    if (!column.ok()) return column.status();
    needs.Add(table.name, (*column)->name);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FulfilsAll(Context& context, const TableSchema& table, const Uuid& row, size_t first) {
  for (size_t i = first; i < context.argc(); ++i) {
    const absl::StatusOr<bool> fulfils = Fulfils(context, table, row, context.arg(i));
    if (!fulfils.ok() || !*fulfils) return fulfils;
  }
  return true;
}

void AddRow(Context& context, const TableSchema& table, const Uuid& row) {
  std::vector<Datum> cells;
  for (const ColumnSchema* column : context.table->columns()) {
    cells.push_back(column == nullptr ? Datum::Scalar(row) : context.transaction.Get(table.name, row, column->name));
  }
  context.table->AddRow(std::move(cells));
}

// All rows of a table: by name where they have one, since UUIDs are random and people look for names.
std::vector<Uuid> SortedRows(Context& context, const TableSchema& table) {
  std::vector<Uuid> rows = context.transaction.Rows(table.name);
  if (table.FindColumn("name") == TableSchema::npos) return rows;
  const auto name = [&](const Uuid& row) { return context.transaction.Get(table.name, row, "name").StringOr(""); };
  std::stable_sort(rows.begin(), rows.end(), [&](const Uuid& a, const Uuid& b) { return name(a) < name(b); });
  return rows;
}

// The table of the first argument and a Table in the context for its rows.
absl::StatusOr<const TableSchema*> StartTable(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table;
  absl::StatusOr<std::vector<const ColumnSchema*>> columns = ColumnsToShow(context.invocation, **table);
  if (!columns.ok()) return columns.status();
  context.table.emplace(*std::move(columns));
  return table;
}

absl::Status PrepareShown(const Invocation& invocation, const TableSchema& table, Needs& needs) {
  const absl::StatusOr<std::vector<const ColumnSchema*>> columns = ColumnsToShow(invocation, table);
  if (!columns.ok()) return columns.status();
  NeedColumns(table, *columns, needs);
  if (table.FindColumn("name") != TableSchema::npos) needs.Add(table.name, "name");
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareList(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  return PrepareShown(invocation, **table, needs);
}

absl::Status RunList(Context& context) {
  const absl::StatusOr<const TableSchema*> table = StartTable(context);
  if (!table.ok()) return table.status();
  if (context.argc() == 2) {
    for (const Uuid& row : SortedRows(context, **table)) AddRow(context, **table, row);
  }
  for (size_t i = 2; i < context.argc(); ++i) {
    const absl::StatusOr<std::optional<Uuid>> row =
        GetRow(context, (*table)->name, context.arg(i), context.invocation.Has("--if-exists"));
    if (!row.ok()) return row.status();
    if (row->has_value()) AddRow(context, **table, **row);
  }
  return absl::OkStatus();
}

absl::Status PrepareFind(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  SLUICE_RETURN_IF_ERROR(PrepareShown(invocation, **table, needs));
  return PrepareConditions(invocation, **table, 2, needs);
}

absl::Status RunFind(Context& context) {
  const absl::StatusOr<const TableSchema*> table = StartTable(context);
  if (!table.ok()) return table.status();
  for (const Uuid& row : SortedRows(context, **table)) {
    const absl::StatusOr<bool> fulfils = FulfilsAll(context, **table, row, 2);
    if (!fulfils.ok()) return fulfils.status();
    if (*fulfils) AddRow(context, **table, row);
  }
  return absl::OkStatus();
}

absl::Status PrepareGet(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  if (invocation.Has("--id") && invocation.Has("--if-exists")) {
    return InvalidArgument("--if-exists and --id may not be specified together");
  }
  for (size_t i = 3; i < invocation.argv.size(); ++i) {
    if (IsUuidColumn(invocation.argv[i])) continue;
    const absl::StatusOr<const ColumnSchema*> column = ParseColumnName(invocation.argv[i], **table);
    if (!column.ok()) return column.status();
    needs.Add((*table)->name, (*column)->name);
  }
  return absl::OkStatus();
}

namespace {

// One line: the value, or that of one key.
absl::StatusOr<std::string> GetColumn(Context& context, const TableSchema& table, const Uuid& row,
                                      const std::string& text) {
  if (IsUuidColumn(text)) return row.ToString();
  const absl::StatusOr<ColumnArgument> argument = ParseColumnArgument(text, table);
  if (!argument.ok()) return argument.status();
  const ColumnSchema& column = *argument->column;
  const Datum& value = context.transaction.Get(table.name, row, column.name);
  if (!argument->key) return ValueText(value, column.type);
  if (!column.type.is_map()) return InvalidArgument("cannot specify key to get for non-map column {}", column.name);
  const absl::StatusOr<Atom> key = ParseAtom(*argument->key, column.type.key, context.symbols);
  if (!key.ok()) return key.status();
  if (const size_t index = value.Find(*key); index != Datum::npos) return AtomToText(value.values[index]);
  if (context.invocation.Has("--if-exists")) return "";
  return NotFound("no key \"{}\" in {} record \"{}\" column {}", *argument->key, table.name, context.arg(2),
                  column.name);
}

}  // namespace

absl::Status RunGet(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const auto id = context.invocation.options.find("--id");
  if (id == context.invocation.options.end() && context.argc() == 3) {
    context.warnings.push_back("\"get\" command without row arguments or \"--id\" is possibly erroneous");
  }
  const absl::StatusOr<std::optional<Uuid>> row =
      GetRow(context, (*table)->name, context.arg(2), context.invocation.Has("--if-exists"));
  if (!row.ok() || !row->has_value()) return row.status();
  if (id != context.invocation.options.end()) {
    SLUICE_RETURN_IF_ERROR(context.symbols.DefineExisting(*id->second, **row));
  }
  for (size_t i = 3; i < context.argc(); ++i) {
    const absl::StatusOr<std::string> line = GetColumn(context, **table, **row, context.arg(i));
    if (!line.ok()) return line.status();
    context.output += *line + '\n';
  }
  return absl::OkStatus();
}

absl::Status PrepareWaitUntil(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  return PrepareConditions(invocation, **table, 3, needs);
}

absl::Status RunWaitUntil(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const absl::StatusOr<std::optional<Uuid>> row = FindRow(context, (*table)->name, context.arg(2));
  if (!row.ok()) return row.status();
  if (!row->has_value()) {
    context.try_again = true;
    return absl::OkStatus();
  }
  const absl::StatusOr<bool> fulfils = FulfilsAll(context, **table, **row, 3);
  if (!fulfils.ok()) return fulfils.status();
  context.try_again = !*fulfils;
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
