#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "lib/io/stream.h"
#include "lib/io/tls_options.h"
#include "tests/lib/io/stream_fixture.h"
#include "tests/lib/io/test_pki.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class TlsTest : public StreamFixture {
 protected:
  TlsTest() { Log(); }

  std::string Target(const StreamListener& listener, std::string_view method = "ssl") {
    return fmt::format("{}:127.0.0.1:{}", method, listener.port());
  }
  // A connection on which nothing but `bytes` is sent.
  int RawConnection(const StreamListener& listener, std::string_view bytes) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(listener.port()), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    return fd;
  }
  // The peer has closed the connection.
  static bool Closed(int fd) {
    char byte;
    const ssize_t length = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return length == 0 || (length < 0 && errno == ECONNRESET);
  }
  void ExpectWorks(const std::string& target, const TlsConfig& tls) {
    const size_t before = accepted_.size();
    const auto end = Connect(target, tls);
    ASSERT_TRUE(end.ok()) << end.status();
    (*end)->stream->Send("hello");
    RunUntil([&] { return accepted_.size() > before && accepted_.back()->received == "hello"; });
  }

  const TestPki pki_{scratch_.File("pki")};
};

TEST_F(TlsTest, RefusesPlainTcpOnATlsPort) {
  const auto listener = Listen("pssl:0:127.0.0.1", pki_.Server());
  const auto end = Connect(Target(*listener, "tcp"));
  ASSERT_TRUE(end.ok()) << end.status();
  (*end)->stream->Send("{\"method\":\"echo\",\"params\":[],\"id\":1}");
  RunUntil([&] { return (*end)->closed.has_value(); });
  EXPECT_TRUE(accepted_.empty());
  EXPECT_THAT(Log(), HasSubstr("the peer does not speak TLS, and this port does: connection refused"));
}

TEST_F(TlsTest, RefusesTlsOnAPlainPort) {
  const auto listener = Listen("ptcp:0:127.0.0.1");
  const auto end = Connect(Target(*listener), pki_.Client());
  ASSERT_FALSE(end.ok());
  EXPECT_THAT(Message(end.status()), HasSubstr("does the peer speak plain TCP? then use tcp:"));
  EXPECT_THAT(Log(), HasSubstr("the peer speaks TLS, and this end plain TCP: connection refused"));
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_TRUE(accepted_[0]->received.empty());
  ASSERT_TRUE(accepted_[0]->closed.has_value());
  EXPECT_THAT(Message(*accepted_[0]->closed), HasSubstr("the peer speaks TLS"));
}

TEST_F(TlsTest, RefusesPeersOfAnotherAuthority) {
  const TestPki other(scratch_.File("other"));
  const auto listener = Listen("pssl:0:127.0.0.1", pki_.Server());
  // The client does not trust the server.
  const auto suspicious = Connect(Target(*listener), other.Client());
  ASSERT_FALSE(suspicious.ok());
  EXPECT_THAT(Message(suspicious.status()), HasSubstr("certificate verify failed"));
  // The server does not trust the client, which it says after the client's own handshake in TLS 1.3.
  TlsConfig stranger = other.Client();
  stranger.ca_cert = pki_.File("ca.pem");
  const auto end = Connect(Target(*listener), stranger);
  if (end.ok()) {
    RunUntil([&] { return (*end)->closed.has_value(); });
    EXPECT_THAT(Message(*(*end)->closed), HasSubstr("alert"));
  }
  EXPECT_TRUE(accepted_.empty());
  EXPECT_THAT(Log(), HasSubstr("TLS handshake failed: certificate verify failed"));
  ExpectWorks(Target(*listener), pki_.Client());
}

TEST_F(TlsTest, ChecksNobodyWhenToldSo) {
  const TestPki other(scratch_.File("other"));
  TlsConfig server = pki_.Server();
  server.ca_cert = "none";
  TlsConfig client = other.Client();
  client.ca_cert = "none";
  const auto listener = Listen("pssl:0:127.0.0.1", server);
  ExpectWorks(Target(*listener), client);
}

TEST_F(TlsTest, BootstrapsTheCaCertificateOfTheFirstServer) {
  TlsConfig server = pki_.Server();
  server.peer_ca_cert = pki_.File("ca.pem");
  const auto listener = Listen("pssl:0:127.0.0.1", server);
  TlsConfig client = pki_.Client();
  client.ca_cert = scratch_.File("learned.pem");
  client.bootstrap_ca = true;
  ExpectWorks(Target(*listener), client);
  const auto text = [](const std::string& file) {
    std::stringstream stream;
    stream << std::ifstream(file).rdbuf();
    return stream.str();
  };
  EXPECT_EQ(text(client.ca_cert), text(pki_.File("ca.pem")));
  EXPECT_THAT(Log(), HasSubstr("bootstrapped the CA certificate"));
  // From now on another authority's server is not believed.
  const TestPki other(scratch_.File("other"));
  TlsConfig impostor = other.Server();
  impostor.ca_cert = "none";
  const auto second = Listen("pssl:0:127.0.0.1", impostor);
  EXPECT_FALSE(Connect(Target(*second), client).ok());
}

