// The system netdev on real veth pairs.
#include "netdev/system/system_netdev.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "lib/base/status.h"
#include "netdev/link_monitor.h"
#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::FarEnd;
using testing::IsTestFrame;
using testing::OutputOf;
using testing::Port;
using testing::Shell;
using testing::Tagged;
using testing::TcpFrame;
using testing::VethPair;
using testing::VnetForSuper;

class SystemNetdevTest : public ::testing::Test {
 protected:
  VethPair veth_{"p0", "far0"};
};

Offload SuperOffload(uint16_t csum_start) {
  return {.l4 = ChecksumState::kPartial,
          .segmentation = Segmentation::kTcp4,
          .segment_size = 1448,
          .csum_start = csum_start,
          .csum_offset = 16};
}

TEST_F(SystemNetdevTest, FramesOfOneMtuPassBothWaysInOrder) {
  Port port("p0");
  FarEnd far("far0");
  for (uint16_t i = 0; i < 300; ++i) far.Send(TcpFrame(1446, i));
  std::vector<Bytes> received = port.Receive(300);
  ASSERT_EQ(received.size(), 300u);
  for (uint16_t i = 0; i < 300; ++i) EXPECT_EQ(received[i], TcpFrame(1446, i));
  for (uint16_t i = 0; i < 300; ++i) {
    port.Send(port.PacketOf(received[i]));
    auto heard = far.Receive(IsTestFrame);
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->frame, TcpFrame(1446, i));
  }
}

TEST_F(SystemNetdevTest, SuperPacketsPassWholeBothWays) {
  Port port("p0");
  FarEnd far("far0");
  for (size_t payload : {3000u, 45u * 1448u, 65535u - testing::kFrameHeaders}) {
    Bytes frame = TcpFrame(payload);
    far.Send(frame, VnetForSuper(1448));
    std::vector<Bytes> received = port.Receive(1);
    ASSERT_EQ(received.size(), 1u) << payload;
    EXPECT_EQ(received[0], frame);

    DpPacketPtr packet = port.PacketOf(frame);
    packet->offload = SuperOffload(34);
    port.Send(std::move(packet));
    auto heard = far.Receive(IsTestFrame);
    ASSERT_TRUE(heard.has_value()) << payload;
    EXPECT_EQ(heard->frame, frame);
    EXPECT_EQ(heard->vnet.gso_type, VnetHeader::kGsoTcp4);
    EXPECT_EQ(heard->vnet.gso_size, 1448);
  }
  EXPECT_EQ(port.netdev->rxq(0).counters().super_packets, 3u);
  EXPECT_EQ(port.txq->counters().super_packets, 3u);
  EXPECT_EQ(port.txq->counters().frames, 3u + 45u + 46u);
}

// The kernel cuts what is longer than its own devices take (gso_max_size, 65,536 with the Ethernet header).
TEST_F(SystemNetdevTest, LongestSuperPacketLosesNothing) {
  Port port("p0");
  FarEnd far("far0");
  Bytes frame = TcpFrame(65535 - 40);
  DpPacketPtr packet = port.PacketOf(frame);
  packet->offload = SuperOffload(34);
  port.Send(std::move(packet));
  Bytes payload;
  while (payload.size() < 65535 - 40) {
    auto heard = far.Receive(IsTestFrame);
    ASSERT_TRUE(heard.has_value()) << payload.size();
    payload.insert(payload.end(), heard->frame.begin() + testing::kFrameHeaders, heard->frame.end());
  }
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), frame.begin() + testing::kFrameHeaders, frame.end()));
}

