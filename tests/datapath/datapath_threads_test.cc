// Changes while traffic flows and all threads work. Meant for ThreadSanitizer as much as for its own checks.

#include <atomic>

#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using testing::Frame;
using testing::MakeFrame;

class DatapathThreadsTest : public testing::DatapathFixture {
 protected:
  void SetUp() override {
    DatapathFixture::SetUp();
    in_ = &AddPort("in", {{"n_rxq", "2"}});
    out_ = &AddPort("out");
    AddFlow("in_port(1)", "2");
  }
  void TearDown() override {
    StopTraffic();
    DatapathFixture::TearDown();
  }

  // From another thread, with pauses, until StopTraffic().
  void StartTraffic() {
    sender_ = std::thread([this] {
      Frame frame = MakeFrame({});
      while (!stop_) {
        for (size_t i = 0; i < 20; ++i) in_->Inject(frame.bytes, i);
        sent_ += 20;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  void StopTraffic() {
    stop_ = true;
    if (sender_.joinable()) sender_.join();
    injected_ = sent_;
  }

  DummyNetdev* in_ = nullptr;
  DummyNetdev* out_ = nullptr;
  std::thread sender_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> sent_{0};
};

TEST_F(DatapathThreadsTest, ChangingThreadsLosesNothing) {
  StartTraffic();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(datapath_->SetPmdCores(CpuSet::Allowed()).ok());
    ASSERT_TRUE(datapath_->SetPmdCores(std::nullopt).ok());
  }
  StopTraffic();
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, sum.received);
  EXPECT_EQ(out_->sent_count(), sum.sent);
}

TEST_F(DatapathThreadsTest, ChangingOtherPortsLosesNothing) {
  ASSERT_TRUE(datapath_->SetPmdCores(CpuSet::Allowed()).ok());
  StartTraffic();
  for (int i = 0; i < 50; ++i) {
    AddPort("other", {{"n_rxq", "3"}});
    ASSERT_TRUE(datapath_->RemovePort(datapath_->FindPort("other")->number()).ok());
  }
  StopTraffic();
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, sum.received);
}

TEST_F(DatapathThreadsTest, RemovingTheEgressPortDropsWithAReason) {
  ASSERT_TRUE(datapath_->SetPmdCores(CpuSet::Allowed()).ok());
  StartTraffic();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(datapath_->RemovePort(2).ok());
    ASSERT_TRUE(datapath_->AddPort("out", "dummy", {}, 2).ok());
  }
  StopTraffic();
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent + sum.drops[DropReason::kNoPort], sum.received);
}

TEST_F(DatapathThreadsTest, FlowsComeAndGo) {
  StartTraffic();
  auto match = ParseMatch("in_port(1)", {});
  auto actions = ParseActions("2", {});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(datapath_->flows().Remove(*match).ok());
    ASSERT_TRUE(datapath_->flows().Insert(*match, *actions, FlowTable::MakeUfid(*match)).ok());
    ASSERT_TRUE(datapath_->flows().Modify(*match, *actions, false).ok());
  }
  StopTraffic();
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent + sum.drops[DropReason::kNoFlow], sum.received);
}

TEST_F(DatapathThreadsTest, SettingsAndReadersInBetween) {
  ASSERT_TRUE(datapath_->SetPmdCores(CpuSet::Allowed()).ok());
  StartTraffic();
  for (int i = 0; i < 50; ++i) {
    datapath_->SetTso(i % 2 == 0);
    datapath_->Tick();
    datapath_->Rebalance();
    datapath_->SetAssignment(i % 2 == 0 ? RxqAssignment::kGroup : RxqAssignment::kRoundRobin, true);
    ASSERT_TRUE(datapath_->SetPortOptions(1, {{"n_rxq", "2"}, {"rx-gro", i % 2 == 0 ? "true" : "false"}}).ok());
    EXPECT_TRUE(datapath_->GetConservation().Balanced());
    EXPECT_GE(datapath_->FindPort(1)->Stats().rx.frames, 0u);
  }
  StopTraffic();
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, sum.received);
}

}  // namespace
}  // namespace sluice
