// A switch between dummy ports, and the verbs that tests of it are written in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/io/event_loop.h"
#include "netdev/dummy/dummy_netdev.h"
#include "ofproto/switch.h"

namespace sluice::testing {

constexpr MacAddress kMacA{0x02, 0, 0, 0, 0, 0xa};
constexpr MacAddress kMacB{0x02, 0, 0, 0, 0, 0xb};
constexpr MacAddress kMacC{0x02, 0, 0, 0, 0, 0xc};

// A frame of 60 bytes with nothing but addresses, and a tag if `vlan` is not 0.
inline std::vector<uint8_t> EthernetFrame(const MacAddress& from, const MacAddress& to, uint16_t vlan = 0) {
  std::vector<uint8_t> frame(to.begin(), to.end());
  frame.insert(frame.end(), from.begin(), from.end());
  if (vlan != 0) frame.insert(frame.end(), {0x81, 0x00, static_cast<uint8_t>(vlan >> 8), static_cast<uint8_t>(vlan)});
  frame.insert(frame.end(), {0x88, 0xb5});
  frame.resize(60);
  return frame;
}

inline PortConfigRow DummyPort(const std::string& name, const NetdevOptions& options = {}) {
  return {.name = name, .interfaces = {{.name = name, .type = "dummy", .options = options}}};
}

inline PortConfigRow PatchPort(const std::string& name, const std::string& peer) {
  return {.name = name, .interfaces = {{.name = name, .type = "patch", .patch_peer = peer}}};
}

// The bridge `name` with these ports. It has no local port: that would be a tap.
inline BridgeConfig BridgeOf(const std::string& name, std::vector<PortConfigRow> ports) {
  return {.name = name, .ports = std::move(ports)};
}

class SwitchFixture : public ::testing::Test {
 protected:
  SwitchFixture() : datapaths_({.small_buffers = 2048, .large_buffers = 64}) {
    switch_ = std::make_unique<Switch>(datapaths_);
    switch_->RegisterCommands(commands_);
  }

  // One bridge br0 with these dummy ports.
  void ConfigureBridge(const std::vector<std::string>& ports) {
    std::vector<PortConfigRow> rows;
    for (const std::string& port : ports) rows.push_back(DummyPort(port));
    config_.bridges = {BridgeOf("br0", std::move(rows))};
    switch_->Configure(config_);
  }

  DummyNetdev& Dummy(const std::string& name) {
    DummyNetdev* netdev = FindDummy(name);
    EXPECT_NE(netdev, nullptr) << name;
    return *netdev;
  }
  void Send(const std::string& port, const std::vector<uint8_t>& frame) { Dummy(port).Inject(frame); }

  // Waits until `port` has sent `count` frames since the last call; gives them.
  std::vector<DummyNetdev::SentFrame> Received(const std::string& port, size_t count) {
    DummyNetdev& netdev = Dummy(port);
    WaitFor([&] { return netdev.sent_count() >= count; });
    auto frames = netdev.TakeSent();
    EXPECT_EQ(frames.size(), count) << port;
    return frames;
  }
  size_t SentCount(const std::string& port) { return Dummy(port).sent_count(); }

  bool WaitFor(const std::function<bool()>& condition, std::chrono::seconds at_most = std::chrono::seconds(20)) {
    auto deadline = std::chrono::steady_clock::now() + at_most;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  Datapath& datapath() { return **datapaths_.Find("ovs-netdev"); }
  size_t FlowCount() { return datapath().flows().flow_count(); }
  // The output of a command; an error fails the test.
  std::string Command(std::string_view command, std::vector<std::string> args = {}) {
    auto output = commands_.Execute(command, std::move(args));
    EXPECT_TRUE(output.ok()) << command << ": " << output.status();
    return output.value_or("");
  }
  std::string CommandError(std::string_view command, std::vector<std::string> args = {}) {
    auto output = commands_.Execute(command, std::move(args));
    EXPECT_FALSE(output.ok()) << command << ": " << output.value_or("");
    return std::string(output.status().message());
  }

  EventLoop loop_;
  UnixctlServer commands_{loop_};
  DatapathManager datapaths_;
  SwitchConfig config_;
  std::unique_ptr<Switch> switch_;
};

}  // namespace sluice::testing
