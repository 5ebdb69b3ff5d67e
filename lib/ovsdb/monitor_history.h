// What monitors work with: changes merged over several commits, and the last commits of a database by their ids.
//
// Rows are shared, not copied; what is held back is bounded by bytes as well as by count, since a row may be large.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <optional>
#include <vector>

#include "lib/ovsdb/database.h"

namespace sluice {

// About what a row takes in memory; 0 for none.
size_t ApproximateBytes(const Row* row);

// Per row, what it was before the first of some commits and what it is after the last: null for not there.
class MergedChanges {
 public:
  struct Change {
    RowPtr old_row;
    RowPtr new_row;
  };
  using Rows = absl::flat_hash_map<Uuid, Change>;

  void Add(const RowChange& change);
  bool empty() const { return tables_.empty(); }
  const absl::flat_hash_map<const TableSchema*, Rows>& tables() const { return tables_; }
  // Of the old rows: new ones are the database's anyway.
  size_t held_bytes() const { return held_bytes_; }

 private:
  absl::flat_hash_map<const TableSchema*, Rows> tables_;
  size_t held_bytes_ = 0;
};

// The last commits of one database. Ids are random and of this process only: after a restart none of the old is known.
class MonitorHistory {
 public:
  static constexpr size_t kMaxCommits = 100;
  static constexpr size_t kMaxBytes = 16 << 20;

  // Adds a commit and returns its id.
  Uuid Add(const ChangeSet& changes);
  // Of the last commit; before the first one, of the state from which the process started.
  const Uuid& last_id() const { return commits_.empty() ? base_id_ : commits_.back().id; }
  // The commits after that of `id`, the oldest first; nothing if it is not known any more.
  std::optional<std::vector<const ChangeSet*>> Since(const Uuid& id) const;
  size_t size() const { return commits_.size(); }

 private:
  struct Commit {
    Uuid id;
    ChangeSet changes;
    size_t bytes;
  };

  Uuid base_id_ = Uuid::Random();  // of the state before the oldest in `commits_`
  std::deque<Commit> commits_;
  size_t bytes_ = 0;
};

}  // namespace sluice
