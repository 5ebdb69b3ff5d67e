#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <list>
#include <utility>

#include "lib/base/log.h"
#include "lib/io/asio_context.h"
#include "lib/io/stream.h"
#include "lib/io/stream_core.h"
#include "lib/io/stream_plain.h"
#include "lib/io/stream_target.h"
#include "lib/io/tls_context.h"

namespace sluice {

namespace {

using asio::ip::tcp;
using asio::local::stream_protocol;
using OnAccept = std::function<void(std::unique_ptr<Stream>)>;

LogModule log_module("stream");

constexpr mode_t kUnixSocketMode = 0750;  // owner and group may connect
constexpr std::chrono::seconds kHandshakeTimeout(10);
constexpr std::chrono::seconds kHandshakeGrace(1);  // when others wait for their turn
constexpr size_t kMaxPending = 64;

// Accepts until destroyed. Protocol is asio's.
template <typename Protocol>
class Acceptor : public StreamListener {
 public:
  Acceptor(EventLoop& loop, std::string name, OnAccept on_accept)
      : loop_(loop), acceptor_(AsioContext(loop)), name_(std::move(name)), on_accept_(std::move(on_accept)) {}
  ~Acceptor() override {
    asio::error_code ignored;
    acceptor_.close(ignored);
  }
  std::string name() const override { return name_; }

  absl::Status Bind(const typename Protocol::endpoint& endpoint) {
    asio::error_code error;
    const auto fail = [&](std::string_view what) {
      return ErrnoStatus(error.value(), fmt::format("{}: {}", name_, what));
    };
    if (acceptor_.open(endpoint.protocol(), error)) return fail("socket");
    SetCloseOnExec(acceptor_.native_handle());
    // What the file of a unix socket gets (less umask), from its first moment on; of no effect on others.
    fchmod(acceptor_.native_handle(), kUnixSocketMode);
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (acceptor_.bind(endpoint, error)) return fail("bind");
    if (acceptor_.listen(asio::socket_base::max_listen_connections, error)) return fail("listen");
    return absl::OkStatus();
  }

  void Accept() {
    acceptor_.async_accept(
        [this, weak = std::weak_ptr<bool>(alive_)](const asio::error_code& error, typename Protocol::socket socket) {
          if (weak.expired()) return;
          if (error) {
            // Out of descriptors, say: accepting at once again would spin.
            SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "{}: accept failed: {}", name_, error.message());
            retry_ = loop_.RunAfter(std::chrono::milliseconds(100), [this] { Accept(); });
            return;
          }
          OnAccepted(std::move(socket));
          if (!weak.expired() && MayAccept()) Accept();
        });
  }

 protected:
  virtual void OnAccepted(typename Protocol::socket socket) = 0;
  // False: somebody will call Accept() later.
  virtual bool MayAccept() { return true; }
  // May destroy this object.
  void Deliver(std::unique_ptr<Stream> stream) {
    const auto on_accept = on_accept_;
    on_accept(std::move(stream));
  }

  EventLoop& loop_;
  typename Protocol::acceptor acceptor_;
  std::string name_;
  const OnAccept on_accept_;
  EventLoop::Handle retry_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class UnixListener : public Acceptor<stream_protocol> {
 public:
  using Acceptor::Acceptor;
  ~UnixListener() override {
    struct stat status;
    if (!path_.empty() && lstat(path_.c_str(), &status) == 0 && status.st_ino == inode_) {
      unlink(path_.c_str());
    }
  }
  uint16_t port() const override { return 0; }

  absl::Status Listen(const std::string& path) {
    SLUICE_RETURN_IF_ERROR(MakeRoom(path));
    SLUICE_RETURN_IF_ERROR(Bind(stream_protocol::endpoint(path)));
    path_ = path;
    struct stat status;
    if (lstat(path.c_str(), &status) == 0) inode_ = status.st_ino;
    return absl::OkStatus();
  }

 private:
  absl::Status MakeRoom(const std::string& path) const {
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
    if (!S_ISSOCK(status.st_mode)) {
      return AlreadyExists("{}: the file exists and is no socket; remove it or choose another", name_);
    }
    if (SomeoneListens(path)) {
      return AlreadyExists("{}: another process listens on it; stop it or choose another file", name_);
    }
    unlink(path.c_str());
    return absl::OkStatus();
  }

  // Never waits, as connecting to a socket whose backlog is full would.
  static bool SomeoneListens(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const bool listens = result == 0 || errno == EAGAIN;
    close(fd);
    return listens;
  }

  void OnAccepted(stream_protocol::socket socket) override {
    Deliver(MakeStream(std::move(socket), fmt::format("unix#{}", accepted_++)));
  }

  std::string path_;
  ino_t inode_ = 0;
  static inline uint64_t accepted_ = 0;  // clients of unix sockets have no name of their own
};

class TcpListener : public Acceptor<tcp> {
 public:
  using Acceptor::Acceptor;
  uint16_t port() const override { return port_; }

