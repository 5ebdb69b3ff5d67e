#include "ofproto/packet_out.h"

#include "lib/base/rcu.h"
#include "lib/base/status.h"
#include "ofproto/flow_record.h"
#include "ofproto/xlate/openflow/continuation.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {
namespace {

uint32_t DatapathPort(const XBridge& bridge, uint32_t ofport) {
  auto port = bridge.by_ofport.find(static_cast<uint16_t>(ofport));
  return port == bridge.by_ofport.end() ? 0 : port->second->dp_port;
}

OfFailure BadPacket(const absl::Status& why) { return {OfError::kBrcBadPacket, Message(why)}; }

OfStatus Carry(Switch::Impl& the_switch, const XlateStart& start, std::string_view frame) {
  absl::StatusOr<FlowKey> key = the_switch.frames.Parse(frame);
  if (!key.ok()) return BadPacket(key.status());
  key->in_port = DatapathPort(start.bridge, start.pipeline.in_port);
  key->skb_mark = start.pipeline.packet.skb_mark;
  key->skb_priority = start.pipeline.packet.skb_priority;
  const auto now = MacTable::Clock::now();
  XlateOut out = Translate({.topology = the_switch.topology(),
                            .key = *key,
                            .learn = true,
                            .now = now,
                            .ids = &the_switch.state.ids,
                            .start = &start});
  the_switch.MacsChanged();
  PushEffects(out.effects,
              {.frames = 1, .bytes = frame.size(), .used = now, .tcp_flags = key->tcp_flags.Get()});
  the_switch.state.ids.Linger(std::move(out.holds), now);
  if (out.actions.empty()) return std::nullopt;
  absl::Status executed = the_switch.forwarding->datapath.Execute({.frame = {frame.begin(), frame.end()},
                                                                   .actions = std::move(out.actions),
                                                                   .in_port = key->in_port,
                                                                   .skb_mark = key->skb_mark,
                                                                   .skb_priority = key->skb_priority});
  if (!executed.ok()) return BadPacket(executed);
  return std::nullopt;
}

OfFailure NoBridge(std::string_view bridge) {
  return {OfError::kBrcEperm, fmt::format("bridge {} forwards nothing", bridge)};
}

}  // namespace

OfStatus ExecutePacketOut(Switch::Impl& the_switch, std::string_view bridge, const OfPacketOut& out) {
  RcuThread rcu;
  const XBridge* x = the_switch.topology().FindBridge(bridge);
  if (x == nullptr || the_switch.forwarding == nullptr) return NoBridge(bridge);
  OfFlow pipeline = out.metadata.value;
  const uint32_t mark = pipeline.packet.skb_mark;
  pipeline.packet = FlowKey{};
  pipeline.packet.skb_mark = mark;
  pipeline.actset_output = kOfpUnset;
  if (pipeline.in_port == 0) pipeline.in_port = kOfpNone;
  return Carry(the_switch, {.bridge = *x, .pipeline = pipeline, .actions = &out.actions}, out.packet);
}

OfStatus ResumePacket(Switch::Impl& the_switch, std::string_view bridge, const OfPacketIn& packet) {
  RcuThread rcu;
  OfResult<FrozenState> state = DecodeContinuation(packet.continuation);
  if (!state.ok()) return state.failure();
  const XBridge* x = the_switch.topology().FindBridge(state->bridge);
  if (x == nullptr || the_switch.forwarding == nullptr) return NoBridge(bridge);
  // What the controller may have changed of the pipeline's fields.
  OfFlow& pipeline = state->pipeline;
  const OfFlow& given = packet.metadata.value;
  const OfMask& which = packet.metadata.mask;
  for (size_t i = 0; i < pipeline.regs.size(); ++i) {
    pipeline.regs[i] = (pipeline.regs[i] & ~which.regs[i]) | (given.regs[i] & which.regs[i]);
  }
  pipeline.metadata = (pipeline.metadata & ~which.metadata) | (given.metadata & which.metadata);
  if (which.packet.skb_mark != 0) pipeline.packet.skb_mark = given.packet.skb_mark;
  return Carry(the_switch, {.bridge = *x, .pipeline = pipeline, .resumed = &*state}, packet.packet);
}

}  // namespace sluice
