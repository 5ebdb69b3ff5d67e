#include "lib/ovsdb/jsonrpc.h"

#include <gmock/gmock.h>

#include "lib/io/json_splitter.h"
#include "tests/lib/io/stream_fixture.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Kind = JsonRpcMessage::Kind;

// A connection, and the bare bytes at its other end.
class JsonRpcTest : public StreamFixture {
 protected:
  void Establish(size_t max_message_bytes = JsonRpcConnection::kMaxMessageBytes) {
    connection_.reset();
    closed_.reset();
    received_.clear();
    std::unique_ptr<Stream> accepted;
    const std::string path = scratch_.File("s");
    const auto listener =
        ListenStream(loop_, "punix:" + path, {}, [&](std::unique_ptr<Stream> stream) { accepted = std::move(stream); });
    ASSERT_TRUE(listener.ok()) << listener.status();
    auto peer = Connect("unix:" + path);
    ASSERT_TRUE(peer.ok()) << peer.status();
    peer_ = *std::move(peer);
    RunUntil([&] { return accepted != nullptr; });
    connection_ = std::make_unique<JsonRpcConnection>(std::move(accepted), max_message_bytes);
    connection_->SetCallbacks([this](JsonRpcMessage message) { received_.push_back(std::move(message)); },
                              [this](const absl::Status& status) { closed_ = status; });
  }

  void ExpectRefused(const std::string& bytes, const std::string& why) {
    peer_->stream->Send(bytes);
    RunUntil([&] { return closed_.has_value() && peer_->closed.has_value(); });
    ASSERT_TRUE(closed_.has_value()) << bytes.substr(0, 100);
    EXPECT_FALSE(closed_->ok());
    EXPECT_THAT(Message(*closed_), HasSubstr(why)) << bytes.substr(0, 100);
    EXPECT_THAT(Message(*closed_), HasSubstr(connection_->name()));
  }

  std::unique_ptr<End> peer_;
  std::unique_ptr<JsonRpcConnection> connection_;
  std::vector<JsonRpcMessage> received_;
  std::optional<absl::Status> closed_;
};

TEST_F(JsonRpcTest, KnowsTheKindsOfMessages) {
  Establish();
  peer_->stream->Send(
      R"({"method":"transact","params":["db",{"op":"}{"}],"id":7} {"id":null,"method":"update","params":[1]})"
      R"({"result":{"a":[]},"error":null,"id":"x"}{"error":{"error":"oops"},"id":[2]}{"method":"n","params":[]})"
      R"({"id":3,"result":null,"error":null})");
  RunUntil([&] { return received_.size() == 6; });
  EXPECT_EQ(received_[0].kind, Kind::kRequest);
  EXPECT_EQ(received_[0].method, "transact");
  EXPECT_EQ(received_[0].params[1]["op"], "}{");
  EXPECT_EQ(received_[0].id, 7);
  EXPECT_EQ(received_[1].kind, Kind::kNotification);
  EXPECT_EQ(received_[1].params, Json::array({1}));
  EXPECT_EQ(received_[2].kind, Kind::kReply);
  EXPECT_EQ(received_[2].result, Json::parse(R"({"a":[]})"));
  EXPECT_EQ(received_[2].id, "x");
  EXPECT_EQ(received_[3].error["error"], "oops");
  EXPECT_TRUE(received_[3].result.is_null());
  EXPECT_EQ(received_[4].kind, Kind::kNotification);
  EXPECT_EQ(received_[5].kind, Kind::kReply);
}

TEST_F(JsonRpcTest, SendsWhatItReads) {
  Establish();
  const JsonRpcMessage messages[] = {
      JsonRpcMessage::Request("get_schema", Json::array({"Open_vSwitch"}), 1),
      JsonRpcMessage::Notification("update", Json::array({nullptr, Json::object()})),
      JsonRpcMessage::Reply(Json::array(), "id"),
      JsonRpcMessage::Error("unknown method", 2),
  };
  for (const JsonRpcMessage& message : messages) {
    connection_->Send(message);
  }
  std::vector<Json> texts;
  JsonSplitter splitter(1000);
  RunUntil([&] {
    std::vector<std::string> cut;
    EXPECT_TRUE(splitter.Feed(std::exchange(peer_->received, {}), &cut).ok());
    for (const std::string& text : cut) texts.push_back(Json::parse(text));
    return texts.size() == std::size(messages);
  });
  EXPECT_EQ(texts[0], Json::parse(R"({"method":"get_schema","params":["Open_vSwitch"],"id":1})"));
  EXPECT_EQ(texts[1], Json::parse(R"({"method":"update","params":[null,{}],"id":null})"));
  EXPECT_EQ(texts[2], Json::parse(R"({"result":[],"error":null,"id":"id"})"));
  EXPECT_EQ(texts[3], Json::parse(R"({"result":null,"error":"unknown method","id":2})"));
}

TEST_F(JsonRpcTest, PutsTogetherMessagesCutAtEveryByte) {
  Establish();
  const std::string text = R"({"method":"m\"}","params":["ä}",[{"x":"\\"}]],"id":"1"})";
  for (size_t cut = 1; cut < text.size(); ++cut) {
    const size_t before = received_.size();
    peer_->stream->Send(text.substr(0, cut));
    RunFor(milliseconds(1));
    EXPECT_EQ(received_.size(), before);
    peer_->stream->Send(text.substr(cut));
    RunUntil([&] { return received_.size() == before + 1; });
    EXPECT_EQ(received_.back().method, "m\"}");
    EXPECT_EQ(received_.back().params[1][0]["x"], "\\");
  }
}

