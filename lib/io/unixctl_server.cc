#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <asio/local/stream_protocol.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/log.h"
#include "lib/io/asio_context.h"
#include "lib/io/unixctl.h"
#include "lib/io/unixctl_connection.h"
#include "lib/io/version.h"

namespace sluice {

namespace {

using Protocol = asio::local::stream_protocol;

LogModule log_module("unixctl");

// Owner and group may connect, as to ovs-vswitchd's socket.
constexpr mode_t kSocketMode = 0750;

bool SomeoneListens(const std::string& path) {
  asio::io_context context;
  Protocol::socket probe(context);
  asio::error_code error;
  probe.connect(Protocol::endpoint(path), error);
  return !error;
}

}  // namespace

struct UnixctlServer::Listener {
  Listener(UnixctlServer& owner, EventLoop& event_loop)
      : server(owner), loop(event_loop), acceptor(AsioContext(event_loop)) {}

  ~Listener() {
    alive.reset();
    asio::error_code ignored;
    acceptor.close(ignored);
    for (const auto& connection : connections) {
      connection->Close();
    }
  }

  void Accept() {
    acceptor.async_accept(
        [this, weak = std::weak_ptr<bool>(alive)](const asio::error_code& error, Protocol::socket socket) {
          if (weak.expired()) {
            return;
          }
          if (error) {
            // Out of descriptors, say: accepting at once again would spin.
            SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "{}: accept failed: {}", server.path_, error.message());
            retry = loop.RunAfter(std::chrono::milliseconds(100), [this] { Accept(); });
            return;
          }
          OnAccepted(std::move(socket));
          Accept();
        });
  }

  void OnAccepted(Protocol::socket socket) {
    if (connections.size() >= kMaxConnections) {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "{}: refused a connection, {} are open", server.path_,
                              connections.size());
      return;
    }
    auto connection = std::make_shared<UnixctlConnection>(server, std::move(socket),
                                                          [this](UnixctlConnection* closed) { Remove(closed); });
    connections.insert(connection);
    connection->Start();
  }

  void Remove(UnixctlConnection* closed) { connections.erase(closed->shared_from_this()); }

  UnixctlServer& server;
  EventLoop& loop;
  Protocol::acceptor acceptor;
  EventLoop::Handle retry;
  std::set<std::shared_ptr<UnixctlConnection>> connections;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // expired for a completion that comes after us
};

UnixctlServer::UnixctlServer(EventLoop& loop) : loop_(loop) {
  Register("list-commands", "", 0, 0,
           [this](const UnixctlArgs& args) -> absl::StatusOr<std::string> { return ListCommands(args.json); });
  Register("version", "", 0, 0,
           [](const UnixctlArgs&) -> absl::StatusOr<std::string> { return std::string(kVersionLine); });
  // The connection itself keeps the option (unixctl_connection.cc); here it has been taken off already.
  Register("set-options", "[--format text|json]", 0, 2, [](const UnixctlArgs& args) -> absl::StatusOr<std::string> {
    if (!args.empty()) {
      return InvalidArgument("option {}: unknown, expected --format text or --format json", args[0]);
    }
    return std::string();
  });
}

UnixctlServer::~UnixctlServer() {
  if (listener_ != nullptr) {
    listener_.reset();
    unlink(path_.c_str());
  }
}

void UnixctlServer::Register(std::string name, std::string usage, int min_args, int max_args, UnixctlHandler handler) {
  RegisterAsync(
      std::move(name), std::move(usage), min_args, max_args,
      [handler = std::move(handler)](const UnixctlArgs& args, const UnixctlReply& reply) { reply(handler(args)); });
}

void UnixctlServer::RegisterAsync(std::string name, std::string usage, int min_args, int max_args,
                                  UnixctlAsyncHandler handler) {
  commands_.insert_or_assign(std::move(name), Command{std::move(usage), min_args, max_args, std::move(handler)});
}

absl::Status UnixctlServer::Listen(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument("control socket {}: the path has {} bytes, at most {} are possible", path, path.size(),
                           sizeof(sockaddr_un::sun_path) - 1);
  }
  struct stat status;
  if (lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      return AlreadyExists("control socket {}: exists and is no socket; remove it or choose another --unixctl", path);
    }
    if (SomeoneListens(path)) {
      return AlreadyExists("control socket {}: another process listens on it; choose another --unixctl", path);
    }
    unlink(path.c_str());
  }
  auto listener = std::make_unique<Listener>(*this, loop_);
  asio::error_code error;
  const auto fail = [&](std::string_view what) {
    return ErrnoStatus(error.value(), fmt::format("control socket {}: {}", path, what));
  };
  if (listener->acceptor.open(Protocol(), error)) return fail("socket");
  if (listener->acceptor.bind(Protocol::endpoint(path), error)) return fail("bind");
  chmod(path.c_str(), kSocketMode);
  if (listener->acceptor.listen(asio::socket_base::max_listen_connections, error)) {
    unlink(path.c_str());
    return fail("listen");
  }
  path_ = path;
  listener_ = std::move(listener);
  listener_->Accept();
  return absl::OkStatus();
}

absl::StatusOr<std::string> UnixctlServer::Execute(std::string_view command, std::vector<std::string> args) {
  auto answer = std::make_shared<std::optional<absl::StatusOr<std::string>>>();
  Dispatch(command, UnixctlArgs{.positional = std::move(args)},
           [answer](absl::StatusOr<std::string> result) { *answer = std::move(result); });
  if (!answer->has_value()) {
    return FailedPrecondition("\"{}\" command answers later, through a connection only", command);
  }
  return **answer;
}

void UnixctlServer::Dispatch(std::string_view name, UnixctlArgs args, UnixctlReply reply) {
  const auto found = commands_.find(name);
  if (found == commands_.end()) {
    reply(
        InvalidArgument("\"{}\" is not a valid command (use \"list-commands\" to see a list of valid commands)", name));
    return;
  }
  if (const absl::Status status = TakeFormatOption(&args); !status.ok()) {
    reply(status);
    return;
  }
  const Command& command = found->second;
  const int count = static_cast<int>(args.size());
  if (count < command.min_args) {
    reply(InvalidArgument("\"{}\" command requires at least {} arguments", name, command.min_args));
  } else if (command.max_args != kAnyNumber && count > command.max_args) {
    reply(InvalidArgument("\"{}\" command takes at most {} arguments", name, command.max_args));
  } else {
    command.handler(args, std::move(reply));
  }
}

std::string UnixctlServer::ListCommands(bool json) const {
  if (json) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, command] : commands_) {
      object[name] = command.usage;
    }
    return object.dump();
  }
  std::string text = "The available commands are:\n";
  for (const auto& [name, command] : commands_) {
    std::string line = fmt::format("  {:<23} {}", name, command.usage);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace sluice
