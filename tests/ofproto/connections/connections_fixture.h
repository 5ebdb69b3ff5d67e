// A ConnectionManager over a fake switch, in a loop of its own, with peers over real sockets.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "ofproto/connections/bundle.h"
#include "ofproto/connections/connection_manager.h"
#include "tests/ofproto/connections/fake_switch.h"
#include "tests/ofproto/connections/peer.h"
#include "tests/testing/scratch.h"

namespace sluice::testing {

class ConnectionsFixture : public ::testing::Test {
 protected:
  ConnectionsFixture() : switch_("br0"), manager_(std::make_unique<ConnectionManager>(loop_, switch_)) {
    switch_.pipeline().tables.OnChange(
        [this](absl::Span<const FlowNotice> notices) { manager_->FlowsChanged(notices); });
    config_.run_directory = scratch_.path();
    config_.secure = true;
  }

  void Configure() { manager_->Configure(config_); }
  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }

  void RunUntil(const std::function<bool()>& done, std::chrono::seconds limit = std::chrono::seconds(60)) {
    if (done()) return;
    const auto give_up = loop_.RunAfter(limit, [this] {
      ADD_FAILURE() << "what was waited for did not come";
      loop_.Stop();
    });
    const auto look = loop_.RunEvery(std::chrono::milliseconds(1), [&] {
      if (done()) loop_.Stop();
    });
    loop_.Run();
  }

  std::unique_ptr<Stream> ConnectTo(const std::string& target) {
    absl::StatusOr<std::unique_ptr<Stream>> result = absl::UnavailableError("not yet");
    bool done = false;
    const auto connect =
        ConnectStream(loop_, target, {}, std::chrono::seconds(20), [&](absl::StatusOr<std::unique_ptr<Stream>> stream) {
          result = std::move(stream);
          done = true;
        });
    RunUntil([&] { return done; });
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : nullptr;
  }

  // A peer on the management socket that has exchanged hellos.
  std::unique_ptr<Peer> Connect(OfVersion version, const std::string& socket = "br0.mgmt") {
    auto peer = std::make_unique<Peer>(ConnectTo("unix:" + Path(socket)), version);
    Greet(*peer);
    return peer;
  }
  void Greet(Peer& peer) {
    peer.Send(OfHello{.versions = VersionBit(peer.version())});
    RunUntil([&peer] { return !peer.received().empty(); });
  }

  // The answer to a request.
  const OfMessage& Await(Peer& peer, uint32_t xid) {
    RunUntil([&] { return peer.Find(xid) != nullptr || peer.closed(); });
    const OfMessage* found = peer.Find(xid);
    if (found == nullptr) {
      ADD_FAILURE() << "no answer to " << xid;
      static const OfMessage kNone{};
      return kNone;
    }
    return *found;
  }
  template <typename Body>
  Body Ask(Peer& peer, OfBody request) {
    const OfMessage& reply = Await(peer, peer.Send(std::move(request)));
    if (const Body* body = std::get_if<Body>(&reply.body)) return *body;
    ADD_FAILURE() << "another kind of answer: " << DescribeError(reply);
    return {};
  }
  // The error that a request is answered with.
  std::optional<OfError> AskError(Peer& peer, OfBody request) { return ErrorOf(peer, peer.Send(std::move(request))); }
  std::optional<OfError> ErrorOf(Peer& peer, uint32_t xid) {
    const OfMessage& reply = Await(peer, xid);
    const auto* error = std::get_if<OfErrorMessage>(&reply.body);
    return error != nullptr ? FindError(error->code, reply.version) : std::nullopt;
  }
  static std::string DescribeError(const OfMessage& message) {
    const auto* error = std::get_if<OfErrorMessage>(&message.body);
    if (error == nullptr) return fmt::format("body {}", message.body.index());
    auto known = FindError(error->code, message.version);
    return known ? ErrorName(*known) : fmt::format("error {}/{}", error->code.type, error->code.code);
  }
  // Until everything sent before was handled.
  void Barrier(Peer& peer) { Ask<OfBarrierReply>(peer, OfBarrierRequest{}); }

  static FlowMod Flow(uint16_t priority, OfPort output = 1) {
    FlowMod mod{.priority = priority, .table = 0};
    mod.actions.push_back({OfOutput{.port = output}});
    return mod;
  }
  std::vector<uint16_t> Priorities() const {
    std::vector<uint16_t> priorities;
    for (const RulePtr& rule : switch_.Rules()) priorities.push_back(rule->priority);
    std::sort(priorities.begin(), priorities.end());
    return priorities;
  }

  Scratch scratch_;
  EventLoop loop_;
  FakeSwitch switch_;
  BridgeConnectionsConfig config_;
  std::unique_ptr<ConnectionManager> manager_;
};

}  // namespace sluice::testing
