#include "ofproto/xlate/translator.h"

#include <algorithm>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("ofproto");

bool IsPresent(Be16 tci) { return (tci.Get() & kVlanPresent) != 0; }

// The packet's tags within vlan_limit.
TagStack ArrivingTags(const FlowKey& key, bool outer_only) {
  FlowMask ignored;
  TagStack tags;
  if (!IsPresent(key.vlan_tci)) return tags;
  if (!outer_only && IsPresent(key.inner_vlan_tci)) tags.Push(InnerTagOf(key, ignored));
  tags.Push(OuterTagOf(key, ignored));
  return tags;
}

// What OpenFlow sees of a packet whose inner tag is beyond vlan_limit: that the type behind the outer tag is a tag's.
FlowKey WithoutInnerTag(const FlowKey& key) {
  FlowKey seen;
  seen.recirc_id = key.recirc_id;
  seen.dp_hash = key.dp_hash;
  seen.skb_mark = key.skb_mark;
  seen.skb_priority = key.skb_priority;
  seen.eth_dst = key.eth_dst;
  seen.eth_src = key.eth_src;
  seen.vlan_tci = key.vlan_tci;
  seen.vlan_tpid = key.vlan_tpid;
  seen.eth_type = key.inner_vlan_tpid;
  return seen;
}

// Of packets that are in no port: packet-outs.
const XBundle& BundleOfNoPort() {
  static const XBundle bundle = [] {
    XBundle none;
    none.name = "(no port)";
    none.trunks.set();
    none.cvlans.set();
    return none;
  }();
  return bundle;
}

}  // namespace

Translator::Translator(const XlateIn& in)
    : in_(in),
      key_(in.key),
      looked_at_(wildcards_.packet),
      composer_(ArrivingTags(in.key, in.topology.vlan_limit == 1), out_.actions, looked_at_),
      trace_(in.trace),
      hides_inner_tag_(in.topology.vlan_limit == 1 && IsPresent(in.key.inner_vlan_tci)) {}

XlateOut Translator::Run() && {
  if (in_.start != nullptr) {
    StartFrom(in_.start->bridge, in_.start->pipeline, in_.start->actions, in_.start->resumed);
  } else if (key_.recirc_id != 0) {
    IdTable<FrozenState>::Ref frozen = in_.ids == nullptr ? nullptr : in_.ids->frozen.Find(key_.recirc_id);
    const XBridge* bridge = frozen == nullptr ? nullptr : in_.topology.FindBridge(frozen->value.bridge);
    if (bridge == nullptr) {
      out_.in_known_port = false;
      reason_ = fmt::format("no translation goes on at recirculation id {:#x}", key_.recirc_id);
    } else {
      StartFrom(*bridge, frozen->value.pipeline, nullptr, &frozen->value);
    }
  } else {
    StartFromPort();
  }

  if (failed_) {
    // A loop has gathered something in every pass; a flow that drops keeps no more than where its packets come in.
    out_.failed = true;
    out_.actions = {};
    auto first = std::find_if(out_.effects.begin(), out_.effects.end(), [](const XlateEffect& effect) {
      return effect.kind == XlateEffect::Kind::kLearn || effect.kind == XlateEffect::Kind::kRule;
    });
    out_.effects = first == out_.effects.end() ? std::vector<XlateEffect>{} : std::vector<XlateEffect>{*first};
  }
  if (out_.actions.empty()) out_.drop_reason = reason_;
  out_.wildcards = Fold();
  for (size_t i = 0; i < FlowKey::kWords; ++i) {
    const uint64_t behind = seen_behind_tags_.Word(i);
    out_.wildcards.SetWord(i, out_.wildcards.Word(i) | behind);
    looked_at_.SetWord(i, looked_at_.Word(i) | behind);
  }
  out_.of_wildcards = wildcards_;
  return std::move(out_);
}

// The mask of the flow key. Behind what OpenFlow sees as an Ethernet type may be a tag that the key knows and OpenFlow
// does not: who has looked at the type, or behind it, has seen whether there is one.
FlowMask Translator::Fold() const {
  FlowMask mask = looked_at_;
  if (in_.topology.vlan_limit == 1) {
    FlowMask outside = mask;
    outside.in_port = outside.recirc_id = outside.dp_hash = outside.skb_mark = outside.skb_priority = 0;
    outside.eth_src = outside.eth_dst = {};
    outside.vlan_tci = outside.vlan_tpid = outside.inner_vlan_tci = outside.inner_vlan_tpid = Be16();
    if (!(outside == FlowMask{})) {
      mask.inner_vlan_tci = mask.inner_vlan_tci | Be16(kVlanPresent);
      if (hides_inner_tag_) mask.inner_vlan_tpid = Be16(0xffff);
    }
  }
  mask.in_port = mask.recirc_id = UINT32_MAX;
  mask.eth_type = Be16(0xffff);
  return mask;
}

// Passes
// ------------------------------------------------------------------------------------------------------------------

