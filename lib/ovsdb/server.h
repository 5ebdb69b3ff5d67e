// OvsdbServer: serves databases to any number of clients (RFC 7047 section 4, ovsdb-server(7)): transact, monitors of
// all four generations, locks, and the _Server database that describes the others.
//
// Everything runs in the loop's thread (the daemon gives it a thread and a loop of its own). Bounded: a message by
// kMaxRequestBytes (one of that size keeps all others waiting for about a second), connections by kMaxSessions, what a
// slow reader has not read by kMaxUnsentBytes (changes to a monitor are merged while its client does not read; a client
// that still falls behind is dropped, with a log line that names it).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "lib/ovsdb/database.h"
#include "lib/ovsdb/log_file.h"

namespace sluice {

class OvsdbServer {
 public:
  static constexpr size_t kMaxSessions = 1024;
  static constexpr size_t kMaxRequestBytes = 16 << 20;
  static constexpr size_t kMaxUnsentBytes = 64 << 20;

  explicit OvsdbServer(EventLoop& loop);
  ~OvsdbServer();
  OvsdbServer(const OvsdbServer&) = delete;
  OvsdbServer& operator=(const OvsdbServer&) = delete;

  // Takes a database with its file (nullptr: kept in memory only). Commits go to the file before they are acknowledged;
  // the file is compacted when it has grown. Names are unique.
  absl::Status AddDatabase(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file);

  // Remotes: targets as stream.h names them, and "db:DATABASE,TABLE,COLUMN" for those listed by rows that the column
  // (of strings, or of references to a table with "target" as Manager has) names. Those of the last call that are not
  // there any more are closed. Each remote that cannot be opened is logged and tried again; the others are served.
  // Status columns of Manager rows (is_connected, status) are kept up to date.
  absl::Status SetRemotes(std::vector<std::string> remotes);
  // For ssl: and pssl: remotes. "db:..." forms are read by the caller's side: here are files.
  void SetTls(const TlsConfig& tls);

  size_t session_count() const;
  absl::Status Compact(const std::string& database);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
