#include <asio/connect.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <utility>
#include <vector>

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
using Callback = std::function<void(absl::StatusOr<std::unique_ptr<Stream>>)>;

constexpr std::chrono::milliseconds kBacklogRetry(20);

// Done when callback_ is null.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(EventLoop& loop, std::string name, TlsConfig tls, Callback callback)
      : loop_(loop),
        name_(std::move(name)),
        tls_config_(std::move(tls)),
        callback_(std::move(callback)),
        unix_socket_(AsioContext(loop)),
        tcp_socket_(AsioContext(loop)),
        resolver_(AsioContext(loop)) {}

  void Start(std::chrono::milliseconds timeout) {
    deadline_ = loop_.RunAfter(timeout, [this] {
      Fail(MakeStatus(absl::StatusCode::kDeadlineExceeded, fmt::format("{}: connection timed out", name_)));
    });
    // Not before the caller has the handle.
    loop_.Post([self = shared_from_this()] { self->Begin(); });
  }

  void Abandon() {
    callback_ = nullptr;
    deadline_.Cancel();
    retry_.Cancel();
    if (handshake_ != nullptr) std::exchange(handshake_, nullptr)->Cancel();
    asio::error_code ignored;
    unix_socket_.close(ignored);
    tcp_socket_.close(ignored);
    resolver_.cancel();
  }

 private:
  void Begin() {
    if (callback_ == nullptr) return;
    absl::StatusOr<StreamTarget> target = StreamTarget::Parse(name_);
    if (target.ok() && target->passive) {
      target = InvalidArgument("{}: is for listening; expected unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT", name_);
    }
    if (!target.ok()) {
      Fail(target.status());
      return;
    }
    target_ = *std::move(target);
    if (target_.kind == StreamTarget::Kind::kUnix) {
      ConnectUnix();
      return;
    }
    if (target_.kind == StreamTarget::Kind::kTls) {
      auto context = MakeTlsContext(name_, tls_config_);
      if (!context.ok()) {
        Fail(context.status());
        return;
      }
      tls_context_ = *std::move(context);
    }
    Resolve();
  }

  void ConnectUnix() {
    unix_socket_.async_connect(stream_protocol::endpoint(target_.path),
                               [self = shared_from_this()](const asio::error_code& error) {
                                 if (self->callback_ != nullptr) self->OnUnixConnected(error);
                               });
  }

  void OnUnixConnected(const asio::error_code& error) {
    if (error == asio::error::try_again) {  // the listener's backlog is full, which no event tells the end of
      asio::error_code ignored;
      unix_socket_.close(ignored);
      retry_ = loop_.RunAfter(kBacklogRetry, [this] { ConnectUnix(); });
    } else if (error) {
      Fail(error);
    } else {
      Succeed(MakeStream(std::move(unix_socket_), name_));
    }
  }

  void Resolve() {
    asio::error_code error;
    const asio::ip::address address = asio::ip::make_address(target_.host, error);
    if (!error) {
      ConnectTcp({tcp::endpoint(address, target_.port)});
      return;
    }
    resolver_.async_resolve(
        target_.host, std::to_string(target_.port), tcp::resolver::numeric_service,
        [self = shared_from_this()](const asio::error_code& failure, const tcp::resolver::results_type& results) {
          if (self->callback_ == nullptr) return;
          if (failure) {
            self->Fail(failure);
            return;
          }
          self->ConnectTcp({results.begin(), results.end()});
        });
  }

  void ConnectTcp(std::vector<tcp::endpoint> endpoints) {
    endpoints_ = std::move(endpoints);
    asio::async_connect(tcp_socket_, endpoints_,
                        [self = shared_from_this()](const asio::error_code& error, const tcp::endpoint&) {
                          if (self->callback_ != nullptr) self->OnTcpConnected(error);
                        });
  }

  void OnTcpConnected(const asio::error_code& error) {
    if (error) {
      Fail(error);
    } else if (target_.kind == StreamTarget::Kind::kTcp) {
      Succeed(MakeStream(std::move(tcp_socket_), name_));
    } else {
      handshake_ = StartTlsHandshake(std::move(tcp_socket_), tls_context_, TlsRole::kClient, name_,
                                     [weak = weak_from_this()](absl::StatusOr<std::unique_ptr<Stream>> stream) {
                                       if (const auto self = weak.lock()) self->OnShaken(std::move(stream));
                                     });
    }
  }

  void OnShaken(absl::StatusOr<std::unique_ptr<Stream>> stream) {
    if (callback_ == nullptr) return;
    handshake_ = nullptr;
    if (stream.ok()) {
      Succeed(*std::move(stream));
    } else if (stream.status().code() == absl::StatusCode::kAborted) {
      tcp_socket_ = tcp::socket(AsioContext(loop_));
      Begin();  // once more, checked by the CA certificate that was saved
    } else {
      Fail(stream.status());
    }
  }

  void Succeed(std::unique_ptr<Stream> stream) {
    auto callback = std::exchange(callback_, nullptr);
    Abandon();
    callback(std::move(stream));
  }
  void Fail(const asio::error_code& error) {
    Fail(MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: {}", name_, error.message())));
  }
  void Fail(const absl::Status& status) {
    const auto self = shared_from_this();  // the callback may destroy the handle
    auto callback = std::exchange(callback_, nullptr);
    Abandon();
    callback(status);
  }

  EventLoop& loop_;
  const std::string name_;
  const TlsConfig tls_config_;
  Callback callback_;
  StreamTarget target_;
  std::shared_ptr<TlsContext> tls_context_;
  stream_protocol::socket unix_socket_;
  tcp::socket tcp_socket_;
  tcp::resolver resolver_;
  std::vector<tcp::endpoint> endpoints_;
  std::shared_ptr<TlsHandshake> handshake_;
  EventLoop::Handle deadline_;
  EventLoop::Handle retry_;
};

class ConnectHandle : public StreamConnect {
 public:
  explicit ConnectHandle(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~ConnectHandle() override { connection_->Abandon(); }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<StreamConnect> ConnectStream(EventLoop& loop, const std::string& target, const TlsConfig& tls,
                                             std::chrono::milliseconds timeout, Callback callback) {
  auto connection = std::make_shared<Connection>(loop, target, tls, std::move(callback));
  connection->Start(timeout);
  return std::make_unique<ConnectHandle>(std::move(connection));
}

}  // namespace sluice
