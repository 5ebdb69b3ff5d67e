// What a transaction does at its end: referential integrity, garbage, weak references, row counts and indexes.
#include <algorithm>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/transaction.h"

namespace sluice {
namespace {

constexpr char kIntegrityViolation[] = "referential integrity violation";
constexpr char kConstraintViolation[] = "constraint violation";

// "a", "a and b", "a, b, and c"
std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += words.size() > 2 ? ", " : " ";
    if (i > 0 && i + 1 == words.size()) text += "and ";
    text += words[i];
  }
  return text;
}

std::string IndexValues(const TableSchema& table, const Index& index, const Row& row) {
  std::vector<std::string> values;
  for (size_t column : index.columns) {
    const ColumnType& type = table.columns[column].type;
    values.push_back(DatumToText(row.columns[column], type.is_map(), type.max == 1));
  }
  return JoinWords(values);
}

std::string IndexName(const TableSchema& table, const Index& index) {
  std::vector<std::string> names;
  for (size_t column : index.columns) names.push_back("\"" + table.columns[column].name + "\"");
  return fmt::format("{} {}", names.size() == 1 ? "column" : "columns", JoinWords(names));
}

// Where a row of a clash comes from.
std::string Origin(const TableSchema& table, const Index& index, const RowPtr& old_row, const Row* new_row) {
  if (old_row == nullptr) return "was inserted by this transaction";
  std::string_view existed = "existed in the database before this transaction";
  if (new_row == nullptr) return fmt::format("{} and was not modified by the transaction", existed);
  if (IndexKey(index, *old_row) == IndexKey(index, *new_row)) {
    return fmt::format("{}, which modified some of the row's columns but not any columns in this index", existed);
  }
  return fmt::format("had the following index values before the transaction: {}", IndexValues(table, index, *old_row));
}

struct ClashingRow {
  const Uuid* uuid;
  RowPtr old_row;
  const Row* new_row;  // nullptr: not modified
};

absl::Status ClashError(const TableState& table, const Index& index, const ClashingRow& first,
                        const ClashingRow& second, const Row& values) {
  return OvsdbError(
      kConstraintViolation,
      fmt::format("Transaction causes multiple rows in \"{}\" table to have identical values ({}) for "
                  "index on {}.  First row, with UUID {}, {}.  Second row, with UUID {}, {}.",
                  table.schema->name, IndexValues(*table.schema, index, values), IndexName(*table.schema, index),
                  first.uuid->ToString(), Origin(*table.schema, index, first.old_row, first.new_row),
                  second.uuid->ToString(), Origin(*table.schema, index, second.old_row, second.new_row)));
}

absl::Status EmptyColumnError(const TableSchema& table, const ColumnSchema& column, const Uuid& row, const Datum& gone,
                              bool inserted) {
  std::string where = fmt::format("column \"{}\" in \"{}\" row {}", column.name, table.name, row.ToString());
  const auto* uuid = std::get_if<Uuid>(&gone.keys[0]);
  if (uuid != nullptr && uuid->IsZero() && gone.size() == 1) {
    return OvsdbError(
        kConstraintViolation,
        fmt::format("Weak reference {} ({} within this transaction) contained all-zeros UUID (probably as "
                    "the default value for this column) but deleting this value caused a constraint "
                    "volation because this column is not allowed to be empty.",
                    where, inserted ? "inserted" : "modified"));
  }
  return OvsdbError(kConstraintViolation,
                    fmt::format("Deletion of {} weak reference(s) to deleted (or never-existing) rows from {} caused "
                                "this column to become empty, but constraints on this column disallow an empty column.",
                                gone.size(), where));
}

}  // namespace

absl::Status Transaction::CheckReferencesExist(const RowState& state) {
  absl::Status status;
  for (const ReferenceColumn& reference : state.table->references) {
    // A column as it was committed can only refer to a row deleted here, which is reported as such.
    if (SameColumn(reference.column, state.old_row.get(), state.new_row.get())) continue;
    VisitReferences(*state.table, reference, *state.new_row, true, [&](TableState& target, const Uuid& uuid) {
      if (!status.ok() || Find(target, uuid) != nullptr) return;
      status = OvsdbError(kIntegrityViolation,
                          fmt::format("Table {} column {} row {} references nonexistent row {} in table {}.",
                                      state.table->schema->name, state.table->schema->columns[reference.column].name,
                                      state.uuid.ToString(), uuid.ToString(), target.schema->name));
    });
  }
  return status;
}

absl::Status Transaction::CheckStrongReferences() {
  for (RowState& state : states_) {
    if (!state.changed()) continue;
    AdjustReferences(*state.table, state.old_row.get(), state.new_row.get());
    if (state.new_row != nullptr) SLUICE_RETURN_IF_ERROR(CheckReferencesExist(state));
  }
  for (const RowState& state : states_) {
    if (state.new_row != nullptr || state.old_row == nullptr) continue;
    size_t left = StrongReferences(*state.table, state.uuid);
    if (left == 0) continue;
    return OvsdbError(kIntegrityViolation, fmt::format("cannot delete {} row {} because of {} remaining reference(s)",
                                                       state.table->schema->name, state.uuid.ToString(), left));
  }
  return absl::OkStatus();
}

void Transaction::FindFirstGarbage() {
  for (const RowState& state : states_) {
    bool inserted = state.old_row == nullptr && state.new_row != nullptr;
    if (inserted && !state.table->schema->is_root) garbage_candidates_.emplace_back(state.table, state.uuid);
  }
}

