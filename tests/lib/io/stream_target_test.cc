#include "lib/io/stream_target.h"

#include <gtest/gtest.h>

#include "lib/io/daemon.h"
#include "lib/io/stream.h"

namespace sluice {
namespace {

using Kind = StreamTarget::Kind;

TEST(StreamTargetTest, TakesEveryFormOfTheManual) {
  struct Case {
    std::string text;
    Kind kind;
    bool passive;
    std::string host_or_path;
    uint16_t port;
  };
  const Case cases[] = {
      {"unix:/run/db.sock", Kind::kUnix, false, "/run/db.sock", 6640},
      {"unix:db.sock", Kind::kUnix, false, RunDir() + "/db.sock", 6640},
      {"punix:/run/a:b", Kind::kUnix, true, "/run/a:b", 6640},
      {"tcp:10.0.0.1:6641", Kind::kTcp, false, "10.0.0.1", 6641},
      {"tcp:10.0.0.1", Kind::kTcp, false, "10.0.0.1", 6640},
      {"tcp:[::1]:80", Kind::kTcp, false, "::1", 80},
      {"tcp:[fe80::1%eth0]", Kind::kTcp, false, "fe80::1%eth0", 6640},
      {"ssl:controller.example.org:6653", Kind::kTls, false, "controller.example.org", 6653},
      {"ptcp:", Kind::kTcp, true, "", 6640},
      {"ptcp:0", Kind::kTcp, true, "", 0},
      {"ptcp:6641:127.0.0.1", Kind::kTcp, true, "127.0.0.1", 6641},
      {"pssl::[::]", Kind::kTls, true, "::", 6640},
      {"pssl:1:::1", Kind::kTls, true, "::1", 1},
  };
  for (const Case& c : cases) {
    const auto target = StreamTarget::Parse(c.text);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->kind, c.kind) << c.text;
    EXPECT_EQ(target->passive, c.passive) << c.text;
    EXPECT_EQ(IsPassiveTarget(c.text), c.passive) << c.text;
    EXPECT_EQ(c.kind == Kind::kUnix ? target->path : target->host, c.host_or_path) << c.text;
    EXPECT_EQ(target->port, c.port) << c.text;
  }
}

TEST(StreamTargetTest, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "unknown connection method"},
      {"tcp", "expected unix:FILE, tcp:HOST:PORT"},
      {"http:x:1", "unknown connection method"},
      {"unix:", "expected unix:FILE"},
      {"punix:", "expected punix:FILE"},
      {"unix:/" + std::string(200, 'x'), "at most 107 bytes"},
      {"tcp:", "no host"},
      {"tcp::6640", "no host"},
      {"tcp:h:", "expected a number from 1 to 65535"},
      {"tcp:h:0", "expected a number from 1 to 65535"},
      {"tcp:h:65536", "expected a number from 1 to 65535"},
      {"tcp:h:-1", "expected a number"},
      {"tcp:h:1x", "expected a number"},
      {"tcp:::1:6640", "no host"},
      {"tcp:fe80::1:6640", "written in brackets"},
      {"tcp:[::1:6640", "'[' without ']'"},
      {"tcp:[::1]6640", "expected :PORT"},
      {"ptcp:x", "expected a number from 0 to 65535"},
      {"pssl:1:[::1]:2", "expected [PORT][:HOST]"},
  };
  for (const auto& [text, what] : cases) {
    const absl::Status status = CheckStreamTarget(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(Message(status).find(what), std::string::npos) << text << ": " << status;
  }
}

}  // namespace
}  // namespace sluice
