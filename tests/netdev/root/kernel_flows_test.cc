// Flows that the kernel forwards between two system netdevs, on real veth pairs.
#include "netdev/kernel_flows/kernel_flows.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <cstring>

#include "netdev/kernel_hook.h"
#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::FarEnd;
using testing::IsTestFrame;
using testing::Port;
using testing::Shell;
using testing::Tagged;
using testing::TcpFrame;
using testing::VethPair;
using testing::VnetForSuper;

Ipv4Header& IpOf(Bytes& frame) { return *reinterpret_cast<Ipv4Header*>(frame.data() + 14); }

// The key of what TcpFrame() makes.
sluice_flow_key KeyOf(const KernelPort& ingress, uint16_t flow = 0) {
  Bytes frame = TcpFrame(0, flow);
  sluice_flow_key key{};
  key.port = static_cast<uint16_t>(ingress.index());
  key.ttl = 64;
  std::memcpy(key.eth_dst, frame.data(), 6);
  std::memcpy(key.eth_src, frame.data() + 6, 6);
  std::memcpy(&key.eth_type, frame.data() + 12, 2);
  key.ip_proto = kIpProtoTcp;
  std::memcpy(&key.tp_src, frame.data() + 34, 2);
  std::memcpy(&key.tp_dst, frame.data() + 36, 2);
  std::memcpy(&key.ip_src, frame.data() + 26, 4);
  std::memcpy(&key.ip_dst, frame.data() + 30, 4);
  return key;
}

class KernelFlowsTest : public ::testing::Test {
 protected:
  KernelFlowsTest() {
    auto flows = KernelFlows::Create();
    EXPECT_TRUE(flows.ok()) << flows.status();
    flows_ = *std::move(flows);
    MakePorts();
    far_in_.emplace("far0");
    far_out_.emplace("far1");
  }

  void MakePorts(const NetdevOptions& options = {}) {
    in_ = std::make_unique<Port>("p0", options);
    out_ = std::make_unique<Port>("p1");
    for (Port* port : {in_.get(), out_.get()}) {
      absl::Status joined = port->netdev->JoinKernelFlows(flows_.get());
      ASSERT_TRUE(joined.ok()) << joined;
      EXPECT_FALSE(port->netdev->kernel_port()->is_open());
      port->netdev->SetKernelForwarding(true);
      EXPECT_TRUE(port->netdev->kernel_port()->is_open());
    }
  }
  const KernelPort& in() const { return *in_->netdev->kernel_port(); }
  const KernelPort& out() const { return *out_->netdev->kernel_port(); }

  uint32_t AddFlow(uint16_t flow = 0) {
    auto slot = flows_->Insert(KeyOf(in(), flow), in().index(), out().index());
    EXPECT_TRUE(slot.ok()) << slot.status();
    flows_->Open(*slot);
    return *slot;
  }
  bool Forwarded(const Bytes& frame, const VnetHeader& vnet = {}) {
    far_in_->Send(frame, vnet);
    auto heard = far_out_->Receive(IsTestFrame, 300);
    bool in_user_space = !in_->Receive(1, heard ? 50 : 1000).empty();
    EXPECT_NE(heard.has_value(), in_user_space) << "a frame goes one way, and one only";
    if (!heard) return false;
    EXPECT_EQ(heard->frame, frame);
    EXPECT_EQ(heard->vnet.gso_size, vnet.gso_size);
    return true;
  }

  std::unique_ptr<KernelFlows> flows_;
  VethPair veth_in_{"p0", "far0"};
  VethPair veth_out_{"p1", "far1"};
  std::unique_ptr<Port> in_;
  std::unique_ptr<Port> out_;
  std::optional<FarEnd> far_in_;
  std::optional<FarEnd> far_out_;
};

TEST_F(KernelFlowsTest, KnownFlowsPassUnseenAndOthersDoNot) {
  EXPECT_FALSE(Forwarded(TcpFrame(100)));
  uint32_t slot = AddFlow();
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
  EXPECT_TRUE(Forwarded(TcpFrame(1446)));
  EXPECT_FALSE(Forwarded(TcpFrame(100, /*flow=*/1)));
  Bytes wrong_checksum = TcpFrame(1000);
  wrong_checksum[34 + 16] ^= 0xff;
  EXPECT_TRUE(Forwarded(wrong_checksum));

  KernelFlows::FlowCounters counters = flows_->Read(slot);
  EXPECT_EQ(counters.packets, 3u);
  EXPECT_EQ(counters.frames, 3u);
  EXPECT_EQ(counters.bytes, 154u + 1500u + 1054u);
  EXPECT_EQ(counters.tcp_flags, kTcpAck);
  EXPECT_GT(counters.last_used_ms, 0u);
  flows_->Close(slot);
  EXPECT_FALSE(Forwarded(TcpFrame(100)));
  flows_->Open(slot);
  EXPECT_FALSE(Forwarded(TcpFrame(100))) << "what was closed stays closed";
}

