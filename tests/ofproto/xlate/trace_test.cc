// The lines that ofproto/trace prints.
#include <gtest/gtest.h>

#include "tests/ofproto/xlate/test_switch.h"

namespace sluice {
namespace {

TEST(TraceTest, TellsLearningAndForwarding) {
  TestSwitch tested;
  XBridge& bridge = tested.AddBridge("br0");
  tested.AddPort(bridge, 1, VlanMode::kAccess, 10);
  tested.AddPort(bridge, 2, VlanMode::kAccess, 10);
  EXPECT_EQ(tested.Trace({.in_port = 1, .src = Mac(0xaa), .dst = Mac(0xbb)}),
            R"(
bridge("br0")
-------------
 0. priority 0
    NORMAL
     -> learned that 00:00:00:00:00:aa is on port p1 in VLAN 10
     -> no learned MAC for destination, flooding
)");
  EXPECT_EQ(tested.Trace({.in_port = 2, .src = Mac(0xbb), .dst = Mac(0xaa)}, /*learn=*/false),
            R"(
bridge("br0")
-------------
 0. priority 0
    NORMAL
     -> forwarding to learned port
)");
}

TEST(TraceTest, TellsWhyAPacketIsDropped) {
  TestSwitch tested;
  XBridge& bridge = tested.AddBridge("br0");
  tested.AddPort(bridge, 1, VlanMode::kAccess, 10);
  EXPECT_EQ(tested.Trace({.in_port = 1, .tags = "20"}),
            R"(
bridge("br0")
-------------
 0. priority 0
    NORMAL
     >> dropping VLAN 20 tagged packet received on port p1 configured as VLAN 10 access port
     >> disallowed VLAN VID for this input port, dropping
)");
  bridge.drops_all = true;
  EXPECT_EQ(tested.Trace({.in_port = 1}),
            R"(
bridge("br0")
-------------
 0. No match.
    drop
)");
}

TEST(TraceTest, TellsWhyEachModeRefusesAVlan) {
  TestSwitch tested;
  XBridge& bridge = tested.AddBridge("br0");
  tested.AddPort(bridge, 1).trunks = Vlans({5});
  tested.AddPort(bridge, 2, VlanMode::kDot1qTunnel, 10).cvlans = Vlans({5});
  EXPECT_NE(tested.Trace({.in_port = 1, .tags = "20"})
                .find("dropping VLAN 20 packet received on port p1 not configured for trunking VLAN 20\n"),
            std::string::npos);
  EXPECT_NE(tested.Trace({.in_port = 2, .tags = "20"})
                .find("dropping VLAN 20 packet received on dot1q-tunnel port p2 that excludes this VLAN\n"),
            std::string::npos);
}

TEST(TraceTest, IndentsTheBridgesBehindPatchPorts) {
  TestSwitch tested;
  XBridge& near = tested.AddBridge("near");
  XBridge& far = tested.AddBridge("far");
  tested.AddPort(near, 1);
  tested.Connect(near, far, "patch");
  tested.AddPort(far, 2);
  EXPECT_EQ(tested.Trace({.in_port = 1}, /*learn=*/false),
            R"(
bridge("near")
--------------
 0. priority 0
    NORMAL
     -> no learned MAC for destination, flooding

    bridge("far")
    -------------
     0. priority 0
        NORMAL
         -> no learned MAC for destination, flooding
)");
}

}  // namespace
}  // namespace sluice
