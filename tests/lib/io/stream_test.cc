// What holds for streams of every kind, and for unix and TCP sockets in particular. TLS: stream_tls_test.cc.
#include "lib/io/stream.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "tests/lib/io/stream_fixture.h"
#include "tests/lib/io/test_pki.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

// A pattern in which a lost or doubled piece shows.
std::string Pattern(size_t size) {
  std::string bytes(size, 0);
  uint32_t x = 12345;
  for (char& byte : bytes) {
    x = x * 1664525 + 1013904223;
    byte = static_cast<char>(x >> 24);
  }
  bytes[0] = '{';  // not the beginning of TLS
  return bytes;
}

class StreamTest : public StreamFixture, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    if (kind == "ssl") {
      const TestPki pki(scratch_.File("pki"));
      server_tls_ = pki.Server();
      client_tls_ = pki.Client();
    }
    const std::string path = scratch_.File("s");
    listener_ = Listen(kind == "unix" ? "punix:" + path : fmt::format("p{}:0:127.0.0.1", kind), server_tls_);
    ASSERT_NE(listener_, nullptr);
    target_ = kind == "unix" ? "unix:" + path : fmt::format("{}:127.0.0.1:{}", kind, listener_->port());
  }

  // Connects client_ and server_.
  void Establish() {
    auto client = Connect(target_, client_tls_);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    RunUntil([&] { return !accepted_.empty(); });
    server_ = std::move(accepted_.back());
    accepted_.pop_back();
  }

  TlsConfig server_tls_;
  TlsConfig client_tls_;
  std::unique_ptr<StreamListener> listener_;
  std::string target_;
  std::unique_ptr<End> client_;
  std::unique_ptr<End> server_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, StreamTest, testing::Values("unix", "tcp", "ssl"),
                         [](const auto& param_info) { return std::string(param_info.param); });

TEST_P(StreamTest, CarriesBytesBothWaysAndTellsTheEnd) {
  Establish();
  EXPECT_EQ(client_->stream->name(), target_);
  EXPECT_THAT(server_->stream->name(),
              StartsWith(GetParam() == std::string("unix") ? "unix#" : fmt::format("{}:127.0.0.1:", GetParam())));
  client_->stream->Send("question");
  RunUntil([&] { return server_->received == "question"; });
  server_->stream->Send("ans");
  server_->stream->Send("wer");
  RunUntil([&] { return client_->received == "answer"; });
  client_->stream->Close();
  client_->stream->Send("too late");
  RunUntil([&] { return server_->closed.has_value(); });
  EXPECT_TRUE(server_->closed->ok()) << *server_->closed;
  EXPECT_FALSE(client_->closed.has_value());
  EXPECT_EQ(server_->received, "question");
}

TEST_P(StreamTest, WaitsForASlowReaderAndLosesNothing) {
  Establish();
  const std::string bytes = Pattern(8 << 20);
  bool drained = false;
  server_->stream->SetReading(false);
  client_->stream->SetOnDrained([&] { drained = true; });
  client_->stream->Send(bytes.substr(0, 5 << 20));
  client_->stream->Send(bytes.substr(5 << 20));
  RunFor(milliseconds(200));
  EXPECT_TRUE(server_->received.empty());
  EXPECT_GT(client_->stream->unsent_bytes(), 0u);
  EXPECT_FALSE(drained);
  // In bursts, with something the other way meanwhile.
  for (int i = 0; i < 5; ++i) {
    server_->stream->SetReading(true);
    RunFor(milliseconds(3));
    server_->stream->SetReading(false);
    server_->stream->Send("x");
    RunFor(milliseconds(3));
  }
  const size_t before = server_->received.size();
  RunFor(milliseconds(50));
  EXPECT_EQ(server_->received.size(), before);
  server_->stream->SetReading(true);
  RunUntil([&] { return server_->received.size() >= bytes.size(); });
  EXPECT_TRUE(server_->received == bytes);
  EXPECT_TRUE(drained);
  EXPECT_EQ(client_->stream->unsent_bytes(), 0u);
  EXPECT_EQ(client_->received, "xxxxx");
}

TEST_P(StreamTest, MayBeDestroyedInsideItsCallbacks) {
  Establish();
  std::string got;
  server_->stream->SetCallbacks(
      [&](std::string_view bytes) {
        server_->stream.reset();
        got = bytes;  // still valid
      },
      [](const absl::Status&) { FAIL() << "called after the end"; });
  client_->stream->SetCallbacks([](std::string_view) {}, [&](const absl::Status&) { client_->stream.reset(); });
  client_->stream->Send("last words");
  RunUntil([&] { return client_->stream == nullptr; });
  EXPECT_EQ(got, "last words");
}

TEST_P(StreamTest, TellsWhatWasSentBeforeTheEnd) {
  Establish();
  const std::string bytes = Pattern(100000);
  client_->stream->SetOnDrained([&] { client_->stream.reset(); });
  client_->stream->Send(bytes);
  RunUntil([&] { return server_->closed.has_value(); });
  EXPECT_TRUE(server_->received == bytes);
  EXPECT_TRUE(server_->closed->ok()) << *server_->closed;
  server_->stream->Send("nobody there");
  EXPECT_EQ(server_->stream->unsent_bytes(), 0u);
}

TEST_P(StreamTest, GivesUpConnectingWhenTheHandleGoes) {
  auto connect = ConnectStream(loop_, target_, client_tls_, milliseconds(1000),
                               [](absl::StatusOr<std::unique_ptr<Stream>>) { FAIL() << "nobody asks any more"; });
  loop_.Post([&] { connect.reset(); });  // after the attempt began
  RunFor(milliseconds(100));
  EXPECT_EQ(connect, nullptr);
}

