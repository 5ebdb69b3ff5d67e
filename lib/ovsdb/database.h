// Database: the rows of one OVSDB database in memory, and the execution of transactions on them (RFC 7047 section 5.2,
// ovsdb(7), ovsdb-server(7)).
//
// One thread. A transaction is all or nothing. At commit, in this order: strong references to rows that are not there
// are an error ("referential integrity violation"; rows about to be collected count as there), the rows that nothing
// references any more are deleted (tables that are not root; a row's reference to itself does not count), weak
// references to rows that are gone are removed, then cardinality, max_rows and indexes are checked ("constraint
// violation").
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/schema.h"
#include "lib/ovsdb/value.h"

namespace sluice {

struct TableState;  // table_state.h, the database's own

// Immutable: a change makes a new one. Shared with monitors that have not sent it yet.
struct Row {
  Uuid uuid;
  Uuid version;                // _version: another one after each change
  std::vector<Datum> columns;  // by the index of the column in its TableSchema
};
using RowPtr = std::shared_ptr<const Row>;

// One row's difference by a committed transaction. old_row is null for an insertion, new_row for a deletion.
struct RowChange {
  const TableSchema* table = nullptr;
  RowPtr old_row;
  RowPtr new_row;
};
using ChangeSet = std::vector<RowChange>;

// What a transaction runs with, as seen from its client.
struct TransactionContext {
  // Whether the client holds that lock: for the assert operation.
  std::function<bool(std::string_view lock)> holds_lock;
  bool read_only = false;  // refuse operations that change ("not allowed" as ovsdb-server says it)
};

class Database {
 public:
  using Table = absl::flat_hash_map<Uuid, RowPtr>;

  // Makes `changes` lasting; called before they become visible. `comments`: of the comment operations, joined by lines.
  // On an error nothing has changed and the client sees "I/O error" with this message.
  using CommitHook = std::function<absl::Status(const ChangeSet& changes, const std::string& comments, bool durable)>;

  explicit Database(DatabaseSchema schema);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const DatabaseSchema& schema() const { return schema_; }
  const Table& rows(std::string_view table) const;  // the table exists
  size_t row_count() const;

  void set_commit_hook(CommitHook hook) { commit_hook_ = std::move(hook); }
  // Called after each commit that changed something.
  void set_on_commit(std::function<void(const ChangeSet&)> on_commit) { on_commit_ = std::move(on_commit); }

  struct Outcome {
    enum class Kind : uint8_t { kDone, kMustWait };
    Kind kind = Kind::kDone;
    // kDone: the "result" array of the reply, RFC 7047 section 4.1.3: one member per operation, an error object where
    // it failed, null for those after it, and one more error object when the commit itself failed. (Through a pointer:
    // the JSON library is not included here.)
    std::shared_ptr<const Json> results;
    // kMustWait: a wait operation was not fulfilled. Nothing has changed; run it again after the next commit, until
    // timeout_ms (INT64_MAX: none) after the first time; then set `timed_out` and it ends with "timed out".
    int64_t timeout_ms = 0;
  };
  // `operations`: params without the database's name.
  Outcome Execute(const Json& operations, const TransactionContext& context, bool timed_out = false);

  // Applies a change set that was committed before, from a log: only shape and types are checked, and uniqueness of
  // UUIDs. Not given to the commit hook.
  absl::Status Replay(const ChangeSet& changes);

 private:
  friend class Transaction;

  const DatabaseSchema schema_;
  // Rows, references and indexes of each table, by its name.
  std::map<std::string, std::unique_ptr<TableState>, std::less<>> tables_;
  CommitHook commit_hook_;
  std::function<void(const ChangeSet&)> on_commit_;
};

// Conditions (RFC 7047 section 5.1): [[column, function, value], ...], all of which must hold; also the booleans and,
// in monitor_cond, any of which must hold.
class Condition {
 public:
  enum class Combine : uint8_t { kAll, kAny };

  static absl::StatusOr<Condition> Parse(const TableSchema& table, const Json& json, Combine combine,
                                         std::map<std::string, Uuid, std::less<>>* symbols = nullptr);
  bool Matches(const Row& row) const;
  // The only row that can match, where the condition names it by its _uuid.
  std::optional<Uuid> OnlyRow() const;
  bool always() const { return clauses_.empty() && value_if_empty_; }

 private:
  enum class Function : uint8_t { kLess, kLessEqual, kEqual, kNotEqual, kGreaterEqual, kGreater, kIncludes, kExcludes };
  static absl::StatusOr<Function> ParseFunction(const std::string& name);
  struct Clause {
    size_t column;  // index; kUuidColumn, kVersionColumn
    Function function;
    Datum value;

    bool Holds(const Row& row) const;
  };
  static absl::StatusOr<Clause> ParseClause(const TableSchema& table, const Json& json,
                                            std::map<std::string, Uuid, std::less<>>* symbols);
  static constexpr size_t kUuidColumn = static_cast<size_t>(-2);
  static constexpr size_t kVersionColumn = static_cast<size_t>(-3);

  Combine combine_ = Combine::kAll;
  bool value_if_empty_ = true;
  std::vector<Clause> clauses_;
};

}  // namespace sluice
