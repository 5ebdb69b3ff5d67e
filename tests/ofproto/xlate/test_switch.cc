#include "tests/ofproto/xlate/test_switch.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

TestTag ParseTag(std::string_view text) {
  TestTag tag;
  const char* end = text.data() + text.size();
  const char* at = std::from_chars(text.data(), end, tag.id).ptr;
  if (at != end && *at == '.') at = std::from_chars(at + 1, end, tag.priority).ptr;
  if (at != end && *at == 'a') {
    tag.tpid = 0x88a8;
    ++at;
  }
  EXPECT_EQ(at, end) << text;
  return tag;
}

Be16 TciOf(const TestTag& tag) { return Be16(static_cast<uint16_t>(tag.priority << 13 | kVlanPresent | tag.id)); }

TestTag TagOf(Be16 tpid, Be16 tci) {
  return {static_cast<uint16_t>(tci.Get() & 0xfff), static_cast<uint16_t>(tci.Get() >> 13), tpid.Get()};
}

}  // namespace

TestTags ParseTags(std::string_view text) {
  TestTags tags;
  while (text != "-" && !text.empty()) {
    size_t slash = std::min(text.find('/'), text.size());
    tags.push_back(ParseTag(text.substr(0, slash)));
    text.remove_prefix(std::min(slash + 1, text.size()));
  }
  return tags;
}

std::string TagsText(const TestTags& tags) {
  std::vector<std::string> parts;
  for (const TestTag& tag : tags) {
    std::string priority = tag.priority == 0 ? "" : fmt::format(".{}", tag.priority);
    parts.push_back(fmt::format("{}{}{}", tag.id, priority, tag.tpid == 0x8100 ? "" : "a"));
  }
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, "/"));
}

MacAddress Mac(uint64_t number) {
  MacAddress mac;
  for (size_t i = 0; i < mac.size(); ++i) mac[mac.size() - 1 - i] = static_cast<uint8_t>(number >> (8 * i));
  return mac;
}

VlanBitmap Vlans(std::initializer_list<uint16_t> vlans) {
  VlanBitmap bitmap;
  for (uint16_t vlan : vlans) bitmap.set(vlan);
  return bitmap;
}

FlowKey TestFrame::Key() const {
  FlowKey key;
  key.in_port = in_port;
  key.eth_src = src;
  key.eth_dst = dst;
  key.eth_type = Be16(eth_type);
  TestTags all = ParseTags(tags);
  EXPECT_LE(all.size(), 2u);
  if (!all.empty()) {
    key.vlan_tpid = Be16(all[0].tpid);
    key.vlan_tci = TciOf(all[0]);
  }
  if (all.size() > 1) {
    key.inner_vlan_tpid = Be16(all[1].tpid);
    key.inner_vlan_tci = TciOf(all[1]);
  }
  return key;
}

XBridge& TestSwitch::AddBridge(const std::string& name) {
  XBridge& bridge = topology.bridges.emplace_back();
  bridge.name = name;
  bridge.macs = std::make_shared<MacTable>(8192, std::chrono::seconds(300));
  return bridge;
}

XBundle& TestSwitch::AddBundle(XBridge& bridge, const std::string& name) {
  XBundle& bundle = topology.bundles.emplace_back();
  bundle.name = name;
  bundle.bridge = &bridge;
  bundle.id = topology.bundles.size();
  bundle.trunks.set();
  bundle.cvlans.set();
  bridge.bundles.push_back(&bundle);
  return bundle;
}

XPort& TestSwitch::AddInterface(XBundle& bundle, const std::string& name) {
  XPort& port = topology.ports.emplace_back();
  port.name = name;
  port.bundle = &bundle;
  bundle.ports.push_back(&port);
  return port;
}

XBundle& TestSwitch::AddPort(XBridge& bridge, uint32_t number, VlanMode mode, uint16_t tag) {
  XBundle& bundle = AddBundle(bridge, fmt::format("p{}", number));
  bundle.mode = mode;
  bundle.tag = tag;
  AddMember(bundle, number);
  return bundle;
}

XPort& TestSwitch::AddMember(XBundle& bundle, uint32_t number) {
  XPort& port = AddInterface(bundle, fmt::format("p{}", number));
  port.dp_port = number;
  port.ofport = static_cast<uint16_t>(number);
  topology.by_dp_port[number] = &port;
  bundle.bridge->by_ofport[port.ofport] = &port;
  return port;
}