TEST_F(SystemNetdevTest, UdpSuperPacketsPassWhereTheCapsSaySo) {
  Port port("p0");
  if ((port.txq->caps().segmentations & SegmentationBit(Segmentation::kUdp4)) == 0) {
    GTEST_SKIP() << "Linux before 6.2 has no UDP super-packets on packet sockets";
  }
  FarEnd far("far0");
  Bytes frame = TcpFrame(8000);
  reinterpret_cast<Ipv4Header*>(frame.data() + 14)->protocol = kIpProtoUdp;
  reinterpret_cast<UdpHeader*>(frame.data() + 34)->length = Be16(8000 + 20);
  DpPacketPtr packet = port.PacketOf(frame);
  packet->offload = SuperOffload(34);
  packet->offload.segmentation = Segmentation::kUdp4;
  packet->offload.csum_offset = 6;
  port.Send(std::move(packet));
  auto heard = far.Receive(IsTestFrame);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->frame.size(), frame.size());
  EXPECT_EQ(heard->vnet.gso_type, VnetHeader::kGsoUdpL4);
}

TEST_F(SystemNetdevTest, TagsThatTheKernelTookOffAreBackInTheFrame) {
  Port port("p0");
  FarEnd far("far0");
  Bytes inner = TcpFrame(200);
  const Bytes kFrames[] = {Tagged(inner, 0x8100, 0x0123), Tagged(inner, 0x88a8, 0xe001),
                           Tagged(Tagged(inner, 0x8100, 7), 0x88a8, 9)};
  for (const Bytes& frame : kFrames) {
    far.Send(frame);
    std::vector<Bytes> received = port.Receive(1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0], frame);
  }
}

TEST_F(SystemNetdevTest, TaggedSuperPacketArrivesAsOneThatIsTagged) {
  Port port("p0");
  FarEnd far("far0");
  Bytes inner = TcpFrame(8000);
  DpPacketPtr packet = port.PacketOf(Tagged(inner, 0x8100, 0x0123));
  packet->offload = SuperOffload(38);
  port.Send(std::move(packet));
  auto heard = far.Receive(IsTestFrame);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->frame, inner);
  EXPECT_EQ(heard->tci, 0x0123);
  EXPECT_EQ(heard->vnet.gso_size, 1448);
}

TEST_F(SystemNetdevTest, KernelCutsTaggedSuperPacketsForADeviceThatCannot) {
  Port port("p0");
  FarEnd far("far0");
  Shell("ethtool -K p0 tso off gso off tx off >/dev/null");
  DpPacketPtr packet = port.PacketOf(Tagged(TcpFrame(8000), 0x8100, 0x0123));
  packet->offload = SuperOffload(38);
  port.Send(std::move(packet));
  Bytes payload;
  for (size_t left = 8000; left > 0; left -= std::min<size_t>(left, 1448)) {
    auto heard = far.Receive(IsTestFrame);
    ASSERT_TRUE(heard.has_value()) << left << " bytes missing";
    EXPECT_EQ(heard->tci, 0x0123);
    EXPECT_EQ(heard->vnet.gso_type, VnetHeader::kGsoNone);
    ASSERT_EQ(heard->frame.size(), testing::kFrameHeaders + std::min<size_t>(left, 1448));
    payload.insert(payload.end(), heard->frame.begin() + testing::kFrameHeaders, heard->frame.end());
  }
  Bytes frame = TcpFrame(8000);
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), frame.begin() + testing::kFrameHeaders, frame.end()));
}

TEST_F(SystemNetdevTest, FanOutKeepsAFlowInOneQueueAndInOrder) {
  Port port("p0", {{"n_rxq", "3"}});
  ASSERT_EQ(port.netdev->rxq_count(), 3u);
  FarEnd far("far0");
  constexpr uint16_t kFlows = 64;
  constexpr uint32_t kPackets = 20;
  for (uint32_t sequence = 0; sequence < kPackets; ++sequence) {
    for (uint16_t flow = 0; flow < kFlows; ++flow) far.Send(TcpFrame(100, flow, sequence));
  }
  std::map<uint16_t, std::vector<uint32_t>> sequences;
  std::map<uint16_t, std::set<size_t>> queues_of;
  std::set<size_t> used;
  for (size_t queue = 0; queue < 3; ++queue) {
    for (bool more = true; more;) {
      RxBurst burst;
      more = port.netdev->rxq(queue).Receive(burst, RxBurst::kCapacity);
      for (DpPacket* packet : burst) {
        if (!IsTestFrame(testing::BytesOf(*packet))) continue;
        const auto* tcp = HeaderAt<TcpHeader>(*packet, 34);
        sequences[tcp->source.Get()].push_back(tcp->sequence.Get());
        queues_of[tcp->source.Get()].insert(queue);
        used.insert(queue);
      }
    }
  }
  ASSERT_EQ(sequences.size(), kFlows);
  for (const auto& [flow, numbers] : sequences) {
    EXPECT_EQ(numbers.size(), kPackets) << flow;
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << flow;
    EXPECT_EQ(queues_of[flow].size(), 1u) << flow;
  }
  EXPECT_EQ(used.size(), 3u) << "64 flows should reach every queue";
}

