#include "lib/ovsdb/client_session.h"

#include <utility>

#include "lib/base/log.h"

namespace sluice {

namespace {

LogModule log_module("ovsdb_cs");

// Newest first; each server knows those after the first that it knows. The notification that follows, and how many
// parameters precede the updates in it.
struct MonitorMethod {
  const char* name;
  const char* notification;
  bool two;  // updates of the second kind
};
constexpr MonitorMethod kMonitorMethods[] = {
    {"monitor_cond_since", "update3", true}, {"monitor_cond", "update2", true}, {"monitor", "update", false}};
constexpr size_t kSince = 0;

constexpr std::string_view kZeroId = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kServerMonitor = "_Server";  // monitor ids
constexpr std::string_view kServerSchema =
    R"({"name": "_Server", "version": "1.2.0", "tables": {"Database": {"columns": {
  "name": {"type": "string"}, "model": {"type": "string"}, "connected": {"type": "boolean"},
  "index": {"type": {"key": "integer", "min": 0, "max": 1}}}}}})";

Json MonitorId(const std::string& database) { return Json::array({"monid", database}); }

// "unknown database", "constraint violation: ...": the error of a reply or of one operation.
std::string ErrorText(const Json& error) {
  if (error.is_string()) return error.get<std::string>();
  if (!error.is_object() || !error.contains("error") || !error["error"].is_string()) return DumpJson(error);
  std::string text = error["error"].get<std::string>();
  if (const auto details = error.find("details"); details != error.end() && details->is_string()) {
    text += fmt::format(": {}", details->get<std::string>());
  }
  return text;
}

}  // namespace

ClientSession::ClientSession(EventLoop& loop, std::unique_ptr<Stream> stream, const OvsdbClientOptions& options,
                             ReplicaState& state, Delegate& delegate)
    : options_(options), state_(state), delegate_(&delegate), connection_(std::move(stream)), loop_(loop) {}

void ClientSession::Start() {
  connection_.SetCallbacks([this](JsonRpcMessage message) { OnMessage(std::move(message)); },
                           [this](const absl::Status& status) {
                             End(status.ok()
                                     ? MakeStatus(absl::StatusCode::kUnavailable,
                                                  fmt::format("{}: connection closed by peer", connection_.name()))
                                     : status);
                           });
  connection_.SetProbeInterval(options_.probe_interval, loop_);
  // Without this the server would drop the connection when a database comes or goes; older ones do not know it.
  Call("set_db_change_aware", Json::array({true}), [](absl::StatusOr<Json>) {});
  const Json server_requests = {{"Database", Json::array({{{"columns", {"name", "model", "connected", "index"}}}})}};
  Call("monitor_cond", Json::array({"_Server", kServerMonitor, server_requests}), [this](absl::StatusOr<Json> result) {
    if (result.ok()) {
      OnServerRows(*result);
      return;
    }
    server_checked_ = true;
    StartMonitorWhenReady();
  });
  Call("get_schema", Json::array({options_.database}),
       [this](absl::StatusOr<Json> result) { OnSchema(std::move(result)); });
  if (!options_.lock.empty()) {
    Call("lock", Json::array({options_.lock}), [this](absl::StatusOr<Json> result) {
      if (!result.ok()) {
        End(result.status());
      } else if (result->is_object() && result->value("locked", Json()) == true) {
        SetLock(true);
      }
    });
  }
}

void ClientSession::Call(std::string method, Json params, ReplyCallback callback) {
  const int64_t id = next_id_++;
  pending_.emplace(id, [method, callback = std::move(callback)](absl::StatusOr<Json> result) {
    if (result.ok() || result.status().code() == absl::StatusCode::kUnavailable) {
      callback(std::move(result));
    } else {
      callback(MakeStatus(result.status().code(), fmt::format("{}: {}", method, Message(result.status()))));
    }
  });
  connection_.Send(JsonRpcMessage::Request(std::move(method), std::move(params), id));
}

void ClientSession::Abandon() {
  delegate_ = nullptr;
  pending_.clear();
  connection_.Close();
}

