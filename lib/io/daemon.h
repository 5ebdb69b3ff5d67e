// What makes a process a daemon: its directories, its pid file, and going to the background.
//
// Names and behaviour follow Open vSwitch's (ovs-vswitchd(8)), so that its tools and service scripts find us.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {

// OVS_RUNDIR, or /run/openvswitch. OVS_LOGDIR, or /var/log/openvswitch.
std::string RunDir();
std::string LogDir();
// Where databases are kept: OVS_DBDIR, or OVS_SYSCONFDIR/openvswitch, or /etc/openvswitch.
std::string DbDir();

// Creates the directory (0755) and missing parents.
absl::Status EnsureDirectory(const std::string& path);

// A file holding the process's id, locked (fcntl) while the process lives. The lock, not the file, says that the
// process is there: the file of a process that was killed is no obstacle. Locks do not survive fork, so create it in
// the process that stays. Removed on destruction.
class PidFile {
 public:
  PidFile() = default;
  ~PidFile();
  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&& other) noexcept;

  // Fails with "<path>: already running as pid <pid>, aborting" if a live process holds it, unless `overwrite`.
  static absl::StatusOr<PidFile> Create(const std::string& path, bool overwrite);

  const std::string& path() const { return path_; }

 private:
  PidFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void Remove();

  std::string path_;
  int fd_ = -1;
};

// The id of the live process that holds the pid file. NotFound if there is no such file or its process is gone.
absl::StatusOr<pid_t> ReadPidFile(const std::string& path);

struct DaemonizeOptions {
  bool detach = false;
  bool monitor = false;  // keep a parent process that starts us again after a crash
  bool chdir = true;     // leave the current directory for / (only with detach)
};

// With detach: forks; returns in the child (the daemon), which goes on to initialise. The original process waits in
// here and exits: with 0 once the child called DaemonizeComplete(), with the child's own status if it died before.
// Call it before any thread exists and before the pid file is created. With monitor it returns
// again, in a new child, after a crash. Without either it does nothing.
absl::Status DaemonizeStart(const DaemonizeOptions& options);

// Initialisation is done: lets the waiting parent exit, and leaves the terminal (standard files to /dev/null) and the
// current directory. Without detach it does nothing.
void DaemonizeComplete();

}  // namespace sluice
