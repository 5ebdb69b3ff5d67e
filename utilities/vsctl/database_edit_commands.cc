// set, add, remove, clear, create, destroy.
//
// Columns are read, changed here and written whole, and verified: if somebody else changes one meanwhile the whole line
// runs again, so no change is lost.
#include <algorithm>

#include "utilities/vsctl/commands.h"
#include "utilities/vsctl/known_keys.h"
#include "utilities/vsctl/names.h"
#include "utilities/vsctl/rows.h"

namespace sluice::vsctl {
namespace {

absl::Status CheckWritable(Context& context, const TableSchema& table, const ColumnSchema& column, const Uuid& row) {
  if (column.is_mutable || context.transaction.IsInserted(row)) return absl::OkStatus();
  return InvalidArgument("cannot modify read-only column {} in table {}", column.name, table.name);
}

// Whether bridges and ports may look different once this column has changed.
bool ShapesTopology(const TableSchema& table, const ColumnSchema& column) {
  const std::string_view name = column.name;
  return (table.name == "Open_vSwitch" && name == "bridges") ||
         (table.name == "Bridge" && (name == "name" || name == "ports")) ||
         (table.name == "Port" && (name == "name" || name == "interfaces" || name == "tag" || name == "fake_bridge")) ||
         (table.name == "Interface" && name == "name");
}

void Write(Context& context, const TableSchema& table, const ColumnSchema& column, const Uuid& row, Datum value) {
  context.symbols.NoteReferences(value, column.type);
  // Also where the old value does not matter: a row that somebody deletes meanwhile would take the change with it.
  context.transaction.Verify(table.name, row, column.name);
  context.transaction.Set(table.name, row, column.name, std::move(value));
  if (ShapesTopology(table, column)) context.topology.Invalidate();
}

void Erase(Datum& datum, size_t index) {
  datum.keys.erase(datum.keys.begin() + static_cast<std::ptrdiff_t>(index));
  if (!datum.values.empty()) datum.values.erase(datum.values.begin() + static_cast<std::ptrdiff_t>(index));
}

// The row of "TABLE RECORD"; nullopt where --if-exists lets it be missing.
absl::StatusOr<std::optional<Uuid>> RowArgument(Context& context, const TableSchema& table) {
  return GetRow(context, table.name, context.arg(2), context.invocation.Has("--if-exists"));
}

}  // namespace

absl::Status SetColumn(Context& context, const TableSchema& table, const Uuid& row, const std::string& argument) {
  const absl::StatusOr<ColumnArgument> parsed = ParseColumnArgument(argument, table, kSetOperators);
  if (!parsed.ok()) return parsed.status();
  const ColumnSchema& column = *parsed->column;
  SLUICE_RETURN_IF_ERROR(CheckWritable(context, table, column, row));
  if (!parsed->key) {
    absl::StatusOr<Datum> value = ParseDatum(parsed->value, column.type, context.symbols);
    if (!value.ok()) return value.status();
    Write(context, table, column, row, *std::move(value));
    return absl::OkStatus();
  }
  if (!column.type.is_map()) return InvalidArgument("cannot specify key to set for non-map column {}", column.name);
  const absl::StatusOr<Atom> key = ParseAtom(*parsed->key, column.type.key, context.symbols);
  if (!key.ok()) return key.status();
  const absl::StatusOr<Atom> value = ParseAtom(parsed->value, *column.type.value, context.symbols);
  if (!value.ok()) return value.status();
  if (std::string warning = WarningOfKey(column.name, AtomToBareText(*key)); !warning.empty()) {
    context.warnings.push_back(std::move(warning));
  }
  Datum map = context.transaction.Get(table.name, row, column.name);
  if (const size_t index = map.Find(*key); index != Datum::npos) {
    map.values[index] = *value;
  } else {
    map.keys.push_back(*key);
    map.values.push_back(*value);
    map.Normalize(true);
  }
  Write(context, table, column, row, std::move(map));
  return absl::OkStatus();
}

absl::Status PrepareSet(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  for (size_t i = 3; i < invocation.argv.size(); ++i) {
    const absl::StatusOr<const ColumnSchema*> column = ParseColumnName(invocation.argv[i], **table);
    if (!column.ok()) return column.status();
    needs.Add((*table)->name, (*column)->name);
  }
  return absl::OkStatus();
}

absl::Status RunSet(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const absl::StatusOr<std::optional<Uuid>> row = RowArgument(context, **table);
  if (!row.ok() || !row->has_value()) return row.status();
  for (size_t i = 3; i < context.argc(); ++i) {
    SLUICE_RETURN_IF_ERROR(SetColumn(context, **table, **row, context.arg(i)));
  }
  return absl::OkStatus();
}

absl::Status PrepareAddRemove(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  const absl::StatusOr<const ColumnSchema*> column = FindColumn(**table, invocation.argv[3]);
  if (!column.ok()) return column.status();
  needs.Add((*table)->name, (*column)->name);
  return absl::OkStatus();
}

namespace {

// What add and remove work on.
struct Target {
  const TableSchema* table = nullptr;
  const ColumnSchema* column = nullptr;
  std::optional<Uuid> row;  // nullopt: nothing to do
};

absl::StatusOr<Target> ColumnTarget(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const absl::StatusOr<std::optional<Uuid>> row = RowArgument(context, **table);
  if (!row.ok()) return row.status();
  const absl::StatusOr<const ColumnSchema*> column = FindColumn(**table, context.arg(3));
  if (!column.ok()) return column.status();
  if (row->has_value()) SLUICE_RETURN_IF_ERROR(CheckWritable(context, **table, **column, **row));
  return Target{*table, *column, *row};
}

std::string_view ElementWord(const ColumnType& type) { return type.is_map() ? "pair(s)" : "value(s)"; }

// Elements are given one or more at a time, of a column that may hold fewer altogether.
ColumnType ElementsType(const ColumnType& type) {
  ColumnType elements = type;
  elements.min = 1;
  elements.max = ColumnType::kUnlimited;
  return elements;
}

}  // namespace

absl::Status RunAdd(Context& context) {
  const absl::StatusOr<Target> target = ColumnTarget(context);
  if (!target.ok() || !target->row) return target.status();
  const ColumnType& type = target->column->type;
  Datum value = context.transaction.Get(target->table->name, *target->row, target->column->name);
  for (size_t i = 4; i < context.argc(); ++i) {
    const absl::StatusOr<Datum> added = ParseDatum(context.arg(i), ElementsType(type), context.symbols);
    if (!added.ok()) return added.status();
    for (size_t j = 0; j < added->size(); ++j) {
      if (value.Contains(added->keys[j])) continue;  // a pair that is there stays as it is
      value.keys.push_back(added->keys[j]);
      if (type.is_map()) value.values.push_back(added->values[j]);
      value.Normalize(type.is_map());
    }
  }
  if (value.size() > type.max) {
    return InvalidArgument("\"add\" operation would put {} {} in column {} of table {} but the maximum number is {}",
                           value.size(), ElementWord(type), target->column->name, target->table->name, type.max);
  }
  Write(context, *target->table, *target->column, *target->row, std::move(value));
  return absl::OkStatus();
}

namespace {

// Of a map also keys alone.
absl::StatusOr<Datum> ParseRemoved(const std::string& text, const ColumnType& type, Symbols& symbols) {
  absl::StatusOr<Datum> removed = ParseDatum(text, ElementsType(type), symbols);
  if (removed.ok() || !type.is_map()) return removed;
  ColumnType keys = ElementsType(type);
  keys.value.reset();
  return ParseDatum(text, keys, symbols);
}

void Subtract(Datum& value, const Datum& removed) {
  for (size_t i = 0; i < removed.size(); ++i) {
    const size_t index = value.Find(removed.keys[i]);
    if (index == Datum::npos) continue;
    if (i < removed.values.size() && value.values[index] != removed.values[i]) continue;
    Erase(value, index);
  }
}

}  // namespace

absl::Status RunRemove(Context& context) {
  const absl::StatusOr<Target> target = ColumnTarget(context);
  if (!target.ok() || !target->row) return target.status();
  const ColumnType& type = target->column->type;
  Datum value = context.transaction.Get(target->table->name, *target->row, target->column->name);
  for (size_t i = 4; i < context.argc(); ++i) {
    const absl::StatusOr<Datum> removed = ParseRemoved(context.arg(i), type, context.symbols);
    if (!removed.ok()) return removed.status();
    Subtract(value, *removed);
  }
  if (value.size() < type.min) {
    return InvalidArgument("\"remove\" operation would put {} {} in column {} of table {} but the minimum number is {}",
                           value.size(), ElementWord(type), target->column->name, target->table->name, type.min);
  }
  Write(context, *target->table, *target->column, *target->row, std::move(value));
  return absl::OkStatus();
}

absl::Status PrepareClear(const Invocation& invocation, const Schema& schema, Needs& needs) {
  const absl::StatusOr<const TableSchema*> table = PrepareTable(invocation, schema, needs);
  if (!table.ok()) return table.status();
  for (size_t i = 3; i < invocation.argv.size(); ++i) {
    const absl::StatusOr<const ColumnSchema*> column = FindColumn(**table, invocation.argv[i]);
    if (!column.ok()) return column.status();
    needs.Add((*table)->name, (*column)->name);
  }
  return absl::OkStatus();
}

absl::Status RunClear(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const absl::StatusOr<std::optional<Uuid>> row = RowArgument(context, **table);
  if (!row.ok() || !row->has_value()) return row.status();
  for (size_t i = 3; i < context.argc(); ++i) {
    const absl::StatusOr<const ColumnSchema*> column = FindColumn(**table, context.arg(i));
    if (!column.ok()) return column.status();
    SLUICE_RETURN_IF_ERROR(CheckWritable(context, **table, **column, **row));
    if ((*column)->type.min > 0) {
      return InvalidArgument(
          "\"clear\" operation cannot be applied to column {} of table {}, which is not allowed to be empty",
          (*column)->name, (*table)->name);
    }
    Write(context, **table, **column, **row, {});
  }
  return absl::OkStatus();
}

absl::Status PrepareCreate(const Invocation& invocation, const Schema& schema, Needs& needs) {
  return PrepareTable(invocation, schema, needs).status();
}

namespace {

absl::StatusOr<Uuid> InsertRow(Context& context, const TableSchema& table) {
  const auto id = context.invocation.options.find("--id");
  if (id == context.invocation.options.end()) {
    if (!table.is_root) {
      context.warnings.push_back(
          fmt::format("applying \"create\" command to table {} without --id option will have no effect", table.name));
    }
    return context.transaction.Insert(table.name);
  }
  if (const absl::StatusOr<Uuid> uuid = Uuid::Parse(*id->second); uuid.ok()) {
    if (context.transaction.Exists(table.name, *uuid)) {
      return AlreadyExists("--id={}: table {} has a row with that UUID already", *id->second, table.name);
    }
    return context.transaction.Insert(table.name, *uuid, true);
  }
  const absl::StatusOr<Uuid> uuid = context.symbols.DefineNew(*id->second);
  if (!uuid.ok()) return uuid;
  return context.transaction.Insert(table.name, *uuid);
}

}  // namespace

absl::Status RunCreate(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const absl::StatusOr<Uuid> row = InsertRow(context, **table);
  if (!row.ok()) return row.status();
  for (size_t i = 2; i < context.argc(); ++i) {
    SLUICE_RETURN_IF_ERROR(SetColumn(context, **table, *row, context.arg(i)));
  }
  context.created = *row;
  return absl::OkStatus();
}

absl::Status PrepareDestroy(const Invocation& invocation, const Schema& schema, Needs& needs) {
  if (invocation.Has("--all") && invocation.argv.size() > 2) {
    return InvalidArgument("--all and records argument should not be specified together");
  }
  return PrepareTable(invocation, schema, needs).status();
}

absl::Status RunDestroy(Context& context) {
  const absl::StatusOr<const TableSchema*> table = FindTable(context.transaction.schema(), context.arg(1));
  if (!table.ok()) return table.status();
  const std::string& name = (*table)->name;
  if (context.invocation.Has("--all")) {
    for (const Uuid& row : context.transaction.Rows(name)) context.transaction.Delete(name, row);
  } else if (context.argc() == 2) {
    context.warnings.push_back("either --all or records argument should be specified");
  }
  for (size_t i = 2; i < context.argc(); ++i) {
    const absl::StatusOr<std::optional<Uuid>> row =
        GetRow(context, name, context.arg(i), context.invocation.Has("--if-exists"));
    if (!row.ok()) return row.status();
    if (row->has_value()) context.transaction.Delete(name, **row);
  }
  context.topology.Invalidate();
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
