// One remote of an OVSDB server: a listener with its clients, or a connection that is made again and again.
//
// lib/ovsdb's own. Loop thread. A listener that cannot be opened is tried again every second, a connection that fails
// after a pause of one second that doubles up to max_backoff. Destroying it ends the sessions that came by it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_session.h"

namespace sluice {

struct RemoteOptions {
  std::optional<std::chrono::milliseconds> inactivity_probe;  // nothing: 5 s, and none on unix sockets
  std::chrono::milliseconds max_backoff{8000};
  bool read_only = false;

  bool operator==(const RemoteOptions&) const = default;
};

class ServerRemote {
 public:
  // `on_change`: status() has changed.
  ServerRemote(ServerCore& core, std::string target, RemoteOptions options, const TlsConfig& tls,
               std::function<void()> on_change);
  ~ServerRemote();
  ServerRemote(const ServerRemote&) = delete;
  ServerRemote& operator=(const ServerRemote&) = delete;

  const std::string& target() const { return target_; }
  const RemoteOptions& options() const { return options_; }
  bool is_connected() const { return !sessions_.empty(); }
  // What Manager's status column says, by its keys (ovs-vswitchd.conf.db(5)).
  std::map<std::string, std::string> Status() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Listen();
  void Connect();
  void OnConnected(absl::StatusOr<std::unique_ptr<Stream>> stream);
  void BackOff(const absl::Status& reason);
  void Serve(std::unique_ptr<Stream> stream);
  void OnSessionClosed(OvsdbSession* session, const absl::Status& status);

  ServerCore& core_;
  const std::string target_;
  const RemoteOptions options_;
  const TlsConfig tls_;
  const std::function<void()> on_change_;
  const bool passive_;
  std::unique_ptr<StreamListener> listener_;
  std::unique_ptr<StreamConnect> connect_;
  EventLoop::Handle retry_;
  std::chrono::milliseconds backoff_{1000};
  std::string last_error_;
  std::optional<Clock::time_point> connected_at_;
  std::optional<Clock::time_point> disconnected_at_;
  std::set<OvsdbSession*> sessions_;  // the core's
};

}  // namespace sluice
