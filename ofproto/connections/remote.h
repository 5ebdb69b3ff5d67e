// Remote: where connections come from: a controller that is connected to again and again, or a place to listen on. It
// gives streams and keeps what the Controller row shows of them.
//
// An active one has one connection at a time; when that ends the next try comes after a pause of one second that
// doubles up to max_backoff. A listener that cannot be opened is tried again every second. Loop thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "ofproto/connections/openflow_config.h"

namespace sluice {

class Remote {
 public:
  using Clock = std::chrono::steady_clock;
  using OnStream = std::function<void(Remote&, std::unique_ptr<Stream>)>;

  Remote(EventLoop& loop, const ControllerConfig& config, const TlsConfig& tls, std::string owner, OnStream on_stream);
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  const ControllerConfig& config() const { return config_; }
  bool is_passive() const { return passive_; }
  uint16_t port() const { return listener_ != nullptr ? listener_->port() : 0; }  // bound; 0: none or unix

  // Of the connection over a stream that was given: it has agreed on a version; it has said something; it has ended.
  void OnOpen();
  void OnAnswer() { answering_ = true; }
  void OnClosed(const absl::Status& reason);
  // A new attempt at once.
  void Reconnect();

  // How long the controller has not answered; zero while it does.
  Clock::duration FailureTime(Clock::time_point now) const {
    return answering_ ? Clock::duration{0} : now - silent_since_;
  }
  // Controller:status, but for what only the connection knows.
  std::map<std::string, std::string> Status() const;

 private:
  void Listen();
  void Connect();
  void BackOff(const absl::Status& reason);

  EventLoop& loop_;
  const ControllerConfig config_;
  const TlsConfig tls_;
  const std::string owner_;  // the bridge, for logs
  const OnStream on_stream_;
  const std::string target_;  // with the port that OpenFlow has by default
  const bool passive_;
  std::unique_ptr<StreamListener> listener_;
  std::unique_ptr<StreamConnect> connect_;
  EventLoop::Handle retry_;
  std::chrono::milliseconds backoff_;
  std::string last_error_;
  bool open_ = false;
  bool answering_ = false;
  size_t streams_ = 0;
  Clock::time_point silent_since_;
  std::optional<Clock::time_point> connected_at_;
  std::optional<Clock::time_point> disconnected_at_;
};

// "tcp:HOST" is "tcp:HOST:6653", "ptcp:" is "ptcp:6653": OpenFlow's port where none is given.
std::string WithOpenFlowPort(const std::string& target);

}  // namespace sluice