  absl::Status Listen(const StreamTarget& target) {
    asio::error_code error;
    const asio::ip::address address = target.host.empty() ? asio::ip::address(asio::ip::address_v4::any())
                                                          : asio::ip::make_address(target.host, error);
    if (error) {
      return InvalidArgument("{}: \"{}\" is no address; expected an IPv4 or IPv6 address of this host", name_,
                             target.host);
    }
    SLUICE_RETURN_IF_ERROR(Bind(tcp::endpoint(address, target.port)));
    const tcp::endpoint bound = acceptor_.local_endpoint(error);
    if (error) return ErrnoStatus(error.value(), fmt::format("{}: getsockname", name_));
    port_ = bound.port();
    return absl::OkStatus();
  }

 protected:
  // "" if the peer has gone already.
  static std::string PeerName(const tcp::socket& socket, StreamTarget::Kind kind) {
    asio::error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    return error ? "" : SocketName(kind, peer.address().to_string(), peer.port());
  }

  void OnAccepted(tcp::socket socket) override {
    std::string name = PeerName(socket, StreamTarget::Kind::kTcp);
    if (!name.empty()) Deliver(MakeStream(std::move(socket), std::move(name)));
  }

 private:
  uint16_t port_ = 0;
};

class TlsListener : public TcpListener {
 public:
  using TcpListener::TcpListener;
  ~TlsListener() override {
    for (Pending& pending : pending_) {
      pending.handshake->Cancel();
    }
  }

  absl::Status Configure(const TlsConfig& config) {
    auto contexts = TlsContextCache::Create(name_, config);
    if (!contexts.ok()) return contexts.status();
    contexts_ = *std::move(contexts);
    return absl::OkStatus();
  }

 private:
  struct Pending {
    std::string name;
    std::shared_ptr<TlsHandshake> handshake;
    std::chrono::steady_clock::time_point since;
    EventLoop::Handle deadline;
  };

  void OnAccepted(tcp::socket socket) override {
    const std::string name = PeerName(socket, StreamTarget::Kind::kTls);
    if (name.empty()) return;
    const auto entry = pending_.emplace(pending_.end());
    entry->name = name;
    entry->since = std::chrono::steady_clock::now();
    entry->deadline =
        loop_.RunAfter(kHandshakeTimeout, [this, entry] { GiveUp(entry, "the handshake did not end in 10 seconds"); });
    entry->handshake = StartTlsHandshake(std::move(socket), contexts_->Get(), TlsRole::kServer, name,
                                         [this, entry](absl::StatusOr<std::unique_ptr<Stream>> stream) {
                                           Remove(entry);
                                           OnShaken(std::move(stream));
                                         });
  }

  void OnShaken(absl::StatusOr<std::unique_ptr<Stream>> stream) {
    if (stream.ok()) {
      Deliver(*std::move(stream));
    } else if (stream.status().code() != absl::StatusCode::kAborted) {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "{}", Message(stream.status()));
    }
  }

  void GiveUp(std::list<Pending>::iterator entry, std::string_view why) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "{}: given up: {}", entry->name, why);
    entry->handshake->Cancel();
    Remove(entry);
  }

  void Remove(std::list<Pending>::iterator entry) {
    pending_.erase(entry);
    if (std::exchange(paused_, false)) {
      relief_.Cancel();
      Accept();
    }
  }

  // With many handshakes under way further clients wait in the kernel. Honest ones end theirs soon; one that has not
  // for a second makes room.
  bool MayAccept() override {
    if (pending_.size() < kMaxPending) return true;
    paused_ = true;
    const auto end_of_grace = pending_.front().since + kHandshakeGrace;
    const auto wait = std::max(end_of_grace - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0));
    relief_ = loop_.RunAfter(
        wait, [this] { GiveUp(pending_.begin(), "too many handshakes are under way, this one for the longest time"); });
    return false;
  }

  std::unique_ptr<TlsContextCache> contexts_;
  std::list<Pending> pending_;  // oldest first
  bool paused_ = false;         // not accepting
  EventLoop::Handle relief_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StreamListener>> ListenStream(EventLoop& loop, const std::string& target_text,
                                                             const TlsConfig& tls, OnAccept on_accept) {
  const auto target = StreamTarget::Parse(target_text);
  if (!target.ok()) return target.status();
  if (!target->passive) {
    return InvalidArgument("{}: is for connecting; expected punix:FILE, ptcp:[PORT][:HOST] or pssl:[PORT][:HOST]",
                           target_text);
  }
  if (target->kind == StreamTarget::Kind::kUnix) {
    auto listener = std::make_unique<UnixListener>(loop, target_text, std::move(on_accept));
    SLUICE_RETURN_IF_ERROR(listener->Listen(target->path));
    listener->Accept();
    return listener;
  }
  std::unique_ptr<TcpListener> listener;
  if (target->kind == StreamTarget::Kind::kTls) {
    auto tls_listener = std::make_unique<TlsListener>(loop, target_text, std::move(on_accept));
    SLUICE_RETURN_IF_ERROR(tls_listener->Configure(tls));
    listener = std::move(tls_listener);
  } else {
    listener = std::make_unique<TcpListener>(loop, target_text, std::move(on_accept));
  }
  SLUICE_RETURN_IF_ERROR(listener->Listen(*target));
  listener->Accept();
  return listener;
}

}  // namespace sluice
