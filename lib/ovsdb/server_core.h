// ServerCore: what the sessions of an OVSDB server share: databases, locks, transactions that wait, and each other.
//
// lib/ovsdb's own, used by OvsdbServer. Loop thread.
//
// The way of a commit: Database::Execute() gives it to the file (appended and flushed to disk), makes it visible, and
// calls OnCommit() here, which remembers it in every monitor. Then the session that asked sends its own monitors'
// updates and its reply; in a later turn AfterCommit() sends the others' updates, tries again the transactions that
// wait, and compacts the file when it has grown. So nobody sees what is not on disk.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "lib/ovsdb/database.h"
#include "lib/ovsdb/lock_table.h"
#include "lib/ovsdb/log_file.h"
#include "lib/ovsdb/monitor_history.h"
#include "lib/ovsdb/server_pending.h"

namespace sluice {

class OvsdbSession;
struct SessionOptions;

struct ServedDatabase {
  std::unique_ptr<Database> database;
  std::unique_ptr<LogFile> file;  // null: in memory only
  bool reserved = false;          // clients may only read it
  MonitorHistory history;
  uint64_t commits = 0;  // since it is served
  std::chrono::steady_clock::time_point next_compaction;

  const std::string& name() const { return database->schema().name; }
};

class ServerCore {
 public:
  explicit ServerCore(EventLoop& loop);
  ~ServerCore();
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  absl::Status AddDatabase(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file);
  ServedDatabase* FindDatabase(std::string_view name);  // nullptr if there is none of that name
  std::vector<std::string> DatabaseNames() const;       // sorted
  absl::Status Compact(ServedDatabase& served);

  // Called in a later turn after any commit, with the database's name.
  void SetOnCommit(std::function<void(const std::string& database)> on_commit) { on_commit_ = std::move(on_commit); }

  // Serves a client until it goes. `on_closed` then; not called when the core goes first. Refuses (nullptr, with a log
  // line) what is beyond `max_sessions`.
  OvsdbSession* AddSession(std::unique_ptr<Stream> stream, const SessionOptions& options,
                           std::function<void(const absl::Status&)> on_closed);
  void set_max_sessions(size_t max_sessions) { max_sessions_ = max_sessions; }
  size_t session_count() const { return live_sessions_; }
  // A session ended itself: it is destroyed in a later turn.
  void OnSessionEnded();

  EventLoop& loop() { return loop_; }
  LockTable& locks() { return locks_; }
  PendingTransactions& pending() { return pending_; }
  const Uuid& server_id() const { return server_id_; }
  // Calls `function` in a later turn unless the core is gone by then.
  void Post(std::function<void()> function);

 private:
  absl::Status Serve(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file, bool reserved);
  void OnCommit(ServedDatabase& served, const ChangeSet& changes);
  void ScheduleAfterCommit();
  void AfterCommit();
  void CompactIfGrown(ServedDatabase& served);

  EventLoop& loop_;
  const Uuid server_id_ = Uuid::Random();
  std::map<std::string, ServedDatabase, std::less<>> databases_;
  LockTable locks_;
  PendingTransactions pending_;
  std::list<std::unique_ptr<OvsdbSession>> sessions_;
  size_t live_sessions_ = 0;
  size_t max_sessions_;
  std::function<void(const std::string&)> on_commit_;
  std::vector<std::string> committed_;  // databases to tell on_commit_ of
  bool after_commit_scheduled_ = false;
  bool reap_scheduled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // expired for what was posted and comes after us
};

}  // namespace sluice
