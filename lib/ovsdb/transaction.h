// Transaction: changes to a database that nobody else sees until they are committed.
//
// The database's own. Lives within one call of Database::Execute(); the database does not change meanwhile.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/ovsdb/table_state.h"

namespace sluice {

class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  TableState* FindTable(std::string_view name);

  // The row as the transaction sees it, or nullptr. Valid until the row is changed.
  const Row* Find(const TableState& table, const Uuid& uuid) const;
  // The rows that match, as the transaction sees them, by their UUIDs in ascending order.
  std::vector<Uuid> Match(const TableState& table, const Condition& condition) const;

  // Whether a row of that UUID is there, or was before this transaction deleted it.
  bool IsTaken(const TableState& table, const Uuid& uuid) const;
  // `row` has a UUID that is not taken.
  void Insert(TableState& table, Row row);
  // A row to change in place; it exists. Valid until it is deleted. What comes out unchanged is no change.
  Row& Modify(TableState& table, const Uuid& uuid);
  void Delete(TableState& table, const Uuid& uuid);  // it exists

  // Collects garbage, removes weak references and checks everything that is checked at commit. After an error the
  // transaction is of no further use.
  absl::StatusOr<ChangeSet> Prepare();
  // Makes what Prepare() gave the truth.
  void Apply(const ChangeSet& changes);

 private:
  struct RowState {
    TableState* table = nullptr;
    Uuid uuid;
    RowPtr old_row;                // as committed; nullptr: inserted here
    std::shared_ptr<Row> new_row;  // nullptr: deleted; never equal to old_row by address

    bool changed() const;
  };
  struct TableChanges {
    absl::flat_hash_map<Uuid, RowState*> rows;
    // What the transaction changes the counts of strong references to rows of this table by.
    absl::flat_hash_map<Uuid, int64_t> reference_deltas;
  };

  RowState* FindState(const TableState& table, const Uuid& uuid) const;
  RowState& AddState(TableState& table, const Uuid& uuid);
  RowState& Touch(TableState& table, const Uuid& uuid);
  size_t StrongReferences(const TableState& table, const Uuid& uuid) const;
  // Counts the strong references of new_row instead of old_row's (either may be nullptr), and remembers what lost one.
  void AdjustReferences(const TableState& table, const Row* old_row, const Row* new_row);

  // commit_checks.cc
  absl::Status CheckStrongReferences();
  absl::Status CheckReferencesExist(const RowState& state);
  void FindFirstGarbage();
  size_t CollectGarbage();  // how many rows it deleted
  struct Division {
    Datum left;
    Datum gone;
  };
  Division Divide(const ReferenceColumn& reference, const Datum& datum) const;
  void TouchWeakSources();
  absl::Status RemoveWeakReferences();
  absl::Status RemoveWeakReferencesOf(RowState& state);
  absl::Status CheckRowCounts() const;
  absl::Status CheckIndexes() const;
  absl::Status CheckIndex(const TableState& table, const Index& index) const;

  Database& database_;
  std::deque<RowState> states_;  // in the order in which they were touched
  absl::flat_hash_map<const TableState*, TableChanges> changes_;
  std::vector<TableState::Source> garbage_candidates_;
};

}  // namespace sluice
