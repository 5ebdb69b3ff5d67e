#include "lib/ovsdb/database.h"

#include <cstdlib>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/operations.h"
#include "lib/ovsdb/table_state.h"
#include "lib/ovsdb/transaction.h"

namespace sluice {
namespace {

bool IsStrong(const BaseType& base) { return base.ref_type == BaseType::RefType::kStrong; }

// An operation's error becomes its result; what follows it was not tried.
Json WithError(Json results, const absl::Status& error, size_t count) {
  results.push_back(OvsdbErrorToJson(error));
  while (results.size() < count) results.push_back(nullptr);
  return results;
}

Database::Outcome Done(Json results) {
  Database::Outcome outcome;
  outcome.results = std::make_shared<const Json>(std::move(results));
  return outcome;
}

absl::Status CheckReplayed(const TableState& table, const RowChange& change) {
  const Row* row = change.new_row != nullptr ? change.new_row.get() : change.old_row.get();
  if (row == nullptr)
    return InvalidArgument("a change of table {} has neither an old nor a new row", table.schema->name);
  auto found = table.rows.find(row->uuid);
  if ((change.old_row != nullptr) != (found != table.rows.end())) {
    return InvalidArgument("row {} of table {} is {}", row->uuid.ToString(), table.schema->name,
                           change.old_row != nullptr ? "changed but not there" : "inserted but there already");
  }
  if (change.new_row == nullptr) return absl::OkStatus();
  if (row->columns.size() != table.schema->columns.size()) {
    return InvalidArgument("row {} of table {} has {} columns, not {}", row->uuid.ToString(), table.schema->name,
                           row->columns.size(), table.schema->columns.size());
  }
  for (size_t i = 0; i < row->columns.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(table.schema->columns[i].type.Check(row->columns[i]));
  }
  return absl::OkStatus();
}

}  // namespace

Database::Database(DatabaseSchema schema) : schema_(std::move(schema)) {
  for (const auto& [name, table_schema] : schema_.tables) {
    auto table = std::make_unique<TableState>();
    table->schema = &table_schema;
    for (const std::vector<std::string>& names : table_schema.indexes) {
      Index& index = table->indexes.emplace_back();
      for (const std::string& column : names) index.columns.push_back(table_schema.FindColumn(column));
    }
    tables_.emplace(name, std::move(table));
  }
  auto target = [&](const BaseType& base) {
    return base.ref_table.empty() ? nullptr : tables_.find(base.ref_table)->second.get();
  };
  for (auto& [name, table] : tables_) {
    for (size_t i = 0; i < table->schema->columns.size(); ++i) {
      const ColumnType& type = table->schema->columns[i].type;
      ReferenceColumn reference;
      reference.column = i;
      reference.key_target = target(type.key);
      reference.key_is_strong = IsStrong(type.key);
      if (type.is_map()) {
        reference.value_target = target(*type.value);
        reference.value_is_strong = IsStrong(*type.value);
      }
      if (reference.key_target != nullptr || reference.value_target != nullptr) table->references.push_back(reference);
    }
  }
}

Database::~Database() = default;

const Database::Table& Database::rows(std::string_view table) const {
  auto found = tables_.find(table);
  if (found == tables_.end()) std::abort();
  return found->second->rows;
}

size_t Database::row_count() const {
  size_t count = 0;
  for (const auto& [name, table] : tables_) count += table->rows.size();
  return count;
}

Database::Outcome Database::Execute(const Json& operations, const TransactionContext& context, bool timed_out) {
  Transaction transaction(*this);
  OperationRunner runner(transaction, context, timed_out);
  size_t count = operations.size();
  Json results = Json::array();
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<Json> result = runner.Run(operations[i], i, count);
    if (!result.ok()) return Done(WithError(std::move(results), result.status(), count));
    if (runner.must_wait()) {
      Outcome outcome;
      outcome.kind = Outcome::Kind::kMustWait;
      outcome.timeout_ms = runner.wait_timeout_ms();
      return outcome;
    }
    results.push_back(*std::move(result));
  }

  absl::StatusOr<ChangeSet> changes = transaction.Prepare();
  if (!changes.ok()) return Done(WithError(std::move(results), changes.status(), count));
  if (changes->empty()) return Done(std::move(results));
  if (commit_hook_) {
    absl::Status status = commit_hook_(*changes, runner.comments(), runner.durable());
    if (!status.ok()) return Done(WithError(std::move(results), OvsdbError("I/O error", Message(status)), count));
  }
  transaction.Apply(*changes);
  if (on_commit_) on_commit_(*changes);
  return Done(std::move(results));
}

absl::Status Database::Replay(const ChangeSet& changes) {
  for (const RowChange& change : changes) {
    auto found = change.table == nullptr ? tables_.end() : tables_.find(change.table->name);
    if (found == tables_.end()) return InvalidArgument("a change is of no table of database {}", schema_.name);
    SLUICE_RETURN_IF_ERROR(CheckReplayed(*found->second, change));
    RowChange known = change;
    // What is there now is what is replaced, whatever the caller holds.
    if (change.old_row != nullptr) known.old_row = found->second->rows.find(change.old_row->uuid)->second;
    found->second->Apply(known);
  }
  return absl::OkStatus();
}

}  // namespace sluice
