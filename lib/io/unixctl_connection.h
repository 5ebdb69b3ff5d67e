// One client's connection to the control socket; lib/io's own, used by UnixctlServer.
//
// Requests are answered in order, one at a time. While a request waits for its answer or an answer waits for the client
// to read it, nothing more is read from the client.
#pragma once

#include <array>
#include <asio/local/stream_protocol.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/json_splitter.h"
#include "lib/io/unixctl.h"

namespace sluice {

// Takes a "--format=json", "--format=text" or "--format" followed by one of these off the front or the back of
// `args->positional` and sets `args->json` by it. An unknown format is an error.
absl::Status TakeFormatOption(UnixctlArgs* args);

class UnixctlConnection : public std::enable_shared_from_this<UnixctlConnection> {
 public:
  // `on_closed` is called once, when the connection closed by itself, and not after Close().
  UnixctlConnection(UnixctlServer& server, asio::local::stream_protocol::socket socket,
                    std::function<void(UnixctlConnection*)> on_closed);

  void Start() { Continue(); }
  // Ends the connection from the server's side. The server is not used any more.
  void Close();

 private:
  void Read();
  void OnRead(const asio::error_code& error, size_t length);
  // Runs requests until one waits, then reads.
  void Continue();
  void RunRequest(const std::string& text);
  void Reply(const std::string& id, bool json, bool set_options, absl::StatusOr<std::string> result);
  void Send(std::string bytes);
  void Abandon();

  UnixctlServer* server_;  // null once closed
  asio::local::stream_protocol::socket socket_;
  std::function<void(UnixctlConnection*)> on_closed_;
  JsonSplitter splitter_{UnixctlServer::kMaxRequestBytes};
  std::array<char, 4096> read_buffer_;
  std::vector<std::string> arrived_;
  std::deque<std::string> requests_;
  std::string output_;
  bool busy_ = false;  // a request or a write is under way
  bool reading_ = false;
  bool ended_ = false;  // the client sends no more, or sent nonsense
  bool json_ = false;   // what set-options asked for
};

}  // namespace sluice
