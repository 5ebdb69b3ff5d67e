#include "ofproto/trace_flow.h"

#include <algorithm>

#include "lib/base/status.h"
#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58, kSctp = 132;
constexpr uint16_t kArpType = 0x0806, kRarpType = 0x8035, kMplsType = 0x8847, kMplsMulticastType = 0x8848;
constexpr uint16_t kNeighborSolicit = 135, kNeighborAdvert = 136;
constexpr Be16 kAll16{0xffff};

void AddTransport(const FlowKey& packet, bool is_ipv6, FlowMask& mask) {
  const uint8_t protocol = packet.ip_proto;
  const bool is_icmp = protocol == (is_ipv6 ? kIcmp6 : kIcmp);
  if (!is_icmp && protocol != kTcp && protocol != kUdp && protocol != kSctp) return;
  mask.tp_src = mask.tp_dst = kAll16;
  if (protocol == kTcp) mask.tcp_flags = Be16(0x0fff);
  const uint16_t type = packet.tp_src.Get();
  if (is_ipv6 && is_icmp && (type == kNeighborSolicit || type == kNeighborAdvert)) {
    mask.nd_target.fill(0xff);
    (type == kNeighborSolicit ? mask.arp_sha : mask.arp_tha).fill(0xff);
  }
}

// The fields that a packet of this kind has.
FlowMask FieldsOf(const FlowKey& packet) {
  FlowMask mask;
  mask.eth_src.fill(0xff);
  mask.eth_dst.fill(0xff);
  mask.eth_type = mask.vlan_tci = kAll16;
  if ((packet.vlan_tci.Get() & kVlanPresent) != 0) mask.inner_vlan_tci = kAll16;
  const uint16_t type = packet.eth_type.Get();
  if (type == kEthTypeIpv4 || type == kEthTypeIpv6) {
    if (type == kEthTypeIpv4) {
      mask.ipv4_src = mask.ipv4_dst = Be32(UINT32_MAX);
    } else {
      mask.ipv6_src.fill(0xff);
      mask.ipv6_dst.fill(0xff);
      mask.ipv6_label = Be32(0xfffff);
    }
    mask.ip_proto = mask.ip_tos = mask.ip_ttl = 0xff;
    mask.ip_frag = kFragAny | kFragLater;
    AddTransport(packet, type == kEthTypeIpv6, mask);
  } else if (type == kArpType || type == kRarpType) {
    mask.ipv4_src = mask.ipv4_dst = Be32(UINT32_MAX);
    mask.ip_proto = 0xff;
    mask.arp_sha.fill(0xff);
    mask.arp_tha.fill(0xff);
  } else if (type == kMplsType || type == kMplsMulticastType) {
    for (size_t i = 0; i < packet.mpls_lse.size(); ++i) {
      mask.mpls_lse[i] = Be32(UINT32_MAX);
      if ((packet.mpls_lse[i].Get() & 0x100) != 0) break;
    }
  }
  return mask;
}

template <typename T>
void IfNotZero(const T& value, T& mask) {
  if (value != 0) mask = static_cast<T>(~T{0});
}

}  // namespace

absl::StatusOr<OfFlow> ParseTraceFlow(std::string_view text, const OfNames& names) {
  OfMatch match;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(", "), rest.size());
    const std::string_view token = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (token.empty()) continue;
    const size_t equals = std::min(token.find('='), token.size());
    const std::string_view key = token.substr(0, equals);
    const std::string_view value = token.substr(std::min(equals + 1, token.size()));
    // A packet's length is no field; what dump-flows prints with it is not in the way.
    bool used = false;
    absl::Status parsed = ParseMatchItem(key, value, names, match, used);
    if (parsed.ok() && !used) parsed = InvalidArgument("unknown field {}", key);
    if (!parsed.ok()) return InvalidArgument("Bad openflow flow syntax: {}: {}", text, Message(parsed));
  }
  OfFlow flow = match.value;
  if ((flow.packet.vlan_tci.Get() & kVlanPresent) != 0 && flow.packet.vlan_tpid == Be16()) {
    flow.packet.vlan_tpid = Be16(kEthTypeVlan);
  }
  return flow;
}

std::string FormatTraceFlow(const OfFlow& flow) {
  OfMatch match{.value = flow, .mask = {}};
  OfMask& mask = match.mask;
  mask.packet = FieldsOf(flow.packet);
  mask.in_port = 0xffff;
  IfNotZero(flow.metadata, mask.metadata);
  IfNotZero(flow.packet.recirc_id, mask.packet.recirc_id);
  IfNotZero(flow.packet.dp_hash, mask.packet.dp_hash);
  IfNotZero(flow.packet.skb_mark, mask.packet.skb_mark);
  IfNotZero(flow.packet.skb_priority, mask.packet.skb_priority);
  for (size_t i = 0; i < flow.regs.size(); ++i) IfNotZero(flow.regs[i], mask.regs[i]);
  if (flow.actset_output != kOfpUnset) IfNotZero(flow.actset_output, mask.actset_output);
  for (size_t i = 0; i < OfFlow::kWords; ++i) match.value.SetWord(i, flow.Word(i) & mask.Word(i));
  return FormatMatch(match, 32768, {});
}

std::string FormatMegaflow(const OfFlow& flow, const OfMask& mask) {
  OfMatch match{.value = {}, .mask = mask};
  match.mask.packet.in_port = 0;
  match.mask.in_port = 0xffff;
  match.mask.packet_type = match.mask.packet.recirc_id = 0;
  match.mask.packet.eth_type = kAll16;
  // What actions put into registers is no part of the packet.
  match.mask.metadata = 0;
  match.mask.regs.fill(0);
  match.mask.actset_output = match.mask.conj_id = 0;
  match.mask.packet.vlan_tpid = match.mask.packet.inner_vlan_tpid = Be16();
  for (size_t i = 0; i < OfFlow::kWords; ++i) match.value.SetWord(i, flow.Word(i) & match.mask.Word(i));
  const uint32_t recirculation = flow.packet.recirc_id;
  return fmt::format("recirc_id={},eth,{}", recirculation == 0 ? "0" : fmt::format("{:#x}", recirculation),
                     FormatMatch(match, 32768, {}));
}

}  // namespace sluice