TEST_F(KernelFlowsTest, SuperPacketsPassWholeAndCountTheirSegments) {
  AddFlow();
  EXPECT_TRUE(Forwarded(TcpFrame(3000), VnetForSuper(1448)));
  EXPECT_TRUE(Forwarded(TcpFrame(45 * 1448), VnetForSuper(1448)));
  EXPECT_TRUE(Forwarded(TcpFrame(1)));
  for (const sluice_lane& lane : {in().counters().rx, out().counters().tx, flows_->Totals()}) {
    EXPECT_EQ(lane.packets, 3u);
    EXPECT_EQ(lane.super_packets, 2u);
    EXPECT_EQ(lane.frames, 49u);
    EXPECT_EQ(lane.bytes, 3001u + 45u * 1448u + 49u * 54u);
    EXPECT_EQ(lane.histogram[1], 1u);
    EXPECT_EQ(lane.histogram[3], 1u);
    EXPECT_EQ(lane.histogram[45], 1u);
  }
  EXPECT_EQ(in().counters().tx.packets, 0u);
  EXPECT_EQ(out().counters().rx.packets, 0u);
}

TEST_F(KernelFlowsTest, UnusualPacketsOfAKnownFlowGoToUserSpace) {
  AddFlow();
  Bytes fragment = TcpFrame(100);
  IpOf(fragment).fragment = Be16(0x2000);
  EXPECT_FALSE(Forwarded(fragment));
  Bytes later = TcpFrame(100);
  IpOf(later).fragment = Be16(1);
  EXPECT_FALSE(Forwarded(later));
  Bytes with_options = TcpFrame(100);
  IpOf(with_options).version_ihl = 0x46;
  with_options.insert(with_options.begin() + 34, {1, 1, 1, 0});
  IpOf(with_options).total_length = Be16(static_cast<uint16_t>(with_options.size() - 14));
  EXPECT_FALSE(Forwarded(with_options));
  Bytes too_short = TcpFrame(100);
  IpOf(too_short).total_length = Be16(static_cast<uint16_t>(too_short.size()));
  EXPECT_FALSE(Forwarded(too_short));
  EXPECT_FALSE(Forwarded(Tagged(TcpFrame(100), 0x8100, 7)));
  Bytes other_ttl = TcpFrame(100);
  IpOf(other_ttl).ttl = 63;
  EXPECT_FALSE(Forwarded(other_ttl));
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
}

TEST_F(KernelFlowsTest, WhatTheEgressCannotSendGoesToUserSpace) {
  AddFlow();
  Shell("ip link set p1 mtu 1400");
  out_->netdev->OnLinkChange();
  EXPECT_FALSE(Forwarded(TcpFrame(1361)));
  EXPECT_TRUE(Forwarded(TcpFrame(1360)));
  EXPECT_FALSE(Forwarded(TcpFrame(3000), VnetForSuper(1361)));
  EXPECT_TRUE(Forwarded(TcpFrame(3000), VnetForSuper(1360)));
}

// The kernel looks at the device itself: nothing over MTU leaves before the change was heard of.
TEST_F(KernelFlowsTest, NothingOverMtuLeavesBeforeTheChangeIsHeardOf) {
  AddFlow();
  Shell("ip link set p1 mtu 1400");
  far_in_->Send(TcpFrame(1361));
  far_in_->Send(TcpFrame(3000), VnetForSuper(1361));
  EXPECT_FALSE(far_out_->Receive(IsTestFrame, 300).has_value());
  EXPECT_EQ(out().counters().tx.over_mtu, 1u + 3u);
  veth_out_.Delete();
  far_in_->Send(TcpFrame(100));
  EXPECT_TRUE(in_->Receive(1, 300).empty());
  EXPECT_EQ(out().counters().tx.no_device, 1u);
}

TEST_F(KernelFlowsTest, GatesFollowTsoTheDeviceAndTheSwitch) {
  AddFlow();
  for (Port* port : {in_.get(), out_.get()}) {
    port->netdev->SetTsoEnabled(false);
    EXPECT_FALSE(Forwarded(TcpFrame(100)));
    port->netdev->SetTsoEnabled(true);
    EXPECT_TRUE(Forwarded(TcpFrame(100)));
    port->netdev->SetKernelForwarding(false);
    EXPECT_FALSE(Forwarded(TcpFrame(100)));
    port->netdev->SetKernelForwarding(true);
    EXPECT_TRUE(Forwarded(TcpFrame(100)));
  }
  Shell("ip link set p1 down");
  out_->netdev->OnLinkChange();
  EXPECT_FALSE(out().is_open());
  Shell("ip link set p1 up");
  out_->netdev->OnLinkChange();
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
}

TEST_F(KernelFlowsTest, ADeviceThatComesBackIsForwardedToAgain) {
  AddFlow();
  veth_out_.Delete();
  out_->netdev->OnLinkChange();
  EXPECT_FALSE(out().is_open());
  veth_out_.Create();
  out_->netdev->OnLinkChange();
  far_out_.emplace("far1");
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
  veth_in_.Delete();
  in_->netdev->OnLinkChange();
  veth_in_.Create();
  in_->netdev->OnLinkChange();
  far_in_.emplace("far0");
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
}