TEST_F(SystemNetdevTest, DoesNotHearWhatItSends) {
  for (const char* queues : {"1", "2"}) {
    Port port("p0", {{"n_rxq", queues}});
    FarEnd far("far0");
    port.Send(port.PacketOf(TcpFrame(100)));
    ASSERT_TRUE(far.Receive(IsTestFrame).has_value());
    EXPECT_TRUE(port.Receive(1, 50).empty()) << queues;
  }
}

TEST_F(SystemNetdevTest, NumberOfQueuesChangesWhileTheDeviceIsBound) {
  Port port("p0");
  FarEnd far("far0");
  for (const char* count : {"2", "4", "1"}) {
    for (size_t i = 0; i < port.netdev->rxq_count(); ++i) port.netdev->rxq(i).Detach();
    ASSERT_TRUE(port.netdev->SetOptions({{"n_rxq", count}}).ok());
    EXPECT_EQ(port.netdev->rxq_count(), std::stoul(count));
    for (size_t i = 0; i < port.netdev->rxq_count(); ++i) port.netdev->rxq(i).Attach(port.pools);
    for (uint16_t flow = 0; flow < 20; ++flow) far.Send(TcpFrame(100, flow));
    EXPECT_EQ(port.Receive(20).size(), 20u) << count;
  }
}

TEST_F(SystemNetdevTest, CapsFollowTheMtuAndTheTsoSwitch) {
  Port port("p0");
  EXPECT_EQ(port.txq->caps().mtu, 1500u);
  EXPECT_TRUE(port.txq->caps().partial_checksum);
  EXPECT_NE(port.txq->caps().segmentations & SegmentationBit(Segmentation::kTcp6), 0);
  EXPECT_GE(port.txq->caps().max_super_length, 65549u);
  Shell("ip link set p0 mtu 9000");
  port.netdev->OnLinkChange();
  EXPECT_EQ(port.txq->caps().mtu, 9000u);
  port.netdev->SetTsoEnabled(false);
  EXPECT_EQ(port.txq->caps().segmentations, 0);
  EXPECT_EQ(port.txq->caps().max_super_length, 0u);
  EXPECT_EQ(port.txq->caps().mtu, 9000u);
  port.netdev->SetTsoEnabled(true);
  EXPECT_NE(port.txq->caps().segmentations, 0);
}

TEST_F(SystemNetdevTest, SwitchesTheDevicesGroOnWhileItCoalescesAndOffAgain) {
  const std::string ask = "ethtool -k p0 | grep '^generic-receive-offload'";
  const std::string off = OutputOf(ask);
  ASSERT_NE(off.find("off"), std::string::npos) << off;
  {
    Port port("p0");
    EXPECT_NE(OutputOf(ask).find(": on"), std::string::npos);
    EXPECT_EQ(port.netdev->status()["device_gro"], "true");
    port.netdev->SetTsoEnabled(false);
    EXPECT_EQ(OutputOf(ask), off) << "without TSO nothing may enter that is larger than the MTU";
    port.netdev->SetTsoEnabled(true);
    EXPECT_NE(OutputOf(ask).find(": on"), std::string::npos);
    ASSERT_TRUE(port.netdev->SetOptions({{"rx-gro", "false"}}).ok());
    EXPECT_EQ(OutputOf(ask), off);
    ASSERT_TRUE(port.netdev->SetOptions({{"rx-gro", "true"}}).ok());
  }
  EXPECT_EQ(OutputOf(ask), off);
}

TEST_F(SystemNetdevTest, LeavesAGroThatTheUserSwitchedOn) {
  Shell("ethtool -K p0 gro on");
  { Port port("p0", {{"rx-gro", "false"}}); }
  { Port port("p0"); }
  EXPECT_NE(OutputOf("ethtool -k p0 | grep '^generic-receive-offload'").find(": on"), std::string::npos);
}

TEST_F(SystemNetdevTest, StateAndStatusTellTheDevicesFacts) {
  Shell("ip link set p0 address 02:00:00:00:aa:01");
  Port port("p0");
  NetdevState state = port.netdev->state();
  EXPECT_TRUE(state.present && state.admin_up && state.carrier);
  EXPECT_EQ(state.mac, (std::array<uint8_t, 6>{2, 0, 0, 0, 0xaa, 1}));
  auto status = port.netdev->status();
  EXPECT_EQ(status["driver_name"], "veth");
  EXPECT_TRUE(status["kernel_hook"] == "tcx" || status["kernel_hook"] == "clsact") << status["kernel_hook"];
  EXPECT_EQ(status["rx_socket_buffer"], "67108864") << "the kernel doubles what is asked for";
  EXPECT_EQ(status["rx_kernel_drops"], "0");
  Shell("ip link set far0 down");
  port.netdev->OnLinkChange();
  EXPECT_FALSE(port.netdev->state().carrier);
  EXPECT_TRUE(port.netdev->state().admin_up);
}

TEST_F(SystemNetdevTest, PacketsThatFindTheSocketFullAreCounted) {
  Port port("p0", {{"rx-socket-buffer", "65536"}});
  FarEnd far("far0");
  for (uint16_t i = 0; i < 500; ++i) far.Send(TcpFrame(1400, i));
  size_t received = port.Receive(500, 200).size();
  EXPECT_LT(received, 500u);
  EXPECT_EQ(std::stoul(port.netdev->status()["rx_kernel_drops"]) + received, 500u);
}

TEST_F(SystemNetdevTest, FrameBeyondTheMtuIsDroppedAloneAndCounted) {
  Port port("p0");
  FarEnd far("far0");
  port.Send(port.PacketOf(TcpFrame(4000)));
  port.Send(port.PacketOf(TcpFrame(100)));
  EXPECT_EQ(port.txq->counters().drops[DropReason::kTxOverMtu], 1u);
  EXPECT_TRUE(far.Receive(IsTestFrame).has_value());
}

TEST(SystemNetdevOpenTest, ErrorsNameTheDevice) {
  auto missing = OpenSystemNetdev("nonesuch", {});
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_NE(Message(missing.status()).find("nonesuch"), std::string::npos);
}

// A device that goes and comes back -----------------------------------------------------------------------------------

class DeviceLifeTest : public ::testing::TestWithParam<const char*> {
 protected:
  DeviceLifeTest() : port_("p0", {{"n_rxq", GetParam()}}) {
    watch_ = monitor_->WatchName("p0", [this] { port_.netdev->OnLinkChange(); });
    wait_fd_ = port_.netdev->rxq(0).wait_fd();
  }

  void HandleLinkEvents() {
    pollfd readable{.fd = monitor_->fd(), .events = POLLIN};
    ASSERT_EQ(poll(&readable, 1, 1000), 1) << "no link event";
    monitor_->HandleEvents();
  }
  // Nothing is there to be read, and waiting for it does wait.
  void ExpectQuiet() {
    EXPECT_TRUE(port_.Receive(1, 50).empty());
    for (size_t i = 0; i < port_.netdev->rxq_count(); ++i) {
      RxBurst burst;
      while (port_.netdev->rxq(i).Receive(burst, 32)) burst.FreeAll();
      burst.FreeAll();
      EXPECT_FALSE(port_.netdev->rxq(i).Receive(burst, 32));
      pollfd readable{.fd = port_.netdev->rxq(i).wait_fd(), .events = POLLIN};
      EXPECT_EQ(poll(&readable, 1, 20), 0) << "would spin";
    }
  }
  void ExpectTraffic() {
    FarEnd far("far0");
    for (uint16_t flow = 0; flow < 10; ++flow) far.Send(TcpFrame(100, flow));
    EXPECT_EQ(port_.Receive(10).size(), 10u);
    port_.Send(port_.PacketOf(TcpFrame(500)));
    EXPECT_TRUE(far.Receive(IsTestFrame).has_value());
    Shell("ip addr replace 10.99.0.1/24 dev p0");
    EXPECT_FALSE(testing::HostAnswersArp(far)) << "the kernel hook is not attached";
    EXPECT_EQ(port_.netdev->rxq(0).wait_fd(), wait_fd_);
    EXPECT_TRUE(port_.netdev->state().present);
    EXPECT_EQ(port_.netdev->state().error, "");
  }
  void ExpectSendCountsPortDown() {
    uint64_t before = port_.txq->counters().drops[DropReason::kTxPortDown];
    port_.Send(port_.PacketOf(TcpFrame(100)));
    EXPECT_EQ(port_.txq->counters().drops[DropReason::kTxPortDown], before + 1);
  }

  VethPair veth_{"p0", "far0"};
  std::unique_ptr<LinkMonitor> monitor_ = *LinkMonitor::Open();
  Port port_;
  LinkMonitor::Watch watch_;
  int wait_fd_;
};

TEST_P(DeviceLifeTest, DeletionSilencesAndRecreationRecovers) {
  ExpectTraffic();
  for (int round = 0; round < 3; ++round) {
    veth_.Delete();
    ExpectSendCountsPortDown();  // also before anybody was told
    HandleLinkEvents();
    EXPECT_FALSE(port_.netdev->state().present);
    EXPECT_NE(port_.netdev->state().error.find("p0"), std::string::npos);
    ExpectSendCountsPortDown();
    ExpectQuiet();
    veth_.Create();
    HandleLinkEvents();
    ExpectTraffic();
  }
}

TEST_P(DeviceLifeTest, DownAndUpAgainNeedsNothing) {
  Shell("ip link set p0 down");
  HandleLinkEvents();
  EXPECT_TRUE(port_.netdev->state().present);
  EXPECT_FALSE(port_.netdev->state().admin_up);
  ExpectSendCountsPortDown();
  ExpectQuiet();
  Shell("ip link set p0 up");
  HandleLinkEvents();
  ExpectTraffic();
}

TEST_P(DeviceLifeTest, RenamedDeviceIsNotThePortsAnyMore) {
  Shell("ip link set p0 name other");
  HandleLinkEvents();
  EXPECT_FALSE(port_.netdev->state().present);
  ExpectSendCountsPortDown();
  FarEnd far("far0");
  far.Send(TcpFrame(100));
  ExpectQuiet();
  Shell("ip link set other name p0");
  HandleLinkEvents();
  ExpectTraffic();
}

TEST_P(DeviceLifeTest, DeviceThatMovesToAnotherNamespaceComesBack) {
  testing::SleepingChild elsewhere([] { EXPECT_EQ(unshare(CLONE_NEWNET), 0); });
  std::string pid = std::to_string(elsewhere.pid());
  Shell("ip link set p0 netns " + pid);
  HandleLinkEvents();
  EXPECT_FALSE(port_.netdev->state().present);
  ExpectSendCountsPortDown();
  ExpectQuiet();
  Shell("nsenter -t " + pid + " -n ip link set p0 netns " + std::to_string(getpid()));
  Shell("ip link set p0 up");
  HandleLinkEvents();
  ExpectTraffic();
}

INSTANTIATE_TEST_SUITE_P(Queues, DeviceLifeTest, ::testing::Values("1", "2"));

}  // namespace
}  // namespace sluice
