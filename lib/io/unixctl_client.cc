#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/io/json_splitter.h"
#include "lib/io/unixctl.h"

namespace sluice {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// Enough for the answer of any dump; it only bounds what a broken server can make us hold.
constexpr size_t kMaxAnswerBytes = size_t{1} << 30;

class ClientSocket {
 public:
  ClientSocket(const std::string& path, int timeout_seconds) : path_(path) {
    if (timeout_seconds > 0) {
      deadline_ = Clock::now() + std::chrono::seconds(timeout_seconds);
    }
  }
  ~ClientSocket() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  absl::Status Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) {
      return InvalidArgument("cannot connect to \"{}\" (the path has {} bytes, at most {} are possible)", path_,
                             path_.size(), sizeof(address.sun_path) - 1);
    }
    path_.copy(address.sun_path, path_.size());
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return NotFound("cannot connect to \"{}\" ({})", path_, std::strerror(errno));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Json> Transact(const std::string& method, const std::vector<std::string>& params) {
    const Json request = {{"id", next_id_++}, {"method", method}, {"params", params}};
    SLUICE_RETURN_IF_ERROR(Send(request.dump(-1, ' ', false, Json::error_handler_t::replace)));
    std::vector<std::string> texts;
    while (texts.empty()) {
      SLUICE_RETURN_IF_ERROR(Receive(&texts));
    }
    Json answer = Json::parse(texts.front(), nullptr, false);
    if (!answer.is_object() || !answer.contains("result") || !answer.contains("error")) {
      return Failed("the server's answer is not JSON-RPC");
    }
    return answer;
  }

 private:
  absl::Status Failed(std::string_view why) const {
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: transaction error ({})", path_, why));
  }

  absl::Status Wait(short events) const {
    int timeout_ms = -1;
    if (deadline_ != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      timeout_ms = static_cast<int>(std::max<long>(0, left));
    }
    pollfd poll_fd = {.fd = fd_, .events = events, .revents = 0};
    const int ready = poll(&poll_fd, 1, timeout_ms);
    if (ready == 0) {
      return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                        fmt::format("{}: transaction error (no answer within the timeout)", path_));
    }
    return ready > 0 || errno == EINTR ? absl::OkStatus() : Failed(std::strerror(errno));
  }

  absl::Status Send(std::string_view bytes) {
    while (!bytes.empty()) {
      SLUICE_RETURN_IF_ERROR(Wait(POLLOUT));
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        bytes.remove_prefix(sent);
      } else if (errno != EAGAIN && errno != EINTR) {
        return Failed(std::strerror(errno));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Receive(std::vector<std::string>* texts) {
    SLUICE_RETURN_IF_ERROR(Wait(POLLIN));
    char buffer[16384];
    const ssize_t received = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (received == 0) {
      return Failed("End of file");
    }
    if (received < 0) {
      return errno == EAGAIN || errno == EINTR ? absl::OkStatus() : Failed(std::strerror(errno));
    }
    return splitter_.Feed({buffer, static_cast<size_t>(received)}, texts);
  }

  const std::string path_;
  Clock::time_point deadline_ = Clock::time_point::max();
  int fd_ = -1;
  int next_id_ = 0;
  JsonSplitter splitter_{kMaxAnswerBytes};
};

UnixctlAnswer ToAnswer(const Json& answer) {
  const bool is_error = !answer["error"].is_null();
  const Json& body = is_error ? answer["error"] : answer["result"];
  return {
      .is_error = is_error,
      .text = body.is_string() ? body.get<std::string>() : body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace

absl::StatusOr<UnixctlAnswer> UnixctlClient::Call(const std::string& path, const std::string& command,
                                                  const std::vector<std::string>& args, int timeout_seconds,
                                                  bool json) {
  ClientSocket socket(path, timeout_seconds);
  SLUICE_RETURN_IF_ERROR(socket.Connect());
  if (json) {
    absl::StatusOr<Json> answer = socket.Transact("set-options", {"--format", "json"});
    if (!answer.ok()) {
      return answer.status();
    }
    if (UnixctlAnswer refused = ToAnswer(*answer); refused.is_error) {
      return refused;
    }
  }
  absl::StatusOr<Json> answer = socket.Transact(command, args);
  if (!answer.ok()) {
    return answer.status();
  }
  return ToAnswer(*answer);
}

}  // namespace sluice
