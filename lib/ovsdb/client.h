// OvsdbClient: a session with an OVSDB server and a replica of the tables asked for, kept up to date.
//
// Loop thread. The replica changes as a whole: inside OnChange() and until the next turn it is what the server had
// after one transaction (or several). It stays readable while the server is away; the connection is made anew with
// back-off (1 s doubled up to 8 s), monitored from where it was (monitor_cond_since) where the server knows how, else
// from scratch with the difference found out here, and the lock asked for again. Servers without monitor_cond are
// spoken to by monitor. With a clustered server whose _Server database says that this member is not connected, the next
// remote is tried.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/stream.h"
#include "lib/ovsdb/database.h"
#include "lib/ovsdb/json.h"

namespace sluice {

struct OvsdbClientOptions {
  std::vector<std::string> remotes;  // one or more active targets (a comma-separated --db is split by the caller)
  std::string database = "Open_vSwitch";
  TlsConfig tls;
  // Tables to replicate and their columns; an empty set of columns means all; an empty map means every table. Tables
  // and columns that the server's schema lacks are left out: schema() says.
  std::map<std::string, std::set<std::string>> tables;
  std::string lock;  // "" for none; else asked for after each connect
  std::chrono::milliseconds probe_interval{5000};
  bool reconnect = true;  // false: ended when no remote can be reached, or the session is lost (OnStateChange)
};

class OvsdbClient {
 public:
  enum class State : uint8_t { kConnecting, kSynchronizing, kReady, kBackoff, kEnded };

  OvsdbClient(EventLoop& loop, OvsdbClientOptions options);
  ~OvsdbClient();
  OvsdbClient(const OvsdbClient&) = delete;
  OvsdbClient& operator=(const OvsdbClient&) = delete;

  // Callbacks: set before the loop runs. Called from the loop.
  void OnChange(std::function<void()> callback);       // the replica changed, or is complete for the first time
  void OnStateChange(std::function<void()> callback);  // state(), last_error() or has_lock() changed

  State state() const;
  const absl::Status& last_error() const;  // of the latest connection that failed
  bool has_lock() const;
  bool ever_ready() const;  // the replica has contents

  // The server's schema, once the replica was complete for the first time; nullptr before.
  const DatabaseSchema* schema() const;
  // Rows by UUID. A table that is not replicated or not there is empty.
  const Database::Table& rows(std::string_view table) const;
  const Row* FindRow(std::string_view table, const Uuid& uuid) const;
  // A column by name; a shared empty Datum if the table or column is not replicated.
  const Datum& Get(std::string_view table, const Row& row, std::string_view column) const;

  // Sends a transaction. The callback gets the "result" array; a failed operation is in there, as RFC 7047 says. A lost
  // connection before the reply is an error (kUnavailable: it may or may not have happened).
  using TransactCallback = std::function<void(absl::StatusOr<Json>)>;
  void Transact(Json operations, TransactCallback callback);

  // Any other method on the session.
  void Call(std::string method, Json params, std::function<void(absl::StatusOr<Json>)> callback);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// The first error of a transaction's results, with its details: "constraint violation: ...", or OK. kAborted for "timed
// out": a Verify() failed, and trying again with the replica's new contents is what to do.
absl::Status TransactionError(const Json& results);

// Builds the operations of one transaction. Values are in schema types; columns not set get their defaults. What is
// said of tables and columns that the schema (an older server's) lacks is left out.
class TransactionBuilder {
 public:
  // `schema` outlives the builder.
  explicit TransactionBuilder(const DatabaseSchema& schema) : schema_(schema) {}

  // Returns a UUID that stands for the new row inside this transaction, as a reference in other columns too.
  Uuid Insert(std::string_view table);
  void Set(std::string_view table, const Uuid& row, std::string_view column, Datum value);
  // Adds to / removes from a set or map without writing the rest. A key that a map has already gets the new value. From
  // a map, elements without values remove their keys, pairs only if they are equal.
  void AddTo(std::string_view table, const Uuid& row, std::string_view column, Datum elements);
  void RemoveFrom(std::string_view table, const Uuid& row, std::string_view column, Datum elements);
  void Increment(std::string_view table, const Uuid& row, std::string_view column, int64_t by);
  void Delete(std::string_view table, const Uuid& row);
  // The transaction fails ("timed out") unless the column still has this value.
  void Verify(std::string_view table, const Uuid& row, std::string_view column, Datum value);
  void Assert(std::string_view lock);
  void Comment(std::string_view text);

  bool empty() const;  // nothing would change
  // The operations, without the database's name. `ResultIndex(row)` later says which result holds an inserted row's
  // UUID.
  Json Build() const;
  std::optional<size_t> ResultIndex(const Uuid& inserted) const;

 private:
  enum class MutationKind : uint8_t { kAdd, kRemove, kIncrement };
  struct Mutation;
  struct RowEdit;

  RowEdit* Edit(std::string_view table, const Uuid& row);
  void Mutate(std::string_view table, const Uuid& row, std::string_view column, MutationKind kind, Datum elements);
  void AddOperations(const RowEdit& edit, Json* operations) const;
  void AddMutation(const Mutation& mutation, Json* mutations) const;
  Json DatumJson(const Datum& datum, bool is_map) const;
  Json AtomJson(const Atom& atom) const;

  const DatabaseSchema& schema_;
  std::vector<std::shared_ptr<RowEdit>> edits_;  // in order of their first mention
  absl::flat_hash_map<Uuid, size_t> index_;      // of them by row
  Json tail_ = Json::array();                    // comments
  Json head_ = Json::array();                    // assert, then verify
};

}  // namespace sluice
