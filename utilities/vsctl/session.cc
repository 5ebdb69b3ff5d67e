#include "utilities/vsctl/session.h"

#include <cstdio>
#include <utility>

#include "lib/base/log.h"
#include "lib/io/daemon.h"
#include "lib/ovsdb/json.h"

namespace sluice::vsctl {
namespace {

LogModule log_module("vsctl");

constexpr int kFailure = 1;
constexpr std::string_view kRootTable = "Open_vSwitch";
// When a transaction was refused although nothing that we see has changed: a change may have been taken back, or be on
// its way.
constexpr std::chrono::milliseconds kRetryDelay(100);
// Others that make the first row at the same time as we do.
constexpr int kMaxRootConflicts = 50;

// The error object of the operation that failed, or nullptr.
const Json* FirstError(const Json& results) {
  for (const Json& result : results) {
    if (result.is_object() && result.contains("error")) return &result;
  }
  return nullptr;
}

// "No such file or directory" of "unix:/x: connect: No such file or directory".
std::string WithoutTarget(const std::string& message, const std::string& target) {
  return message.starts_with(target + ": ") ? message.substr(target.size() + 2) : message;
}

}  // namespace

Session::Session(CommandLine command_line, std::string line)
    : command_line_(std::move(command_line)), line_(std::move(line)) {}

int Session::Run() {
  bool may_change = false;
  const absl::Status status = PrepareCommands(command_line_, VswitchSchema(), needs_, &may_change);
  if (!status.ok()) {
    Fail(Message(status));
    return exit_code_;
  }
  if (may_change) SLUICE_LOG(log_module, kInfo, "Called as {}", line_);
  Connect(command_line_.options.retry);
  loop_.Run();
  client_ = nullptr;
  return exit_code_;
}

void Session::Connect(bool reconnect) {
  OvsdbClientOptions options;
  options.remotes = command_line_.options.remotes;
  options.tls = command_line_.options.tls;
  options.tables = needs_.tables();
  options.reconnect = reconnect;
  client_ = std::make_unique<OvsdbClient>(loop_, std::move(options));
  client_->OnChange([this] { OnChange(); });
  client_->OnStateChange([this] { OnStateChange(); });
}

void Session::OnStateChange() {
  if (client_->state() != OvsdbClient::State::kEnded || phase_ == Phase::kDone) return;
  if (phase_ == Phase::kReloading) {
    // What was asked for is in the database: a server that restarts is waited for, or we would never know the end.
    loop_.Post([this] { Connect(true); });
    return;
  }
  const std::string target = fmt::format("{}", fmt::join(command_line_.options.remotes, ","));
  Fail(fmt::format("{}: database connection failed ({})", target,
                   WithoutTarget(Message(client_->last_error()), target)));
}

void Session::OnChange() {
  switch (phase_) {
    case Phase::kRunning:
      Attempt();
      break;
    case Phase::kCommitting:
      attempt_due_ = true;
      break;
    case Phase::kReloading:
      CheckReload();
      break;
    case Phase::kDone:
      break;
  }
}

void Session::Attempt() {
  again_.Cancel();
  if (client_->schema() == nullptr) return;
  const DatabaseSchema& schema = *client_->schema();
  if (!schema.tables.contains(kRootTable)) {
    Fail(fmt::format("the database {} has no table {}; expected the schema of vswitchd", schema.name, kRootTable));
    return;
  }
  Transaction transaction(schema,
                          [this](std::string_view table) -> const Database::Table& { return client_->rows(table); });
  absl::StatusOr<Outcome> outcome = RunCommands(command_line_, transaction);
  if (!outcome.ok()) {
    Fail(Message(outcome.status()));
    return;
  }
  if (outcome->try_again) return;
  if (outcome->exit_code) {
    End(*outcome->exit_code);
    return;
  }
  outcome_ = *std::move(outcome);
  if (!std::exchange(warned_, true)) {
    for (const std::string& warning : outcome_.warnings) SLUICE_LOG(log_module, kWarn, "{}", warning);
  }
  if (!transaction.changed() || command_line_.options.dry_run) {
    Finish(false);
  } else {
    Commit(transaction);
  }
}

void Session::Commit(const Transaction& transaction) {
  phase_ = Phase::kCommitting;
  attempt_due_ = false;
  operations_ = transaction.Build(line_);
  client_->Transact(*operations_.json, [this](absl::StatusOr<Json> reply) { OnCommitted(std::move(reply)); });
}

void Session::OnCommitted(absl::StatusOr<Json> reply) {
  if (phase_ != Phase::kCommitting) return;
  if (!reply.ok()) {
    Fail(fmt::format("transaction error: {}", Message(reply.status())));
    return;
  }
  if (const Json* error = FirstError(*reply)) {
    if (!TryAgain(*error)) Fail(fmt::format("transaction error: {}", DumpJson(*error)));
    return;
  }
  TakeUuids(*reply);
  Finish(true);
}

bool Session::TryAgain(const Json& error) {
  const std::string kind = error.value("error", "");
  const bool conflict = kind == "timed out";
  const bool root_conflict =
      kind == "constraint violation" && outcome_.inserted_root && root_conflicts_++ < kMaxRootConflicts;
  if (!conflict && !root_conflict) return false;
  phase_ = Phase::kRunning;
  RunAgainLater();
  return true;
}

void Session::RunAgainLater() {
  const auto delay = attempt_due_ ? std::chrono::milliseconds(0) : kRetryDelay;
  again_ = loop_.RunAfter(delay, [this] {
    if (phase_ == Phase::kRunning && client_->state() == OvsdbClient::State::kReady) Attempt();
  });
}

void Session::TakeUuids(const Json& results) {
  const auto result = [&results](size_t index) { return index < results.size() ? results[index] : Json(); };
  for (const auto& [ours, index] : operations_.inserted) {
    const Json inserted = result(index);
    if (!inserted.is_object() || !inserted.contains("uuid") || !inserted["uuid"].is_array()) continue;
    const absl::StatusOr<Uuid> uuid = Uuid::Parse(inserted["uuid"].at(1).get<std::string>());
    if (uuid.ok()) inserted_[ours] = *uuid;
  }
  next_cfg_ = 1;
  if (!operations_.incremented) return;
  const Json selected = result(*operations_.incremented);
  if (selected.is_object() && selected.contains("rows") && !selected["rows"].empty()) {
    next_cfg_ = selected["rows"][0].value("next_cfg", int64_t{1});
  }
}

void Session::Finish(bool changed) {
  const std::string output = FormatOutput(outcome_, command_line_.options, inserted_);
  if (std::fwrite(output.data(), 1, output.size(), stdout) != output.size() || std::fflush(stdout) != 0) {
    Fail("the output could not be written");
    return;
  }
  if (!changed || !command_line_.options.wait) {
    End(0);
    return;
  }
  phase_ = Phase::kReloading;
  CheckReload();
}

void Session::CheckReload() {
  for (const auto& [uuid, row] : client_->rows(kRootTable)) {
    if (client_->Get(kRootTable, *row, "cur_cfg").IntegerOr(-1) < next_cfg_) continue;
    ReportInterfaces();
    End(0);
    return;
  }
}

// The daemon goes on without a device that it cannot set up; whoever typed its name should know.
void Session::ReportInterfaces() const {
  bool any = false;
  for (const Uuid& ours : outcome_.new_interfaces) {
    const auto uuid = inserted_.find(ours);
    const Row* row = uuid == inserted_.end() ? nullptr : client_->FindRow("Interface", uuid->second);
    if (row == nullptr || client_->Get("Interface", *row, "ofport").IntegerOr(-1) != -1) continue;
    const std::string_view name = client_->Get("Interface", *row, "name").StringOr("");
    const std::string_view error = client_->Get("Interface", *row, "error").StringOr("");
    std::fprintf(stderr, "%s\n",
                 fmt::format("vsctl: Error detected while setting up '{}'{}{}.  See ovs-vswitchd log for details.",
                             name, error.empty() ? "" : ": ", error)
                     .c_str());
    any = true;
  }
  if (any) std::fprintf(stderr, "vsctl: The default log directory is \"%s\".\n", LogDir().c_str());
}

void Session::Fail(const std::string& message) {
  std::fprintf(stderr, "vsctl: %s\n", message.c_str());
  End(kFailure);
}

void Session::End(int exit_code) {
  phase_ = Phase::kDone;
  exit_code_ = exit_code;
  loop_.Stop();
}

}  // namespace sluice::vsctl
