// A bridge with flow tables, ports 1 to 4, and the verbs that tests of its translation are written in: flows, groups and
// packets as text in, datapath actions and megaflows as text out. Datapath and OpenFlow port numbers are the same.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "lib/openflow/flow_mod.h"
#include "ofproto/trace_flow.h"
#include "tests/ofproto/xlate/test_switch.h"

namespace sluice::testing {

class FlowFixture : public ::testing::Test {
 protected:
  FlowFixture() : bridge_(switch_.AddBridge("br0")) {
    switch_.AddTables(bridge_);
    for (uint32_t port = 1; port <= 4; ++port) switch_.AddPort(bridge_, port);
  }

  void Flow(std::string_view text) { Flow(bridge_, text); }
  void Flow(XBridge& bridge, std::string_view text) {
    auto mod = ParseFlowMod(text, FlowCommand::kAdd, {});
    ASSERT_TRUE(mod.ok()) << text << ": " << mod.status();
    OfStatus applied = bridge.pipeline->tables.Apply(*mod, {});
    ASSERT_FALSE(applied) << text << ": " << applied->message;
  }
  void Group(std::string_view text, GroupCommand command = GroupCommand::kAdd) {
    auto mod = ParseGroupMod(text, command, {});
    ASSERT_TRUE(mod.ok()) << text << ": " << mod.status();
    OfStatus applied = bridge_.pipeline->groups.Apply(*mod, [](uint32_t) {});
    ASSERT_FALSE(applied) << text << ": " << applied->message;
  }
  void Meter(std::string_view text) {
    auto mod = ParseMeterMod(text, MeterCommand::kAdd);
    ASSERT_TRUE(mod.ok()) << text << ": " << mod.status();
    OfStatus applied = bridge_.pipeline->meters.Apply(*mod, [](uint32_t) {});
    ASSERT_FALSE(applied) << text << ": " << applied->message;
  }

  static FlowKey Key(std::string_view text) {
    auto flow = ParseTraceFlow(text, {});
    EXPECT_TRUE(flow.ok()) << flow.status();
    FlowKey key = flow.value_or(OfFlow{}).packet;
    key.in_port = flow.value_or(OfFlow{}).in_port;
    return key;
  }
  XlateOut Translate(const FlowKey& key, bool learn = true, std::deque<TraceNode>* trace = nullptr) {
    return sluice::Translate(
        {.topology = switch_.topology, .key = key, .learn = learn, .now = switch_.now, .trace = trace, .ids = &ids_});
  }
  XlateOut Translate(std::string_view packet) { return Translate(Key(packet)); }
  static std::string Text(const ActionList& actions) { return FormatActions(actions, PortNames{}); }
  // The datapath actions for a packet.
  std::string Actions(std::string_view packet) { return Text(Translate(packet).actions); }
  std::string Megaflow(std::string_view packet) {
    XlateOut out = Translate(packet);
    return FormatMegaflow(out.first_flow, out.of_wildcards);
  }
  std::string Trace(std::string_view packet) {
    std::deque<TraceNode> nodes;
    Translate(Key(packet), /*learn=*/false, &nodes);
    return FormatTrace(nodes);
  }
  // The record of the packet that the actions send to controllers.
  PacketInRecord RecordOf(const ActionList& actions) {
    for (const Action& action : actions) {
      const auto* userspace = std::get_if<UserspaceAction>(&action.value);
      if (userspace == nullptr) continue;
      auto entry = ids_.records.Find(RecordOfUserdata(userspace->userdata));
      EXPECT_NE(entry, nullptr);
      return entry == nullptr ? PacketInRecord{} : entry->value;
    }
    ADD_FAILURE() << "nothing goes to controllers: " << Text(actions);
    return {};
  }
  static uint32_t RecircId(const ActionList& actions) {
    const auto* recirc = actions.empty() ? nullptr : std::get_if<RecircAction>(&actions.back().value);
    EXPECT_NE(recirc, nullptr) << Text(actions);
    return recirc == nullptr ? 0 : recirc->id;
  }

  TestSwitch switch_;
  XlateIds ids_;
  XBridge& bridge_;
};

}  // namespace sluice::testing
