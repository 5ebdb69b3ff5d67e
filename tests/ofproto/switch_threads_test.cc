// Everything at once: misses in several threads, addresses that move, configurations that change, revalidation. Meant
// for ThreadSanitizer as much as for its own checks.

#include <atomic>
#include <random>

#include "lib/base/cpu_set.h"
#include "lib/base/rcu.h"
#include "ofproto/switch_impl.h"
#include "ofproto/xlate/xlate.h"
#include "tests/ofproto/switch_fixture.h"

namespace sluice {
namespace {

using testing::BridgeOf;
using testing::DummyPort;
using testing::EthernetFrame;
using testing::PatchPort;

constexpr int kHosts = 40;

MacAddress Host(int number) { return {0x02, 0, 0, 0, 1, static_cast<uint8_t>(number)}; }

class SwitchThreadsTest : public testing::SwitchFixture {
 protected:
  void SetUp() override {
    config_.max_revalidator = std::chrono::milliseconds(100);
    Reconfigure(0);
    ASSERT_TRUE(datapaths_.SetPmdCores(CpuSet::Allowed()).ok());
  }
  void TearDown() override { StopTraffic(); }

  // Ports a and b stay, c comes and goes, and so does a second bridge with d.
  void Reconfigure(int step) {
    std::vector<PortConfigRow> ports{DummyPort("a", {{"n_rxq", "2"}}), DummyPort("b", {{"n_rxq", "2"}})};
    if (step % 2 == 1) ports.push_back(DummyPort("c"));
    config_.bridges = {BridgeOf("br0", ports)};
    if (step % 3 == 1) {
      config_.bridges[0].ports.push_back(PatchPort("to1", "to0"));
      config_.bridges.push_back(BridgeOf("br1", {DummyPort("d"), PatchPort("to0", "to1")}));
    }
    config_.bridges[0].ports[0].tag = static_cast<uint16_t>(step % 5 == 4 ? 7 : 0);
    switch_->Configure(config_);
  }

  // Hosts that talk to each other, from behind a or b, and now and then move to the other.
  void StartTraffic() {
    for (int seed : {1, 2}) {
      senders_.emplace_back([this, seed] {
        std::mt19937 random(static_cast<uint32_t>(seed));
        while (!stop_) {
          for (int i = 0; i < 10; ++i) {
            int from = static_cast<int>(random() % kHosts);
            int to = static_cast<int>(random() % kHosts);
            bool moved = random() % 16 == 0;
            DummyNetdev& port = (from % 2 == 0) != moved ? *a_ : *b_;
            port.Inject(EthernetFrame(Host(from), Host(to)), random());
          }
          std::this_thread::sleep_for(std::chrono::microseconds(300));
        }
      });
    }
  }
  void StopTraffic() {
    stop_ = true;
    for (std::thread& sender : senders_) sender.join();
    senders_.clear();
  }

  // Every installed flow is what translation says now.
  void ExpectFlowsAreRight() {
    const Topology& topology = switch_->impl_for_tests().topology();
    size_t count = 0;
    datapath().flows().ForEach([&](DpFlow& flow) {
      ++count;
      XlateOut out =
          Translate({.topology = topology, .key = flow.key(), .learn = false, .now = MacTable::Clock::now()});
      EXPECT_EQ(FormatActions(flow.actions(), {}), FormatActions(out.actions, {})) << FormatMatch(flow.match(), {});
    });
    EXPECT_GT(count, 0u);
  }

  DummyNetdev* a_ = nullptr;
  DummyNetdev* b_ = nullptr;
  std::vector<std::thread> senders_;
  std::atomic<bool> stop_{false};
};

TEST_F(SwitchThreadsTest, FlowsAreRightASecondAfterTheLastChange) {
  a_ = &Dummy("a");
  b_ = &Dummy("b");
  StartTraffic();
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 20; ++step) {
      Reconfigure(step);
      if (step % 4 == 0) Command("fdb/flush");
      switch_->Tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    Command("dpif/dump-flows", {"br0"});
    Command("upcall/show");
  }
  StopTraffic();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ExpectFlowsAreRight();
  EXPECT_TRUE(datapath().GetConservation().Balanced());
}

TEST_F(SwitchThreadsTest, NothingIsLostOfWhatFlowsDidBesides) {
  a_ = &Dummy("a");
  b_ = &Dummy("b");
  Reconfigure(1);
  config_.bridges[0].mirrors = {{.name = "m", .select_all = true, .output_port = "c"}};
  config_.max_idle = std::chrono::milliseconds(500);
  switch_->Configure(config_);
  StartTraffic();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  StopTraffic();
  // Flows have gone by then, and all that they did has been counted.
  EXPECT_TRUE(WaitFor([&] { return FlowCount() == 0; }));
  RcuBarrier();
  auto mirrored = switch_->mirror_statistics("br0", "m");
  auto sent = switch_->interface_statistics("c").values;
  EXPECT_GT(sent["tx_packets"], 0);
  EXPECT_EQ(mirrored["tx_packets"], sent["tx_packets"]);
}

}  // namespace
}  // namespace sluice
