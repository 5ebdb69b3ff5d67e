// The methods of OvsdbSession that are not about monitors.
#include "lib/base/log.h"
#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json_members.h"
#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_session.h"

namespace sluice {

absl::StatusOr<ServedDatabase*> OvsdbSession::FindDatabase(const JsonRpcMessage& request) {
  const Json& params = request.params;
  if (params.empty() || !params[0].is_string()) {
    return OvsdbSyntaxError(params, fmt::format("{} request params must begin with <db-name>", request.method));
  }
  const std::string& name = params[0].get_ref<const std::string&>();
  if (ServedDatabase* served = core_.FindDatabase(name)) return served;
  return OvsdbErrorAbout(params, "unknown database",
                         fmt::format("{} request specifies unknown database {}", request.method, name));
}

absl::StatusOr<Json> OvsdbSession::ListDatabases(const JsonRpcMessage&) { return Json(core_.DatabaseNames()); }

absl::StatusOr<Json> OvsdbSession::GetSchema(const JsonRpcMessage& request) {
  const absl::StatusOr<ServedDatabase*> served = FindDatabase(request);
  if (!served.ok()) return served.status();
  return (*served)->database->schema().ToJson();
}

absl::StatusOr<Json> OvsdbSession::GetServerId(const JsonRpcMessage&) { return Json(core_.server_id().ToString()); }

absl::StatusOr<Json> OvsdbSession::Echo(const JsonRpcMessage& request) { return request.params; }

// Databases neither come nor go nor change between read/write and read-only here, so no client needs to be dropped for
// not being aware of it.
absl::StatusOr<Json> OvsdbSession::SetDbChangeAware(const JsonRpcMessage& request) {
  if (request.params.size() != 1 || !request.params[0].is_boolean()) {
    return OvsdbSyntaxError(request.params, "set_db_change_aware: true or false parameter expected");
  }
  return Json::object();
}

absl::StatusOr<Json> OvsdbSession::Convert(const JsonRpcMessage& request) {
  const absl::StatusOr<ServedDatabase*> served = FindDatabase(request);
  if (!served.ok()) return served.status();
  return OvsdbError(
      "not supported",
      fmt::format("convert: the schema of database {} is part of this server; stop the server and convert "
                  "its file with ovsdb-tool",
                  (*served)->name()));
}

absl::StatusOr<std::string> OvsdbSession::LockName(const JsonRpcMessage& request) const {
  const Json& params = request.params;
  if (params.size() != 1 || !JsonMembers::IsId(params[0])) {
    return OvsdbSyntaxError(params, fmt::format("{} request params must be <id>", request.method));
  }
  return params[0].get<std::string>();
}

absl::StatusOr<Json> OvsdbSession::Lock(const JsonRpcMessage& request) {
  const absl::StatusOr<std::string> name = LockName(request);
  if (!name.ok()) return name.status();
  const absl::StatusOr<bool> locked = core_.locks().Lock(*this, *name, request.method == "steal");
  if (!locked.ok()) return OvsdbSyntaxError(request.params, Message(locked.status()));
  return Json{{"locked", *locked}};
}

absl::StatusOr<Json> OvsdbSession::Unlock(const JsonRpcMessage& request) {
  const absl::StatusOr<std::string> name = LockName(request);
  if (!name.ok()) return name.status();
  const absl::Status unlocked = core_.locks().Unlock(*this, *name);
  if (!unlocked.ok()) return OvsdbSyntaxError(request.params, "unlock: " + Message(unlocked));
  return Json::object();
}

void OvsdbSession::OnLocked(const std::string& lock) {
  Send(JsonRpcMessage::Notification("locked", Json::array({lock})));
}

void OvsdbSession::OnStolen(const std::string& lock) {
  Send(JsonRpcMessage::Notification("stolen", Json::array({lock})));
}

std::vector<std::string> OvsdbSession::LockNames(LockTable::State state) const {
  return core_.locks().Names(*this, state);
}

void OvsdbSession::Transact(JsonRpcMessage& request) {
  const absl::StatusOr<ServedDatabase*> served = FindDatabase(request);
  absl::Status status = served.status();
  if (status.ok() && core_.pending().Has(*this, request.id)) {
    status = OvsdbSyntaxError(request.params, "transact: duplicate request ID");
  }
  if (!status.ok()) {
    SendReply(JsonRpcMessage::Error(OvsdbErrorToJson(status), request.id));
    return;
  }
  Json operations = std::move(request.params);
  operations.erase(operations.begin());
  const std::optional<int64_t> timeout_ms = TryTransaction(**served, operations, request.id, false);
  if (!timeout_ms) return;
  if (!core_.pending().Add(*this, **served, request.id, std::move(operations), *timeout_ms)) {
    SendReply(JsonRpcMessage::Error(
        OvsdbErrorToJson(OvsdbError("resources exhausted", "too many transactions of this client wait already")),
        request.id));
  }
}

std::optional<int64_t> OvsdbSession::TryTransaction(ServedDatabase& served, const Json& operations, const Json& id,
                                                    bool timed_out) {
  TransactionContext context;
  context.holds_lock = [this](std::string_view lock) { return core_.locks().Holds(*this, lock); };
  context.read_only = served.reserved || options_.read_only;
  const Database::Outcome outcome = served.database->Execute(operations, context, timed_out);
  if (outcome.kind == Database::Outcome::Kind::kMustWait) return outcome.timeout_ms;
  SendReply(JsonRpcMessage::Reply(*outcome.results, id));
  return std::nullopt;
}

void OvsdbSession::Cancel(const Json& id) {
  if (core_.pending().Cancel(*this, id)) SendReply(JsonRpcMessage::Error("canceled", id));
}

}  // namespace sluice
