#include "lib/ovsdb/jsonrpc.h"

#include <utility>
#include <vector>

#include "lib/base/log.h"
#include "lib/io/json_splitter.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = JsonRpcMessage::Kind;

LogModule log_module("jsonrpc");

constexpr std::string_view kProbeId = "echo";  // of our own probes; no user numbers requests so

const Json* FindMember(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Json TakeMember(Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? Json() : std::move(*found);
}

// JSON-RPC 1.0 says by null and not null what a message is; peers also leave out what is null.
absl::StatusOr<JsonRpcMessage> ParseMessage(Json json) {
  if (!json.is_object()) return InvalidArgument("the message is no JSON object");
  JsonRpcMessage message;
  const bool has_id = FindMember(json, "id") != nullptr;
  message.id = TakeMember(json, "id");
  if (const Json* method = FindMember(json, "method")) {
    const Json* const params = FindMember(json, "params");
    if (!method->is_string()) return InvalidArgument("\"method\" is no string");
    if (params == nullptr || !params->is_array()) return InvalidArgument("a request's \"params\" is no array");
    if (FindMember(json, "result") != nullptr || FindMember(json, "error") != nullptr) {
      return InvalidArgument("the message has \"method\" and also \"result\" or \"error\"");
    }
    message.kind = has_id ? Kind::kRequest : Kind::kNotification;
    message.method = method->get<std::string>();
    message.params = TakeMember(json, "params");
    return message;
  }
  if (!has_id || (!json.contains("result") && !json.contains("error"))) {
    return InvalidArgument("the message has neither \"method\" nor \"id\" with \"result\" or \"error\"");
  }
  message.kind = Kind::kReply;
  message.result = TakeMember(json, "result");
  message.error = TakeMember(json, "error");
  if (!message.result.is_null() && !message.error.is_null()) {
    return InvalidArgument("the reply has both \"result\" and \"error\"");
  }
  return message;
}

// By hand, because a JSON object of the parts would copy them, and a result may be a whole database.
std::string MessageText(const JsonRpcMessage& message) {
  const std::string id = DumpJson(message.id);
  if (message.kind == Kind::kReply) {
    return fmt::format(R"({{"error":{},"id":{},"result":{}}})", DumpJson(message.error), id, DumpJson(message.result));
  }
  return fmt::format(R"({{"id":{},"method":{},"params":{}}})", id, DumpJson(message.method), DumpJson(message.params));
}

}  // namespace

JsonRpcMessage JsonRpcMessage::Request(std::string method, Json params, Json id) {
  return {.kind = Kind::kRequest, .method = std::move(method), .params = std::move(params), .id = std::move(id)};
}
JsonRpcMessage JsonRpcMessage::Notification(std::string method, Json params) {
  return {.kind = Kind::kNotification, .method = std::move(method), .params = std::move(params)};
}
JsonRpcMessage JsonRpcMessage::Reply(Json result, Json id) {
  return {.kind = Kind::kReply, .id = std::move(id), .result = std::move(result)};
}
JsonRpcMessage JsonRpcMessage::Error(Json error, Json id) {
  return {.kind = Kind::kReply, .id = std::move(id), .error = std::move(error)};
}

struct JsonRpcConnection::Impl : std::enable_shared_from_this<JsonRpcConnection::Impl> {
  Impl(std::unique_ptr<Stream> byte_stream, size_t max_message_bytes)
      : stream(std::move(byte_stream)), name(stream->name()), splitter(max_message_bytes) {}

  void OnData(std::string_view bytes) {
    const auto self = shared_from_this();
    last_received = Clock::now();
    probed = false;
    std::vector<std::string> texts;
    const absl::Status cut = splitter.Feed(bytes, &texts);
    for (std::string& text : texts) {
      if (closed) return;
      const absl::Status status = OnText(std::exchange(text, {}));
      if (!status.ok()) {
        Fail(status);
        return;
      }
    }
    if (!cut.ok()) Fail(cut);
  }

  absl::Status OnText(const std::string& text) {
    SLUICE_LOG(log_module, kDbg, "{}: received {}", name, text);
    auto json = ParseJson(text);
    if (!json.ok()) return json.status();
    auto message = ParseMessage(*std::move(json));
    if (!message.ok()) return message.status();
    if (answers_echo && message->kind == Kind::kRequest && message->method == "echo") {
      Send(JsonRpcMessage::Reply(std::move(message->params), std::move(message->id)));
    } else if (message->kind != Kind::kReply || message->id != kProbeId) {
      const auto callback = callbacks;
      if (callback != nullptr) callback->on_message(*std::move(message));
    }
    return absl::OkStatus();
  }

