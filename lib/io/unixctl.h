// The control socket: commands to a running daemon, as ovs-appctl sends them.
//
// JSON-RPC 1.0 over a unix stream socket (ovs-appctl(8); framing of RFC 7047 section 4): a request's method is the
// command, its params are the arguments (strings), the answer's result is the command's output, and its error the text
// of what went wrong. Many clients and many requests per connection are served, each connection's in order.
//
// Output as JSON: a client of Open vSwitch 3.4 and later asks for it by a "set-options" request ("--format", "json"),
// any client by --format=json (or "--format json") first or last among a command's arguments. A handler then sees
// args.json and may return JSON text. After "set-options" the result is that JSON itself, and text that is not JSON is
// wrapped as {"reply":"...","reply-format":"plain"}; with a command's own option the result is a string as ever.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/io/event_loop.h"

namespace sluice {

// A command's arguments, without options that the server itself understood.
struct UnixctlArgs {
  std::vector<std::string> positional;
  bool json = false;  // the caller wants JSON

  size_t size() const { return positional.size(); }
  bool empty() const { return positional.empty(); }
  const std::string& operator[](size_t i) const { return positional[i]; }
};

// The output, or an error whose message is shown to the user as it is. Runs in the loop's thread.
using UnixctlHandler = std::function<absl::StatusOr<std::string>(const UnixctlArgs&)>;

// Sends the answer of a command; call exactly once, in the loop's thread, now or later.
using UnixctlReply = std::function<void(absl::StatusOr<std::string>)>;
using UnixctlAsyncHandler = std::function<void(const UnixctlArgs&, UnixctlReply)>;

class UnixctlServer {
 public:
  static constexpr int kAnyNumber = -1;                // for max_args
  static constexpr size_t kMaxRequestBytes = 4 << 20;  // a longer request closes its connection
  static constexpr size_t kMaxConnections = 256;

  // Knows list-commands and version from the start.
  explicit UnixctlServer(EventLoop& loop);
  // Closes all connections and removes the socket file.
  ~UnixctlServer();
  UnixctlServer(const UnixctlServer&) = delete;
  UnixctlServer& operator=(const UnixctlServer&) = delete;

  // `usage` describes the arguments ("[module]"), "" for none. `max_args` may be kAnyNumber. Registering a name again
  // replaces it.
  void Register(std::string name, std::string usage, int min_args, int max_args, UnixctlHandler handler);
  // The answer may come later; further requests of the same connection wait for it.
  void RegisterAsync(std::string name, std::string usage, int min_args, int max_args, UnixctlAsyncHandler handler);

  // Binds `path` (replacing a stale socket file) and serves it. A path that another live server listens on is refused.
  absl::Status Listen(const std::string& path);
  const std::string& path() const { return path_; }

  // Runs a synchronous command as a client would, without a socket. For tests.
  absl::StatusOr<std::string> Execute(std::string_view command, std::vector<std::string> args);

  // Used by connections: checks the command and its arguments, runs it, and answers.
  void Dispatch(std::string_view command, UnixctlArgs args, UnixctlReply reply);

 private:
  struct Command {
    std::string usage;
    int min_args;
    int max_args;
    UnixctlAsyncHandler handler;
  };
  struct Listener;

  std::string ListCommands(bool json) const;

  EventLoop& loop_;
  std::map<std::string, Command, std::less<>> commands_;
  std::string path_;
  std::unique_ptr<Listener> listener_;
};

// What a server said to a command.
struct UnixctlAnswer {
  bool is_error = false;
  std::string text;
};

class UnixctlClient {
 public:
  // Connects to the socket `path`, runs one command and returns the answer. A status that is not ok means that there
  // was no answer (cannot connect, connection lost, timeout). `timeout_seconds` 0 waits forever. `json` asks for JSON
  // output. Blocks; for utilities, not for the daemon.
  static absl::StatusOr<UnixctlAnswer> Call(const std::string& path, const std::string& command,
                                            const std::vector<std::string>& args, int timeout_seconds = 0,
                                            bool json = false);
};

}  // namespace sluice