TEST_F(JsonRpcTest, EndsTheConnectionForWhatIsNoMessage) {
  const std::pair<std::string, std::string> cases[] = {
      {"hello", "JSON"},
      {"[]", "no JSON object"},
      {"{}", "neither"},
      {R"({"method":1,"params":[],"id":1})", "\"method\" is no string"},
      {R"({"method":"x","id":1})", "no array"},
      {R"({"method":"x","params":{},"id":1})", "no array"},
      {R"({"method":"x","params":[],"id":1,"result":1})", "also"},
      {R"({"result":1,"id":null})", "neither"},
      {R"({"result":1,"error":2,"id":1})", "both"},
      {R"({"method":"x","params":[01],"id":1})", "parse error"},
      {"{\"method\":\"\xff\",\"params\":[],\"id\":1}", "UTF-8"},
      {"{\"a\"]", "']' in JSON where '}' should come"},
      {std::string(300, '['), "nested deeper than 256 levels"},
      {"{\"method\":\"x\",\"params\":" + std::string(256, '[') + std::string(256, ']') + ",\"id\":1}",
       "nested deeper than 256 levels"},
  };
  for (const auto& [bytes, why] : cases) {
    Establish();
    ExpectRefused(bytes, why);
    EXPECT_TRUE(received_.empty());
  }
}

TEST_F(JsonRpcTest, TakesMessagesUpToTheLimitAndNoLonger) {
  const auto message = [](size_t size) {
    const std::string head = R"({"method":"m","id":1,"params":[")";
    const std::string tail = R"("]})";
    return head + std::string(size - head.size() - tail.size(), 'x') + tail;
  };
  Establish(100000);
  peer_->stream->Send(message(100000));
  RunUntil([&] { return received_.size() == 1; });
  ExpectRefused(message(100001), "longer than 100000 bytes");
  EXPECT_EQ(received_.size(), 1u);
}

TEST_F(JsonRpcTest, DeliversWhatCameBeforeTheNonsense) {
  Establish();
  ExpectRefused(R"({"method":"a","params":[],"id":1}{"method":"b","params":[],"id":2}{"method":)" + std::string("]"),
                "']' in JSON");
  EXPECT_EQ(received_.size(), 2u);
}

TEST_F(JsonRpcTest, AnswersEchoByItself) {
  Establish();
  peer_->stream->Send(R"({"method":"echo","params":["are",{"you":1}],"id":"there"})");
  RunUntil([&] { return !peer_->received.empty(); });
  EXPECT_EQ(Json::parse(peer_->received), Json::parse(R"({"id":"there","result":["are",{"you":1}],"error":null})"));
  EXPECT_TRUE(received_.empty());
}

TEST_F(JsonRpcTest, ProbesASilentPeerAndGivesItUp) {
  Establish();
  connection_->SetProbeInterval(milliseconds(60), loop_);
  RunUntil([&] { return !peer_->received.empty(); });
  EXPECT_EQ(Json::parse(peer_->received)["method"], "echo");
  peer_->received.clear();
  peer_->stream->Send(R"({"result":[],"error":null,"id":"echo"})");
  RunUntil([&] { return !peer_->received.empty(); });  // the next probe
  EXPECT_FALSE(closed_.has_value());
  EXPECT_TRUE(received_.empty()) << "answers to probes are not the owner's";
  RunUntil([&] { return closed_.has_value(); });
  EXPECT_THAT(Message(*closed_), HasSubstr("no response to inactivity probe after 0.06"));
}

TEST_F(JsonRpcTest, DoesNotProbeWhileItDoesNotListen) {
  Establish();
  connection_->SetProbeInterval(milliseconds(20), loop_);
  connection_->SetReading(false);
  RunFor(milliseconds(200));
  EXPECT_FALSE(closed_.has_value());
  EXPECT_TRUE(peer_->received.empty());
  connection_->SetReading(true);
  RunUntil([&] { return closed_.has_value(); });
}

TEST_F(JsonRpcTest, MayBeDestroyedInsideItsCallbacks) {
  Establish();
  connection_->SetCallbacks([this](JsonRpcMessage) { connection_.reset(); },
                            [](const absl::Status&) { FAIL() << "called after the end"; });
  peer_->stream->Send(R"({"method":"a","params":[],"id":1}{"method":"b","params":[],"id":2})");
  RunUntil([&] { return peer_->closed.has_value(); });
  EXPECT_EQ(connection_, nullptr);

  Establish();
  connection_->SetCallbacks([](JsonRpcMessage) {}, [this](const absl::Status&) { connection_.reset(); });
  peer_->stream->Close();
  RunUntil([&] { return connection_ == nullptr; });

  Establish();
  connection_->SetCallbacks([](JsonRpcMessage) {}, [this](const absl::Status&) { connection_.reset(); });
  connection_->SetProbeInterval(milliseconds(10), loop_);
  RunUntil([&] { return connection_ == nullptr; });
}

TEST_F(JsonRpcTest, CountsWhatASlowReaderHasNotTaken) {
  Establish();
  peer_->stream->SetReading(false);
  bool drained = false;
  connection_->SetOnDrained([&] { drained = true; });
  for (int i = 0; i < 40; ++i) {
    connection_->Send(JsonRpcMessage::Notification("update", Json::array({std::string(100000, 'x')})));
  }
  RunFor(milliseconds(50));
  EXPECT_GT(connection_->unsent_bytes(), 1000000u);
  EXPECT_FALSE(drained);
  peer_->stream->SetReading(true);
  RunUntil([&] { return drained; });
  EXPECT_EQ(connection_->unsent_bytes(), 0u);
}

}  // namespace
}  // namespace sluice
