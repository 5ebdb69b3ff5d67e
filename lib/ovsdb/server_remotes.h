// The remotes of an OVSDB server: where it listens, and whom it connects to (ovsdb-server(1), --remote).
//
// lib/ovsdb's own, used by OvsdbServer. Loop thread. A remote is a target, or "db:DATABASE,TABLE,COLUMN" for the
// targets that a column of the database lists; those are followed as the rows change, and rows that have the columns
// is_connected and status are told how their connection fares.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/ovsdb/server_remote.h"
#include "lib/ovsdb/server_remote_rows.h"

namespace sluice {

class ServerRemotes {
 public:
  explicit ServerRemotes(ServerCore& core);
  ~ServerRemotes();

  // The whole list. An error if one is no target at all or names no such database, table or column; then nothing
  // changes.
  absl::Status Set(const std::vector<std::string>& remotes);
  // For TLS remotes, which are opened again if it changed.
  void SetTls(const TlsConfig& tls);
  // A database changed: its rows may list other targets.
  void OnCommit(const std::string& database);

 private:
  // Opens what is new, closes what is not listed any more.
  void Refresh();
  // Soon, since connections often come and go several at a time.
  void ScheduleStatus();
  void WriteStatus();

  ServerCore& core_;
  TlsConfig tls_;
  std::vector<std::string> targets_;                              // named directly
  std::vector<RemoteSource> sources_;                             // named by "db:..."
  std::map<std::string, std::unique_ptr<ServerRemote>> remotes_;  // by target
  EventLoop::Handle status_soon_;
  EventLoop::Handle status_timer_;  // only while there are sources
};

}  // namespace sluice