void ClientSession::OnMessage(JsonRpcMessage message) {
  const auto self = shared_from_this();
  switch (message.kind) {
    case JsonRpcMessage::Kind::kReply:
      OnReply(std::move(message));
      break;
    case JsonRpcMessage::Kind::kNotification:
      OnNotification(message.method, message.params);
      break;
    case JsonRpcMessage::Kind::kRequest:
      connection_.Send(JsonRpcMessage::Error({{"error", "unknown method"}}, std::move(message.id)));
      break;
  }
}

void ClientSession::OnReply(JsonRpcMessage message) {
  if (!message.id.is_number_integer()) return;
  auto found = pending_.extract(message.id.get<int64_t>());
  if (found.empty()) {
    SLUICE_LOG(log_module, kDbg, "{}: reply to no request: {}", connection_.name(), DumpJson(message.id));
    return;
  }
  if (message.error.is_null()) {
    found.mapped()(std::move(message.result));
  } else {
    found.mapped()(MakeStatus(absl::StatusCode::kInternal, ErrorText(message.error)));
  }
}

void ClientSession::OnNotification(const std::string& method, const Json& params) {
  if (method == "update" || method == "update2" || method == "update3") {
    OnUpdate(method, params);
  } else if (method == "locked" || method == "stolen") {
    if (!params.empty() && params[0] == options_.lock) SetLock(method == "locked");
  } else if (method == "monitor_canceled" && !params.empty() && params[0] == MonitorId(options_.database)) {
    state_.last_id.clear();
    End(MakeStatus(absl::StatusCode::kUnavailable,
                   fmt::format("{}: database {} was removed or converted", connection_.name(), options_.database)));
  }
}

void ClientSession::OnUpdate(const std::string& method, const Json& params) {
  const bool since = method == "update3";
  if (params.size() != (since ? 3 : 2)) {
    End(InvalidArgument("{}: {} with {} parameters", connection_.name(), method, params.size()));
    return;
  }
  if (params[0] == kServerMonitor) {
    OnServerRows(params.back());
    return;
  }
  if (!synchronized_ || params[0] != MonitorId(options_.database)) return;
  bool changed = false;
  const absl::Status status = state_.replica->Apply(params.back(), method != "update", &changed);
  state_.last_id = status.ok() && since && params[1].is_string() ? params[1].get<std::string>() : "";
  if (!status.ok()) {
    End(MakeStatus(status.code(), fmt::format("{}: {}", connection_.name(), Message(status))));
  } else if (changed && delegate_ != nullptr) {
    delegate_->OnReplicaChanged();
  }
}

void ClientSession::OnSchema(absl::StatusOr<Json> result) {
  if (!result.ok()) {
    End(NotFound("{}: database {}: {}", connection_.name(), options_.database, Message(result.status())));
    return;
  }
  schema_text_ = DumpJson(*result);
  same_schema_ = state_.replica != nullptr && schema_text_ == state_.schema_text;
  if (same_schema_) {
    schema_ = state_.replica->shared_schema();
  } else {
    auto schema = DatabaseSchema::Parse(*result);
    if (!schema.ok()) {
      End(InvalidArgument("{}: schema of {}: {}", connection_.name(), options_.database, Message(schema.status())));
      return;
    }
    schema_ = std::make_shared<const DatabaseSchema>(*std::move(schema));
  }
  StartMonitorWhenReady();
}

void ClientSession::OnServerRows(const Json& updates) {
  if (server_rows_ == nullptr) {
    auto schema = DatabaseSchema::Parse(Json::parse(kServerSchema));
    if (!schema.ok()) {
      End(schema.status());
      return;
    }
    server_rows_ = std::make_unique<Replica>(std::make_shared<const DatabaseSchema>(*std::move(schema)),
                                             std::map<std::string, std::set<std::string>>());
  }
  bool changed = false;
  if (const absl::Status status = server_rows_->Apply(updates, true, &changed); !status.ok()) {
    End(MakeStatus(status.code(), fmt::format("{}: _Server: {}", connection_.name(), Message(status))));
    return;
  }
  CheckServer();
}

