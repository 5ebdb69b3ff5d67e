// The switch on devices of the kernel, in a network namespace of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include <chrono>
#include <fstream>

#include "lib/base/rcu.h"
#include "netdev/link_monitor.h"
#include "netdev/link_query.h"
#include "lib/flow/mac_text.h"
#include "ofproto/switch.h"
#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::Bytes;
using testing::FarEnd;
using ::testing::HasSubstr;
using testing::OutputOf;
using testing::Shell;
using testing::VethPair;

PortConfigRow SystemPort(const std::string& name) { return {.name = name, .interfaces = {{.name = name}}}; }
PortConfigRow InternalPort(const std::string& name) {
  return {.name = name, .interfaces = {{.name = name, .type = "internal"}}};
}

Bytes FrameFor(uint8_t from, uint8_t to) {
  Bytes frame{0x02, 0, 0, 0, 0, to, 0x02, 0, 0, 0, 0, from, 0x88, 0xb5};
  frame.resize(60);
  return frame;
}

class SwitchRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    monitor_ = *LinkMonitor::Open();
    datapaths_ = std::make_unique<DatapathManager>(
        DatapathConfig{.link_monitor = monitor_.get(), .small_buffers = 4096, .large_buffers = 256});
    switch_ = std::make_unique<Switch>(*datapaths_);
  }

  void Configure(std::vector<PortConfigRow> ports) {
    config_.bridges = {{.name = "br0", .ports = std::move(ports)}};
    config_.bridges[0].ports.push_back(InternalPort("br0"));
    switch_->Configure(config_);
  }
  // As the daemon does with the monitor's descriptor.
  void HandleLinkEvents() {
    pollfd waiting{.fd = monitor_->fd(), .events = POLLIN};
    while (poll(&waiting, 1, 200) > 0) monitor_->HandleEvents();
  }
  bool Arrives(FarEnd& at, const Bytes& frame) {
    return at.Receive([&frame](const Bytes& heard) { return heard == frame; }).has_value();
  }
  LinkFacts Facts(const std::string& device) { return *LinkQuery::Open()->Read(device); }

  std::unique_ptr<LinkMonitor> monitor_;
  std::unique_ptr<DatapathManager> datapaths_;
  std::unique_ptr<Switch> switch_;
  SwitchConfig config_;
};

TEST_F(SwitchRootTest, ForwardsBetweenTwoVeths) {
  VethPair first("p0", "far0"), second("p1", "far1");
  Configure({SystemPort("p0"), SystemPort("p1")});
  EXPECT_EQ(switch_->interface_status("p0")->error, "");
  FarEnd far0("far0"), far1("far1");
  far0.Send(FrameFor(0xa, 0xb));
  EXPECT_TRUE(Arrives(far1, FrameFor(0xa, 0xb)));
  far1.Send(FrameFor(0xb, 0xa));
  EXPECT_TRUE(Arrives(far0, FrameFor(0xb, 0xa)));
}

TEST_F(SwitchRootTest, TheLocalPortFollowsTheBridge) {
  VethPair first("p0", "far0"), second("p1", "far1");
  Shell("ip link set p0 address 06:00:00:00:00:02");
  Shell("ip link set p1 address 06:00:00:00:00:01");
  Shell("ip link set p1 mtu 1400");
  Configure({SystemPort("p0"), SystemPort("p1"), InternalPort("in0")});
  EXPECT_EQ(switch_->interface_status("br0")->ofport, kOfportLocal);
  EXPECT_EQ(FormatMac(switch_->bridge_status("br0")->mac), "06:00:00:00:00:01");
  EXPECT_EQ(FormatMac(Facts("br0").mac), "06:00:00:00:00:01") << "the lowest of its system ports";
  EXPECT_EQ(Facts("br0").mtu, 1400u) << "the lowest of its other ports";
  EXPECT_EQ(Facts("in0").mtu, 1400u);
  Shell("ip link set p1 mtu 1300");
  HandleLinkEvents();
  EXPECT_EQ(Facts("br0").mtu, 1300u);
  config_.bridges[0].hwaddr = MacAddress{0x06, 1, 1, 1, 1, 1};
  switch_->Configure(config_);
  EXPECT_EQ(FormatMac(Facts("br0").mac), "06:01:01:01:01:01");
}

TEST_F(SwitchRootTest, InternalPortsGetWhatIsRequested) {
  Configure({InternalPort("in0")});
  config_.bridges[0].ports[0].interfaces[0].mtu_request = 2000;
  config_.bridges[0].ports[0].interfaces[0].mac = MacAddress{0x06, 2, 2, 2, 2, 2};
  switch_->Configure(config_);
  EXPECT_EQ(Facts("in0").mtu, 2000u);
  EXPECT_EQ(FormatMac(Facts("in0").mac), "06:02:02:02:02:02");
  EXPECT_EQ(switch_->interface_status("in0")->device.mtu, 2000u);
  config_.bridges[0].ports[0].interfaces[0].mtu_request = 10;
  switch_->Configure(config_);
  EXPECT_THAT(switch_->interface_status("in0")->error, HasSubstr("in0: setting its MTU to 10"));
}