TEST_F(TlsTest, AListenerBootstrapsFromItsFirstClient) {
  TlsConfig server = pki_.Server();
  server.ca_cert = scratch_.File("learned.pem");
  server.bootstrap_ca = true;
  const auto listener = Listen("pssl:0:127.0.0.1", server);
  TlsConfig client = pki_.Client();
  client.peer_ca_cert = pki_.File("ca.pem");
  const auto first = Connect(Target(*listener), client);
  if (first.ok()) RunUntil([&] { return (*first)->closed.has_value(); });
  EXPECT_TRUE(accepted_.empty()) << "nobody has checked the first one";
  EXPECT_TRUE(std::filesystem::exists(server.ca_cert));
  ExpectWorks(Target(*listener), pki_.Client());
  // Checked from now on.
  const TestPki other(scratch_.File("other"));
  TlsConfig stranger = other.Client();
  stranger.ca_cert = "none";
  const auto end = Connect(Target(*listener), stranger);
  if (end.ok()) RunUntil([&] { return (*end)->closed.has_value(); });
  EXPECT_EQ(accepted_.size(), 1u);
}

TEST_F(TlsTest, DoesNotBootstrapFromAServerThatHidesItsCa) {
  TlsConfig server = pki_.Server();
  server.ca_cert = "none";  // else OpenSSL sends what it checks clients by
  const auto listener = Listen("pssl:0:127.0.0.1", server);
  TlsConfig client = pki_.Client();
  client.ca_cert = scratch_.File("learned.pem");
  client.bootstrap_ca = true;
  const auto end = Connect(Target(*listener), client);
  ASSERT_FALSE(end.ok());
  EXPECT_THAT(Message(end.status()), HasSubstr("--peer-ca-cert"));
  EXPECT_FALSE(std::filesystem::exists(client.ca_cert));
}

TEST_F(TlsTest, SaysWhatIsWrongWithItsFiles) {
  const std::string garbage = scratch_.File("garbage");
  std::ofstream(garbage) << "not PEM\n";
  struct Case {
    std::function<void(TlsConfig&)> spoil;
    std::string what;
  };
  const Case cases[] = {
      {[](TlsConfig& tls) { tls.private_key = "/no/key"; }, "private key /no/key: No such file"},
      {[](TlsConfig& tls) { tls.certificate = "/no/cert"; }, "certificate /no/cert: No such file"},
      {[](TlsConfig& tls) { tls.ca_cert = "/no/ca"; }, "CA certificate /no/ca: No such file"},
      {[](TlsConfig& tls) { tls.ca_cert = ""; }, "no CA certificate is configured"},
      {[](TlsConfig& tls) { tls.peer_ca_cert = "/no/peer"; }, "peer CA certificate /no/peer: No such file"},
      {[&](TlsConfig& tls) { tls.private_key = garbage; }, "expected PEM"},
      {[&](TlsConfig& tls) { tls.certificate = garbage; }, "expected PEM"},
      {[&](TlsConfig& tls) { tls.ca_cert = garbage; }, "expected PEM"},
      {[&](TlsConfig& tls) { tls.peer_ca_cert = garbage; }, "expected PEM"},
      {[&](TlsConfig& tls) { tls.private_key = pki_.File("client.key"); }, "client.key"},
      {[](TlsConfig& tls) { tls.protocols = "TLSv1.2,SSLv3"; }, "\"SSLv3\": expected a list of TLSv1,"},
      {[](TlsConfig& tls) { tls.ciphers = "ROT13"; }, "ciphers \"ROT13\""},
  };
  for (const Case& c : cases) {
    TlsConfig tls = pki_.Server();
    c.spoil(tls);
    const auto listener = ListenStream(loop_, "pssl:0:127.0.0.1", tls, [](std::unique_ptr<Stream>) {});
    ASSERT_FALSE(listener.ok()) << c.what;
    EXPECT_THAT(Message(listener.status()), HasSubstr(c.what));
    const auto end = Connect("ssl:127.0.0.1:1", tls);
    EXPECT_EQ(end.status().code(), listener.status().code()) << end.status();
  }
}

TEST_F(TlsTest, SpeaksOnlyTheProtocolsConfigured) {
  TlsConfig server = pki_.Server();
  server.protocols = "TLSv1.3";
  const auto listener = Listen("pssl:0:127.0.0.1", server);
  TlsConfig client = pki_.Client();
  client.protocols = "TLSv1.2";
  EXPECT_FALSE(Connect(Target(*listener), client).ok());
  client.protocols = "TLSv1.2 TLSv1.3";
  ExpectWorks(Target(*listener), client);
}

