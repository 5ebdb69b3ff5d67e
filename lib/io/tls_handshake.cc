#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/ssl/error.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "lib/base/log.h"
#include "lib/io/stream_core.h"
#include "lib/io/tls_context.h"

namespace sluice {

namespace {

using asio::ip::tcp;
using TlsSocket = asio::ssl::stream<tcp::socket>;

LogModule log_module("stream_ssl");

// The certificate that the others of the peer's chain lead to: signed by itself.
absl::StatusOr<X509*> RootOfPeer(SSL* ssl) {
  STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl);
  // On a server's side the chain is without the peer's own certificate.
  X509* const last = chain != nullptr && sk_X509_num(chain) > 0 ? sk_X509_value(chain, sk_X509_num(chain) - 1)
                                                                : SSL_get0_peer_certificate(ssl);
  if (last == nullptr) {
    return FailedPrecondition("the peer sent no certificate to bootstrap the CA certificate from");
  }
  if ((X509_get_extension_flags(last) & EXFLAG_SS) == 0) {
    return FailedPrecondition(
        "could not bootstrap the CA certificate: the peer did not send its CA's; its --peer-ca-cert makes it");
  }
  return last;
}

// Never replaces a file: what is there was trusted before.
absl::Status SaveCertificate(X509* certificate, const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
  if (fd < 0) return ErrnoStatus(errno, fmt::format("CA certificate {}: cannot create", path));
  FILE* const file = fdopen(fd, "w");
  const bool written = PEM_write_X509(file, certificate) == 1;
  if (fclose(file) != 0 || !written) {
    const int error = errno;
    unlink(path.c_str());
    return ErrnoStatus(error, fmt::format("CA certificate {}: cannot write", path));
  }
  return absl::OkStatus();
}

class Handshake : public TlsHandshake, public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(tcp::socket socket, std::shared_ptr<TlsContext> context, TlsRole role, std::string name, Callback callback)
      : context_(std::move(context)),
        role_(role),
        name_(std::move(name)),
        callback_(std::move(callback)),
        stream_(std::move(socket), context_->context) {}

  void Start() {
    if (role_ == TlsRole::kClient) {
      Shake();
      return;
    }
    stream_.lowest_layer().async_wait(tcp::socket::wait_read,
                                      [self = shared_from_this()](const asio::error_code& error) {
                                        if (!error && self->callback_ != nullptr) self->LookAtFirstByte();
                                      });
  }

  void Cancel() override {
    callback_ = nullptr;
    asio::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  // OpenSSL would answer what is not TLS by an alert and an error that few understand.
  void LookAtFirstByte() {
    constexpr char kHandshakeRecord = 22;
    char byte = 0;
    const ssize_t length = recv(stream_.lowest_layer().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (length == 1 && byte != kHandshakeRecord) {
      Finish(
          InvalidArgument("{}: the peer does not speak TLS, and this port does: connection refused; use ssl: at the "
                          "peer, or ptcp: here",
                          name_));
      return;
    }
    if (length <= 0) {
      Finish(MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: closed before the TLS handshake", name_)));
      return;
    }
    Shake();
  }

  void Shake() {
    stream_.async_handshake(role_ == TlsRole::kClient ? asio::ssl::stream_base::client : asio::ssl::stream_base::server,
                            [self = shared_from_this()](const asio::error_code& error) { self->OnShaken(error); });
  }

  void OnShaken(const asio::error_code& error) {
    if (callback_ == nullptr) return;
    if (error) {
      Finish(MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("{}: TLS handshake failed: {}", name_, Explain(error))));
      return;
    }
    if (context_->bootstrapping) {
      Finish(Bootstrap());
      return;
    }
    SLUICE_LOG(log_module, kDbg, "{}: {} with {}", name_, SSL_get_version(stream_.native_handle()),
               SSL_get_cipher_name(stream_.native_handle()));
    auto callback = std::exchange(callback_, nullptr);
    callback(std::make_unique<CoreStream<TlsSocket>>(std::move(stream_), name_));
  }

  std::string Explain(const asio::error_code& error) {
    std::string text = error.message();
    const long verified = SSL_get_verify_result(stream_.native_handle());
    if (verified != X509_V_OK) {
      text += fmt::format(": {}", X509_verify_cert_error_string(verified));
    } else if (role_ == TlsRole::kClient &&
               (error == asio::ssl::error::stream_truncated || error == asio::error::eof ||
                error == asio::error::connection_reset || text.starts_with("wrong version number"))) {
      text += "; does the peer speak plain TCP? then use tcp:";
    }
    return text;
  }

  absl::Status Bootstrap() {
    const auto root = RootOfPeer(stream_.native_handle());
    if (!root.ok()) return MakeStatus(root.status().code(), fmt::format("{}: {}", name_, Message(root.status())));
    SLUICE_RETURN_IF_ERROR(SaveCertificate(*root, context_->config.ca_cert));
    char subject[256] = "";
    X509_NAME_oneline(X509_get_subject_name(*root), subject, sizeof(subject));
    SLUICE_LOG(log_module, kInfo, "{}: bootstrapped the CA certificate {} from the peer: {}", name_,
               context_->config.ca_cert, subject);
    return MakeStatus(absl::StatusCode::kAborted,
                      fmt::format("{}: CA certificate bootstrapped, connection ended", name_));
  }

  void Finish(const absl::Status& status) {
    auto callback = std::exchange(callback_, nullptr);
    Cancel();
    callback(status);
  }

  const std::shared_ptr<TlsContext> context_;
  const TlsRole role_;
  const std::string name_;
  Callback callback_;  // null once done
  TlsSocket stream_;
};

}  // namespace

template <>
absl::Status StreamTraits<TlsSocket>::CheckFirstBytes(std::string_view, std::string_view) {
  return absl::OkStatus();
}
template <>
bool StreamTraits<TlsSocket>::IsEnd(const asio::error_code& error) {
  // What we carry is framed by itself, so that an end without TLS's own goodbye cuts nothing unnoticed.
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}
template <>
void StreamTraits<TlsSocket>::Shutdown(TlsSocket& stream, std::shared_ptr<void> owner) {
  constexpr std::chrono::seconds kPatience(1);
  auto timer = std::make_shared<asio::steady_timer>(stream.get_executor(), kPatience);
  const auto close = [owner, &stream](const asio::error_code&) {
    asio::error_code ignored;
    stream.lowest_layer().close(ignored);
  };
  timer->async_wait(close);
  stream.async_shutdown([timer, close](const asio::error_code& error) {
    timer->cancel();
    close(error);
  });
}

std::shared_ptr<TlsHandshake> StartTlsHandshake(tcp::socket socket, std::shared_ptr<TlsContext> context, TlsRole role,
                                                std::string name, TlsHandshake::Callback callback) {
  SetCloseOnExec(socket.native_handle());
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto handshake =
      std::make_shared<Handshake>(std::move(socket), std::move(context), role, std::move(name), std::move(callback));
  handshake->Start();
  return handshake;
}

}  // namespace sluice