TEST_F(SwitchRootTest, ADeviceThatAppearsBecomesAPort) {
  VethPair first("p0", "far0");
  Configure({SystemPort("p0"), SystemPort("p1")});
  EXPECT_EQ(switch_->interface_status("p1")->error, "could not open network device p1 (No such device)");
  int told = 0;
  switch_->OnStatusChange([&told] { ++told; });
  {
    VethPair second("p1", "far1");
    HandleLinkEvents();
    EXPECT_EQ(switch_->interface_status("p1")->ofport, 2);
    EXPECT_EQ(switch_->interface_status("p1")->error, "");
    EXPECT_GT(told, 0);
    FarEnd far0("far0"), far1("far1");
    far0.Send(FrameFor(0xa, 0xb));
    EXPECT_TRUE(Arrives(far1, FrameFor(0xa, 0xb)));
  }
  HandleLinkEvents();
  EXPECT_EQ(switch_->interface_status("p1")->ofport, -1);
  EXPECT_THAT(switch_->interface_status("p1")->error, HasSubstr("no such network device"));
  VethPair again("p1", "far1");
  HandleLinkEvents();
  EXPECT_EQ(switch_->interface_status("p1")->ofport, 2) << "the same as before";
}

TEST_F(SwitchRootTest, RemovingABridgeLeavesTheDevicesAsTheyWere) {
  VethPair first("p0", "far0");
  Configure({SystemPort("p0"), InternalPort("in0")});
  EXPECT_THAT(OutputOf("ip -d link show p0"), HasSubstr("promiscuity 1"));
  config_.bridges.clear();
  switch_->Configure(config_);
  EXPECT_EQ(if_nametoindex("br0"), 0u);
  EXPECT_EQ(if_nametoindex("in0"), 0u);
  EXPECT_NE(if_nametoindex("p0"), 0u);
  EXPECT_THAT(OutputOf("ip -d link show p0"), HasSubstr("promiscuity 0"));
  EXPECT_EQ(OutputOf("tc filter show dev p0 ingress"), "");
}

uint64_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kilobytes = 0;
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes;
  }
  return 0;
}

class ManyPortsTest : public SwitchRootTest {
 protected:
  template <typename Function>
  double Seconds(Function function) {
    auto start = std::chrono::steady_clock::now();
    function();
    HandleLinkEvents();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

TEST_F(ManyPortsTest, AThousandInternalPortsComeAndGo) {
  std::vector<PortConfigRow> many;
  for (int i = 0; i < 1000; ++i) many.push_back(InternalPort("t" + std::to_string(i)));
  Configure({});
  [[maybe_unused]] uint64_t first_resident = 0;
  for (int round = 0; round < 2; ++round) {
    double adding = Seconds([&] { Configure(many); });
    EXPECT_EQ(switch_->interface_status("t999")->error, "");
    double removing = Seconds([&] { Configure({}); });
    RcuBarrier();
    EXPECT_EQ(if_nametoindex("t999"), 0u);
    std::printf("1000 internal ports: added in %.2f s, removed in %.2f s, resident %lu KiB\n", adding, removing,
                static_cast<unsigned long>(ResidentKilobytes()));
    if (round == 0) first_resident = ResidentKilobytes();
  }
#ifndef __SANITIZE_ADDRESS__  // keeps what was freed, to find its use
  EXPECT_LT(ResidentKilobytes(), first_resident * 105 / 100);
#endif
}

TEST_F(ManyPortsTest, HundredsOfVethsComeAndGo) {
  constexpr int kCount = 300;
  std::vector<PortConfigRow> many;
  std::string batch;
  for (int i = 0; i < kCount; ++i) {
    batch += "link add v" + std::to_string(i) + " type veth peer name w" + std::to_string(i) + "\n";
    many.push_back(SystemPort("v" + std::to_string(i)));
  }
  Shell("printf '" + batch + "' | ip -batch -");
  Configure({});
  double adding = Seconds([&] { Configure(many); });
  EXPECT_EQ(switch_->interface_status("v299")->error, "");
  double removing = Seconds([&] { Configure({}); });
  std::printf("%d veths: added in %.2f s, removed in %.2f s\n", kCount, adding, removing);
  for (int i = 0; i < kCount; ++i) Shell("ip link del v" + std::to_string(i));
}

}  // namespace
}  // namespace sluice