size_t Transaction::CollectGarbage() {
  size_t collected = 0;
  while (!garbage_candidates_.empty()) {
    auto [table, uuid] = garbage_candidates_.back();
    garbage_candidates_.pop_back();
    const Row* row = Find(*table, uuid);
    if (row == nullptr || StrongReferences(*table, uuid) > 0) continue;
    AdjustReferences(*table, row, nullptr);
    Delete(*table, uuid);
    ++collected;
  }
  return collected;
}

// Divides the elements of a column with weak references into those that stay and those that refer to rows that the
// transaction leaves without.
Transaction::Division Transaction::Divide(const ReferenceColumn& reference, const Datum& datum) const {
  TableState* keys = reference.key_is_strong ? nullptr : reference.key_target;
  TableState* values = reference.value_is_strong ? nullptr : reference.value_target;
  auto gone = [&](TableState* target, const Atom& atom) {
    return target != nullptr && Find(*target, std::get<Uuid>(atom)) == nullptr;
  };
  Division division;
  bool is_map = !datum.values.empty();
  for (size_t i = 0; i < datum.size(); ++i) {
    bool remove = gone(keys, datum.keys[i]) || (is_map && gone(values, datum.values[i]));
    Datum& to = remove ? division.gone : division.left;
    to.keys.push_back(datum.keys[i]);
    if (is_map) to.values.push_back(datum.values[i]);
  }
  return division;
}

absl::Status Transaction::RemoveWeakReferencesOf(RowState& state) {
  const TableSchema& schema = *state.table->schema;
  for (const ReferenceColumn& reference : state.table->references) {
    if (!reference.has_weak()) continue;
    Division division = Divide(reference, state.new_row->columns[reference.column]);
    if (division.gone.empty()) continue;
    const ColumnSchema& column = schema.columns[reference.column];
    if (division.left.size() < column.type.min) {
      return EmptyColumnError(schema, column, state.uuid, division.gone, state.old_row == nullptr);
    }
    // The other side of a removed pair may have been a strong reference.
    Row before = *state.new_row;
    state.new_row->columns[reference.column] = std::move(division.left);
    AdjustReferences(*state.table, &before, state.new_row.get());
  }
  return absl::OkStatus();
}

void Transaction::TouchWeakSources() {
  // By index: touching a row makes the list longer.
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].new_row != nullptr) continue;
    auto sources = states_[i].table->weak_sources.find(states_[i].uuid);
    if (sources == states_[i].table->weak_sources.end()) continue;
    for (const auto& [table, uuid] : sources->second) {
      if (Find(*table, uuid) != nullptr) Touch(*table, uuid);
    }
  }
}

absl::Status Transaction::RemoveWeakReferences() {
  // Once, unless a pair that goes had a strong reference on its other side, to what is garbage now.
  do {
    TouchWeakSources();
    for (RowState& state : states_) {
      if (state.new_row != nullptr) SLUICE_RETURN_IF_ERROR(RemoveWeakReferencesOf(state));
    }
  } while (CollectGarbage() > 0);
  return absl::OkStatus();
}

absl::Status Transaction::CheckRowCounts() const {
  for (const auto& [table, changes] : changes_) {
    size_t count = table->rows.size();
    for (const auto& [uuid, state] : changes.rows) {
      if (state->old_row == nullptr && state->new_row != nullptr) ++count;
      if (state->old_row != nullptr && state->new_row == nullptr) --count;
    }
    // A table that is too large already may shrink.
    if (count <= table->schema->max_rows || count <= table->rows.size()) continue;
    return OvsdbError(kConstraintViolation,
                      fmt::format("transaction causes \"{}\" table to contain {} rows, greater than the schema-defined "
                                  "limit of {} row(s)",
                                  table->schema->name, count, table->schema->max_rows));
  }
  return absl::OkStatus();
}

absl::Status Transaction::CheckIndex(const TableState& table, const Index& index) const {
  absl::flat_hash_map<std::string, const RowState*> taken;  // by this transaction
  for (const RowState& state : states_) {
    if (state.table != &table || state.new_row == nullptr || !state.changed()) continue;
    std::string key = IndexKey(index, *state.new_row);
    auto [other, is_new] = taken.try_emplace(key, &state);
    if (!is_new) {
      const RowState& first = *other->second;
      return ClashError(table, index, {&first.uuid, first.old_row, first.new_row.get()},
                        {&state.uuid, state.old_row, state.new_row.get()}, *state.new_row);
    }
    auto committed = index.rows.find(key);
    if (committed == index.rows.end() || committed->second == state.uuid) continue;
    // The holder's own changes are compared above; here it counts if they leave the index alone.
    const RowState* holder = FindState(table, committed->second);
    if (holder != nullptr && holder->changed()) continue;
    return ClashError(table, index, {&state.uuid, state.old_row, state.new_row.get()},
                      {&committed->second, table.rows.find(committed->second)->second, nullptr}, *state.new_row);
  }
  return absl::OkStatus();
}

absl::Status Transaction::CheckIndexes() const {
  for (const auto& [table, changes] : changes_) {
    if (changes.rows.empty()) continue;
    for (const Index& index : table->indexes) SLUICE_RETURN_IF_ERROR(CheckIndex(*table, index));
  }
  return absl::OkStatus();
}

}  // namespace sluice