std::pair<XBundle*, XBundle*> TestSwitch::Connect(XBridge& from, XBridge& to, const std::string& name) {
  XBundle& near = AddBundle(from, name);
  XBundle& far = AddBundle(to, name + "'");
  XPort& near_port = AddInterface(near, name);
  XPort& far_port = AddInterface(far, name + "'");
  for (XPort* port : {&near_port, &far_port}) {
    port->is_patch = true;
    port->patch_counters = std::make_shared<PatchCounters>();
  }
  near_port.peer = &far_port;
  far_port.peer = &near_port;
  return {&near, &far};
}

XMirror& TestSwitch::AddMirror(XBridge& bridge, std::initializer_list<XBundle*> src,
                               std::initializer_list<XBundle*> dst) {
  MirrorMask bit = MirrorMask{1} << bridge.mirrors.size();
  bridge.mirrors.reserve(kMaxMirrors);  // what this returns stays where it is
  XMirror& mirror = bridge.mirrors.emplace_back();
  mirror.name = fmt::format("m{}", bridge.mirrors.size());
  mirror.vlans.set();
  mirror.duplicates = bit;
  mirror.counters = std::make_shared<MirrorCounters>();
  for (XBundle* bundle : src) bundle->src_mirrors |= bit;
  for (XBundle* bundle : dst) bundle->dst_mirrors |= bit;
  return mirror;
}

void TestSwitch::MirrorTo(XBridge& bridge, XMirror& mirror, XBundle& output) {
  mirror.output = &output;
  output.mirror_out |= MirrorMask{1} << (&mirror - bridge.mirrors.data());
}

void TestSwitch::MirrorToVlan(XMirror& mirror, uint16_t vlan) { mirror.output_vlan = vlan; }

XlateOut TestSwitch::Translate(const FlowKey& key, bool learn) {
  return sluice::Translate(XlateIn{.topology = topology, .key = key, .learn = learn, .now = now});
}

std::string TestSwitch::Trace(const TestFrame& frame, bool learn) {
  std::string trace;
  FlowKey key = frame.Key();
  auto report = [&trace](int depth, const std::string& text) {
    trace += text.empty() ? "\n" : std::string(static_cast<size_t>(depth) * 4, ' ') + text + "\n";
  };
  sluice::Translate(XlateIn{.topology = topology, .key = key, .learn = learn, .now = now, .report = report});
  return trace;
}

std::string TestSwitch::Outcome(const FlowKey& key, const ActionList& actions) {
  TestTags tags;
  if ((key.vlan_tci.Get() & kVlanPresent) != 0) tags.push_back(TagOf(key.vlan_tpid, key.vlan_tci));
  if ((key.inner_vlan_tci.Get() & kVlanPresent) != 0) tags.push_back(TagOf(key.inner_vlan_tpid, key.inner_vlan_tci));

  std::vector<std::pair<uint32_t, std::string>> outputs;
  uint32_t cut = 0;
  for (const Action& action : actions) {
    if (const auto* push = std::get_if<PushVlanAction>(&action.value)) {
      tags.insert(tags.begin(), TagOf(push->tpid, push->tci));
    } else if (std::holds_alternative<PopVlanAction>(action.value)) {
      EXPECT_FALSE(tags.empty()) << "pop_vlan of an untagged packet: " << FormatActions(actions, PortNames());
      if (!tags.empty()) tags.erase(tags.begin());
    } else if (const auto* trunc = std::get_if<TruncAction>(&action.value)) {
      cut = trunc->max_length;
    } else if (const auto* output = std::get_if<OutputAction>(&action.value)) {
      std::string limit = cut == 0 ? "" : fmt::format("<{}", cut);
      outputs.emplace_back(output->port, fmt::format("{}({}){}", output->port, TagsText(tags), limit));
      cut = 0;
    } else {
      ADD_FAILURE() << "unexpected action in " << FormatActions(actions, PortNames());
    }
  }
  std::sort(outputs.begin(), outputs.end());
  std::vector<std::string> texts;
  for (const auto& [port, text] : outputs) texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace sluice
