#include "lib/ovsdb/server_core.h"

#include "lib/base/log.h"
#include "lib/ovsdb/server.h"
#include "lib/ovsdb/server_database.h"
#include "lib/ovsdb/server_session.h"

namespace sluice {

using std::chrono::steady_clock;

namespace {

LogModule log_module("ovsdb_server");

// How long transactions that wait may be tried again in one turn of the loop.
constexpr auto kRetryBudget = std::chrono::milliseconds(5);
// After a compaction failed: a full disk does not get emptier by trying at every commit.
constexpr auto kCompactAgainAfter = std::chrono::seconds(60);

}  // namespace

ServerCore::ServerCore(EventLoop& loop) : loop_(loop), pending_(loop), max_sessions_(OvsdbServer::kMaxSessions) {
  // It cannot fail: there is no other of its name.
  Serve(MakeServerDatabase(), nullptr, true).IgnoreError();
}

ServerCore::~ServerCore() {
  alive_.reset();
  on_commit_ = nullptr;
  sessions_.clear();
}

void ServerCore::Post(std::function<void()> function) {
  loop_.Post([alive = std::weak_ptr<bool>(alive_), function = std::move(function)] {
    if (!alive.expired()) function();
  });
}

absl::Status ServerCore::AddDatabase(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file) {
  return Serve(std::move(database), std::move(file), false);
}

absl::Status ServerCore::Serve(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file, bool reserved) {
  const std::string name = database->schema().name;
  const auto [entry, is_new] = databases_.try_emplace(name);
  if (!is_new) return AlreadyExists("database {}: is served already; names must be unique", name);
  ServedDatabase& served = entry->second;
  served.database = std::move(database);
  served.file = std::move(file);
  served.reserved = reserved;
  served.database->set_commit_hook([&served](const ChangeSet& changes, const std::string& comments, bool) {
    if (served.file == nullptr) return absl::OkStatus();
    // Durable whether or not the client asked for it: an acknowledged transaction is one that a crash does not undo.
    const absl::Status written = served.file->Append(changes, comments, true);
    if (!written.ok()) {
      SLUICE_LOG_RATE_LIMITED(log_module, kErr, 5, "database {}: a transaction was refused: {}", served.name(),
                              Message(written));
    }
    return written;
  });
  served.database->set_on_commit([this, &served](const ChangeSet& changes) { OnCommit(served, changes); });
  return RegisterDatabase(*databases_.find(kServerDatabaseName)->second.database, served.database->schema());
}

ServedDatabase* ServerCore::FindDatabase(std::string_view name) {
  const auto found = databases_.find(name);
  return found != databases_.end() ? &found->second : nullptr;
}

std::vector<std::string> ServerCore::DatabaseNames() const {
  std::vector<std::string> names;
  for (const auto& [name, served] : databases_) names.push_back(name);
  return names;
}

OvsdbSession* ServerCore::AddSession(std::unique_ptr<Stream> stream, const SessionOptions& options,
                                     std::function<void(const absl::Status&)> on_closed) {
  if (live_sessions_ >= max_sessions_) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: refused, {} clients are connected and no more are served",
                            stream->name(), live_sessions_);
    stream->Close();
    return nullptr;
  }
  ++live_sessions_;
  sessions_.push_back(std::make_unique<OvsdbSession>(*this, std::move(stream), options, std::move(on_closed)));
  return sessions_.back().get();
}

void ServerCore::OnSessionEnded() {
  --live_sessions_;
  if (std::exchange(reap_scheduled_, true)) return;
  Post([this] {
    reap_scheduled_ = false;
    std::erase_if(sessions_, [](const auto& session) { return session->ended(); });
  });
}

void ServerCore::OnCommit(ServedDatabase& served, const ChangeSet& changes) {
  const Uuid id = served.history.Add(changes);
  ++served.commits;
  for (const auto& session : sessions_) session->RecordCommit(served, changes, id);
  committed_.push_back(served.name());
  ScheduleAfterCommit();
}

void ServerCore::ScheduleAfterCommit() {
  if (std::exchange(after_commit_scheduled_, true)) return;
  Post([this] {
    after_commit_scheduled_ = false;
    AfterCommit();
  });
}

void ServerCore::AfterCommit() {
  for (const auto& session : sessions_) {
    if (!session->ended()) session->FlushMonitors();
  }
  const std::vector<std::string> committed = std::exchange(committed_, {});
  for (const std::string& name : committed) {
    if (on_commit_) on_commit_(name);
    CompactIfGrown(*FindDatabase(name));
  }
  if (pending_.Retry(kRetryBudget)) ScheduleAfterCommit();
}

void ServerCore::CompactIfGrown(ServedDatabase& served) {
  if (served.file == nullptr || !served.file->ShouldCompact() || steady_clock::now() < served.next_compaction) return;
  const absl::Status compacted = Compact(served);
  if (!compacted.ok()) served.next_compaction = steady_clock::now() + kCompactAgainAfter;
}

absl::Status ServerCore::Compact(ServedDatabase& served) {
  if (served.file == nullptr) {
    return FailedPrecondition("database {}: is kept in memory only, there is no file to compact", served.name());
  }
  const auto begin = steady_clock::now();
  const absl::Status status = served.file->Compact(*served.database);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begin).count();
  if (status.ok()) {
    SLUICE_LOG(log_module, kInfo, "database {}: compacted {} in {} ms", served.name(), served.file->path(),
               milliseconds);
  } else {
    SLUICE_LOG(log_module, kErr, "database {}: cannot compact: {}", served.name(), Message(status));
  }
  return status;
}

}  // namespace sluice
