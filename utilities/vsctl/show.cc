// show: the database as a tree, with what is not at its default.
#include <algorithm>
#include <set>

#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {
namespace {

struct ShownTable {
  std::string_view table;
  std::string_view name_column;  // "" for the UUID
  std::vector<std::string_view> columns;
};

const std::vector<ShownTable>& ShownTables() {
  static const std::vector<ShownTable> kTables = {
      {"Open_vSwitch", "", {"manager_options", "bridges", "ovs_version"}},
      {"Bridge", "name", {"controller", "fail_mode", "datapath_type", "ports"}},
      {"Port", "name", {"tag", "trunks", "interfaces"}},
      {"Interface", "name", {"type", "options", "error"}},
      {"Controller", "target", {"is_connected"}},
      {"Manager", "target", {"is_connected"}},
  };
  return kTables;
}

const ShownTable* FindShown(std::string_view table) {
  for (const ShownTable& shown : ShownTables()) {
    if (shown.table == table) return &shown;
  }
  return nullptr;
}

class Tree {
 public:
  explicit Tree(Transaction& transaction) : transaction_(transaction) {}

  void AddRow(const ShownTable& shown, const Uuid& row, size_t level) {
    AddLine(level, shown.name_column.empty() ? row.ToString() : fmt::format("{} {}", shown.table, NameOf(shown, row)));
    const auto table = transaction_.schema().tables.find(shown.table);
    if (table == transaction_.schema().tables.end()) return;
    for (std::string_view name : shown.columns) {
      const size_t index = table->second.FindColumn(name);
      if (index != TableSchema::npos) AddColumn(table->second, table->second.columns[index], row, level + 1);
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  void AddLine(size_t level, std::string_view line) { text_ += fmt::format("{:{}}{}\n", "", 4 * level, line); }

  std::string NameOf(const ShownTable& shown, const Uuid& row) const {
    const Datum& name = transaction_.Get(shown.table, row, shown.name_column);
    return name.empty() ? "\"\"" : AtomToText(name.keys[0]);
  }

  void AddColumn(const TableSchema& table, const ColumnSchema& column, const Uuid& row, size_t level) {
    const Datum& value = transaction_.Get(table.name, row, column.name);
    const ShownTable* referred = FindShown(column.type.key.ref_table);
    if (referred != nullptr) {
      AddRows(*referred, value, level);
    } else if (!value.empty() && value != column.type.Default()) {
      AddLine(level, fmt::format("{}: {}", column.name, ValueText(value, column.type)));
    }
  }

  // By name: UUIDs are random, and people look for names.
  void AddRows(const ShownTable& shown, const Datum& references, size_t level) {
    std::vector<std::pair<std::string, Uuid>> rows;
    for (const Atom& atom : references.keys) {
      const Uuid row = std::get<Uuid>(atom);
      if (transaction_.Exists(shown.table, row)) rows.emplace_back(NameOf(shown, row), row);
    }
    std::sort(rows.begin(), rows.end());
    for (const auto& [name, row] : rows) AddRow(shown, row, level);
  }

  Transaction& transaction_;
  std::string text_;
};

}  // namespace

absl::Status PrepareShow(const Invocation&, const Schema& schema, Needs& needs) {
  for (const ShownTable& shown : ShownTables()) {
    if (!schema.tables.contains(shown.table)) continue;
    for (std::string_view column : shown.columns) needs.Add(shown.table, column);
    if (!shown.name_column.empty()) needs.Add(shown.table, shown.name_column);
  }
  return absl::OkStatus();
}

absl::Status RunShow(Context& context) {
  Tree tree(context.transaction);
  for (const Uuid& row : context.transaction.Rows("Open_vSwitch")) tree.AddRow(ShownTables()[0], row, 0);
  context.output = tree.Take();
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
