#include "lib/ovsdb/transaction.h"

#include <algorithm>

namespace sluice {

bool Transaction::RowState::changed() const {
  if (old_row == nullptr || new_row == nullptr) return old_row != nullptr || new_row != nullptr;
  return old_row->columns != new_row->columns;
}

Transaction::Transaction(Database& database) : database_(database) {}

TableState* Transaction::FindTable(std::string_view name) {
  auto found = database_.tables_.find(name);
  return found == database_.tables_.end() ? nullptr : found->second.get();
}

Transaction::RowState* Transaction::FindState(const TableState& table, const Uuid& uuid) const {
  auto changes = changes_.find(&table);
  if (changes == changes_.end()) return nullptr;
  auto found = changes->second.rows.find(uuid);
  return found == changes->second.rows.end() ? nullptr : found->second;
}

Transaction::RowState& Transaction::AddState(TableState& table, const Uuid& uuid) {
  RowState& state = states_.emplace_back();
  state.table = &table;
  state.uuid = uuid;
  changes_[&table].rows[uuid] = &state;
  return state;
}

Transaction::RowState& Transaction::Touch(TableState& table, const Uuid& uuid) {
  if (RowState* state = FindState(table, uuid)) return *state;
  RowState& state = AddState(table, uuid);
  state.old_row = table.rows.find(uuid)->second;
  state.new_row = std::make_shared<Row>(*state.old_row);
  // As a reader within the transaction sees it; it stays so if there is a change in the end.
  state.new_row->version = Uuid::Random();
  return state;
}

const Row* Transaction::Find(const TableState& table, const Uuid& uuid) const {
  if (const RowState* state = FindState(table, uuid)) return state->new_row.get();
  auto found = table.rows.find(uuid);
  return found == table.rows.end() ? nullptr : found->second.get();
}

std::vector<Uuid> Transaction::Match(const TableState& table, const Condition& condition) const {
  std::vector<Uuid> matches;
  if (std::optional<Uuid> only = condition.OnlyRow()) {
    const Row* row = Find(table, *only);
    if (row != nullptr && condition.Matches(*row)) matches.push_back(*only);
    return matches;
  }
  auto changes = changes_.find(&table);
  const auto* touched = changes == changes_.end() ? nullptr : &changes->second.rows;
  for (const auto& [uuid, row] : table.rows) {
    if (touched != nullptr && touched->contains(uuid)) continue;
    if (condition.Matches(*row)) matches.push_back(uuid);
  }
  if (touched != nullptr) {
    for (const auto& [uuid, state] : *touched) {
      if (state->new_row != nullptr && condition.Matches(*state->new_row)) matches.push_back(uuid);
    }
  }
  std::sort(matches.begin(), matches.end());
  return matches;
}

bool Transaction::IsTaken(const TableState& table, const Uuid& uuid) const {
  return table.rows.contains(uuid) || Find(table, uuid) != nullptr;
}

void Transaction::Insert(TableState& table, Row row) {
  Uuid uuid = row.uuid;
  // Inserted and deleted before, by this transaction: it may be taken up again.
  RowState* state = FindState(table, uuid);
  if (state == nullptr) state = &AddState(table, uuid);
  state->new_row = std::make_shared<Row>(std::move(row));
  state->new_row->version = Uuid::Random();
}

Row& Transaction::Modify(TableState& table, const Uuid& uuid) { return *Touch(table, uuid).new_row; }

void Transaction::Delete(TableState& table, const Uuid& uuid) {
  RowState* state = FindState(table, uuid);
  if (state == nullptr) {
    state = &AddState(table, uuid);
    state->old_row = table.rows.find(uuid)->second;
  }
  state->new_row.reset();
}

size_t Transaction::StrongReferences(const TableState& table, const Uuid& uuid) const {
  auto count = static_cast<int64_t>(table.StrongReferences(uuid));
  auto changes = changes_.find(&table);
  if (changes != changes_.end()) {
    auto delta = changes->second.reference_deltas.find(uuid);
    if (delta != changes->second.reference_deltas.end()) count += delta->second;
  }
  return count > 0 ? static_cast<size_t>(count) : 0;
}

void Transaction::AdjustReferences(const TableState& table, const Row* old_row, const Row* new_row) {
  for (const ReferenceColumn& reference : table.references) {
    if (SameColumn(reference.column, old_row, new_row)) continue;
    if (old_row != nullptr) {
      VisitReferences(table, reference, *old_row, true, [&](TableState& target, const Uuid& uuid) {
        --changes_[&target].reference_deltas[uuid];
        if (!target.schema->is_root) garbage_candidates_.emplace_back(&target, uuid);
      });
    }
    if (new_row != nullptr) {
      VisitReferences(table, reference, *new_row, true,
                      [&](TableState& target, const Uuid& uuid) { ++changes_[&target].reference_deltas[uuid]; });
    }
  }
}

absl::StatusOr<ChangeSet> Transaction::Prepare() {
  SLUICE_RETURN_IF_ERROR(CheckStrongReferences());
  FindFirstGarbage();
  CollectGarbage();
  SLUICE_RETURN_IF_ERROR(RemoveWeakReferences());
  SLUICE_RETURN_IF_ERROR(CheckRowCounts());
  SLUICE_RETURN_IF_ERROR(CheckIndexes());
  ChangeSet changes;
  for (RowState& state : states_) {
    if (state.changed()) changes.push_back({state.table->schema, state.old_row, state.new_row});
  }
  return changes;
}

void Transaction::Apply(const ChangeSet& changes) {
  for (const RowChange& change : changes) FindTable(change.table->name)->Apply(change);
}

}  // namespace sluice
