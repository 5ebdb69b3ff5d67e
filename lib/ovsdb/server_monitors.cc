// The methods of OvsdbSession about monitors (RFC 7047 sections 4.1.5 to 4.1.7, ovsdb-server(7) 4.1.12 to 4.1.16).
#include "lib/ovsdb/error.h"
#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_session.h"

namespace sluice {
namespace {

MonitorVersion VersionOf(std::string_view method) {
  if (method == "monitor_cond") return MonitorVersion::kUpdate2;
  if (method == "monitor_cond_since") return MonitorVersion::kUpdate3;
  return MonitorVersion::kUpdate;
}

// Of monitor_cond_since's last parameter.
absl::StatusOr<Uuid> ParseLastId(const Json& json) {
  if (!json.is_string()) return OvsdbSyntaxError(json, "last-txn-id must be string");
  absl::StatusOr<Uuid> uuid = Uuid::Parse(json.get_ref<const std::string&>());
  if (!uuid.ok()) return OvsdbSyntaxError(json, "last-txn-id must be UUID format.");
  return uuid;
}

// [<found>, <last-txn-id>, <table-updates2>]
Json SinceResult(const Monitor& monitor, const MonitorHistory& history, const Uuid& last_known) {
  const auto commits = history.Since(last_known);
  return Json::array(
      {commits.has_value(), history.last_id().ToString(), commits ? monitor.Since(*commits) : monitor.Initial()});
}

}  // namespace

absl::StatusOr<Json> OvsdbSession::StartMonitor(const JsonRpcMessage& request) {
  const absl::StatusOr<ServedDatabase*> served = FindDatabase(request);
  if (!served.ok()) return served.status();
  const Json& params = request.params;
  const MonitorVersion version = VersionOf(request.method);
  const bool since = version == MonitorVersion::kUpdate3;
  if (params.size() < 3 || (since && params.size() != 4)) return OvsdbSyntaxError(params, "invalid parameters");
  if (!params[2].is_object()) return OvsdbSyntaxError(params[2], "monitor-requests must be object");
  const Json& id = params[1];
  if (monitors_.contains(id)) return OvsdbSyntaxError(id, "duplicate monitor ID");
  if (monitors_.size() >= kMaxMonitors) {
    return OvsdbError("resources exhausted", fmt::format("this client has {} monitors already", monitors_.size()));
  }
  const absl::StatusOr<Uuid> last_known = since ? ParseLastId(params[3]) : Uuid();
  if (!last_known.ok()) return last_known.status();
  const Database& database = *(*served)->database;
  absl::StatusOr<MonitorSpec> spec =
      ParseMonitorRequests(database.schema(), params[2], version != MonitorVersion::kUpdate);
  if (!spec.ok()) return spec.status();
  auto monitor = std::make_unique<Monitor>(database, id, version, *std::move(spec));
  Json result = since ? SinceResult(*monitor, (*served)->history, *last_known) : monitor->Initial();
  monitors_.emplace(id, std::move(monitor));
  return result;
}

absl::StatusOr<Json> OvsdbSession::ChangeMonitor(const JsonRpcMessage& request) {
  const Json& params = request.params;
  if (params.size() != 3) return OvsdbSyntaxError(params, "invalid parameters");
  const Json& new_id = params[1];
  const auto found = monitors_.find(params[0]);
  if (found == monitors_.end() || found->second->version() == MonitorVersion::kUpdate) {
    return OvsdbSyntaxError(params[0], "unknown monitor session");
  }
  if (new_id != params[0] && monitors_.contains(new_id)) return OvsdbSyntaxError(new_id, "duplicate monitor ID");
  Monitor& monitor = *found->second;
  absl::StatusOr<std::vector<ConditionChange>> changes =
      ParseConditionChanges(monitor.database().schema(), monitor.spec(), params[2]);
  if (!changes.ok()) return changes.status();

  // What is due under the old name and conditions goes first.
  SendNotification(monitor);
  if (ended_) return Json::object();
  auto node = monitors_.extract(found);
  node.key() = new_id;
  monitors_.insert(std::move(node));
  monitor.set_id(new_id);
  const Uuid last_id = core_.FindDatabase(monitor.database().schema().name)->history.last_id();
  if (auto notification = monitor.ChangeConditions(*std::move(changes), last_id)) {
    Send(JsonRpcMessage::Notification(std::move(notification->method), std::move(notification->params)));
  }
  return Json::object();
}

void OvsdbSession::CancelMonitor(const JsonRpcMessage& request) {
  // ovsdb-server's errors here are strings, not objects.
  if (request.params.size() != 1) {
    SendReply(JsonRpcMessage::Error("invalid parameters", request.id));
  } else if (monitors_.erase(request.params[0]) == 0) {
    SendReply(JsonRpcMessage::Error("unknown monitor", request.id));
  } else {
    SendReply(JsonRpcMessage::Reply(Json::object(), request.id));
  }
}

}  // namespace sluice
