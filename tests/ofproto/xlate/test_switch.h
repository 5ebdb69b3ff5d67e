// A switch for translation tests: bridges, ports and mirrors in a few words, frames in, and what leaves as text.
//
// Tags as text, outer first: "10" is VLAN 10, "10.5" with priority 5, "10a" with TPID 0x88a8, "10a/7" above a tag 7,
// "-" none. What leaves: "2(-) 3(10)", sorted by port; "4(10)<64" is cut to 64 bytes; "" is nothing.
#pragma once

#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/flow/flow_text.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {

struct TestTag {
  uint16_t id = 0;
  uint16_t priority = 0;
  uint16_t tpid = 0x8100;

  bool operator==(const TestTag&) const = default;
};
using TestTags = std::vector<TestTag>;  // outer first

TestTags ParseTags(std::string_view text);
std::string TagsText(const TestTags& tags);
MacAddress Mac(uint64_t number);  // 00:00:... of it
VlanBitmap Vlans(std::initializer_list<uint16_t> vlans);

struct TestFrame {
  uint32_t in_port = 1;
  std::string tags = "-";
  MacAddress src = Mac(1);
  MacAddress dst = Mac(2);
  uint16_t eth_type = 0x0800;

  FlowKey Key() const;
};

class TestSwitch {
 public:
  XBridge& AddBridge(const std::string& name);
  // Its one interface has the bundle's name. Datapath and OpenFlow port numbers are the same.
  XBundle& AddPort(XBridge& bridge, uint32_t number, VlanMode mode = VlanMode::kTrunk, uint16_t tag = 0);
  XPort& AddMember(XBundle& bundle, uint32_t number);  // makes it a bond
  // Two ports that lead from one bridge to the other; each in a bundle of its own, called NAME and NAME' .
  std::pair<XBundle*, XBundle*> Connect(XBridge& from, XBridge& to, const std::string& name);
  XMirror& AddMirror(XBridge& bridge, std::initializer_list<XBundle*> src, std::initializer_list<XBundle*> dst);
  void MirrorTo(XBridge& bridge, XMirror& mirror, XBundle& output);
  void MirrorToVlan(XMirror& mirror, uint16_t vlan);

  XlateOut Translate(const FlowKey& key, bool learn = true);
  XlateOut Translate(const TestFrame& frame, bool learn = true) { return Translate(frame.Key(), learn); }
  // What leaves.
  std::string Send(const TestFrame& frame) {
    FlowKey key = frame.Key();
    return Outcome(key, Translate(key).actions);
  }
  // The actions as text.
  std::string Actions(const TestFrame& frame) { return FormatActions(Translate(frame).actions, PortNames()); }
  // The trace, line by line, as ofproto/trace prints it.
  std::string Trace(const TestFrame& frame, bool learn = true);

  // Plays the actions on the tags of a packet with `key`.
  static std::string Outcome(const FlowKey& key, const ActionList& actions);

  Topology topology;
  MacTable::Clock::time_point now{std::chrono::hours(1)};

 private:
  XBundle& AddBundle(XBridge& bridge, const std::string& name);
  XPort& AddInterface(XBundle& bundle, const std::string& name);
};

}  // namespace sluice
