// A server in this process with clients on its unix socket; all of it runs in one loop, driven by the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/ovsdb/jsonrpc.h"
#include "lib/ovsdb/server.h"
#include "tests/testing/scratch.h"

namespace sluice {

class ServerClient {
 public:
  ServerClient(EventLoop& loop, const std::string& target) : loop_(loop) {
    connecting_ =
        ConnectStream(loop, target, TlsConfig(), std::chrono::seconds(10),
                      [this](absl::StatusOr<std::unique_ptr<Stream>> stream) { OnConnected(std::move(stream)); });
    Until([this] { return connection_ != nullptr || ended_; });
  }

  // Runs the loop until `condition` holds; false after ten seconds.
  template <typename Condition>
  bool Until(Condition condition) {
    bool late = false;
    const auto deadline = loop_.RunAfter(std::chrono::seconds(10), [&] { late = true, loop_.Stop(); });
    const auto look = loop_.RunEvery(std::chrono::milliseconds(1), [&] {
      if (condition()) loop_.Stop();
    });
    if (!condition()) loop_.Run();
    return !late;
  }

  void Send(const std::string& method, const std::string& params, Json id) {
    connection_->Send(JsonRpcMessage::Request(method, *ParseJson(params), std::move(id)));
  }
  // The reply of the request with that id: its result, or its error.
  Json Reply(const Json& id) {
    std::optional<Json> reply;
    const auto arrived = [&] {
      for (auto message = heard_.begin(); message != heard_.end(); ++message) {
        if (message->kind != JsonRpcMessage::Kind::kReply || message->id != id) continue;
        reply = message->error.is_null() ? message->result : message->error;
        heard_.erase(message);
        return true;
      }
      return ended_;
    };
    EXPECT_TRUE(Until([&] { return reply || arrived(); })) << "no reply to " << id;
    return reply.value_or("the connection ended");
  }
  Json Call(const std::string& method, const std::string& params) {
    const int id = ++last_id_;
    Send(method, params, id);
    return Reply(id);
  }
  std::string CallText(const std::string& method, const std::string& params) { return DumpJson(Call(method, params)); }
  void Notify(const std::string& method, const std::string& params) {
    connection_->Send(JsonRpcMessage::Notification(method, *ParseJson(params)));
  }

  // The next notification, "method params".
  std::string Heard() {
    const auto first = [this] {
      return std::find_if(heard_.begin(), heard_.end(), [](const JsonRpcMessage& message) {
        return message.kind == JsonRpcMessage::Kind::kNotification;
      });
    };
    if (!Until([&] { return first() != heard_.end(); })) return "nothing";
    const std::string text = first()->method + " " + DumpJson(first()->params);
    heard_.erase(first());
    return text;
  }
  bool HeardNothing() {
    Call("list_dbs", "[]");
    return heard_.empty();
  }
  bool EndedByServer() {
    return Until([this] { return ended_; });
  }
  bool ended() const { return ended_; }
  void Close() { connection_.reset(); }
  JsonRpcConnection& connection() { return *connection_; }

 private:
  void OnConnected(absl::StatusOr<std::unique_ptr<Stream>> stream) {
    if (!stream.ok()) {
      ended_ = true;
      return;
    }
    connection_ = std::make_unique<JsonRpcConnection>(*std::move(stream));
    connection_->SetCallbacks([this](JsonRpcMessage message) { heard_.push_back(std::move(message)); },
                              [this](const absl::Status&) { ended_ = true; });
  }

  EventLoop& loop_;
  std::unique_ptr<StreamConnect> connecting_;
  std::unique_ptr<JsonRpcConnection> connection_;
  std::vector<JsonRpcMessage> heard_;
  bool ended_ = false;
  int last_id_ = 1000;
};

class ServerTest : public testing::Test {
 protected:
  static constexpr char kSchema[] = R"({"name": "D", "version": "1.0.0", "tables": {
    "T": {"isRoot": true, "columns": {"name": {"type": "string"}, "number": {"type": "integer"}}}}})";

  ServerTest() { Start(nullptr); }

  void Start(std::unique_ptr<LogFile> file) {
    server_ = std::make_unique<OvsdbServer>(loop_);
    auto database = std::make_unique<Database>(*DatabaseSchema::Parse(*ParseJson(kSchema)));
    ASSERT_TRUE(server_->AddDatabase(std::move(database), std::move(file)).ok());
    ASSERT_TRUE(server_->SetRemotes({"punix:" + path_}).ok());
  }
  std::unique_ptr<ServerClient> Connect() { return std::make_unique<ServerClient>(loop_, "unix:" + path_); }

  static std::string Insert(const std::string& name) {
    return R"(["D", {"op": "insert", "table": "T", "row": {"name": ")" + name + R"("}}])";
  }
  static std::string SetNumber(int number) {
    return fmt::format(R"(["D", {{"op": "update", "table": "T", "where": [], "row": {{"number": {}}}}}])", number);
  }
  // A transaction that waits until a row has that number.
  static std::string WaitForNumber(int number, const std::string& timeout = "") {
    return fmt::format(R"(["D", {{"op": "wait", "table": "T", "where": [], "columns": ["number"], "until": "==",
                              "rows": [{{"number": {}}}]{}}}])",
                       number, timeout);
  }

  Scratch scratch_;
  const std::string path_ = scratch_.File("db.sock");
  EventLoop loop_;
  std::unique_ptr<OvsdbServer> server_;
};

}  // namespace sluice