  void Send(const JsonRpcMessage& message) {
    if (closed) return;
    std::string text = MessageText(message);
    SLUICE_LOG(log_module, kDbg, "{}: send {}", name, text);
    stream->Send(std::move(text));
  }

  // What the peer sent makes no sense; there is no way to find its next message.
  void Fail(const absl::Status& why) {
    if (closed) return;
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "{}: closing: {}", name, Message(why));
    End(MakeStatus(why.code(), fmt::format("{}: {}", name, Message(why))));
  }

  void End(const absl::Status& status) {
    const auto self = shared_from_this();
    const auto callback = callbacks;
    Close();
    if (callback != nullptr && callback->on_closed) callback->on_closed(status);
  }

  void Close() {
    closed = true;
    callbacks = nullptr;
    probe_timer.Cancel();
    stream->Close();
  }

  // Looks when the interval since the last byte will be over; that moves on while bytes arrive.
  void Probe() {
    const auto silence = Clock::now() - last_received;
    if (!reading || silence < probe_interval) {
      if (!reading) last_received = Clock::now();  // it is we who do not listen
      ArmProbe(reading ? probe_interval - silence : Clock::duration(probe_interval));
      return;
    }
    if (probed) {
      const double seconds = std::chrono::duration<double>(silence / 2).count();
      SLUICE_LOG(log_module, kErr, "{}: no response to inactivity probe after {:.3g} seconds, disconnecting", name,
                 seconds);
      End(MakeStatus(
          absl::StatusCode::kDeadlineExceeded,
          fmt::format("{}: no response to inactivity probe after {:.3g} seconds, disconnecting", name, seconds)));
      return;
    }
    probed = true;
    Send(JsonRpcMessage::Request("echo", Json::array(), kProbeId));
    ArmProbe(probe_interval);
  }

  void ArmProbe(Clock::duration delay) {
    probe_timer = loop->RunAfter(delay, [this] { Probe(); });
  }

  struct Callbacks {
    std::function<void(JsonRpcMessage)> on_message;
    std::function<void(const absl::Status&)> on_closed;
  };

  std::unique_ptr<Stream> stream;
  const std::string name;
  JsonSplitter splitter;
  std::shared_ptr<const Callbacks> callbacks;
  EventLoop* loop = nullptr;
  EventLoop::Handle probe_timer;
  std::chrono::milliseconds probe_interval{0};
  Clock::time_point last_received = Clock::now();
  bool probed = false;  // and nothing came since
  bool reading = true;
  bool answers_echo = true;
  bool closed = false;
};

JsonRpcConnection::JsonRpcConnection(std::unique_ptr<Stream> stream, size_t max_message_bytes)
    : impl_(std::make_shared<Impl>(std::move(stream), max_message_bytes)) {}

JsonRpcConnection::~JsonRpcConnection() { impl_->Close(); }

void JsonRpcConnection::SetCallbacks(std::function<void(JsonRpcMessage)> on_message,
                                     std::function<void(const absl::Status&)> on_closed) {
  impl_->callbacks =
      std::make_shared<const Impl::Callbacks>(Impl::Callbacks{std::move(on_message), std::move(on_closed)});
  // The stream's end does not outlive the connection's: Close() takes its callbacks off.
  impl_->stream->SetCallbacks([impl = impl_.get()](std::string_view bytes) { impl->OnData(bytes); },
                              [impl = impl_.get()](const absl::Status& status) { impl->End(status); });
}

void JsonRpcConnection::Send(const JsonRpcMessage& message) { impl_->Send(message); }
size_t JsonRpcConnection::unsent_bytes() const { return impl_->stream->unsent_bytes(); }
const std::string& JsonRpcConnection::name() const { return impl_->name; }
void JsonRpcConnection::Close() { impl_->Close(); }
void JsonRpcConnection::SetOnDrained(std::function<void()> on_drained) {
  if (!impl_->closed) impl_->stream->SetOnDrained(std::move(on_drained));
}

void JsonRpcConnection::SetAnswersEcho(bool answers) { impl_->answers_echo = answers; }

void JsonRpcConnection::SetReading(bool reading) {
  impl_->reading = reading;
  impl_->stream->SetReading(reading);
}

void JsonRpcConnection::SetProbeInterval(std::chrono::milliseconds interval, EventLoop& loop) {
  impl_->probe_timer.Cancel();
  impl_->probe_interval = interval;
  impl_->loop = &loop;
  if (interval > std::chrono::milliseconds::zero() && !impl_->closed) impl_->ArmProbe(interval);
}

}  // namespace sluice
