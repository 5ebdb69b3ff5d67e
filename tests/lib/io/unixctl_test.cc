#include "lib/io/unixctl.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/io/json_splitter.h"
#include "tests/testing/scratch.h"

namespace sluice {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A raw client: bytes out, JSON texts or end of file in.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { Close(); }
  void Close() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }

  // False once the server has closed the connection.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        return false;
      }
      bytes.remove_prefix(sent);
    }
    return true;
  }

  // The next answer; null if the connection ended or nothing came for 10 s (`closed` tells which).
  json Receive() {
    while (answers_.empty()) {
      pollfd poll_fd = {.fd = fd_, .events = POLLIN, .revents = 0};
      char buffer[65536];
      if (poll(&poll_fd, 1, 10'000) <= 0) {
        return nullptr;
      }
      const ssize_t length = recv(fd_, buffer, sizeof(buffer), 0);
      if (length <= 0) {
        closed = true;
        return nullptr;
      }
      EXPECT_TRUE(splitter_.Feed({buffer, static_cast<size_t>(length)}, &answers_).ok());
    }
    json answer = json::parse(answers_.front());
    answers_.erase(answers_.begin());
    return answer;
  }
  bool ClosedByServer() { return Receive().is_null() && closed; }

  bool closed = false;

 private:
  int fd_;
  JsonSplitter splitter_{1 << 30};
  std::vector<std::string> answers_;
};

std::string Request(const std::string& method, const json& params = json::array(), const json& id = 0) {
  return json{{"method", method}, {"params", params}, {"id", id}}.dump();
}

