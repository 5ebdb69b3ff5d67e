// Makes Streams of connected unix and TCP sockets; lib/io's own.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <memory>
#include <string>

#include "lib/io/stream.h"

namespace sluice {

std::unique_ptr<Stream> MakeStream(asio::local::stream_protocol::socket socket, std::string name);
// Refuses a peer that speaks TLS, with a log line.
std::unique_ptr<Stream> MakeStream(asio::ip::tcp::socket socket, std::string name);

}  // namespace sluice
