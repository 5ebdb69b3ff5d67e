#include "lib/ovsdb/schema_conversion.h"

#include <array>
#include <charconv>

#include "lib/ovsdb/json.h"
#include "lib/ovsdb/transaction.h"

namespace sluice {
namespace {

std::array<int64_t, 3> VersionNumbers(std::string_view version) {
  std::array<int64_t, 3> numbers = {-1, -1, -1};
  const char* at = version.data();
  const char* end = at + version.size();
  for (int64_t& number : numbers) {
    auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || rest == end) break;
    at = rest + 1;
  }
  return numbers;
}

absl::StatusOr<Row> ConvertRow(const TableSchema& from, const Row& old_row, const TableSchema& to) {
  Row row;
  row.uuid = old_row.uuid;
  for (const ColumnSchema& column : to.columns) {
    size_t old_column = from.FindColumn(column.name);
    if (old_column == TableSchema::npos) {
      row.columns.push_back(column.type.Default());
      continue;
    }
    // By way of JSON, which knows what fits into what: an integer into a set of reals, say.
    Json json = DatumToJson(old_row.columns[old_column], from.columns[old_column].type);
    absl::StatusOr<Datum> datum = column.type.Parse(json, nullptr);
    if (!datum.ok()) {
      return InvalidArgument("column {} of row {} of table {}: {}", column.name, row.uuid.ToString(), to.name,
                             Message(datum.status()));
    }
    row.columns.push_back(*std::move(datum));
  }
  return row;
}

}  // namespace

bool IsOlderVersion(std::string_view a, std::string_view b) { return VersionNumbers(a) < VersionNumbers(b); }

absl::StatusOr<std::unique_ptr<Database>> ConvertDatabase(const Database& old_database, const DatabaseSchema& schema) {
  auto database = std::make_unique<Database>(schema);
  // As a transaction, so that what lost its last reference with a column goes too.
  Transaction transaction(*database);
  for (const auto& [name, old_table] : old_database.schema().tables) {
    TableState* table = transaction.FindTable(name);
    if (table == nullptr) continue;
    for (const auto& [uuid, old_row] : old_database.rows(name)) {
      absl::StatusOr<Row> row = ConvertRow(old_table, *old_row, *table->schema);
      if (!row.ok()) return row.status();
      transaction.Insert(*table, *std::move(row));
    }
  }
  absl::StatusOr<ChangeSet> changes = transaction.Prepare();
  if (!changes.ok()) return changes.status();
  transaction.Apply(*changes);
  return database;
}

absl::StatusOr<size_t> DropDanglingReferences(Database& database) {
  Transaction transaction(database);
  for (const auto& [name, schema] : database.schema().tables) {
    const TableState& target = *transaction.FindTable(name);
    for (const auto& [uuid, sources] : target.weak_sources) {
      if (target.rows.contains(uuid)) continue;
      // Touched rows are looked through at the end.
      for (const auto& [table, source] : sources) transaction.Modify(*table, source);
    }
  }
  absl::StatusOr<ChangeSet> changes = transaction.Prepare();
  if (!changes.ok()) return changes.status();
  transaction.Apply(*changes);
  return changes->size();
}

}  // namespace sluice
