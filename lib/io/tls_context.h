// A TlsConfig made into OpenSSL's context, and the handshake of one connection; lib/io's own.
//
// Peers are checked by who signed their certificate, not by its names, as Open vSwitch does: its switches and
// controllers have certificates of one private CA.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lib/io/stream.h"

namespace sluice {

struct TlsContext {
  TlsConfig config;
  asio::ssl::context context{asio::ssl::context::tls};
  bool bootstrapping = false;  // there is no CA certificate yet
};

// Reads the files. The error names the file and what is wrong with it. `target` is what wants the context, for errors.
absl::StatusOr<std::shared_ptr<TlsContext>> MakeTlsContext(const std::string& target, const TlsConfig& config);

// Makes contexts for the connections of a listener: a new one only when a file has changed since the last. When the new
// files cannot be used, the old context stays in use, with a log line.
class TlsContextCache {
 public:
  static absl::StatusOr<std::unique_ptr<TlsContextCache>> Create(const std::string& target, const TlsConfig& config);
  std::shared_ptr<TlsContext> Get();

 private:
  std::string Stamp() const;

  std::string target_;
  TlsConfig config_;
  std::shared_ptr<TlsContext> context_;
  std::string stamp_;
};

enum class TlsRole : uint8_t { kClient, kServer };

// Under way until the callback, which gets the stream or why there is none. kAborted: the CA certificate was taken from
// the peer and saved, the connection ended, and the next one will be checked by it. Cancel() closes the socket and
// forgets the callback.
class TlsHandshake {
 public:
  using Callback = std::function<void(absl::StatusOr<std::unique_ptr<Stream>>)>;
  virtual ~TlsHandshake() = default;
  virtual void Cancel() = 0;
};
std::shared_ptr<TlsHandshake> StartTlsHandshake(asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> context,
                                                TlsRole role, std::string name, TlsHandshake::Callback callback);

}  // namespace sluice
