#include "lib/io/unixctl_connection.h"

#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/coverage.h"
#include "lib/base/log.h"

namespace sluice {

namespace {

LogModule log_module("unixctl");
SLUICE_COVERAGE_DEFINE(unixctl_received);
SLUICE_COVERAGE_DEFINE(unixctl_replied);

using Json = nlohmann::json;

// Text from devices and users need not be UTF-8, which nlohmann-json would answer with an exception.
std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The result of a command for a client that wants JSON: the handler's own JSON, else its text in the wrapping that
// ovs-appctl 3.4 knows.
Json ToJson(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object() || json.is_array()) {
    return json;
  }
  return Json{{"reply", text}, {"reply-format", "plain"}};
}

void EndLine(std::string* text) {
  if (!text->empty() && text->back() != '\n') {
    text->push_back('\n');
  }
}

absl::Status ParseRequest(const std::string& text, Json* request) {
  *request = Json::parse(text, nullptr, false);
  if (!request->is_object()) {
    return InvalidArgument("expected a JSON object");
  }
  if (!request->contains("id") || !request->contains("method") || !(*request)["method"].is_string()) {
    return InvalidArgument("expected members \"id\" and \"method\", the latter a string");
  }
  return absl::OkStatus();
}

absl::Status ParseParams(const Json& request, UnixctlArgs* args) {
  const auto params = request.find("params");
  if (params == request.end()) {
    return absl::OkStatus();
  }
  if (!params->is_array()) {
    return InvalidArgument("\"params\" is no array; expected an array of strings");
  }
  for (const Json& param : *params) {
    if (!param.is_string()) {
      return InvalidArgument("\"{}\" command has non-string argument", request["method"].get<std::string>());
    }
    args->positional.push_back(param.get<std::string>());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeFormatOption(UnixctlArgs* args) {
  constexpr std::string_view kOption = "--format";
  std::vector<std::string>& words = args->positional;
  const auto take = [&](size_t first, size_t count) -> absl::Status {
    const std::string format = count == 2 ? words[first + 1] : words[first].substr(kOption.size() + 1);
    if (format != "json" && format != "text") {
      return InvalidArgument("--format {}: expected json or text", format);
    }
    args->json = format == "json";
    words.erase(words.begin() + first, words.begin() + first + count);
    return absl::OkStatus();
  };
  if (!words.empty() && words.front().starts_with("--format=")) return take(0, 1);
  if (words.size() >= 2 && words.front() == kOption) return take(0, 2);
  if (!words.empty() && words.back().starts_with("--format=")) return take(words.size() - 1, 1);
  if (words.size() >= 2 && words[words.size() - 2] == kOption) return take(words.size() - 2, 2);
  return absl::OkStatus();
}

UnixctlConnection::UnixctlConnection(UnixctlServer& server, asio::local::stream_protocol::socket socket,
                                     std::function<void(UnixctlConnection*)> on_closed)
    : server_(&server), socket_(std::move(socket)), on_closed_(std::move(on_closed)) {
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
}

void UnixctlConnection::Close() {
  server_ = nullptr;
  on_closed_ = nullptr;
  asio::error_code ignored;
  socket_.close(ignored);
}

void UnixctlConnection::Abandon() {
  if (server_ == nullptr) {
    return;
  }
  const auto self = shared_from_this();  // on_closed drops the server's reference
  const auto on_closed = std::exchange(on_closed_, nullptr);
  Close();
  on_closed(this);
}

void UnixctlConnection::Read() {
  reading_ = true;
  socket_.async_read_some(asio::buffer(read_buffer_),
                          [self = shared_from_this()](const asio::error_code& error, size_t length) {
                            self->reading_ = false;
                            self->OnRead(error, length);
                          });
}

void UnixctlConnection::OnRead(const asio::error_code& error, size_t length) {
  if (server_ == nullptr) {
    return;
  }
  if (error) {
    ended_ = true;
  } else {
    const absl::Status status = splitter_.Feed({read_buffer_.data(), length}, &arrived_);
    for (std::string& text : arrived_) {
      requests_.push_back(std::move(text));
    }
    arrived_.clear();
    if (!status.ok()) {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "closing control connection: {}", Message(status));
      ended_ = true;
    }
  }
  Continue();
}

void UnixctlConnection::Continue() {
  const auto self = shared_from_this();
  while (server_ != nullptr && !busy_ && !requests_.empty()) {
    const std::string text = std::move(requests_.front());
    requests_.pop_front();
    RunRequest(text);
  }
  if (server_ == nullptr || busy_ || reading_) {
    return;
  }
  if (ended_) {
    Abandon();
  } else {
    Read();
  }
}

void UnixctlConnection::RunRequest(const std::string& text) {
  Json request;
  if (const absl::Status status = ParseRequest(text, &request); !status.ok()) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "closing control connection: not a JSON-RPC request: {}",
                            Message(status));
    requests_.clear();
    ended_ = true;
    return;
  }
  SLUICE_COVERAGE_INC(unixctl_received);
  SLUICE_LOG(log_module, kDbg, "received request {}", text);
  busy_ = true;
  const std::string method = request["method"].get<std::string>();
  const std::string id = Dump(request["id"]);
  UnixctlArgs args;
  args.json = json_;
  const bool set_options = method == "set-options";
  absl::Status status = ParseParams(request, &args);
  if (status.ok() && set_options) {
    UnixctlArgs options = args;
    if (TakeFormatOption(&options).ok()) {
      json_ = options.json;
    }
  }
  if (!status.ok()) {
    Reply(id, args.json, false, status);
    return;
  }
  server_->Dispatch(method, args,
                    [self = shared_from_this(), id, json = json_, set_options](absl::StatusOr<std::string> result) {
                      self->Reply(id, json, set_options, std::move(result));
                    });
}

void UnixctlConnection::Reply(const std::string& id, bool json, bool set_options, absl::StatusOr<std::string> result) {
  if (server_ == nullptr) {
    return;
  }
  SLUICE_COVERAGE_INC(unixctl_replied);
  Json reply = {{"result", nullptr}, {"error", nullptr}};
  if (!result.ok()) {
    std::string text = Message(result.status());
    EndLine(&text);
    reply["error"] = std::move(text);
  } else if (json && !set_options) {
    reply["result"] = ToJson(*result);
  } else {
    EndLine(&*result);
    reply["result"] = *std::move(result);
  }
  reply["id"] = Json::parse(id, nullptr, false);
  Send(Dump(reply));
}

// Writes at once what the socket takes: the answer to "exit" is then on its way before the daemon ends.
void UnixctlConnection::Send(std::string bytes) {
  output_ = std::move(bytes);
  asio::error_code error;
  const size_t sent = socket_.write_some(asio::buffer(output_), error);
  if (error && error != asio::error::would_block) {
    busy_ = false;
    ended_ = true;
    requests_.clear();
    // Not closed from here: Continue(), which may be our caller, closes what has ended.
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->Continue(); });
    return;
  }
  if (sent == output_.size()) {
    busy_ = false;
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->Continue(); });
    return;
  }
  output_.erase(0, sent);
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this()](const asio::error_code& write_error, size_t) {
                      self->busy_ = false;
                      if (write_error) {
                        self->ended_ = true;
                        self->requests_.clear();
                      }
                      self->Continue();
                    });
}

}  // namespace sluice
