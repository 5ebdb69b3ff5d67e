// A datapath between dummy ports, and the verbs that tests of it are written in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "datapath/datapath.h"
#include "lib/base/status.h"
#include "netdev/dummy/dummy_netdev.h"
#include "tests/netdev/frames.h"

namespace sluice::testing {

constexpr DatapathConfig kSmallDatapath{.small_buffers = 2048, .large_buffers = 64};

class DatapathFixture : public ::testing::Test {
 protected:
  void SetUp() override { Start(kSmallDatapath); }

  void Start(const DatapathConfig& config) {
    datapath_.reset();
    auto datapath = Datapath::Create("test", config);
    ASSERT_TRUE(datapath.ok()) << datapath.status();
    datapath_ = *std::move(datapath);
    injected_ = 0;
  }

  DummyNetdev& AddPort(const std::string& name, const NetdevOptions& options = {}) {
    auto number = datapath_->AddPort(name, "dummy", options);
    EXPECT_TRUE(number.ok()) << number.status();
    return *FindDummy(name);
  }

  void AddFlow(const std::string& match_text, const std::string& actions_text) {
    auto match = ParseMatch(match_text, datapath_->MakePortNames());
    ASSERT_TRUE(match.ok()) << match.status();
    auto actions = ParseActions(actions_text, datapath_->MakePortNames());
    ASSERT_TRUE(actions.ok()) << actions.status();
    auto flow = datapath_->flows().Insert(*match, *std::move(actions), FlowTable::MakeUfid(*match));
    ASSERT_TRUE(flow.ok()) << flow.status();
  }

  void Inject(DummyNetdev& port, const std::vector<uint8_t>& frame, size_t queue = 0) {
    port.Inject(frame, queue);
    ++injected_;
  }
  void InjectSuper(DummyNetdev& port, const Frame& frame, uint16_t segment_size) {
    Offload offload{.l4 = ChecksumState::kPartial,
                    .segmentation = Segmentation::kTcp4,
                    .segment_size = segment_size,
                    .csum_start = static_cast<uint16_t>(frame.l4),
                    .csum_offset = 16};
    port.Inject(frame.bytes, offload);
    uint32_t payload = static_cast<uint32_t>(frame.bytes.size()) - frame.payload;
    injected_ += (payload + segment_size - 1) / segment_size;
  }

  // Waits until every injected frame was received, and so, the threads being between two turns, dealt with.
  Conservation Settle() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Conservation sum = datapath_->GetConservation();
    while (sum.received < injected_ && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      sum = datapath_->GetConservation();
    }
    EXPECT_EQ(sum.received, injected_);
    EXPECT_TRUE(sum.Balanced()) << "received " << sum.received << " copies " << sum.copies << " sent " << sum.sent
                                << " consumed " << sum.consumed << " dropped " << TotalDrops(sum.drops);
    return sum;
  }

  FlowStats StatsOfOnlyFlow() {
    FlowStats stats;
    datapath_->flows().ForEach([&](DpFlow& flow) { stats = flow.TotalStats(); });
    return stats;
  }
  uint64_t RxDrops(const std::string& port, DropReason reason) {
    return datapath_->FindPort(std::string_view(port))->Stats().rx_drops[reason];
  }
  uint64_t TxDrops(const std::string& port, DropReason reason) {
    return datapath_->FindPort(std::string_view(port))->Stats().tx_drops[reason];
  }

  std::unique_ptr<Datapath> datapath_;
  uint64_t injected_ = 0;  // wire frames
};

}  // namespace sluice::testing
