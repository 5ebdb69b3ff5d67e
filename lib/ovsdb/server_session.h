// OvsdbSession: one client of an OVSDB server.
//
// lib/ovsdb's own, made by ServerCore. Loop thread. Requests are answered in order; a client that sends many gets its
// turn by turn with the others, and one that does not read its answers is not read from. Updates of its monitors are
// merged while more than kMergeAbove is unsent. A request that is nonsense gets an error; what is not JSON-RPC at all
// ends the session.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/ovsdb/jsonrpc.h"
#include "lib/ovsdb/lock_table.h"
#include "lib/ovsdb/monitor.h"

namespace sluice {

class ServerCore;
struct ServedDatabase;

struct SessionOptions {
  bool read_only = false;
  std::chrono::milliseconds probe_interval{0};  // zero: none
};

class OvsdbSession : private LockTable::Client {
 public:
  static constexpr size_t kMergeAbove = 256 << 10;  // bytes unsent
  static constexpr size_t kPauseAbove = 1 << 20;    // the same, for requests
  static constexpr size_t kMaxMonitors = 1024;
  static constexpr size_t kMaxQueued = 64;  // requests that arrived, until reading stops

  OvsdbSession(ServerCore& core, std::unique_ptr<Stream> stream, const SessionOptions& options,
               std::function<void(const absl::Status&)> on_closed);
  ~OvsdbSession() override;

  const std::string& name() const { return connection_.name(); }
  // After it: nothing is sent or called any more; the core destroys the session in a later turn.
  bool ended() const { return ended_; }
  // Drops the client. `status`: why, for the log and for `on_closed`; OK if there is nothing to say.
  void End(const absl::Status& status);

  // A commit to any database.
  void RecordCommit(const ServedDatabase& served, const ChangeSet& changes, const Uuid& id);
  // Sends what monitors have to say, if the client has read enough of the earlier.
  void FlushMonitors();

  // Runs a transaction and, unless it has to wait, answers it. Returns for how long it may wait, in milliseconds since
  // it was tried first; nothing if it is answered.
  std::optional<int64_t> TryTransaction(ServedDatabase& served, const Json& operations, const Json& id, bool timed_out);

  std::vector<std::string> LockNames(LockTable::State state) const;

 private:
  void OnLocked(const std::string& lock) override;
  void OnStolen(const std::string& lock) override;

  void OnMessage(JsonRpcMessage message);
  void OnClosed(const absl::Status& status);
  void Work();
  void ScheduleWork();
  void UpdateReading();
  void Handle(JsonRpcMessage& message);
  void HandleRequest(JsonRpcMessage& request);
  void RunMethod(JsonRpcMessage& request);

  // Methods. Each answers the request, now or (transact) later.
  absl::StatusOr<Json> ListDatabases(const JsonRpcMessage& request);
  absl::StatusOr<Json> GetSchema(const JsonRpcMessage& request);
  absl::StatusOr<Json> GetServerId(const JsonRpcMessage& request);
  absl::StatusOr<Json> Echo(const JsonRpcMessage& request);
  absl::StatusOr<Json> SetDbChangeAware(const JsonRpcMessage& request);
  absl::StatusOr<Json> Convert(const JsonRpcMessage& request);
  absl::StatusOr<Json> Lock(const JsonRpcMessage& request);
  absl::StatusOr<Json> Unlock(const JsonRpcMessage& request);
  absl::StatusOr<Json> StartMonitor(const JsonRpcMessage& request);
  absl::StatusOr<Json> ChangeMonitor(const JsonRpcMessage& request);
  void CancelMonitor(const JsonRpcMessage& request);
  void Transact(JsonRpcMessage& request);
  void Cancel(const Json& id);

  absl::StatusOr<ServedDatabase*> FindDatabase(const JsonRpcMessage& request);
  absl::StatusOr<std::string> LockName(const JsonRpcMessage& request) const;
  // Whatever monitors have to say is sent before a reply, so that a client that has its answer has its effects.
  void SendReply(const JsonRpcMessage& reply);
  void Send(const JsonRpcMessage& message);
  void SendNotification(Monitor& monitor);

  ServerCore& core_;
  const SessionOptions options_;
  std::function<void(const absl::Status&)> on_closed_;
  JsonRpcConnection connection_;
  std::deque<JsonRpcMessage> queue_;
  std::map<Json, std::unique_ptr<Monitor>> monitors_;
  bool work_scheduled_ = false;
  bool reading_ = true;
  bool ended_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // expired for a turn that comes after us
};

}  // namespace sluice