void ClientSession::CheckServer() {
  constexpr std::string_view kTable = "Database";
  for (const auto& [uuid, row] : server_rows_->rows(kTable)) {
    if (server_rows_->Get(kTable, *row, "name").StringOr("") != options_.database) continue;
    if (server_rows_->Get(kTable, *row, "model").StringOr("") != "standalone" &&
        !server_rows_->Get(kTable, *row, "connected").BooleanOr(true)) {
      End(MakeStatus(absl::StatusCode::kUnavailable,
                     fmt::format("{}: database server is disconnected from its cluster", connection_.name())));
      return;
    }
    const int64_t index = server_rows_->Get(kTable, *row, "index").IntegerOr(state_.min_index);
    if (index < state_.min_index) {
      End(MakeStatus(absl::StatusCode::kUnavailable,
                     fmt::format("{}: database server has older data (index {}) than was seen already (index {})",
                                 connection_.name(), index, state_.min_index)));
      return;
    }
    state_.min_index = index;
    server_checked_ = true;
    StartMonitorWhenReady();
    return;
  }
  End(NotFound("{}: no database {} on this server", connection_.name(), options_.database));
}

void ClientSession::StartMonitorWhenReady() {
  if (server_checked_ && schema_ != nullptr && delegate_ != nullptr && !monitoring_) {
    monitoring_ = true;
    Monitor(kSince);
  }
}

void ClientSession::Monitor(size_t method) {
  const Replica empty(schema_, options_.tables);
  Json params = Json::array({options_.database, MonitorId(options_.database), empty.MonitorRequests()});
  if (method == kSince) {
    params.push_back(same_schema_ && !state_.last_id.empty() ? state_.last_id : std::string(kZeroId));
  }
  Call(kMonitorMethods[method].name, std::move(params),
       [this, method](absl::StatusOr<Json> result) { OnMonitored(method, std::move(result)); });
}

void ClientSession::OnMonitored(size_t method, absl::StatusOr<Json> result) {
  if (!result.ok() && result.status().code() != absl::StatusCode::kUnavailable &&
      method + 1 < std::size(kMonitorMethods)) {
    Monitor(method + 1);
    return;
  }
  bool changed = false;
  const absl::Status status = result.ok() ? TakeContents(method, *result, &changed) : result.status();
  if (!status.ok()) {
    End(MakeStatus(status.code(), fmt::format("{}: {}", connection_.name(), Message(status))));
    return;
  }
  SLUICE_LOG(log_module, kDbg, "{}: synchronized by {}", connection_.name(), kMonitorMethods[method].name);
  synchronized_ = true;
  if (delegate_ != nullptr) delegate_->OnSynchronized(changed);
}

// The replica that is readable meanwhile is replaced by a complete one, not worked on.
absl::Status ClientSession::TakeContents(size_t method, const Json& result, bool* changed) {
  bool found = false;
  std::string last_id;
  const Json* updates = &result;
  if (method == kSince) {
    if (!result.is_array() || result.size() != 3 || !result[0].is_boolean() || !result[1].is_string()) {
      return InvalidArgument("monitor_cond_since: the reply is not [found, last-txn-id, table-updates2]");
    }
    found = result[0].get<bool>();
    if (found && (!same_schema_ || state_.last_id.empty())) {
      return InvalidArgument(
          "monitor_cond_since: the reply has the changes since a transaction that was not asked for");
    }
    last_id = result[1].get<std::string>();
    updates = &result[2];
  }
  auto replica =
      found ? std::make_shared<Replica>(*state_.replica) : std::make_shared<Replica>(schema_, options_.tables);
  if (const absl::Status status = replica->Apply(*updates, kMonitorMethods[method].two, changed); !status.ok()) {
    state_.last_id.clear();  // what we have does not fit to the differences that the server sends
    return status;
  }
  if (!found) {
    *changed = !same_schema_ || replica->AdoptEqualRows(*state_.replica);
  }
  state_.replica = std::move(replica);
  state_.schema_text = schema_text_;
  state_.last_id = last_id == kZeroId ? "" : last_id;
  return absl::OkStatus();
}

void ClientSession::SetLock(bool has_lock) {
  if (delegate_ != nullptr) delegate_->OnLock(has_lock);
}

void ClientSession::End(const absl::Status& status) {
  if (delegate_ == nullptr) return;
  const auto self = shared_from_this();
  Delegate* const delegate = std::exchange(delegate_, nullptr);
  connection_.Close();
  delegate->OnSessionEnd(status, std::exchange(pending_, {}));
}

}  // namespace sluice
