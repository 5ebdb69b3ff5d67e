// The running daemon: its event loop, its control socket, and what it switches with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datapath/datapath_manager.h"
#include "lib/base/status.h"
#include "lib/io/event_loop.h"
#include "lib/io/unixctl.h"
#include "netdev/link_monitor.h"

namespace sluice {

class Daemon {
 public:
  Daemon();
  // Ends the datapath, then answers the clients that asked for the exit, then closes the control socket.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Registers all commands and opens the control socket.
  absl::Status Start(const std::string& unixctl_path);
  // Serves until SIGTERM, SIGINT or the exit command.
  void Run();

 private:
  absl::Status StartDatapaths();
  void RegisterCommands();
  void OnSignal(int signal);

  EventLoop loop_;
  UnixctlServer unixctl_;
  std::unique_ptr<LinkMonitor> link_monitor_;
  std::unique_ptr<DatapathManager> datapaths_;
  EventLoop::Handle signals_;
  EventLoop::Handle coverage_timer_;
  EventLoop::Handle link_events_;
  EventLoop::Handle datapath_timer_;
  EventLoop::Handle link_timer_;
  std::vector<UnixctlReply> exit_replies_;
};

}  // namespace sluice
