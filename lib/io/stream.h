// Byte streams to peers named as Open vSwitch names them: unix, TCP and TLS, active and passive (ovsdb(7) "Connection
// Methods").
//
//   active:  unix:FILE  tcp:HOST:PORT  ssl:HOST:PORT           (HOST may be a name, an IPv4 or a bracketed IPv6
//   address) passive: punix:FILE  ptcp:[PORT][:HOST]  pssl:[PORT][:HOST] (default port 6640)
//
// All of it belongs to the event loop's thread; nothing blocks. Callbacks run from the loop, never from inside the call
// that asked for them, and not any more after the object is destroyed or Close()d. No sockets' or OpenSSL's types here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/io/event_loop.h"

namespace sluice {

// --private-key, --certificate, --ca-cert, --bootstrap-ca-cert, --peer-ca-cert, --ssl-protocols, --ssl-ciphers, or the
// SSL table. Files are read when a stream is opened, so that they may be replaced.
struct TlsConfig {
  std::string private_key;
  std::string certificate;
  std::string ca_cert;        // "none": peers are not checked
  std::string peer_ca_cert;   // sent to clients that bootstrap
  std::string protocols;      // "TLSv1.2,TLSv1.3"; "" for the default
  std::string ciphers;        // "" for OpenSSL's HIGH
  bool bootstrap_ca = false;  // take the CA certificate of the first peer and save it as ca_cert

  bool configured() const { return !private_key.empty() && !certificate.empty(); }
  bool operator==(const TlsConfig&) const = default;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // `on_data`: bytes arrived; valid during the call. `on_closed`: the peer closed (OK) or the connection failed; at
  // most once, nothing follows. Set both before returning to the loop.
  virtual void SetCallbacks(std::function<void(std::string_view)> on_data,
                            std::function<void(const absl::Status&)> on_closed) = 0;
  // Takes `bytes` and sends them in order, as the peer takes them.
  virtual void Send(std::string bytes) = 0;
  virtual size_t unsent_bytes() const = 0;
  // Called after unsent_bytes() fell to zero.
  virtual void SetOnDrained(std::function<void()> on_drained) = 0;
  // Stops and resumes reading: back-pressure.
  virtual void SetReading(bool reading) = 0;
  virtual void Close() = 0;

  // "unix:/run/...", "tcp:10.0.0.1:41234": the peer, for logs and status.
  virtual std::string name() const = 0;
};

// Whether `target` names a kind of stream; the error says what is wrong with it and what would be right.
absl::Status CheckStreamTarget(std::string_view target);
bool IsPassiveTarget(std::string_view target);

// Connects to an active target. The callback gets a stream or why not (also "connection timed out" after `timeout`).
// Destroying the handle gives up.
class StreamConnect {
 public:
  virtual ~StreamConnect() = default;
};
[[nodiscard]] std::unique_ptr<StreamConnect> ConnectStream(
    EventLoop& loop, const std::string& target, const TlsConfig& tls, std::chrono::milliseconds timeout,
    std::function<void(absl::StatusOr<std::unique_ptr<Stream>>)> callback);

// Listens on a passive target until destroyed (a unix socket's file is removed then). A stale unix socket file is
// replaced, one that is listened on is refused. Plain TCP on a TLS port is refused with a log line that says so, and
// the reverse. A handshake that does not end within ten seconds is given up; at most `max_pending` are under way.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  virtual std::string name() const = 0;
  virtual uint16_t port() const = 0;  // bound TCP port, 0 for unix
};
absl::StatusOr<std::unique_ptr<StreamListener>> ListenStream(EventLoop& loop, const std::string& target,
                                                             const TlsConfig& tls,
                                                             std::function<void(std::unique_ptr<Stream>)> on_accept);

}  // namespace sluice