// A server with a few commands, its loop in a thread of its own.
class UnixctlTest : public testing::Test {
 protected:
  UnixctlTest() {
    server_.Register("echo", "[word]...", 0, UnixctlServer::kAnyNumber,
                     [](const UnixctlArgs& args) -> absl::StatusOr<std::string> {
                       std::string text = args.json ? "json" : "text";
                       for (const std::string& arg : args.positional) {
                         text += " " + arg;
                       }
                       return text;
                     });
    server_.Register("object", "", 0, 0, [](const UnixctlArgs& args) -> absl::StatusOr<std::string> {
      return std::string(args.json ? R"({"answer":42})" : "answer 42");
    });
    server_.Register("fail", "name", 1, 2, [](const UnixctlArgs& args) -> absl::StatusOr<std::string> {
      return InvalidArgument("port {}: no such port", args[0]);
    });
    server_.Register("big", "", 0, 0,
                     [](const UnixctlArgs&) -> absl::StatusOr<std::string> { return std::string(kBig, 'x'); });
    server_.RegisterAsync("later", "", 0, 0, [this](const UnixctlArgs&, UnixctlReply reply) {
      later_ = loop_.RunAfter(std::chrono::milliseconds(50), [reply] { reply(std::string("at last")); });
    });
    EXPECT_TRUE(server_.Listen(path_).ok());
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~UnixctlTest() override {
    loop_.Stop();
    thread_.join();
  }

  UnixctlAnswer Call(const std::string& command, const std::vector<std::string>& args = {}, bool as_json = false) {
    const auto answer = UnixctlClient::Call(path_, command, args, 10, as_json);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : UnixctlAnswer{};
  }
  // Whatever a client did, the next one must be served.
  void ExpectAlive() { EXPECT_EQ(Call("echo", {"alive"}).text, "text alive\n"); }

  static constexpr size_t kBig = 8 << 20;
  Scratch scratch_;
  const std::string path_ = scratch_.File("ctl");
  EventLoop loop_;
  EventLoop::Handle later_;
  UnixctlServer server_{loop_};
  std::thread thread_;
};

TEST_F(UnixctlTest, AnswersInOpenVSwitchsForm) {
  RawClient client(path_);
  client.Send(Request("echo", {"a", "b c"}, 7));
  EXPECT_EQ(client.Receive(), (json{{"id", 7}, {"result", "text a b c\n"}, {"error", nullptr}}));
  client.Send(Request("fail", {"p9"}, "x"));
  EXPECT_EQ(client.Receive(), (json{{"id", "x"}, {"result", nullptr}, {"error", "port p9: no such port\n"}}));
}

TEST_F(UnixctlTest, ErrorsOfTheServerItself) {
  EXPECT_EQ(Call("nosuch").text,
            "\"nosuch\" is not a valid command (use \"list-commands\" to see a list of valid commands)\n");
  EXPECT_EQ(Call("fail").text, "\"fail\" command requires at least 1 arguments\n");
  EXPECT_EQ(Call("fail", {"1", "2", "3"}).text, "\"fail\" command takes at most 2 arguments\n");
  EXPECT_TRUE(Call("fail", {"1", "2", "3"}).is_error);
  RawClient client(path_);
  client.Send(Request("echo", {1}));
  EXPECT_EQ(client.Receive()["error"], "\"echo\" command has non-string argument\n");
}

TEST_F(UnixctlTest, ListsCommandsAndVersion) {
  const std::string list = Call("list-commands").text;
  EXPECT_THAT(list, testing::StartsWith("The available commands are:\n  big\n  echo                    [word]...\n"));
  EXPECT_THAT(list, HasSubstr("\n  list-commands\n"));
  EXPECT_THAT(Call("version").text, testing::MatchesRegex("vswitchd \\(Sluice\\) [0-9.]+\n"));
}

TEST_F(UnixctlTest, TakesRequestsByteByByte) {
  RawClient client(path_);
  const std::string stream = Request("echo", {"}{\"[\\"}) + Request("echo", {"2"}, 1);
  for (char c : stream) {
    ASSERT_TRUE(client.Send({&c, 1}));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_EQ(client.Receive()["result"], "text }{\"[\\\n");
  EXPECT_EQ(client.Receive()["result"], "text 2\n");
}

TEST_F(UnixctlTest, TakesManyRequestsInOneWriteAndAnswersInOrder) {
  RawClient client(path_);
  std::string stream;
  for (int i = 0; i < 100; ++i) {
    stream += Request(i % 10 == 3 ? "fail" : "echo", {std::to_string(i)}, i) + "\n";
  }
  ASSERT_TRUE(client.Send(stream));
  for (int i = 0; i < 100; ++i) {
    const json answer = client.Receive();
    ASSERT_EQ(answer["id"], i);
    ASSERT_EQ(answer["error"].is_null(), i % 10 != 3);
  }
}

TEST_F(UnixctlTest, ClosesOnGarbageAfterAnsweringWhatCameBefore) {
  for (const char* garbage : {"GET / HTTP/1.1\r\n\r\n", "{\"a\":}", "{}", "[1]", "{\"id\":0,\"method\":3}", "\xff\xfe",
                              "{\"method\":\"echo\",\"id\":0,\"params\":[}"}) {
    RawClient client(path_);
    client.Send(Request("echo", {"first"}) + garbage);
    EXPECT_EQ(client.Receive()["result"], "text first\n") << garbage;
    EXPECT_TRUE(client.ClosedByServer()) << garbage;
  }
  ExpectAlive();
}

TEST_F(UnixctlTest, ClosesOnARequestThatIsTooLarge) {
  RawClient client(path_);
  const std::string piece(1 << 20, 'x');
  client.Send("{\"method\":\"echo\",\"id\":0,\"params\":[\"");
  bool open = true;
  for (size_t sent = 0; open && sent <= 2 * UnixctlServer::kMaxRequestBytes; sent += piece.size()) {
    open = client.Send(piece);
  }
  EXPECT_FALSE(open && !client.ClosedByServer());
  ExpectAlive();
}

TEST_F(UnixctlTest, ClosesOnDeepNesting) {
  RawClient client(path_);
  client.Send("{\"method\":\"echo\",\"id\":" + std::string(100'000, '['));
  EXPECT_TRUE(client.ClosedByServer());
  ExpectAlive();
}

TEST_F(UnixctlTest, SurvivesDisconnectsAtEveryPoint) {
  const std::string request = Request("echo", {"x"});
  for (size_t length = 0; length <= request.size(); ++length) {
    RawClient client(path_);
    client.Send(request.substr(0, length));
  }
  {
    RawClient client(path_);
    client.Send(Request("later"));  // gone before the answer
  }
  {
    RawClient client(path_);
    client.Send(Request("big"));  // gone without reading
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ExpectAlive();
}

TEST_F(UnixctlTest, AnswersAClientThatEndedSending) {
  RawClient client(path_);
  client.Send(Request("later") + Request("echo", {"y"}, 1));
  client.EndSending();
  EXPECT_EQ(client.Receive()["result"], "at last\n");
  EXPECT_EQ(client.Receive()["result"], "text y\n");
  EXPECT_TRUE(client.ClosedByServer());
}

TEST_F(UnixctlTest, LaterAnswersKeepTheOrderAndDoNotHoldUpOthers) {
  RawClient client(path_);
  client.Send(Request("later", json::array(), 1) + Request("echo", {"next"}, 2));
  EXPECT_EQ(Call("echo", {"other"}).text, "text other\n");
  EXPECT_EQ(client.Receive()["id"], 1);
  EXPECT_EQ(client.Receive()["id"], 2);
}

TEST_F(UnixctlTest, SendsAnswersLargerThanTheSocketBuffer) {
  EXPECT_EQ(Call("big").text.size(), kBig + 1);
  RawClient slow(path_);
  slow.Send(Request("big") + Request("echo", {"after"}, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ExpectAlive();
  EXPECT_EQ(slow.Receive()["result"].get<std::string>().size(), kBig + 1);
  EXPECT_EQ(slow.Receive()["result"], "text after\n");
}

TEST_F(UnixctlTest, PerCommandFormatOption) {
  EXPECT_EQ(Call("echo", {"a", "--format", "json"}).text, "json a\n");
  EXPECT_EQ(Call("echo", {"--format=json", "a"}).text, "json a\n");
  EXPECT_EQ(Call("echo", {"a", "--format=text"}).text, "text a\n");
  EXPECT_EQ(Call("echo", {"a", "--format", "json", "b"}).text, "text a --format json b\n");
  EXPECT_EQ(Call("object", {"--format", "json"}).text, "{\"answer\":42}\n");
  const UnixctlAnswer refused = Call("echo", {"--format=xml"});
  EXPECT_TRUE(refused.is_error);
  EXPECT_EQ(refused.text, "--format xml: expected json or text\n");
}

TEST_F(UnixctlTest, SetOptionsMakesResultsJsonValues) {
  RawClient client(path_);
  client.Send(Request("set-options", {"--format", "json"}));
  EXPECT_EQ(client.Receive(), (json{{"id", 0}, {"result", ""}, {"error", nullptr}}));
  client.Send(Request("object"));
  EXPECT_EQ(client.Receive()["result"], (json{{"answer", 42}}));
  client.Send(Request("echo", {"a"}));
  EXPECT_EQ(client.Receive()["result"], (json{{"reply", "json a"}, {"reply-format", "plain"}}));
  client.Send(Request("set-options", {"--format", "text"}));
  client.Receive();
  client.Send(Request("echo", {"a"}));
  EXPECT_EQ(client.Receive()["result"], "text a\n");
  client.Send(Request("set-options", {"--colour"}));
  EXPECT_THAT(client.Receive()["error"].get<std::string>(), HasSubstr("--colour"));
  EXPECT_EQ(Call("object", {}, true).text, "{\"answer\":42}");
  ExpectAlive();  // the option was that connection's only
}

TEST_F(UnixctlTest, TextThatIsNotUtf8IsStillAnswered) {
  RawClient client(path_);
  client.Send("{\"method\":\"echo\",\"id\":0,\"params\":[\"\\u00e9\"]}");
  EXPECT_EQ(client.Receive()["result"], "text \xc3\xa9\n");
}

TEST_F(UnixctlTest, ManyClientsAtOnce) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<RawClient>(path_));
    clients.back()->Send(Request("echo", {std::to_string(i)}));
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(clients[i]->Receive()["result"], fmt::format("text {}\n", i));
  }
}

TEST(UnixctlListenTest, ReplacesAStaleSocketAndRefusesALiveOne) {
  Scratch scratch;
  const std::string path = scratch.File("ctl");
  {
    // A socket file without a listener, as a killed daemon leaves it.
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }
  EventLoop loop;
  {
    UnixctlServer first(loop);
    ASSERT_TRUE(first.Listen(path).ok());
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0750u);
    UnixctlServer second(loop);
    EXPECT_THAT(Message(second.Listen(path)), HasSubstr("another process listens"));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixctlListenTest, DoesNotRemoveWhatIsNoSocket) {
  Scratch scratch;
  const std::string path = scratch.File("ctl");
  std::ofstream(path) << "precious";
  EventLoop loop;
  UnixctlServer server(loop);
  EXPECT_THAT(Message(server.Listen(path)), HasSubstr("is no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_THAT(Message(server.Listen(scratch.File(std::string(200, 'x')))), HasSubstr("at most 107"));
  EXPECT_THAT(Message(server.Listen(scratch.File("absent/ctl"))), HasSubstr("No such file or directory"));
}

TEST(UnixctlClientTest, SaysWhyThereIsNoAnswer) {
  Scratch scratch;
  const std::string path = scratch.File("ctl");
  EXPECT_EQ(Message(UnixctlClient::Call(path, "version", {}).status()),
            fmt::format("cannot connect to \"{}\" (No such file or directory)", path));

  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 5), 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(UnixctlClient::Call(path, "version", {}, 1).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  close(accept(fd, nullptr, nullptr));  // the one that timed out

  std::thread closer([fd] { close(accept(fd, nullptr, nullptr)); });
  EXPECT_THAT(Message(UnixctlClient::Call(path, "version", {}).status()), HasSubstr("transaction error"));
  closer.join();
  close(fd);
}

TEST(UnixctlExecuteTest, RunsACommandWithoutASocket) {
  EventLoop loop;
  UnixctlServer server(loop);
  server.RegisterAsync("never", "", 0, 0, [](const UnixctlArgs&, const UnixctlReply&) {});
  EXPECT_THAT(*server.Execute("version", {}), HasSubstr("Sluice"));
  EXPECT_THAT(Message(server.Execute("nosuch", {}).status()), HasSubstr("is not a valid command"));
  EXPECT_FALSE(server.Execute("never", {}).ok());
}

}  // namespace
}  // namespace sluice
