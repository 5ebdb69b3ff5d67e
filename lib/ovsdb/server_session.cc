#include "lib/ovsdb/server_session.h"

#include <map>

#include "lib/base/log.h"
#include "lib/ovsdb/error.h"
#include "lib/ovsdb/server.h"
#include "lib/ovsdb/server_core.h"

namespace sluice {

using std::chrono::steady_clock;

namespace {

LogModule log_module("ovsdb_server");

// How long one client's requests may keep the loop before the others get their turn. One request may take longer.
constexpr auto kTurn = std::chrono::milliseconds(5);
// A request that keeps the loop longer is worth a log line: everybody else waited.
constexpr auto kLongRequest = std::chrono::seconds(1);
constexpr size_t kMaxUnsentBytes = OvsdbServer::kMaxUnsentBytes;

}  // namespace

OvsdbSession::OvsdbSession(ServerCore& core, std::unique_ptr<Stream> stream, const SessionOptions& options,
                           std::function<void(const absl::Status&)> on_closed)
    : core_(core),
      options_(options),
      on_closed_(std::move(on_closed)),
      connection_(std::move(stream), OvsdbServer::kMaxRequestBytes) {
  connection_.SetCallbacks([this](JsonRpcMessage message) { OnMessage(std::move(message)); },
                           [this](const absl::Status& status) { OnClosed(status); });
  connection_.SetOnDrained([this] {
    FlushMonitors();
    UpdateReading();
    ScheduleWork();
  });
  connection_.SetAnswersEcho(false);
  connection_.SetProbeInterval(options.probe_interval, core.loop());
}

OvsdbSession::~OvsdbSession() {
  if (!ended_) core_.pending().RemoveSession(*this);
  core_.locks().RemoveClient(*this);
}

void OvsdbSession::End(const absl::Status& status) {
  if (!ended_ && !status.ok()) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: closing: {}", name(), Message(status));
  }
  OnClosed(status);
}

void OvsdbSession::OnClosed(const absl::Status& status) {
  if (std::exchange(ended_, true)) return;
  connection_.Close();
  queue_.clear();
  monitors_.clear();
  core_.pending().RemoveSession(*this);
  core_.locks().RemoveClient(*this);
  core_.OnSessionEnded();
  if (on_closed_) std::exchange(on_closed_, nullptr)(status);
}

void OvsdbSession::OnMessage(JsonRpcMessage message) {
  if (ended_) return;
  queue_.push_back(std::move(message));
  if (!work_scheduled_) Work();
}

void OvsdbSession::ScheduleWork() {
  if (ended_ || queue_.empty() || std::exchange(work_scheduled_, true)) return;
  core_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    work_scheduled_ = false;
    if (!ended_) Work();
  });
}

void OvsdbSession::Work() {
  const auto deadline = steady_clock::now() + kTurn;
  while (!ended_ && !queue_.empty() && connection_.unsent_bytes() <= kPauseAbove) {
    JsonRpcMessage message = std::move(queue_.front());
    queue_.pop_front();
    Handle(message);
    if (steady_clock::now() >= deadline) {
      ScheduleWork();
      break;
    }
  }
  UpdateReading();
}

void OvsdbSession::UpdateReading() {
  if (ended_) return;
  const bool reading = queue_.size() < kMaxQueued && connection_.unsent_bytes() <= kPauseAbove;
  if (reading == reading_) return;
  reading_ = reading;
  connection_.SetReading(reading);
}

void OvsdbSession::Handle(JsonRpcMessage& message) {
  switch (message.kind) {
    case JsonRpcMessage::Kind::kRequest:
      HandleRequest(message);
      return;
    case JsonRpcMessage::Kind::kNotification:
      if (message.method == "cancel" && message.params.size() == 1) Cancel(message.params[0]);
      return;  // others are for the future, say
    case JsonRpcMessage::Kind::kReply:
      End(InvalidArgument("received a reply to a request that was never sent"));
      return;
  }
}

void OvsdbSession::HandleRequest(JsonRpcMessage& request) {
  const auto begin = steady_clock::now();
  RunMethod(request);
  if (const auto took = steady_clock::now() - begin; took >= kLongRequest) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "{}: a {} request took {} ms", name(), request.method,
                            std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  }
}

void OvsdbSession::RunMethod(JsonRpcMessage& request) {
  using Method = absl::StatusOr<Json> (OvsdbSession::*)(const JsonRpcMessage&);
  static const std::map<std::string_view, Method> kMethods = {
      {"list_dbs", &OvsdbSession::ListDatabases},
      {"get_schema", &OvsdbSession::GetSchema},
      {"get_server_id", &OvsdbSession::GetServerId},
      {"echo", &OvsdbSession::Echo},
      {"set_db_change_aware", &OvsdbSession::SetDbChangeAware},
      {"convert", &OvsdbSession::Convert},
      {"lock", &OvsdbSession::Lock},
      {"steal", &OvsdbSession::Lock},
      {"unlock", &OvsdbSession::Unlock},
      {"monitor", &OvsdbSession::StartMonitor},
      {"monitor_cond", &OvsdbSession::StartMonitor},
      {"monitor_cond_since", &OvsdbSession::StartMonitor},
      {"monitor_cond_change", &OvsdbSession::ChangeMonitor},
  };
  if (request.method == "transact") {
    Transact(request);
    return;
  }
  if (request.method == "monitor_cancel") {
    CancelMonitor(request);
    return;
  }
  const auto method = kMethods.find(request.method);
  if (method == kMethods.end()) {
    SendReply(JsonRpcMessage::Error("unknown method", request.id));
    return;
  }
  absl::StatusOr<Json> result = (this->*method->second)(request);
  SendReply(result.ok() ? JsonRpcMessage::Reply(*std::move(result), request.id)
                        : JsonRpcMessage::Error(OvsdbErrorToJson(result.status()), request.id));
}

void OvsdbSession::RecordCommit(const ServedDatabase& served, const ChangeSet& changes, const Uuid& id) {
  if (ended_) return;
  size_t held = 0;
  for (const auto& [name, monitor] : monitors_) {
    if (&monitor->database() == served.database.get()) monitor->Record(changes, id);
    held += monitor->held_bytes();
  }
  if (held > kMaxUnsentBytes) {
    End(ResourceExhausted("{} bytes of changes wait for the client to read, more than {}", held, kMaxUnsentBytes));
  }
}

void OvsdbSession::FlushMonitors() {
  for (auto& [name, monitor] : monitors_) {
    if (connection_.unsent_bytes() > kMergeAbove) return;
    SendNotification(*monitor);
    if (ended_) return;
  }
}

void OvsdbSession::SendNotification(Monitor& monitor) {
  if (auto notification = monitor.TakeNotification()) {
    Send(JsonRpcMessage::Notification(std::move(notification->method), std::move(notification->params)));
  }
}

void OvsdbSession::SendReply(const JsonRpcMessage& reply) {
  for (auto& [name, monitor] : monitors_) {
    if (monitor->pending()) SendNotification(*monitor);
    if (ended_) return;
  }
  Send(reply);
}

void OvsdbSession::Send(const JsonRpcMessage& message) {
  if (ended_) return;
  if (connection_.unsent_bytes() > kMaxUnsentBytes) {
    End(ResourceExhausted("the client did not read {} bytes, more than {} are not kept", connection_.unsent_bytes(),
                          kMaxUnsentBytes));
    return;
  }
  connection_.Send(message);
}

}  // namespace sluice
