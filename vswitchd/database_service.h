// DatabaseService: the embedded OVSDB server, in a thread with a loop of its own, so that no client of the database can
// hold up the switch.
//
// Serves punix:<run directory>/db.sock, the remotes of the command line, and those of the Manager table. Everything
// here is called by the main thread.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/status.h"
#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "lib/ovsdb/server.h"

namespace sluice {

class DatabaseService {
 public:
  struct Options {
    std::string file;                  // conf.db; made if it is not there
    std::vector<std::string> remotes;  // passive or active targets; the first is where the switch itself connects
    TlsConfig tls;
  };

  // Opens or makes the file and starts to serve. A remote that cannot be opened is an error.
  static absl::StatusOr<std::unique_ptr<DatabaseService>> Start(const Options& options);
  ~DatabaseService();
  DatabaseService(const DatabaseService&) = delete;
  DatabaseService& operator=(const DatabaseService&) = delete;

  // Later, in the server's thread.
  void SetTls(const TlsConfig& tls);
  // Waits until it is done.
  absl::Status Compact();

 private:
  DatabaseService() = default;

  EventLoop loop_;
  std::unique_ptr<OvsdbServer> server_;
  std::thread thread_;
};

}  // namespace sluice
