// ClientSession: one connection of an OvsdbClient, from the first request to its end.
//
// It finds out whether the server is of use (the _Server database), asks for the schema and the lock, monitors by the
// newest method that the server knows, and keeps the replica up to date.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/ovsdb/client.h"
#include "lib/ovsdb/client_replica.h"
#include "lib/ovsdb/jsonrpc.h"

namespace sluice {

// What survives a session.
struct ReplicaState {
  std::shared_ptr<Replica> replica;  // null before the first session was complete
  std::string schema_text;           // of the server that it is from
  std::string last_id;               // transaction up to which it is complete; "" if that is not known
  int64_t min_index = 0;             // of a clustered database: what we have seen already
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  using ReplyCallback = std::function<void(absl::StatusOr<Json>)>;

  // May destroy the session from inside any of these.
  class Delegate {
   public:
    virtual ~Delegate() = default;
    // The state's replica is complete, perhaps another object than before; `changed` says whether its contents differ.
    virtual void OnSynchronized(bool changed) = 0;
    virtual void OnReplicaChanged() = 0;
    virtual void OnLock(bool has_lock) = 0;
    // Once, nothing follows. `unanswered`: the callbacks of requests without a reply, for the delegate to tell.
    virtual void OnSessionEnd(const absl::Status& status, std::map<int64_t, ReplyCallback> unanswered) = 0;
  };

  // Everything referred to outlives the session.
  ClientSession(EventLoop& loop, std::unique_ptr<Stream> stream, const OvsdbClientOptions& options, ReplicaState& state,
                Delegate& delegate);

  void Start();
  void Call(std::string method, Json params, ReplyCallback callback);
  // Closes; no callbacks any more.
  void Abandon();

 private:
  void OnMessage(JsonRpcMessage message);
  void OnReply(JsonRpcMessage message);
  void OnNotification(const std::string& method, const Json& params);
  void OnUpdate(const std::string& method, const Json& params);
  void OnSchema(absl::StatusOr<Json> result);
  void OnServerRows(const Json& updates);
  void CheckServer();
  void StartMonitorWhenReady();
  void Monitor(size_t method);
  void OnMonitored(size_t method, absl::StatusOr<Json> result);
  absl::Status TakeContents(size_t method, const Json& result, bool* changed);
  void SetLock(bool has_lock);
  void End(const absl::Status& status);

  const OvsdbClientOptions& options_;
  ReplicaState& state_;
  Delegate* delegate_;  // null once ended
  JsonRpcConnection connection_;
  EventLoop& loop_;
  int64_t next_id_ = 0;
  std::map<int64_t, ReplyCallback> pending_;
  std::unique_ptr<Replica> server_rows_;  // of _Server, if the server has it
  bool server_checked_ = false;
  std::shared_ptr<const DatabaseSchema> schema_;
  std::string schema_text_;
  bool same_schema_ = false;  // as that of state_.replica
  bool monitoring_ = false;
  bool synchronized_ = false;
};

}  // namespace sluice
