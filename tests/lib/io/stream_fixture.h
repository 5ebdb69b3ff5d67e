// What the tests of streams share: a loop that is run until something holds, and the ends of connections.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/log.h"
#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "tests/testing/scratch.h"

namespace sluice {

// A stream with what came out of it.
struct End {
  explicit End(std::unique_ptr<Stream> taken) : stream(std::move(taken)) {
    stream->SetCallbacks([this](std::string_view bytes) { received += bytes; },
                         [this](const absl::Status& status) { closed = status; });
  }

  std::unique_ptr<Stream> stream;
  std::string received;
  std::optional<absl::Status> closed;
};

class StreamFixture : public testing::Test {
 protected:
  // Runs the loop until `done`; fails after `limit`.
  void RunUntil(const std::function<bool()>& done, std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto give_up = loop_.RunAfter(limit, [this] {
      ADD_FAILURE() << "what was waited for did not come";
      loop_.Stop();
    });
    const auto look = loop_.RunEvery(std::chrono::milliseconds(1), [&] {
      if (done()) loop_.Stop();
    });
    loop_.Run();
  }
  void RunFor(std::chrono::milliseconds time) {
    const auto end = loop_.RunAfter(time, [this] { loop_.Stop(); });
    loop_.Run();
  }

  std::unique_ptr<StreamListener> Listen(const std::string& target, const TlsConfig& tls = {}) {
    auto listener = ListenStream(loop_, target, tls, [this](std::unique_ptr<Stream> stream) {
      accepted_.push_back(std::make_unique<End>(std::move(stream)));
    });
    EXPECT_TRUE(listener.ok()) << listener.status();
    return listener.ok() ? *std::move(listener) : nullptr;
  }

  absl::StatusOr<std::unique_ptr<End>> Connect(const std::string& target, const TlsConfig& tls = {},
                                               std::chrono::milliseconds timeout = std::chrono::milliseconds(5000)) {
    std::optional<absl::StatusOr<std::unique_ptr<End>>> result;
    const auto connect =
        ConnectStream(loop_, target, tls, timeout, [&](absl::StatusOr<std::unique_ptr<Stream>> stream) {
          if (stream.ok()) {
            result.emplace(std::make_unique<End>(*std::move(stream)));
          } else {
            result.emplace(stream.status());
          }
        });
    EXPECT_FALSE(result.has_value()) << "called back from inside ConnectStream";
    RunUntil([&] { return result.has_value(); });
    if (!result.has_value()) return InvalidArgument("no answer");
    return *std::move(result);
  }

  // Everything that was logged since the first call.
  std::string Log() {
    if (log_.empty()) {
      log_ = scratch_.File("log");
      EXPECT_TRUE(LogSetFile(log_).ok());
    }
    std::stringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  Scratch scratch_;
  EventLoop loop_;
  std::vector<std::unique_ptr<End>> accepted_;
  std::string log_;
};

}  // namespace sluice
