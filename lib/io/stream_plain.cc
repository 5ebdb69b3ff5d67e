#include "lib/io/stream_plain.h"

#include "lib/base/log.h"
#include "lib/io/stream_core.h"

namespace sluice {

namespace {

using UnixSocket = asio::local::stream_protocol::socket;
using TcpSocket = asio::ip::tcp::socket;

LogModule log_module("stream_tcp");

// The first bytes of a TLS record: its type, of which only these two can come first, and its major version (RFC 8446
// section 5.1). Neither JSON nor OpenFlow begins like this.
bool LooksLikeTls(std::string_view bytes) {
  constexpr char kAlert = 21;
  constexpr char kHandshake = 22;
  return (bytes[0] == kAlert || bytes[0] == kHandshake) && (bytes.size() < 2 || bytes[1] == 3);
}

}  // namespace

template <>
absl::Status StreamTraits<UnixSocket>::CheckFirstBytes(std::string_view, std::string_view) {
  return absl::OkStatus();
}
template <>
bool StreamTraits<UnixSocket>::IsEnd(const asio::error_code& error) {
  // A unix socket's peer that closes with something unread looks like a reset; so does one that was killed.
  return error == asio::error::eof || error == asio::error::connection_reset || error == asio::error::broken_pipe;
}
template <>
void StreamTraits<UnixSocket>::Shutdown(UnixSocket& socket, std::shared_ptr<void>) {
  asio::error_code ignored;
  socket.close(ignored);
}

template <>
absl::Status StreamTraits<TcpSocket>::CheckFirstBytes(std::string_view bytes, std::string_view name) {
  if (LooksLikeTls(bytes)) {
    const absl::Status status = InvalidArgument(
        "{}: the peer speaks TLS, and this end plain TCP: connection refused; use ssl: or pssl: at both ends or "
        "neither",
        name);
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "{}", Message(status));
    return status;
  }
  return absl::OkStatus();
}
template <>
bool StreamTraits<TcpSocket>::IsEnd(const asio::error_code& error) {
  return error == asio::error::eof;
}
template <>
void StreamTraits<TcpSocket>::Shutdown(TcpSocket& socket, std::shared_ptr<void>) {
  asio::error_code ignored;
  socket.close(ignored);
}

std::unique_ptr<Stream> MakeStream(UnixSocket socket, std::string name) {
  SetCloseOnExec(socket.native_handle());
  return std::make_unique<CoreStream<UnixSocket>>(std::move(socket), std::move(name));
}

std::unique_ptr<Stream> MakeStream(TcpSocket socket, std::string name) {
  SetCloseOnExec(socket.native_handle());
  asio::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  return std::make_unique<CoreStream<TcpSocket>>(std::move(socket), std::move(name));
}

}  // namespace sluice
