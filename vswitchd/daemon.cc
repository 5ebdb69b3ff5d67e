#include "vswitchd/daemon.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <utility>

#include "datapath/commands.h"
#include "lib/base/coverage.h"
#include "lib/base/log.h"
#include "lib/io/daemon.h"
#include "vswitchd/log_commands.h"

namespace sluice {

namespace {

LogModule log_module("vswitchd");

}  // namespace

Daemon::Daemon() : unixctl_(loop_) {}

Daemon::~Daemon() {
  datapath_timer_.Cancel();
  link_timer_.Cancel();
  link_events_.Cancel();
  configurator_.reset();
  database_.reset();
  switch_.reset();
  datapaths_.reset();
  for (const UnixctlReply& reply : exit_replies_) {
    reply(std::string());
  }
}

absl::Status Daemon::Start(const Options& options, std::function<void()> on_ready) {
  signals_ = loop_.OnSignals({SIGTERM, SIGINT, SIGHUP}, [this](int signal) { OnSignal(signal); });
  coverage_timer_ = loop_.RunEvery(std::chrono::seconds(kCoverageSampleSeconds), CoverageSample);
  SLUICE_RETURN_IF_ERROR(StartDatapaths());
  switch_ = std::make_unique<Switch>(*datapaths_);
  RegisterCommands();
  SLUICE_RETURN_IF_ERROR(StartDatabase(options, std::move(on_ready)));
  return unixctl_.Listen(options.unixctl_path.empty() ? fmt::format("{}/ovs-vswitchd.{}.ctl", RunDir(), getpid())
                                                      : options.unixctl_path);
}

absl::Status Daemon::StartDatabase(const Options& options, std::function<void()> on_ready) {
  Configurator::Options session{.remotes = options.database, .tls = options.tls};
  if (options.database.empty()) {
    const std::string socket = RunDir() + "/db.sock";
    SLUICE_RETURN_IF_ERROR(EnsureDirectory(options.database_file.substr(0, options.database_file.rfind('/'))));
    DatabaseService::Options service{.file = options.database_file, .remotes = {"punix:" + socket}, .tls = options.tls};
    service.remotes.insert(service.remotes.end(), options.remotes.begin(), options.remotes.end());
    auto database = DatabaseService::Start(service);
    if (!database.ok()) return database.status();
    database_ = *std::move(database);
    session.remotes = {"unix:" + socket};
    session.makes_root = true;
  }
  auto query = LinkQuery::Open();
  if (!query.ok()) return query.status();
  configurator_ = std::make_unique<Configurator>(loop_, *datapaths_, *switch_, *std::move(query), std::move(session));
  configurator_->OnReady(std::move(on_ready));
  configurator_->OnTlsChange([this, given = options.tls](const TlsConfig& tls) {
    // What the command line gives comes first.
    if (database_ != nullptr && !given.configured()) database_->SetTls(tls);
  });
  return absl::OkStatus();
}

absl::Status Daemon::StartDatapaths() {
  auto monitor = LinkMonitor::Open();
  if (!monitor.ok()) {
    return monitor.status();
  }
  link_monitor_ = *std::move(monitor);
  datapaths_ = std::make_unique<DatapathManager>(DatapathConfig{.link_monitor = link_monitor_.get()});
  link_events_ = loop_.AddFd(link_monitor_->fd(), [this] { link_monitor_->HandleEvents(); });
  datapath_timer_ = loop_.RunEvery(DatapathManager::kTickPeriod, [this] {
    datapaths_->Tick();
    trimmer_.Tick();
  });
  link_timer_ = loop_.RunEvery(DatapathManager::kLinkPollPeriod, [this] { datapaths_->PollLinks(); });
  return absl::OkStatus();
}

void Daemon::Run() { loop_.Run(); }

void Daemon::RegisterCommands() {
  RegisterLogCommands(unixctl_);
  RegisterDatapathCommands(unixctl_, *datapaths_);
  switch_->RegisterCommands(unixctl_);
  unixctl_.Register("ovsdb-server/compact", "", 0, 0, [this](const UnixctlArgs&) -> absl::StatusOr<std::string> {
    if (database_ == nullptr) return FailedPrecondition("the database is served by another process");
    SLUICE_RETURN_IF_ERROR(database_->Compact());
    return std::string();
  });
  unixctl_.RegisterAsync("exit", "[--cleanup]", 0, 1, [this](const UnixctlArgs& args, UnixctlReply reply) {
    if (!args.empty() && args[0] != "--cleanup") {
      reply(InvalidArgument("\"exit\" command argument \"{}\": expected --cleanup or nothing", args[0]));
      return;
    }
    // --cleanup asks for nothing more: ports, taps and kernel hooks end with the daemon in any case.
    SLUICE_LOG(log_module, kInfo, "exit requested through the control socket");
    // Answered when everything is taken down, so that who asked may rely on it.
    exit_replies_.push_back(std::move(reply));
    loop_.Stop();
  });
}

void Daemon::OnSignal(int signal) {
  if (signal == SIGHUP) {
    if (!LogFileName().empty()) {
      if (const absl::Status status = LogReopen(); !status.ok()) {
        SLUICE_LOG(log_module, kErr, "{}", Message(status));
      }
    }
    return;
  }
  SLUICE_LOG(log_module, kInfo, "terminating with signal {} ({})", signal, strsignal(signal));
  loop_.Stop();
}

}  // namespace sluice
