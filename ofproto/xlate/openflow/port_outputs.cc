// Outputs to OpenFlow ports, and queues.
#include "ofproto/xlate/translator.h"

namespace sluice {

void Translator::OutputToPort(Pass& pass, OfPort port, uint16_t max_len, bool is_last) {
  switch (port) {
    case kOfpInPort:
      return OutputToOfPort(pass, static_cast<OfPort>(pass.flow.in_port), 0);
    case kOfpTable:
      return Table(pass, pass.flow.in_port, 0, /*may_packet_in=*/true, is_last);
    case kOfpNormal:
      return Normal(pass);
    case kOfpFlood:
      return FloodPorts(pass, /*all=*/false);
    case kOfpAll:
      return FloodPorts(pass, /*all=*/true);
    case kOfpController: {
      using Reason = OfPacketIn::Reason;
      const Reason reason = pass.in_packet_out   ? Reason::kPacketOut
                            : pass.in_group      ? Reason::kGroup
                            : pass.in_action_set ? Reason::kActionSet
                                                 : Reason::kAction;
      return SendToController(pass, max_len, 0, reason, {}, 0);
    }
    case kOfpNone:
      return;
    default:
      break;
  }
  if (port == pass.flow.in_port) return Drop("skipping output to input port");
  OutputToOfPort(pass, port, 0);
}

void Translator::OutputToOfPort(Pass& pass, OfPort number, uint32_t truncate) {
  auto port = pass.bridge.by_ofport.find(number);
  if (port == pass.bridge.by_ofport.end()) return Drop("Nonexistent output port");
  FindInPort(pass);
  Output(pass, {port->second, pass.tags}, Purpose::kOpenFlow, truncate);
}

void Translator::FloodPorts(Pass& pass, bool all) {
  FindInPort(pass);
  for (const XBundle* bundle : pass.bridge.bundles) {
    for (const XPort* port : bundle->ports) {
      if (failed_) return;
      if (port->ofport == pass.flow.in_port) continue;
      if (!all && (port->config & kPortNoFlood) != 0) continue;
      Output(pass, {port, pass.tags}, Purpose::kOpenFlow, 0);
    }
  }
}

Translator::Step Translator::Do(Pass& pass, const OfOutput& action, const List& list) {
  OutputToPort(pass, action.port, action.max_len, list.is_last);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfOutputReg& action, const List& list) {
  const SubValue value = ReadField(pass, action.source);
  const uint32_t wire = uint32_t{value[12]} << 24 | uint32_t{value[13]} << 16 | uint32_t{value[14]} << 8 | value[15];
  bool beyond = false;
  for (size_t i = 0; i < 12; ++i) beyond |= value[i] != 0;
  std::optional<OfPort> port = beyond ? std::nullopt : PortFromWire(wire);
  // Sixteen bits hold the numbers of OpenFlow 1.0.
  if (!port && wire <= 0xffff && !beyond) port = static_cast<OfPort>(wire);
  Note("output port is {}", wire);
  if (port) OutputToPort(pass, *port, action.max_len, list.is_last);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfOutputTrunc& action, const List&) {
  OfPort port = action.port == kOfpInPort ? static_cast<OfPort>(pass.flow.in_port) : action.port;
  if (port >= kOfpMax && port != kOfpLocal) {
    Drop("output_trunc does not support port: {}", FormatOfPort(port, {}));
  } else if (action.port == pass.flow.in_port) {
    Drop("skipping output to input port");
  } else {
    OutputToOfPort(pass, port, action.max_len);
  }
  return Step::kNext;
}

// Queues
// ------------------------------------------------------------------------------------------------------------------

// A queue's number is the priority of its packets.
Translator::Step Translator::Do(Pass& pass, const OfSetQueue& action, const List&) {
  looked_at_.skb_priority = UINT32_MAX;
  pass.flow.packet.skb_priority = action.queue;
  return Step::kNext;
}

// Back to what the packet came with.
Translator::Step Translator::Do(Pass& pass, const OfPopQueue&, const List&) {
  looked_at_.skb_priority = UINT32_MAX;
  pass.flow.packet.skb_priority = key_.skb_priority;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfEnqueue& action, const List& list) {
  looked_at_.skb_priority = UINT32_MAX;
  const uint32_t before = std::exchange(pass.flow.packet.skb_priority, action.queue);
  OfPort port = action.port == kOfpInPort ? static_cast<OfPort>(pass.flow.in_port) : action.port;
  if (action.port == kOfpInPort) {
    OutputToOfPort(pass, port, 0);
  } else {
    OutputToPort(pass, port, kNoMaxLen, list.is_last);
  }
  pass.flow.packet.skb_priority = before;
  return Step::kNext;
}

}  // namespace sluice
