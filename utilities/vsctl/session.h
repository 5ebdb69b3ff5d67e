// Session: runs a command line against a database server: connects, runs the commands on the replica, commits, tries
// again when somebody else was faster, and waits until the daemon has done what was asked.
//
// Runs its own event loop; one Session per thread. The output is printed once everything that can fail has succeeded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/ovsdb/client.h"
#include "utilities/vsctl/options.h"
#include "utilities/vsctl/runner.h"

namespace sluice::vsctl {

class Session {
 public:
  // `line`: what was typed, for the database's log.
  Session(CommandLine command_line, std::string line);

  // The process's exit code: 0, 1 for an error (which is on stderr), or what a command wants (br-exists).
  int Run();

 private:
  enum class Phase : uint8_t { kRunning, kCommitting, kReloading, kDone };

  void Connect(bool reconnect);
  void OnChange();
  void OnStateChange();

  void Attempt();
  void Commit(const Transaction& transaction);
  void OnCommitted(absl::StatusOr<Json> reply);
  // True if the error is one that another attempt may get past, which is then under way.
  bool TryAgain(const Json& error);
  void RunAgainLater();
  void TakeUuids(const Json& results);
  void Finish(bool changed);
  void CheckReload();
  void ReportInterfaces() const;
  void Fail(const std::string& message);
  void End(int exit_code);

  CommandLine command_line_;
  const std::string line_;
  Needs needs_;
  EventLoop loop_;
  std::unique_ptr<OvsdbClient> client_;
  EventLoop::Handle again_;
  Phase phase_ = Phase::kRunning;
  bool attempt_due_ = false;  // the replica changed while a commit was under way
  bool warned_ = false;       // by an earlier attempt
  int root_conflicts_ = 0;
  Outcome outcome_;  // of the latest attempt
  Transaction::Operations operations_;
  std::map<Uuid, Uuid> inserted_;  // the UUIDs in the database, by those here
  int64_t next_cfg_ = 0;
  int exit_code_ = 0;
};

}  // namespace sluice::vsctl
