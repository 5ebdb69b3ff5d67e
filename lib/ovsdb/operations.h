// Operations: the members of a transact request (RFC 7047 section 5.2), run one after another on a Transaction.
//
// The database's own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/ovsdb/json_members.h"
#include "lib/ovsdb/transaction.h"

namespace sluice {

class OperationRunner {
 public:
  OperationRunner(Transaction& transaction, const TransactionContext& context, bool timed_out)
      : transaction_(transaction), context_(context), timed_out_(timed_out) {}

  // The result of an operation, or its error. Where must_wait() holds afterwards, the transaction ends without a
  // result.
  absl::StatusOr<Json> Run(const Json& operation, size_t index, size_t count);

  bool must_wait() const { return wait_timeout_ms_.has_value(); }
  int64_t wait_timeout_ms() const { return *wait_timeout_ms_; }
  const std::string& comments() const { return comments_; }
  bool durable() const { return durable_; }

 private:
  using Symbols = std::map<std::string, Uuid, std::less<>>;
  // A row as a client writes it: some columns, maybe _uuid and _version.
  struct PartialRow {
    std::vector<std::pair<size_t, Datum>> columns;
    std::optional<Uuid> uuid;
    std::optional<Uuid> version;
  };
  // What "columns" chose; without it all.
  struct ColumnSet {
    bool uuid = true;
    bool version = true;
    std::vector<size_t> columns;
  };

  absl::StatusOr<Json> Insert(JsonMembers& members);
  absl::StatusOr<Json> Select(JsonMembers& members);
  absl::StatusOr<Json> Update(JsonMembers& members, const Json& operation);
  absl::StatusOr<Json> Mutate(JsonMembers& members);
  absl::StatusOr<Json> Delete(JsonMembers& members);
  absl::StatusOr<Json> Wait(JsonMembers& members);
  absl::StatusOr<Json> Commit(JsonMembers& members);
  absl::StatusOr<Json> Abort(JsonMembers& members);
  absl::StatusOr<Json> Comment(JsonMembers& members);
  absl::StatusOr<Json> Assert(JsonMembers& members);

  TableState* ParseTable(JsonMembers& members);
  absl::StatusOr<Condition> ParseWhere(const TableState& table, const Json& where);
  absl::StatusOr<PartialRow> ParseRow(const TableState& table, const Json& json);
  absl::StatusOr<Uuid> NewUuid(const TableState& table, const Json* uuid, const Json* uuid_name);
  absl::Status WaitUnfulfilled(int64_t timeout_ms);
  bool RowsAreEqual(const TableState& table, const std::vector<Uuid>& found, const std::vector<PartialRow>& wanted,
                    const ColumnSet& columns) const;
  static absl::StatusOr<ColumnSet> ParseColumns(const TableState& table, const Json* json);

  Transaction& transaction_;
  const TransactionContext& context_;
  bool timed_out_;
  std::optional<int64_t> wait_timeout_ms_;
  std::string comments_;
  bool durable_ = false;
  Symbols symbols_;
  std::set<std::string> inserted_symbols_;
};

}  // namespace sluice