TEST_F(TlsTest, TakesReplacedFilesForNewConnectionsAndKeepsGoodOnes) {
  const auto listener = Listen("pssl:0:127.0.0.1", pki_.Server());
  ExpectWorks(Target(*listener), pki_.Client());
  std::filesystem::rename(pki_.File("server.key"), scratch_.File("old.key"));
  ExpectWorks(Target(*listener), pki_.Client());
  EXPECT_THAT(Log(), HasSubstr("going on with the files as they were"));
  pki_.Issue("server");
  ExpectWorks(Target(*listener), pki_.Client());
  EXPECT_THAT(Log(), Not(HasSubstr("is not that of certificate")));
}

TEST_F(TlsTest, ServesOthersWhileHandshakesHang) {
  const auto listener = Listen("pssl:0:127.0.0.1", pki_.Server());
  std::vector<int> silent;
  for (int i = 0; i < 80; ++i) {
    silent.push_back(RawConnection(*listener, i % 2 == 0 ? "" : "\x16\x03\x01"));
  }
  ExpectWorks(Target(*listener), pki_.Client());
  // More than the listener keeps: the oldest had to go.
  RunUntil([&] { return Closed(silent[0]) && Closed(silent[10]); });
  EXPECT_THAT(Log(), HasSubstr("too many handshakes are under way"));
  EXPECT_FALSE(Closed(silent[79]));
  // The others go when their time is over.
  RunUntil([&] { return Closed(silent[78]) && Closed(silent[79]); }, std::chrono::seconds(15));
  EXPECT_THAT(Log(), HasSubstr("the handshake did not end in 10 seconds"));
  for (int fd : silent) close(fd);
}

TEST_F(TlsTest, SurvivesNonsense) {
  const auto listener = Listen("pssl:0:127.0.0.1", pki_.Server());
  const std::string cases[] = {
      std::string("\x16\x03\x01\xff\xff", 5) + std::string(70000, 'x'),
      std::string("\x16\x03\x01\x00\x00", 5),
      std::string("\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff", 10),
      std::string(1, '\x16') + std::string(100, '\0'),
      std::string("\x15\x03\x01\x00\x02\x02\x28", 7),
      "GET / HTTP/1.0\r\n\r\n",
  };
  for (const std::string& bytes : cases) {
    const int fd = RawConnection(*listener, bytes);
    shutdown(fd, SHUT_WR);
    RunUntil([&] {
      char sink[4096];
      while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0) {
      }
      return Closed(fd);
    });
    close(fd);
  }
  EXPECT_TRUE(accepted_.empty());
  ExpectWorks(Target(*listener), pki_.Client());
}

TEST_F(TlsTest, ConnectingTimesOutWhenTheHandshakeHangs) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(fd, 5), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const auto end = Connect(fmt::format("ssl:127.0.0.1:{}", ntohs(address.sin_port)), pki_.Client(), milliseconds(150));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(end.status()), HasSubstr("connection timed out"));
  close(fd);
}

TEST(TlsOptionsTest, FillsTheConfiguration) {
  const char* arguments[] = {"program",
                             "-pkey",
                             "-c",
                             "cert",
                             "--bootstrap-ca-cert=ca",
                             "--peer-ca-cert",
                             "peer",
                             "--ssl-protocols=TLSv1.3",
                             "--ssl-ciphers=HIGH",
                             "--other",
                             nullptr};
  std::vector<option> longs(kTlsLongOptions.begin(), kTlsLongOptions.end());
  longs.push_back({"other", no_argument, nullptr, 1});
  longs.push_back({});
  TlsConfig tls;
  int others = 0;
  optind = 0;
  const std::string shorts(kTlsShortOptions);
  for (int choice; (choice = getopt_long(static_cast<int>(std::size(arguments)) - 1, const_cast<char**>(arguments),
                                         shorts.c_str(), longs.data(), nullptr)) != -1;) {
    if (!TakeTlsOption(choice, optarg, &tls)) {
      EXPECT_EQ(choice, 1);
      ++others;
    }
  }
  EXPECT_EQ(tls, (TlsConfig{.private_key = "key",
                            .certificate = "cert",
                            .ca_cert = "ca",
                            .peer_ca_cert = "peer",
                            .protocols = "TLSv1.3",
                            .ciphers = "HIGH",
                            .bootstrap_ca = true}));
  EXPECT_EQ(others, 1);
  TakeTlsOption(kTlsCaCert, "other", &tls);
  EXPECT_FALSE(tls.bootstrap_ca);
}

}  // namespace
}  // namespace sluice
