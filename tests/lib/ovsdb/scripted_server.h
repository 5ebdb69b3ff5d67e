// A server that says what the test wants: for servers older, newer, clustered or more broken than the ones at hand.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/ovsdb/jsonrpc.h"

namespace sluice {

class ScriptedServer {
 public:
  using Handler = std::function<JsonRpcMessage(const JsonRpcMessage& request)>;

  ScriptedServer(EventLoop& loop, std::string path) : loop_(loop), path_(std::move(path)) { Listen(); }

  std::string remote() const { return "unix:" + path_; }
  void Listen() {
    auto listener = ListenStream(loop_, "punix:" + path_, {}, [this](std::unique_ptr<Stream> stream) {
      ++accepted_;
      connection_ = std::make_unique<JsonRpcConnection>(std::move(stream));
      connection_->SetCallbacks([this](JsonRpcMessage message) { Answer(std::move(message)); },
                                [this](const absl::Status&) { connection_.reset(); });
    });
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  void StopListening() { listener_.reset(); }
  void Disconnect() { connection_.reset(); }
  // Takes no more from the client: its probes stay unanswered.
  void StopReading() { connection_->SetReading(false); }
  bool connected() const { return connection_ != nullptr; }
  int accepted() const { return accepted_; }

  // What is answered to a method from now on. Without: "unknown method".
  void OnResult(const std::string& method, Json result) {
    handlers_[method] = [result](const JsonRpcMessage& request) { return JsonRpcMessage::Reply(result, request.id); };
  }
  void OnError(const std::string& method, Json error) {
    handlers_[method] = [error](const JsonRpcMessage& request) { return JsonRpcMessage::Error(error, request.id); };
  }
  void OnSilence(const std::string& method) { handlers_[method] = nullptr; }

  void Notify(const std::string& method, Json params) {
    ASSERT_NE(connection_, nullptr);
    connection_->Send(JsonRpcMessage::Notification(method, std::move(params)));
  }
  // The requests of a method that came, all connections together.
  const std::vector<Json>& requests(const std::string& method) { return requests_[method]; }

 private:
  void Answer(JsonRpcMessage message) {
    if (message.kind != JsonRpcMessage::Kind::kRequest) return;
    std::string method = message.method;
    // The monitor of _Server is told apart.
    if (method == "monitor_cond" && message.params[0] == "_Server") method = "_Server";
    requests_[method].push_back(message.params);
    const auto handler = handlers_.find(method);
    if (handler == handlers_.end()) {
      connection_->Send(JsonRpcMessage::Error({{"error", "unknown method"}}, message.id));
    } else if (handler->second != nullptr) {
      connection_->Send(handler->second(message));
    }
  }

  EventLoop& loop_;
  const std::string path_;
  std::unique_ptr<StreamListener> listener_;
  std::unique_ptr<JsonRpcConnection> connection_;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::vector<Json>> requests_;
  int accepted_ = 0;
};

}  // namespace sluice