TEST_P(StreamTest, ListenerMayBeDestroyedWhenItAccepts) {
  const std::string path = scratch_.File("t");
  const std::string kind = GetParam();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<StreamListener> listener;
  auto made = ListenStream(loop_, kind == "unix" ? "punix:" + path : fmt::format("p{}:0:127.0.0.1", kind), server_tls_,
                           [&](std::unique_ptr<Stream> taken) {
                             listener.reset();
                             stream = std::move(taken);
                           });
  ASSERT_TRUE(made.ok()) << made.status();
  listener = *std::move(made);
  const uint16_t port = listener->port();
  const auto client =
      Connect(kind == "unix" ? "unix:" + path : fmt::format("{}:127.0.0.1:{}", kind, port), client_tls_);
  ASSERT_TRUE(client.ok()) << client.status();
  RunUntil([&] { return stream != nullptr; });
  EXPECT_EQ(listener, nullptr);
}

TEST_P(StreamTest, ServesManyAtOnce) {
  constexpr size_t kMany = 100;
  std::vector<std::unique_ptr<StreamConnect>> connects;
  std::vector<std::unique_ptr<End>> ends;
  for (size_t i = 0; i < kMany; ++i) {
    connects.push_back(ConnectStream(loop_, target_, client_tls_, milliseconds(15000),
                                     [&, i](absl::StatusOr<std::unique_ptr<Stream>> stream) {
                                       ASSERT_TRUE(stream.ok()) << stream.status();
                                       ends.push_back(std::make_unique<End>(*std::move(stream)));
                                       ends.back()->stream->Send(fmt::format("{}", i));
                                     }));
  }
  RunUntil([&] {
    size_t heard = 0;
    for (const auto& end : accepted_) heard += !end->received.empty();
    return heard == kMany;
  });
  EXPECT_EQ(ends.size(), kMany);
}

class SocketTest : public StreamFixture {};

TEST_F(SocketTest, SaysWhyItCannotConnect) {
  const std::pair<std::string, std::string> cases[] = {
      {"unix:" + scratch_.File("nobody"), "No such file or directory"},
      {"tcp:127.0.0.1:1", "Connection refused"},
      {"tcp:no-such-host.invalid:1", "no-such-host.invalid:1: "},
      {"punix:/x", "is for listening"},
      {"ssl:127.0.0.1:1", "TLS is not configured"},
      {"nonsense", "unknown connection method"},
  };
  for (const auto& [target, what] : cases) {
    const auto end = Connect(target);
    ASSERT_FALSE(end.ok()) << target;
    EXPECT_THAT(Message(end.status()), HasSubstr(what)) << target;
    EXPECT_THAT(Message(end.status()), HasSubstr(target));
  }
}

TEST_F(SocketTest, ConnectsToNamesAndToIpv6) {
  const auto v4 = Listen("ptcp:0");
  EXPECT_TRUE(Connect(fmt::format("tcp:localhost:{}", v4->port())).ok());
  const auto v6 = Listen("ptcp:0:[::]");
  EXPECT_TRUE(Connect(fmt::format("tcp:[::1]:{}", v6->port())).ok());
  EXPECT_TRUE(Connect(fmt::format("tcp:127.0.0.1:{}", v6->port())).ok());
  RunUntil([&] { return accepted_.size() == 3; });
  EXPECT_THAT(accepted_[1]->stream->name(), StartsWith("tcp:[::1]:"));
}

TEST_F(SocketTest, SaysWhyItCannotListen) {
  const auto listener = Listen("ptcp:0:127.0.0.1");
  std::ofstream(scratch_.File("file")) << "precious";
  const std::pair<std::string, std::string> cases[] = {
      {fmt::format("ptcp:{}:127.0.0.1", listener->port()), "bind: Address already in use"},
      {"ptcp:0:192.0.2.1", "bind: Cannot assign requested address"},
      {"ptcp:0:localhost", "expected an IPv4 or IPv6 address"},
      {"punix:" + scratch_.File("file"), "is no socket"},
      {"punix:" + scratch_.File("no/such/folder"), "bind: No such file or directory"},
      {"unix:/x", "is for connecting"},
      {"pssl:0", "TLS is not configured"},
  };
  for (const auto& [target, what] : cases) {
    const auto result = ListenStream(loop_, target, {}, [](std::unique_ptr<Stream>) {});
    ASSERT_FALSE(result.ok()) << target;
    EXPECT_THAT(Message(result.status()), HasSubstr(what));
    EXPECT_THAT(Message(result.status()), HasSubstr(target));
  }
  EXPECT_TRUE(std::filesystem::exists(scratch_.File("file")));
}

TEST_F(SocketTest, ReplacesAStaleUnixSocketButNotALiveOne) {
  const std::string path = scratch_.File("s");
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);  // as a process that was killed leaves it
  auto listener = Listen("punix:" + path);
  ASSERT_NE(listener, nullptr);
  const auto second = ListenStream(loop_, "punix:" + path, {}, [](std::unique_ptr<Stream>) {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr("another process listens on it"));
  EXPECT_TRUE(Connect("unix:" + path).ok());
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0027, 0u) << "others may not connect";
  listener.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SocketTest, LeavesAUnixSocketAloneThatAnotherPutInItsPlace) {
  const std::string path = scratch_.File("s");
  auto first = Listen("punix:" + path);
  std::filesystem::rename(path, scratch_.File("aside"));
  const auto second = Listen("punix:" + path);
  first.reset();
  EXPECT_TRUE(Connect("unix:" + path).ok());
}

}  // namespace
}  // namespace sluice
