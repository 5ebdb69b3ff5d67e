// The running daemon: its event loop, its control socket, its database, and what it switches with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datapath/datapath_manager.h"
#include "lib/base/status.h"
#include "lib/io/event_loop.h"
#include "lib/io/unixctl.h"
#include "netdev/link_monitor.h"
#include "ofproto/switch.h"
#include "vswitchd/configurator.h"
#include "vswitchd/database_service.h"
#include "vswitchd/memory_trimmer.h"
#include "vswitchd/options.h"

namespace sluice {

class Daemon {
 public:
  Daemon();
  // Ends the datapath, then answers the clients that asked for the exit, then closes the control socket.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Registers all commands, opens the control socket and the database. `on_ready` is called from Run(), once, when the
  // switch is as its database wants it (or that has to wait; see configurator.h).
  absl::Status Start(const Options& options, std::function<void()> on_ready);
  // Serves until SIGTERM, SIGINT or the exit command.
  void Run();

 private:
  absl::Status StartDatapaths();
  absl::Status StartDatabase(const Options& options, std::function<void()> on_ready);
  void RegisterCommands();
  void OnSignal(int signal);

  EventLoop loop_;
  UnixctlServer unixctl_;
  std::unique_ptr<LinkMonitor> link_monitor_;
  std::unique_ptr<DatapathManager> datapaths_;
  std::unique_ptr<Switch> switch_;
  std::unique_ptr<DatabaseService> database_;  // embedded; nullptr: external
  std::unique_ptr<Configurator> configurator_;
  EventLoop::Handle signals_;
  EventLoop::Handle coverage_timer_;
  EventLoop::Handle link_events_;
  EventLoop::Handle datapath_timer_;
  MemoryTrimmer trimmer_;
  EventLoop::Handle link_timer_;
  std::vector<UnixctlReply> exit_replies_;
};

}  // namespace sluice
