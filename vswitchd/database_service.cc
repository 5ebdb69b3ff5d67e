#include "vswitchd/database_service.h"

#include <future>

#include "lib/base/log.h"
#include "lib/ovsdb/log_file.h"

namespace sluice {
namespace {

LogModule log_module("ovsdb_server");

}  // namespace

absl::StatusOr<std::unique_ptr<DatabaseService>> DatabaseService::Start(const Options& options) {
  auto opened = LogFile::Open(options.file, VswitchSchema());
  if (!opened.ok()) return opened.status();
  if (!opened->repaired.empty()) SLUICE_LOG(log_module, kWarn, "{}", opened->repaired);

  std::unique_ptr<DatabaseService> service(new DatabaseService);
  service->server_ = std::make_unique<OvsdbServer>(service->loop_);
  SLUICE_RETURN_IF_ERROR(service->server_->AddDatabase(std::move(opened->database), std::move(opened->file)));
  service->server_->SetTls(options.tls);
  std::vector<std::string> remotes = options.remotes;
  remotes.emplace_back("db:Open_vSwitch,Open_vSwitch,manager_options");
  SLUICE_RETURN_IF_ERROR(service->server_->SetRemotes(std::move(remotes)));
  service->thread_ = std::thread([loop = &service->loop_] {
    LogSetThreadName("ovsdb");
    loop->Run();
  });
  return service;
}

DatabaseService::~DatabaseService() {
  if (thread_.joinable()) {
    loop_.Stop();
    thread_.join();
  }
  server_.reset();
}

void DatabaseService::SetTls(const TlsConfig& tls) {
  loop_.Post([this, tls] { server_->SetTls(tls); });
}

absl::Status DatabaseService::Compact() {
  std::promise<absl::Status> done;
  loop_.Post([this, &done] { done.set_value(server_->Compact("Open_vSwitch")); });
  return done.get_future().get();
}

}  // namespace sluice