Translator::Pass Translator::FirstPass(const XBridge& bridge, const XPort* in_port) {
  Pass pass{.bridge = bridge,
            .in_port = in_port,
            .in_bundle = in_port == nullptr ? &BundleOfNoPort() : in_port->bundle,
            .arrived = composer_.current(),
            .tags = composer_.current()};
  pass.flow.packet = hides_inner_tag_ ? WithoutInnerTag(key_) : key_;
  pass.flow.packet.in_port = 0;
  pass.flow.actset_output = kOfpUnset;
  pass.flow.in_port = in_port == nullptr ? uint32_t{kOfpNone} : in_port->ofport;
  composer_.set_packet(pass.flow.packet);
  out_.bridge = bridge.name;
  return pass;
}

void Translator::StartFromPort() {
  auto found = in_.topology.by_dp_port.find(key_.in_port);
  if (found == in_.topology.by_dp_port.end() || found->second->bundle == nullptr) {
    out_.in_known_port = false;
    reason_ = fmt::format("no bridge has a port with datapath port number {}", key_.in_port);
    return;
  }
  origin_ = found->second;
  Pass pass = FirstPass(*origin_->bundle->bridge, origin_);
  out_.first_flow = pass.flow;
  EnterBridge(pass);
  out_.final_flow = pass.flow;
}

void Translator::StartFrom(const XBridge& bridge, const OfFlow& pipeline, const OfActions* actions,
                           const FrozenState* frozen) {
  auto origin = in_.topology.by_dp_port.find(key_.in_port);
  if (origin != in_.topology.by_dp_port.end()) origin_ = origin->second;
  Pass pass = FirstPass(bridge, nullptr);
  const FlowKey packet = pass.flow.packet;
  const uint32_t mark = pipeline.packet.skb_mark, priority = pipeline.packet.skb_priority;
  pass.flow = pipeline;
  pass.flow.packet = packet;
  if (in_.start != nullptr) {
    pass.flow.packet.skb_mark = mark;
    pass.flow.packet.skb_priority = priority;
  }
  pass.in_port = nullptr;
  FindInPort(pass);
  out_.first_flow = pass.flow;
  if (actions == nullptr && frozen == nullptr) {
    EnterBridge(pass);
    out_.final_flow = pass.flow;
    return;
  }
  TraceScope scope(*this, TraceNode::Type::kBridge, fmt::format("bridge(\"{}\")", bridge.name));
  if (bridge.pipeline != nullptr) UsePipeline(pass);
  if (frozen != nullptr) {
    Thaw(pass, *frozen);
  } else {
    pass.in_packet_out = true;
    pass.table = 0xff;
    RunList(pass, *actions, /*is_last=*/true);
  }
  FinishPass(pass);
  out_.final_flow = pass.flow;
}

void Translator::EnterBridge(Pass& pass) {
  TraceScope scope(*this, TraceNode::Type::kBridge, fmt::format("bridge(\"{}\")", pass.bridge.name));
  if (pass.depth > kMaxPatchDepth) return Fail(pass, fmt::format("over max translation depth {}", kMaxPatchDepth));
  if (++passes_ > kMaxPasses) return Fail(pass, fmt::format("over {} passes through bridges", kMaxPasses));

  if (pass.in_port != nullptr && (pass.in_port->config & (kPortDown | kPortNoRecv)) != 0) {
    return Drop("OFPPC_NO_RECV set on port {}, dropping", pass.in_port->name);
  }
  const XBundle* bundle = pass.in_bundle;
  if (bundle != nullptr && bundle->src_mirrors != 0 && bundle->mirror_out == 0) {
    Mirror(pass, *bundle, bundle->src_mirrors, pass.arrived);
  }
  if (pass.bridge.pipeline != nullptr) {
    UsePipeline(pass);
    RunTables(pass);
    return FinishPass(pass);
  }
  TraceScope table(*this, TraceNode::Type::kTable, " 0. priority 0");
  if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, "NORMAL");
  Normal(pass);
}

void Translator::FinishPass(Pass& pass) {
  if (failed_) return;
  if (!pass.freezing) RunActionSet(pass);
  if (pass.freezing && !failed_) FinishFreezing(pass);
}

// load:N->NXM_OF_IN_PORT[] makes a packet one of another port, for NORMAL and outputs.
void Translator::FindInPort(Pass& pass) {
  if (pass.in_port != nullptr && pass.in_port->ofport == pass.flow.in_port) return;
  pass.in_port = nullptr;
  pass.in_bundle = nullptr;
  if (pass.flow.in_port == kOfpNone || pass.flow.in_port == kOfpController) {
    pass.in_bundle = &BundleOfNoPort();
    return;
  }
  auto port = pass.bridge.by_ofport.find(static_cast<uint16_t>(pass.flow.in_port));
  if (port == pass.bridge.by_ofport.end()) return;
  pass.in_port = port->second;
  pass.in_bundle = port->second->bundle;
}

void Translator::Fail(const Pass& pass, std::string why) {
  failed_ = true;
  reason_ = std::move(why);
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "bridge {}: {}: dropping; do its patch ports or tables make a loop?",
                          pass.bridge.name, reason_);
  if (trace_ != nullptr) AddNode(TraceNode::Type::kError, reason_);
}

}  // namespace sluice