// A packet that user space still has is not overtaken.
TEST_F(KernelFlowsTest, AWaitingFlowOpensWhenUserSpaceHasDoneItsPackets) {
  uint32_t slot = *flows_->Insert(KeyOf(in()), in().index(), out().index());
  EXPECT_TRUE(flows_->IsWaiting(slot));
  EXPECT_FALSE(Forwarded(TcpFrame(1)));
  EXPECT_EQ(flows_->Passed(slot), 1u);
  flows_->SetDone(slot, 0);
  EXPECT_FALSE(Forwarded(TcpFrame(2)));
  EXPECT_EQ(flows_->Passed(slot), 2u);
  flows_->SetDone(slot, 2);
  EXPECT_TRUE(flows_->IsDone(slot));
  EXPECT_TRUE(Forwarded(TcpFrame(3)));
  EXPECT_TRUE(Forwarded(TcpFrame(4)));
  EXPECT_EQ(flows_->Passed(slot), 2u);
  EXPECT_FALSE(flows_->IsWaiting(slot));
}

TEST_F(KernelFlowsTest, SeveralReceiveQueuesShareTheFilter) {
  in_.reset();
  out_.reset();
  MakePorts({{"n_rxq", "2"}});
  for (uint16_t flow = 0; flow < 8; ++flow) AddFlow(flow);
  for (uint16_t flow = 0; flow < 8; ++flow) EXPECT_TRUE(Forwarded(TcpFrame(100, flow))) << flow;
  for (uint16_t flow = 8; flow < 16; ++flow) EXPECT_FALSE(Forwarded(TcpFrame(100, flow))) << flow;
  ASSERT_TRUE(in_->netdev->SetOptions({{"n_rxq", "1"}}).ok());
  in_->netdev->rxq(0).Attach(in_->pools);
  for (uint16_t flow = 0; flow < 8; ++flow) EXPECT_TRUE(Forwarded(TcpFrame(100, flow))) << flow;
}

TEST_F(KernelFlowsTest, CountsOutliveFlowsAndPorts) {
  uint32_t slot = AddFlow();
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
  flows_->Close(slot);
  flows_->EraseKey(KeyOf(in()));
  WaitForBpfPrograms();
  flows_->FreeSlot(slot);
  EXPECT_EQ(out().counters().tx.packets, 1u);

  in_.reset();
  std::vector<uint32_t> gone = flows_->TakeGonePorts();
  ASSERT_EQ(gone.size(), 1u);
  flows_->FreePorts(gone);
  EXPECT_EQ(out().counters().tx.packets, 1u);
  EXPECT_EQ(flows_->Totals().packets, 1u);

  // A new port with the index of the old one, and a new flow in the slot of the old one, begin at zero.
  in_ = std::make_unique<Port>("p0");
  ASSERT_TRUE(in_->netdev->JoinKernelFlows(flows_.get()).ok());
  in_->netdev->SetKernelForwarding(true);
  EXPECT_EQ(in().index(), gone[0]);
  EXPECT_EQ(in().counters().rx.packets, 0u);
  EXPECT_EQ(AddFlow(), slot);
  EXPECT_EQ(flows_->Read(slot).packets, 0u);
  EXPECT_TRUE(Forwarded(TcpFrame(100)));
  EXPECT_EQ(flows_->Totals().packets, 2u);
}

TEST_F(KernelFlowsTest, AKeyCannotBeTakenTwice) {
  AddFlow();
  EXPECT_FALSE(flows_->Insert(KeyOf(in()), in().index(), out().index()).ok());
}

// The hook's other kind keeps its place, and the host still sees nothing.
TEST(KernelFlowsHookTest, ProgramTakesTheHooksPlaceInBothKinds) {
  for (KernelHook::Attachment kind : {KernelHook::Attachment::kTcx, KernelHook::Attachment::kClsact}) {
    VethPair veth("p0", "far0");
    FarEnd far("far0");
    Shell("ip addr add 10.99.0.1/24 dev p0");
    auto flows = KernelFlows::Create();
    ASSERT_TRUE(flows.ok());
    KernelHook hook = *KernelHook::Load();
    ASSERT_TRUE(hook.Attach("p0", if_nametoindex("p0"), kind).ok());
    {
      auto port = (*flows)->AddPort(hook.verdict_map(), 0);
      ASSERT_TRUE(port.ok()) << port.status();
      ASSERT_TRUE(hook.UseProgram(*(*port)->ForwardProgram()).ok());
    }
    EXPECT_EQ(hook.attachment(), kind);
    EXPECT_FALSE(testing::HostAnswersArp(far));
    ASSERT_TRUE(hook.SetVerdict(KernelHook::Verdict::kPass).ok());
    EXPECT_TRUE(testing::HostAnswersArp(far));
    hook.Detach();
    ASSERT_TRUE(hook.Attach("p0", if_nametoindex("p0"), kind).ok());
    ASSERT_TRUE(hook.SetVerdict(KernelHook::Verdict::kDrop).ok());
    EXPECT_FALSE(testing::HostAnswersArp(far));
  }
}

}  // namespace
}  // namespace sluice
