// Flow monitors, of Nicira's kind and of OpenFlow 1.4's.
#include "tests/ofproto/connections/connections_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using Event = OfFlowUpdate::Event;

constexpr uint16_t kEverything =
    kMonitorInitial | kMonitorAdd | kMonitorRemoved | kMonitorModify | kMonitorInstructions;

class MonitorTest : public ConnectionsFixture, public ::testing::WithParamInterface<OfVersion> {
 protected:
  MonitorTest() {
    Configure();
    watcher_ = Connect(GetParam());
    worker_ = Connect(GetParam());
  }

  OfReply<OfFlowMonitorRequest> Monitor(uint16_t flags) {
    OfReply<OfFlowMonitorRequest> request;
    request.entries.push_back({.id = 1, .flags = flags});
    return request;
  }
  std::vector<OfFlowUpdate> Updates(Peer& peer) {
    Barrier(peer);
    std::vector<OfFlowUpdate> updates;
    for (const auto* reply : peer.All<OfFlowMonitorReply>()) {
      updates.insert(updates.end(), reply->entries.begin(), reply->entries.end());
    }
    peer.Forget();
    return updates;
  }
  static std::vector<Event> Events(const std::vector<OfFlowUpdate>& updates) {
    std::vector<Event> events;
    for (const OfFlowUpdate& update : updates) events.push_back(update.event);
    return events;
  }

  std::unique_ptr<Peer> watcher_, worker_;
};

TEST_P(MonitorTest, WhatIsThereComesFirst) {
  worker_->Send(Flow(7));
  Barrier(*worker_);
  watcher_->Send(Monitor(kEverything));
  const auto updates = Updates(*watcher_);
  ASSERT_THAT(updates, SizeIs(1));
  EXPECT_EQ(updates[0].priority, 7);
  EXPECT_THAT(updates[0].actions, SizeIs(1));
}

TEST_P(MonitorTest, WhatOthersDoIsToldInFull) {
  watcher_->Send(Monitor(kEverything));
  Updates(*watcher_);
  worker_->Send(Flow(7, 1));
  FlowMod modify = Flow(7, 2);
  modify.command = FlowCommand::kModifyStrict;
  worker_->Send(modify);
  worker_->Send(FlowMod{.command = FlowCommand::kDelete});
  Barrier(*worker_);
  const auto updates = Updates(*watcher_);
  EXPECT_THAT(Events(updates), ElementsAre(Event::kAdded, Event::kModified, Event::kRemoved));
  EXPECT_EQ(updates[2].reason, FlowRemoved::Reason::kDelete);
}

TEST_P(MonitorTest, WhatOneDoesOneselfIsAbbreviated) {
  watcher_->Send(Monitor(kEverything));
  Updates(*watcher_);
  const uint32_t xid = watcher_->Send(Flow(7));
  const auto updates = Updates(*watcher_);
  ASSERT_THAT(Events(updates), ElementsAre(Event::kAbbrev));
  EXPECT_EQ(updates[0].xid, xid);
}

TEST_P(MonitorTest, UnlessOneAsksForAll) {
  watcher_->Send(Monitor(kEverything | kMonitorNoAbbrev));
  Updates(*watcher_);
  watcher_->Send(Flow(7));
  EXPECT_THAT(Events(Updates(*watcher_)), ElementsAre(Event::kAdded));
}

TEST_P(MonitorTest, OnlyWhatIsAskedForIsTold) {
  OfReply<OfFlowMonitorRequest> request = Monitor(kMonitorAdd);
  request.entries[0].out_port = 2;
  watcher_->Send(request);
  Updates(*watcher_);
  worker_->Send(Flow(1, 1));
  worker_->Send(Flow(2, 2));
  worker_->Send(FlowMod{.command = FlowCommand::kDelete});
  Barrier(*worker_);
  const auto updates = Updates(*watcher_);
  ASSERT_THAT(updates, SizeIs(1));
  EXPECT_EQ(updates[0].priority, 2);
  EXPECT_THAT(updates[0].actions, SizeIs(0));
}

TEST_P(MonitorTest, AMonitorIsOneOfItsKind) {
  watcher_->Send(Monitor(kEverything));
  EXPECT_TRUE(AskError(*watcher_, Monitor(kEverything)).has_value());
}

INSTANTIATE_TEST_SUITE_P(Versions, MonitorTest, ::testing::Values(OfVersion::k10, OfVersion::k13, OfVersion::k14));

}  // namespace
}  // namespace sluice::testing
