// TableState: the committed rows of one table, and what is kept beside them so that a commit looks only at the rows
// that it touches: counts of strong references, who holds weak ones, and the values of indexes.
//
// The database's own; changed by Apply() alone.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/ovsdb/database.h"

namespace sluice {

// A column whose keys or values refer to rows.
struct ReferenceColumn {
  size_t column = 0;
  TableState* key_target = nullptr;  // nullptr: keys refer to nothing
  TableState* value_target = nullptr;
  bool key_is_strong = false;
  bool value_is_strong = false;

  bool has_weak() const {
    return (key_target != nullptr && !key_is_strong) || (value_target != nullptr && !value_is_strong);
  }
};

struct Index {
  std::vector<size_t> columns;
  absl::flat_hash_map<std::string, Uuid> rows;  // by IndexKey()
};

struct TableState {
  const TableSchema* schema = nullptr;
  Database::Table rows;
  std::vector<ReferenceColumn> references;
  std::vector<Index> indexes;
  // How many strong references from other rows each row here has; what has none is absent.
  absl::flat_hash_map<Uuid, size_t> strong_references;
  // The rows with weak references to each row here.
  using Source = std::pair<TableState*, Uuid>;
  absl::flat_hash_map<Uuid, absl::flat_hash_set<Source>> weak_sources;

  size_t StrongReferences(const Uuid& uuid) const {
    auto found = strong_references.find(uuid);
    return found == strong_references.end() ? 0 : found->second;
  }

  // Makes a change the truth, here and in the tables that the row refers to.
  void Apply(const RowChange& change);

 private:
  void ApplyStrongReferences(const Row* old_row, const Row* new_row);
  void ApplyWeakReferences(const Row* old_row, const Row* new_row);
  void ApplyIndexes(const Row* old_row, const Row* new_row);
};

// The values of an index's columns as one string: equal if and only if the values are.
std::string IndexKey(const Index& index, const Row& row);

// Whether both rows are there and have equal values in that column.
inline bool SameColumn(size_t column, const Row* a, const Row* b) {
  return a != nullptr && b != nullptr && a->columns[column] == b->columns[column];
}

// Calls visit(target table, uuid) for each strong (or each weak) reference to another row in a column of `row`.
template <typename Visitor>
void VisitReferences(const TableState& table, const ReferenceColumn& reference, const Row& row, bool strong,
                     Visitor&& visit) {
  auto visit_atoms = [&](const std::vector<Atom>& atoms, TableState* target) {
    for (const Atom& atom : atoms) {
      const Uuid& uuid = std::get<Uuid>(atom);
      if (target != &table || uuid != row.uuid) visit(*target, uuid);
    }
  };
  const Datum& datum = row.columns[reference.column];
  if (reference.key_target != nullptr && reference.key_is_strong == strong) {
    visit_atoms(datum.keys, reference.key_target);
  }
  if (reference.value_target != nullptr && reference.value_is_strong == strong) {
    visit_atoms(datum.values, reference.value_target);
  }
}

}  // namespace sluice
