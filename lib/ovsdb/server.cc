#include "lib/ovsdb/server.h"

#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_remotes.h"

namespace sluice {

struct OvsdbServer::Impl {
  explicit Impl(EventLoop& loop) : core(loop), remotes(core) {}

  ServerCore core;
  ServerRemotes remotes;
};

OvsdbServer::OvsdbServer(EventLoop& loop) : impl_(std::make_unique<Impl>(loop)) {}
OvsdbServer::~OvsdbServer() = default;

absl::Status OvsdbServer::AddDatabase(std::unique_ptr<Database> database, std::unique_ptr<LogFile> file) {
  return impl_->core.AddDatabase(std::move(database), std::move(file));
}

absl::Status OvsdbServer::SetRemotes(std::vector<std::string> remotes) { return impl_->remotes.Set(remotes); }

void OvsdbServer::SetTls(const TlsConfig& tls) { impl_->remotes.SetTls(tls); }

size_t OvsdbServer::session_count() const { return impl_->core.session_count(); }

absl::Status OvsdbServer::Compact(const std::string& database) {
  ServedDatabase* served = impl_->core.FindDatabase(database);
  if (served == nullptr) return NotFound("database {}: is not served here", database);
  return impl_->core.Compact(*served);
}

}  // namespace sluice
