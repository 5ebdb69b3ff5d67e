// Debian's ovsdb-server as a process of the test's own, on a unix socket in the test's folder; and Debian's clients.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice {

class DebianServer {
 public:
  enum class Model { kStandalone, kClustered };  // a cluster of one

  // Makes a database with Open vSwitch's own schema in `folder`.
  DebianServer(std::string folder, Model model);
  ~DebianServer();  // kills it
  DebianServer(const DebianServer&) = delete;
  DebianServer& operator=(const DebianServer&) = delete;

  // Starts it and waits until it serves.
  void Start(const std::vector<std::string>& more_arguments = {});
  void Kill();
  void Signal(int signal) const;

  std::string remote() const { return "unix:" + folder_ + "/db.sock"; }
  std::string file() const { return folder_ + "/conf.db"; }
  // Runs ovs-vsctl, ovs-appctl or ovsdb-tool on it; what it printed.
  std::string Vsctl(const std::string& arguments) const;
  std::string Appctl(const std::string& arguments) const;
  std::string Tool(const std::string& arguments) const;

 private:
  std::string folder_;
  Model model_;
  pid_t pid_ = -1;
};

}  // namespace sluice
