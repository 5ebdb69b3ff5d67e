// The kernel hook on a veth whose host address the far end asks for.
#include "netdev/kernel_hook.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::FarEnd;
using testing::HostAnswersArp;
using testing::OutputOf;
using testing::Shell;
using testing::SleepingChild;
using testing::VethPair;

class KernelHookTest : public ::testing::TestWithParam<KernelHook::Attachment> {
 protected:
  KernelHookTest() {
    Shell("ip addr add 10.99.0.1/24 dev p0");
    ifindex_ = if_nametoindex("p0");
  }
  void Attach(KernelHook& hook) {
    absl::Status attached = hook.Attach("p0", ifindex_, GetParam());
    ASSERT_TRUE(attached.ok()) << attached;
    EXPECT_EQ(hook.attachment(), GetParam());
  }
  static std::string Filters() { return OutputOf("tc filter show dev p0 ingress; tc qdisc show dev p0 | grep clsact"); }

  VethPair veth_{"p0", "far0"};
  FarEnd far_{"far0"};
  uint32_t ifindex_;
};

TEST_P(KernelHookTest, KeepsTheHostFromAnsweringWhileItIsAttached) {
  ASSERT_TRUE(HostAnswersArp(far_));
  KernelHook hook = *KernelHook::Load();
  Attach(hook);
  EXPECT_FALSE(HostAnswersArp(far_));
  hook.Detach();
  EXPECT_TRUE(HostAnswersArp(far_));
  EXPECT_EQ(Filters(), "");
}

TEST_P(KernelHookTest, VerdictChangesWhileAttached) {
  KernelHook hook = *KernelHook::Load();
  Attach(hook);
  ASSERT_TRUE(hook.SetVerdict(KernelHook::Verdict::kPass).ok());
  EXPECT_TRUE(HostAnswersArp(far_));
  ASSERT_TRUE(hook.SetVerdict(KernelHook::Verdict::kDrop).ok());
  EXPECT_FALSE(HostAnswersArp(far_));
}

TEST_P(KernelHookTest, PacketSocketsStillHearWhatItDrops) {
  KernelHook hook = *KernelHook::Load();
  Attach(hook);
  FarEnd near("p0");
  far_.Send(testing::TcpFrame(100));
  EXPECT_TRUE(near.Receive(testing::IsTestFrame).has_value());
}

TEST_P(KernelHookTest, KilledProcessLeavesNothingThatANewOneDoesNotReplace) {
  SleepingChild child([this] {
    // Never freed: the child is killed.
    auto* hook = new KernelHook(*KernelHook::Load());
    Attach(*hook);
  });
  ASSERT_FALSE(HostAnswersArp(far_));
  child.Kill();
  if (GetParam() == KernelHook::Attachment::kTcx) {
    EXPECT_TRUE(HostAnswersArp(far_)) << "the link must end with its process";
    return;
  }
  {
    KernelHook hook = *KernelHook::Load();
    Attach(hook);
    EXPECT_FALSE(HostAnswersArp(far_));
  }
  EXPECT_TRUE(HostAnswersArp(far_));
  EXPECT_EQ(Filters(), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, KernelHookTest,
                         ::testing::Values(KernelHook::Attachment::kTcx, KernelHook::Attachment::kClsact),
                         [](const auto& kind) {
                           return kind.param == KernelHook::Attachment::kTcx ? "Tcx" : "Clsact";
                         });

TEST(KernelHookPlaceTest, ForeignFilterAtItsPlaceIsAnErrorAndStays) {
  VethPair veth("p0", "far0");
  Shell(
      "tc qdisc add dev p0 clsact && tc filter add dev p0 ingress pref 1 handle 1 bpf bytecode '1,6 0 0 0' flowid 1:1");
  KernelHook hook = *KernelHook::Load();
  absl::Status attached = hook.Attach("p0", if_nametoindex("p0"), KernelHook::Attachment::kClsact);
  EXPECT_FALSE(attached.ok());
  EXPECT_NE(OutputOf("tc filter show dev p0 ingress").find("bytecode"), std::string::npos);
}

TEST(KernelHookPlaceTest, QdiscOfTheUserStays) {
  VethPair veth("p0", "far0");
  Shell("tc qdisc add dev p0 clsact");
  {
    KernelHook hook = *KernelHook::Load();
    ASSERT_TRUE(hook.Attach("p0", if_nametoindex("p0"), KernelHook::Attachment::kClsact).ok());
  }
  EXPECT_NE(OutputOf("tc qdisc show dev p0").find("clsact"), std::string::npos);
}

}  // namespace
}  // namespace sluice
