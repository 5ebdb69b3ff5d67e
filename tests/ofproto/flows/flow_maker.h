// Flow mods and flows for the tests of tables, made by hand: no text, no wire.
#pragma once

#include <cstdint>
#include <random>

#include "ofproto/flows/flow_tables.h"

namespace sluice {

inline OfAction Output(OfPort port) { return {OfOutput{port, 0}}; }

// Sets the upper `bits` of an IPv4 destination, with the Ethernet type that it needs.
inline void MatchIpv4Dst(OfMatch& match, uint32_t address, int bits) {
  const uint32_t mask = bits == 0 ? 0 : ~uint32_t{0} << (32 - bits);
  match.value.packet.eth_type = Be16(0x0800);
  match.mask.packet.eth_type = Be16(0xffff);
  match.value.packet.ipv4_dst = Be32(address & mask);
  match.mask.packet.ipv4_dst = Be32(mask);
}
inline void MatchTcpDst(OfMatch& match, uint16_t port, uint16_t mask = 0xffff) {
  match.value.packet.eth_type = Be16(0x0800);
  match.mask.packet.eth_type = Be16(0xffff);
  match.value.packet.ip_proto = 6;
  match.mask.packet.ip_proto = 0xff;
  match.value.packet.tp_dst = Be16(port & mask);
  match.mask.packet.tp_dst = Be16(mask);
}
inline void MatchInPort(OfMatch& match, OfPort port) {
  match.value.in_port = port;
  match.mask.in_port = 0xffff;
}

inline FlowMod AddFlow(uint16_t priority, const OfMatch& match, OfPort output = 1, uint8_t table = 0) {
  FlowMod mod;
  mod.command = FlowCommand::kAdd;
  mod.priority = priority;
  mod.match = match;
  mod.table = table;
  mod.actions = {Output(output)};
  return mod;
}

inline OfFlow TcpPacket(OfPort in_port, uint32_t source, uint32_t destination, uint16_t tp_src, uint16_t tp_dst) {
  OfFlow flow;
  flow.in_port = in_port;
  flow.packet.eth_type = Be16(0x0800);
  flow.packet.ip_proto = 6;
  flow.packet.ip_ttl = 64;
  flow.packet.eth_src = {2, 0, 0, 0, 0, 1};
  flow.packet.eth_dst = {2, 0, 0, 0, 0, 2};
  flow.packet.ipv4_src = Be32(source);
  flow.packet.ipv4_dst = Be32(destination);
  flow.packet.tp_src = Be16(tp_src);
  flow.packet.tp_dst = Be16(tp_dst);
  return flow;
}

inline OfMask ApplyOfMask(const OfFlow& flow, const OfMask& mask) {
  OfFlow masked;
  for (size_t i = 0; i < OfFlow::kWords; ++i) masked.SetWord(i, flow.Word(i) & mask.Word(i));
  return masked;
}

}  // namespace sluice
