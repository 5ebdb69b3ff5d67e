// Transactions that wait: a wait operation in them was not fulfilled when they were tried last (RFC 7047
// section 5.2.6).
//
// lib/ovsdb's own. Each is tried again after every commit to its database, until it is done, timed out or cancelled.
// The tries are spread over turns of the loop, so that many of them hold up nobody.
#pragma once

#include <chrono>
#include <list>

#include "lib/io/event_loop.h"
#include "lib/ovsdb/json.h"

namespace sluice {

class OvsdbSession;
struct ServedDatabase;

class PendingTransactions {
 public:
  // Of one session, together; more are refused.
  static constexpr size_t kMaxPerSession = 1000;
  static constexpr size_t kMaxBytesPerSession = 64 << 20;  // estimated

  explicit PendingTransactions(EventLoop& loop) : loop_(loop) {}

  // `timeout_ms` as Database::Outcome. False if the session has too many already: nothing is kept then.
  bool Add(OvsdbSession& session, ServedDatabase& database, Json id, Json operations, int64_t timeout_ms);
  bool Has(const OvsdbSession& session, const Json& id) const;
  // Whether there was one; it is forgotten.
  bool Cancel(const OvsdbSession& session, const Json& id);
  void RemoveSession(const OvsdbSession& session);

  // Tries those whose database changed since, for `budget` at most. Returns whether some are left to try.
  bool Retry(std::chrono::steady_clock::duration budget);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    OvsdbSession* session;
    ServedDatabase* database;
    Json id;
    Json operations;
    size_t bytes;
    uint64_t tried_at = 0;  // ServedDatabase::commits
    EventLoop::Handle timer;
  };
  using Entries = std::list<Entry>;

  // Takes the entry out while it runs and puts it back, at the end, if it has to wait further.
  void Run(Entries::iterator entry, bool timed_out);

  EventLoop& loop_;
  Entries entries_;
};

// About what a JSON value takes in memory.
size_t ApproximateBytes(const Json& json);

}  // namespace sluice
