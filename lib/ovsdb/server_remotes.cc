#include "lib/ovsdb/server_remotes.h"

#include <algorithm>

#include "lib/base/log.h"

namespace sluice {

namespace {

LogModule log_module("ovsdb_server");

constexpr auto kStatusPeriod = std::chrono::seconds(5);
constexpr auto kStatusDelay = std::chrono::milliseconds(100);

}  // namespace

ServerRemotes::ServerRemotes(ServerCore& core) : core_(core) {
  core_.SetOnCommit([this](const std::string& database) { OnCommit(database); });
}

ServerRemotes::~ServerRemotes() { core_.SetOnCommit(nullptr); }

absl::Status ServerRemotes::Set(const std::vector<std::string>& remotes) {
  std::vector<std::string> targets;
  std::vector<RemoteSource> sources;
  for (const std::string& remote : remotes) {
    if (RemoteSource::IsSource(remote)) {
      absl::StatusOr<RemoteSource> source = RemoteSource::Parse(core_, remote);
      if (!source.ok()) return source.status();
      sources.push_back(*std::move(source));
    } else {
      SLUICE_RETURN_IF_ERROR(CheckStreamTarget(remote));
      targets.push_back(remote);
    }
  }
  targets_ = std::move(targets);
  sources_ = std::move(sources);
  status_timer_ =
      sources_.empty() ? EventLoop::Handle() : core_.loop().RunEvery(kStatusPeriod, [this] { WriteStatus(); });
  Refresh();
  return absl::OkStatus();
}

void ServerRemotes::SetTls(const TlsConfig& tls) {
  if (tls == tls_) return;
  tls_ = tls;
  std::erase_if(remotes_, [](const auto& entry) { return entry.first.find("ssl:") != std::string::npos; });
  Refresh();
}

void ServerRemotes::OnCommit(const std::string& database) {
  const bool concerned = std::any_of(sources_.begin(), sources_.end(),
                                     [&](const RemoteSource& source) { return source.database == database; });
  if (concerned) Refresh();
}

void ServerRemotes::Refresh() {
  std::map<std::string, RemoteOptions> wanted;
  for (const std::string& target : targets_) wanted.emplace(target, RemoteOptions());
  for (const RemoteSource& source : sources_) {
    for (const RemoteRow& row : ReadRemoteRows(*core_.FindDatabase(source.database)->database, source)) {
      const absl::Status status = CheckStreamTarget(row.target);
      if (status.ok()) {
        wanted.emplace(row.target, row.options);
      } else {
        SLUICE_LOG_RATE_LIMITED(log_module, kErr, 5, "{},{}: {}", source.table, source.column, Message(status));
      }
    }
  }
  std::erase_if(remotes_, [&](const auto& entry) {
    const auto found = wanted.find(entry.first);
    return found == wanted.end() || found->second != entry.second->options();
  });
  for (const auto& [target, options] : wanted) {
    if (remotes_.contains(target)) continue;
    remotes_.emplace(target,
                     std::make_unique<ServerRemote>(core_, target, options, tls_, [this] { ScheduleStatus(); }));
    ScheduleStatus();
  }
}

void ServerRemotes::ScheduleStatus() {
  if (sources_.empty() || status_soon_) return;
  status_soon_ = core_.loop().RunAfter(kStatusDelay, [this] {
    status_soon_.Cancel();
    WriteStatus();
  });
}

void ServerRemotes::WriteStatus() {
  for (const RemoteSource& source : sources_) {
    Database& database = *core_.FindDatabase(source.database)->database;
    for (const RemoteRow& row : ReadRemoteRows(database, source)) {
      const auto remote = remotes_.find(row.target);
      if (row.table == nullptr || remote == remotes_.end()) continue;
      WriteRemoteStatus(database, row, remote->second->is_connected(), remote->second->Status());
    }
  }
}

}  // namespace sluice
