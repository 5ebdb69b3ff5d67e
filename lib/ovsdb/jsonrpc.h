// JSON-RPC 1.0 over a stream, as RFC 7047 section 4 frames it: JSON texts one after another, no separator.
//
// Loop thread. Memory is bounded: a message over max_message_bytes, or nested deeper than JsonSplitter::kMaxDepth, or
// not JSON-RPC, ends the connection with a reason; a peer that does not read is the owner's to drop, by unsent_bytes().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/io/stream.h"
#include "lib/ovsdb/json.h"

namespace sluice {

struct JsonRpcMessage {
  enum class Kind : uint8_t { kRequest, kNotification, kReply };
  Kind kind = Kind::kRequest;
  std::string method;  // requests and notifications
  Json params;         // the same; an array
  Json id;             // requests and replies
  Json result;         // replies: one of both is null
  Json error;

  static JsonRpcMessage Request(std::string method, Json params, Json id);
  static JsonRpcMessage Notification(std::string method, Json params);
  static JsonRpcMessage Reply(Json result, Json id);
  static JsonRpcMessage Error(Json error, Json id);
};

class JsonRpcConnection {
 public:
  static constexpr size_t kMaxMessageBytes = 64 << 20;

  explicit JsonRpcConnection(std::unique_ptr<Stream> stream, size_t max_message_bytes = kMaxMessageBytes);
  ~JsonRpcConnection();
  JsonRpcConnection(const JsonRpcConnection&) = delete;
  JsonRpcConnection& operator=(const JsonRpcConnection&) = delete;

  // `on_closed` at most once, nothing follows it. Answers echo requests by itself. The owner may destroy the connection
  // inside either callback.
  void SetCallbacks(std::function<void(JsonRpcMessage)> on_message, std::function<void(const absl::Status&)> on_closed);
  void Send(const JsonRpcMessage& message);
  size_t unsent_bytes() const;
  // Called after unsent_bytes() fell to zero. The owner may destroy the connection inside it.
  void SetOnDrained(std::function<void()> on_drained);
  // Whether echo requests are answered here (the default) or given to `on_message` like others: for an owner that bounds
  // what a peer may ask without reading the answers.
  void SetAnswersEcho(bool answers);
  void SetReading(bool reading);
  // Inactivity probe: after `interval` without a byte from the peer an echo request is sent, and after another one the
  // connection is closed ("no response to inactivity probe after ... seconds, disconnecting"). Zero: none.
  void SetProbeInterval(std::chrono::milliseconds interval, EventLoop& loop);
  void Close();
  const std::string& name() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice
