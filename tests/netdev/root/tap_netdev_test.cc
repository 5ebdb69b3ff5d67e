// The tap and internal netdevs on the kernel's own taps.
#include "netdev/tap/tap_netdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>

#include "lib/base/status.h"
#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::FarEnd;
using ::testing::HasSubstr;
using testing::IsTestFrame;
using testing::OutputOf;
using testing::Port;
using testing::Shell;
using testing::SleepingChild;
using testing::TcpFrame;
using testing::VnetForSuper;

bool Exists(const char* name) { return if_nametoindex(name) != 0; }

bool IsReadable(int fd) {
  pollfd wait = {.fd = fd, .events = POLLIN};
  return poll(&wait, 1, 0) == 1;
}

// The host's own traffic (IPv6 looking around) is of no interest.
void Quiet(const std::string& name) { Shell("sysctl -qw net.ipv6.conf." + name + ".disable_ipv6=1"); }

std::unique_ptr<Port> OpenTap(const std::string& name, const NetdevOptions& options = {}) {
  auto port = std::make_unique<Port>(name, options, "tap");
  Quiet(name);
  return port;
}

std::string OpenError(const std::string& name, const NetdevOptions& options = {}) {
  return Message(OpenNetdev(name, "tap", options).status());
}

DpPacketPtr SuperPacket(Port& port, size_t payload) {
  DpPacketPtr packet = port.PacketOf(TcpFrame(payload));
  DropReason reason{};
  EXPECT_TRUE(DecodeVnetHeader(VnetForSuper(1448), *packet, reason)) << DropReasonName(reason);
  return packet;
}

TEST(TapNetdevTest, FramesAndSuperPacketsPassBothWaysInOrder) {
  auto port = OpenTap("tp0");
  FarEnd far("tp0");
  for (uint16_t i = 0; i < 200; ++i) far.Send(TcpFrame(1446, i));
  std::vector<Bytes> received = port->Receive(200);
  ASSERT_EQ(received.size(), 200u);
  for (uint16_t i = 0; i < 200; ++i) EXPECT_EQ(received[i], TcpFrame(1446, i));

  uint64_t before = port->netdev->rxq(0).counters().frames;
  far.Send(TcpFrame(45 * 1448), VnetForSuper(1448));
  received = port->Receive(1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].size(), TcpFrame(45 * 1448).size());
  EXPECT_EQ(port->netdev->rxq(0).counters().super_packets, 1u);
  EXPECT_EQ(port->netdev->rxq(0).counters().frames - before, 45u);

  port->Send(SuperPacket(*port, 45 * 1448));
  auto heard = far.Receive(IsTestFrame);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->frame, TcpFrame(45 * 1448));
  EXPECT_EQ(heard->vnet.gso_type, VnetHeader::kGsoTcp4);
  EXPECT_EQ(heard->vnet.gso_size, 1448);
  EXPECT_EQ(port->txq->counters().frames, 45u);
}

TEST(TapNetdevTest, WithTsoOffThePeerSegmentsAndNoneIsOffered) {
  auto port = OpenTap("tp0");
  FarEnd far("tp0");
  EXPECT_NE(port->txq->caps().segmentations, 0);
  port->netdev->SetTsoEnabled(false);
  EXPECT_EQ(port->txq->caps().segmentations, 0);
  far.Send(TcpFrame(3 * 1448), VnetForSuper(1448));
  EXPECT_EQ(port->Receive(3).size(), 3u);
  EXPECT_EQ(port->netdev->rxq(0).counters().super_packets, 0u);
  EXPECT_EQ(port->netdev->status()["rx_tcp_seg_offload"], "false");

  port->netdev->SetTsoEnabled(true);
  far.Send(TcpFrame(3 * 1448), VnetForSuper(1448));
  EXPECT_EQ(port->Receive(1).size(), 1u);
  EXPECT_EQ(port->netdev->rxq(0).counters().super_packets, 1u);
}

TEST(TapNetdevTest, TapComesUpAndInternalIsLeftToItsUser) {
  auto tap = OpenTap("tp0");
  EXPECT_TRUE(tap->netdev->state().present);
  EXPECT_TRUE(tap->netdev->state().admin_up);
  EXPECT_EQ(tap->netdev->state().ifindex, if_nametoindex("tp0"));
  EXPECT_EQ(tap->netdev->status()["driver_name"], "tun");

  Port internal("br9", {}, "internal");
  EXPECT_EQ(internal.netdev->type(), "internal");
  EXPECT_FALSE(internal.netdev->state().admin_up);
  EXPECT_TRUE(internal.netdev->rx_gro());
  Shell("ip link set br9 mtu 8000 up");
  internal.netdev->OnLinkChange();
  EXPECT_TRUE(internal.netdev->state().admin_up);
  EXPECT_EQ(internal.netdev->state().mtu, 8000u);
  EXPECT_EQ(internal.txq->caps().mtu, 8000u);
}

TEST(TapNetdevTest, SendingIntoADeviceThatIsDownIsCounted) {
  auto port = OpenTap("tp0");
  Shell("ip link set tp0 down");
  port->Send(SuperPacket(*port, 3 * 1448));
  EXPECT_EQ(port->txq->counters().drops[DropReason::kTxPortDown], 3u);
}

TEST(TapNetdevTest, ADeletedDeviceSleepsAndIsMadeAnewWhenItsNameIsFree) {
  auto port = OpenTap("tp0", {{"n_rxq", "2"}});
  Shell("ip link del tp0");
  EXPECT_TRUE(port->Receive(1, 50).empty());
  EXPECT_FALSE(IsReadable(port->netdev->rxq(0).wait_fd()));
  EXPECT_FALSE(IsReadable(port->netdev->rxq(1).wait_fd()));
  EXPECT_FALSE(port->netdev->state().present);
  EXPECT_THAT(port->netdev->state().error, HasSubstr("deleted"));
  port->Send(port->PacketOf(TcpFrame(100)));
  EXPECT_EQ(port->txq->counters().drops[DropReason::kTxPortDown], 1u);

  Shell("ip link add tp0 type veth peer name tp0x");
  port->netdev->OnLinkChange();
  EXPECT_FALSE(port->netdev->state().present);
  EXPECT_THAT(port->netdev->state().error, HasSubstr("tap tp0: a device of this name exists"));

  Shell("ip link del tp0");
  port->netdev->OnLinkChange();
  Quiet("tp0");
  EXPECT_TRUE(port->netdev->state().present);
  EXPECT_EQ(port->netdev->state().error, "");
  EXPECT_EQ(port->netdev->state().link_resets, 1u);
  FarEnd far("tp0");
  far.Send(TcpFrame(500));
  EXPECT_EQ(port->Receive(1).size(), 1u);
  port->Send(port->PacketOf(TcpFrame(600)));
  EXPECT_TRUE(far.Receive(IsTestFrame).has_value());
}

TEST(TapNetdevTest, WhatItMadeGoesWithThePortAndAPersistentTapStays) {
  { auto port = OpenTap("tp0"); }
  EXPECT_FALSE(Exists("tp0"));

  Shell("ip tuntap add dev pt0 mode tap");
  EXPECT_THAT(OpenError("pt0", {{"n_rxq", "2"}}), HasSubstr("not a multi-queue tap"));
  {
    auto port = OpenTap("pt0");
    EXPECT_EQ(port->netdev->status()["persistent"], "true");
    EXPECT_THAT(Message(port->netdev->SetOptions({{"n_rxq", "2"}})), HasSubstr("made for one queue"));
    FarEnd far("pt0");
    far.Send(TcpFrame(500));
    EXPECT_EQ(port->Receive(1).size(), 1u);
  }
  EXPECT_TRUE(Exists("pt0"));
  Shell("ip link del pt0");

  Shell("ip tuntap add dev pt1 mode tap multi_queue");
  { auto port = OpenTap("pt1", {{"n_rxq", "2"}}); }
  { auto port = OpenTap("pt1"); }
  EXPECT_TRUE(Exists("pt1"));
  Shell("ip link del pt1");
}

TEST(TapNetdevTest, SaysWhyANameCannotBeUsed) {
  Shell("ip link add vx0 type veth peer name vx1");
  EXPECT_THAT(OpenError("vx0"), HasSubstr("tap vx0: a device of this name exists"));
  Shell("ip link del vx0");
  auto port = OpenTap("tp0");
  EXPECT_THAT(OpenError("tp0"), HasSubstr("tap tp0: the device is in use by another program"));
  EXPECT_THAT(OpenError("tp1", {{"speed", "1"}}),
              HasSubstr("port tp1: unknown option \"speed\": known are n_rxq, rx-gro"));
  EXPECT_FALSE(Exists("tp1"));
}

TEST(TapNetdevTest, FollowsADeviceIntoAnotherNamespaceAndSurvivesItsEnd) {
  Port port("in0", {}, "internal");
  auto child = std::make_unique<SleepingChild>([] { ASSERT_EQ(unshare(CLONE_NEWNET), 0); });
  std::string pid = std::to_string(child->pid());
  Shell("ip link set in0 netns " + pid);
  port.netdev->OnLinkChange();
  EXPECT_TRUE(port.netdev->state().present);
  EXPECT_FALSE(port.netdev->state().admin_up);
  EXPECT_EQ(port.netdev->status()["other_netns"], "true");
  EXPECT_TRUE(port.netdev->needs_link_polling());

  std::string there = "nsenter -t " + pid + " -n ";
  Shell(there + "sysctl -qw net.ipv6.conf.in0.disable_ipv6=1");
  Shell(there + "ip link set in0 mtu 9000 up");
  port.netdev->OnLinkChange();
  EXPECT_TRUE(port.netdev->state().admin_up);
  EXPECT_EQ(port.txq->caps().mtu, 9000u);
  port.Send(port.PacketOf(TcpFrame(8000)));
  EXPECT_EQ(port.txq->counters().packets, 1u);
  EXPECT_THAT(OutputOf(there + "ip -s link show in0"), HasSubstr(std::to_string(TcpFrame(8000).size())));
  EXPECT_THAT(Message(port.netdev->SetOptions({{"n_rxq", "2"}})), HasSubstr("in another network namespace"));

  child.reset();
  // The kernel deletes a namespace's devices a little later.
  for (int i = 0; i < 100 && port.netdev->state().present; ++i) port.Receive(1, 50);
  EXPECT_FALSE(port.netdev->state().present);
  EXPECT_FALSE(IsReadable(port.netdev->rxq(0).wait_fd()));
  port.netdev->OnLinkChange();
  EXPECT_TRUE(port.netdev->state().present);
  EXPECT_FALSE(port.netdev->needs_link_polling());
  EXPECT_TRUE(Exists("in0"));
}

TEST(TapNetdevTest, QueuesComeAndGoUnderTransmitQueuesThatStay) {
  auto port = OpenTap("tp0");
  FarEnd far("tp0");
  std::vector<std::unique_ptr<NetdevTxq>> txqs;
  ASSERT_TRUE(port->netdev->SetOptions({{"n_rxq", "4"}}).ok());
  ASSERT_EQ(port->netdev->rxq_count(), 4u);
  for (int i = 0; i < 5; ++i) txqs.push_back(port->netdev->OpenTxq().value());
  for (size_t i = 0; i < 4; ++i) port->netdev->rxq(i).Attach(port->pools);
  for (uint16_t i = 0; i < 50; ++i) far.Send(TcpFrame(100, i));
  EXPECT_EQ(port->Receive(50).size(), 50u);

  ASSERT_TRUE(port->netdev->SetOptions({{"n_rxq", "1"}}).ok());
  for (auto& txq : txqs) {
    PacketBatch batch;
    batch.Add(port->PacketOf(TcpFrame(100)));
    txq->Send(batch);
    EXPECT_EQ(txq->counters().packets, 1u);
    EXPECT_TRUE(far.Receive(IsTestFrame).has_value());
  }
  for (uint16_t i = 0; i < 50; ++i) far.Send(TcpFrame(100, i));
  EXPECT_EQ(port->Receive(50).size(), 50u);
}

}  // namespace
}  // namespace sluice
