#include "vswitchd/daemon.h"

#include <csignal>
#include <cstring>
#include <utility>

#include "datapath/commands.h"
#include "lib/base/coverage.h"
#include "lib/base/log.h"
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
  datapaths_.reset();
  for (const UnixctlReply& reply : exit_replies_) {
    reply(std::string());
  }
}

absl::Status Daemon::Start(const std::string& unixctl_path) {
  signals_ = loop_.OnSignals({SIGTERM, SIGINT, SIGHUP}, [this](int signal) { OnSignal(signal); });
  coverage_timer_ = loop_.RunEvery(std::chrono::seconds(kCoverageSampleSeconds), CoverageSample);
  SLUICE_RETURN_IF_ERROR(StartDatapaths());
  RegisterCommands();
  return unixctl_.Listen(unixctl_path);
}

absl::Status Daemon::StartDatapaths() {
  auto monitor = LinkMonitor::Open();
  if (!monitor.ok()) {
    return monitor.status();
  }
  link_monitor_ = *std::move(monitor);
  datapaths_ = std::make_unique<DatapathManager>(DatapathConfig{.link_monitor = link_monitor_.get()});
  link_events_ = loop_.AddFd(link_monitor_->fd(), [this] { link_monitor_->HandleEvents(); });
  datapath_timer_ = loop_.RunEvery(DatapathManager::kTickPeriod, [this] { datapaths_->Tick(); });
  link_timer_ = loop_.RunEvery(DatapathManager::kLinkPollPeriod, [this] { datapaths_->PollLinks(); });
  return absl::OkStatus();
}

void Daemon::Run() { loop_.Run(); }

void Daemon::RegisterCommands() {
  RegisterLogCommands(unixctl_);
  RegisterDatapathCommands(unixctl_, *datapaths_);
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
