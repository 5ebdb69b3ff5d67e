// Transaction: the database as a command line sees it while it runs, the replica with the line's own changes on top,
// and what becomes of them: the operations of one OVSDB transaction.
//
// Loop thread; lives while the replica does not change. Rows are named by their UUID; one inserted here has a UUID of
// its own until the server gave it another (the one asked for, if it was). Table and column names are those of the
// schema, exactly: a name that is not there is a programming error, but for tables and columns that an older server
// lacks, which are empty and cannot be written (the server says so).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/database.h"

namespace sluice::vsctl {

class Transaction {
 public:
  using Replica = std::function<const Database::Table&(std::string_view table)>;

  Transaction(const DatabaseSchema& schema, Replica replica) : schema_(schema), replica_(std::move(replica)) {}

  const DatabaseSchema& schema() const { return schema_; }

  // The rows that are there now, those inserted here included: by UUID.
  std::vector<Uuid> Rows(std::string_view table) const;
  bool Exists(std::string_view table, const Uuid& row) const;
  bool IsInserted(const Uuid& row) const;
  // The current value. The column was asked for from the server, or the row was inserted here.
  const Datum& Get(std::string_view table, const Uuid& row, std::string_view column) const;

  // A new row with default values. `uuid`: names it here; `keep_uuid`: and in the database.
  Uuid Insert(std::string_view table, std::optional<Uuid> uuid = std::nullopt, bool keep_uuid = false);
  void Set(std::string_view table, const Uuid& row, std::string_view column, Datum value);
  // Of columns that hold sets: adds and removes elements, whatever else others put there meanwhile.
  void AddTo(std::string_view table, const Uuid& row, std::string_view column, const Atom& element);
  void RemoveFrom(std::string_view table, const Uuid& row, std::string_view column, const Atom& element);
  // Rows of tables that are not root are gone for this command line; whether they go is up to their references.
  void Delete(std::string_view table, const Uuid& row);
  // The transaction shall not happen if somebody else changes this column (or the row goes) before it does.
  void Verify(std::string_view table, const Uuid& row, std::string_view column);
  // Adds one to an integer, if the transaction changes anything else.
  void Increment(const Uuid& row, std::string_view table, std::string_view column) {
    increment_ = {std::string(table), row, std::string(column)};
  }

  bool changed() const;

  struct Operations {
    std::shared_ptr<Json> json;       // without the database's name (a pointer: the JSON library is not included here)
    std::map<Uuid, size_t> inserted;  // the result that holds the UUID in the database, by the UUID here
    std::optional<size_t> incremented;  // the result that holds the row with the incremented column, if anything was
  };
  Operations Build(std::string_view comment) const;

 private:
  struct Change {
    bool whole = false;  // the value is written; otherwise only the elements that differ
    Datum value;
    std::set<Atom> added;
    std::set<Atom> removed;
  };
  struct Edit {
    std::string table;
    RowPtr old;  // null if inserted
    bool inserted = false;
    bool keep_uuid = false;
    bool deleted = false;
    std::map<std::string, Change, std::less<>> changes;
    std::set<std::string, std::less<>> verified;
  };
  struct Target {
    std::string table;
    Uuid row;
    std::string column;
  };

  const TableSchema* FindTable(std::string_view table) const;
  const Database::Table& Base(std::string_view table) const;
  Edit& EditOf(std::string_view table, const Uuid& row);
  Change& ChangeOf(std::string_view table, const Uuid& row, std::string_view column);
  const Datum& OldValue(const Edit& edit, std::string_view column) const;
  bool Differs(const Edit& edit, std::string_view column, const Change& change) const;
  bool IsRoot(const Edit& edit) const;

  const DatabaseSchema& schema_;
  Replica replica_;
  absl::flat_hash_map<Uuid, size_t> edit_index_;
  std::vector<std::pair<Uuid, Edit>> edits_;  // in the order of their first mention
  std::optional<Target> increment_;
};

}  // namespace sluice::vsctl
