// An OVSDB server as a process of the test's own, on a unix socket in the test's folder: Debian's ovsdb-server, or ours
// by serve_database. And Debian's clients of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice {

class ServerProcess {
 public:
  enum class Model { kStandalone, kClustered, kSluice };  // Debian's, Debian's as a cluster of one, ours

  // Makes a database with Open vSwitch's own schema in `folder`.
  ServerProcess(std::string folder, Model model);
  ~ServerProcess();  // kills it
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it and waits until it serves.
  void Start(const std::vector<std::string>& more_arguments = {});
  void Kill();
  void Signal(int signal) const;
  // Ends all connections, and serves new ones.
  void DropConnections();

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
