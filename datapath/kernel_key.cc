#include "datapath/kernel_key.h"

#include <cstring>

#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint8_t kNeighbourSolicitation = 135;
constexpr uint8_t kNeighbourAdvertisement = 136;

template <typename Field>
void SetOnes(Field& field) {
  std::memset(static_cast<void*>(&field), 0xff, sizeof(field));
}

// The fields that every kernel key decides: what is in it, and what a packet must have zero to be looked up.
FlowMask DecidedFields() {
  FlowMask mask;
  SetOnes(mask.in_port);
  SetOnes(mask.recirc_id);
  SetOnes(mask.dp_hash);
  SetOnes(mask.skb_mark);
  SetOnes(mask.skb_priority);
  SetOnes(mask.ip_frag);
  SetOnes(mask.ip_ttl);
  SetOnes(mask.eth_dst);
  SetOnes(mask.eth_src);
  SetOnes(mask.eth_type);
  SetOnes(mask.ip_proto);
  SetOnes(mask.ip_tos);
  SetOnes(mask.vlan_tci);
  SetOnes(mask.vlan_tpid);
  SetOnes(mask.inner_vlan_tci);
  SetOnes(mask.inner_vlan_tpid);
  SetOnes(mask.tp_src);
  SetOnes(mask.tp_dst);
  SetOnes(mask.ipv6_label);
  SetOnes(mask.ipv4_src);
  SetOnes(mask.ipv4_dst);
  SetOnes(mask.ipv6_src);
  SetOnes(mask.ipv6_dst);
  SetOnes(mask.mpls_lse);
  SetOnes(mask.mpls_reserved);
  SetOnes(mask.nd_target);
  SetOnes(mask.arp_sha);
  SetOnes(mask.arp_tha);
  SetOnes(mask.arp_reserved);
  return mask;
}

bool IsNeighbourDiscovery(const FlowKey& key) {
  uint16_t type = key.tp_src.Get();
  return key.ip_proto == kIpProtoIcmpv6 && (type == kNeighbourSolicitation || type == kNeighbourAdvertisement);
}

// Nothing but what a kernel key has room for.
bool IsPlain(const FlowKey& key) {
  return key.recirc_id == 0 && key.dp_hash == 0 && key.skb_mark == 0 && key.skb_priority == 0 && key.ip_frag == 0 &&
         key.vlan_tci.Get() == 0 && key.vlan_tpid.Get() == 0;
}

}  // namespace

std::optional<uint32_t> OnlyOutput(const ActionList& actions) {
  if (actions.size() != 1) return std::nullopt;
  const auto* output = std::get_if<OutputAction>(&actions[0].value);
  if (output == nullptr) return std::nullopt;
  return output->port;
}

bool KernelKeyDecides(const FlowMask& mask, const FlowKey& key) {
  static const FlowMask kDecided = DecidedFields();
  FlowMask decided = kDecided;
  if (key.ip_proto != kIpProtoTcp) SetOnes(decided.tcp_flags);  // there are none
  for (size_t i = 0; i < FlowKey::kWords; ++i) {
    if ((mask.Word(i) & ~decided.Word(i)) != 0) return false;
  }
  return true;
}

std::optional<sluice_flow_key> MakeKernelKey(const FlowKey& key, uint32_t ingress) {
  if (!IsPlain(key)) return std::nullopt;
  bool ipv4 = key.eth_type.Get() == kEthTypeIpv4;
  if (!ipv4 && key.eth_type.Get() != kEthTypeIpv6) return std::nullopt;
  uint8_t icmp = ipv4 ? kIpProtoIcmp : kIpProtoIcmpv6;
  if (key.ip_proto != kIpProtoTcp && key.ip_proto != kIpProtoUdp && key.ip_proto != icmp) return std::nullopt;
  // Their targets and addresses are not in the kernel key.
  if (IsNeighbourDiscovery(key)) return std::nullopt;

  sluice_flow_key result{};
  result.port = static_cast<uint16_t>(ingress);
  result.tos = key.ip_tos;
  result.ttl = key.ip_ttl;
  std::memcpy(result.eth_dst, &key.eth_dst, sizeof(result.eth_dst));
  std::memcpy(result.eth_src, &key.eth_src, sizeof(result.eth_src));
  std::memcpy(&result.eth_type, &key.eth_type, sizeof(result.eth_type));
  result.ip_proto = key.ip_proto;
  std::memcpy(&result.tp_src, &key.tp_src, sizeof(result.tp_src));
  std::memcpy(&result.tp_dst, &key.tp_dst, sizeof(result.tp_dst));
  if (ipv4) {
    std::memcpy(&result.ip_src, &key.ipv4_src, sizeof(key.ipv4_src));
    std::memcpy(&result.ip_dst, &key.ipv4_dst, sizeof(key.ipv4_dst));
  } else {
    std::memcpy(&result.ipv6_label, &key.ipv6_label, sizeof(result.ipv6_label));
    std::memcpy(&result.ip_src, &key.ipv6_src, sizeof(result.ip_src));
    std::memcpy(&result.ip_dst, &key.ipv6_dst, sizeof(result.ip_dst));
  }
  return result;
}

}  // namespace sluice
