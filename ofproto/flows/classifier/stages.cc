#include "ofproto/flows/classifier/stages.h"

namespace sluice {
namespace {

template <typename... Fields>
void Fill(Fields&... fields) {
  (std::memset(static_cast<void*>(&fields), 0xff, sizeof fields), ...);
}

std::array<OfMask, kStageCount> MakeStages() {
  std::array<OfMask, kStageCount> stages;
  OfMask& metadata = stages[kStageMetadata];
  Fill(metadata.packet.in_port, metadata.packet.recirc_id, metadata.packet.dp_hash, metadata.packet.skb_mark,
       metadata.packet.skb_priority, metadata.metadata, metadata.in_port, metadata.packet_type, metadata.conj_id,
       metadata.actset_output, metadata.regs, metadata.ct_state, metadata.ct_mark, metadata.ct_zone, metadata.reserved);
  FlowMask& l2 = stages[kStageL2].packet;
  Fill(l2.eth_dst, l2.eth_src, l2.eth_type, l2.vlan_tci, l2.vlan_tpid, l2.inner_vlan_tci, l2.inner_vlan_tpid,
       l2.mpls_lse, l2.mpls_reserved);
  OfMask& l3 = stages[kStageL3];
  Fill(l3.packet.ip_frag, l3.packet.ip_ttl, l3.packet.ip_proto, l3.packet.ip_tos, l3.packet.ipv6_label,
       l3.packet.ipv4_src, l3.packet.ipv4_dst, l3.packet.ipv6_src, l3.packet.ipv6_dst, l3.packet.nd_target,
       l3.packet.arp_sha, l3.packet.arp_tha, l3.packet.arp_reserved, l3.nsh_flags, l3.nsh_ttl, l3.nsh_mdtype, l3.nsh_np,
       l3.nsh_path, l3.nsh_c);
  FlowMask& l4 = stages[kStageL4].packet;
  Fill(l4.tp_src, l4.tp_dst, l4.tcp_flags);
  return stages;
}

}  // namespace

const std::array<OfMask, kStageCount> kStageMasks = MakeStages();

}  // namespace sluice
