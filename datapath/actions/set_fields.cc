#include "datapath/actions/set_fields.h"

#include <algorithm>
#include <cstring>

#include "datapath/actions/tags.h"
#include "datapath/actions/transport.h"
#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"

namespace sluice {
namespace {

using Version = NetworkInfo::Version;

constexpr uint8_t kNeighbourSolicitation = 135;
constexpr uint8_t kNeighbourAdvertisement = 136;

template <typename Word>
void MaskWord(uint8_t* field, const uint8_t* value, const uint8_t* mask) {
  Word f, v, m;
  std::memcpy(&f, field, sizeof f);
  std::memcpy(&v, value, sizeof v);
  std::memcpy(&m, mask, sizeof m);
  f = static_cast<Word>((f & ~m) | (v & m));
  std::memcpy(field, &f, sizeof f);
}

// Any trivially copyable field, bit by bit, in words as large as fit.
template <typename T>
T Masked(const T& old, const T& value, const T& mask) {
  T result = old;
  auto* out = reinterpret_cast<uint8_t*>(&result);
  auto* v = reinterpret_cast<const uint8_t*>(&value);
  auto* m = reinterpret_cast<const uint8_t*>(&mask);
  size_t i = 0;
  for (; i + 8 <= sizeof(T); i += 8) MaskWord<uint64_t>(out + i, v + i, m + i);
  if constexpr (sizeof(T) % 8 >= 4) {
    MaskWord<uint32_t>(out + i, v + i, m + i);
    i += 4;
  }
  if constexpr (sizeof(T) % 4 >= 2) {
    MaskWord<uint16_t>(out + i, v + i, m + i);
    i += 2;
  }
  if constexpr (sizeof(T) % 2 == 1) MaskWord<uint8_t>(out + i, v + i, m + i);
  return result;
}

template <typename T>
void Assign(T& field, const T& value, const T& mask) {
  field = Masked(field, value, mask);
}

template <typename T>
const uint8_t* Bytes(const T& value) {
  return reinterpret_cast<const uint8_t*>(&value);
}

bool SetEthernet(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  auto* ethernet = HeaderAt<EthernetHeader>(packet, 0);
  Assign(ethernet->destination, value.eth_dst, mask.eth_dst);
  Assign(ethernet->source, value.eth_src, mask.eth_src);
  return true;
}

bool SetVlan(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  if (TagBytes(packet) == 0) return false;
  // The place of the "present" bit is the drop-eligible indicator on the wire.
  Assign(HeaderAt<VlanHeader>(packet, sizeof(EthernetHeader))->tci, value.vlan_tci,
         mask.vlan_tci & ~Be16(kVlanPresent));
  return true;
}

bool SetIpv4(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  NetworkInfo network = InspectNetwork(packet);
  if (network.version != Version::kIpv4) return false;
  auto* ip = HeaderAt<Ipv4Header>(packet, packet.l3_offset);
  const Ipv4Header before = *ip;
  Assign(ip->tos, value.ip_tos, mask.ip_tos);
  Assign(ip->ttl, value.ip_ttl, mask.ip_ttl);
  Assign(ip->source, value.ipv4_src, mask.ipv4_src);
  Assign(ip->destination, value.ipv4_dst, mask.ipv4_dst);
  const Ipv4Header after = *ip;
  // The sum is of 16-bit words: the one that holds the byte.
  auto update_word = [&](size_t offset) {
    Be16 old_word, new_word;
    std::memcpy(&old_word, Bytes(before) + offset, sizeof old_word);
    std::memcpy(&new_word, Bytes(after) + offset, sizeof new_word);
    if (new_word != old_word) ip->checksum = UpdateChecksum16(ip->checksum, old_word, new_word);
  };
  update_word(offsetof(Ipv4Header, version_ihl));
  update_word(offsetof(Ipv4Header, ttl));
  if (after.source != before.source || after.destination != before.destination) {
    constexpr size_t kSize = 2 * sizeof(Be32);
    ip->checksum = UpdateChecksumBytes(ip->checksum, Bytes(before.source), Bytes(after.source), kSize);
    UpdateForAddresses(packet, network.protocol, Bytes(before.source), Bytes(after.source), kSize);
  }
  return true;
}

bool SetIpv6(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  NetworkInfo network = InspectNetwork(packet);
  if (network.version != Version::kIpv6) return false;
  auto* ip = HeaderAt<Ipv6Header>(packet, packet.l3_offset);
  auto traffic_class = [](uint8_t tos) { return Be32(uint32_t{tos} << 20); };
  Assign(ip->version_class_label, traffic_class(value.ip_tos) | (value.ipv6_label & Be32(0xfffff)),
         traffic_class(mask.ip_tos) | (mask.ipv6_label & Be32(0xfffff)));
  Assign(ip->hop_limit, value.ip_ttl, mask.ip_ttl);
  auto assign_address = [&](Ipv6Address& field, const Ipv6Address& to, const Ipv6Address& to_mask, bool in_checksum) {
    const Ipv6Address before = field;
    Assign(field, to, to_mask);
    if (in_checksum && field != before) {
      UpdateForAddresses(packet, network.protocol, before.data(), field.data(), sizeof before);
    }
  };
  assign_address(ip->source, value.ipv6_src, mask.ipv6_src, true);
  // The pseudo-header has the last destination (RFC 8200, section 8.1).
  assign_address(ip->destination, value.ipv6_dst, mask.ipv6_dst, !network.routed);
  return true;
}

// CRC32c is linear: what a change adds to a right checksum is right for a wrong one too, and keeps it as wrong.
void SetSctpPorts(DpPacket& packet, const NetworkInfo& network, Be16 source, Be16 destination) {
  auto* sctp = HeaderAt<SctpHeader>(packet, packet.l4_offset);
  bool postponed = packet.offload.IsPartial() && packet.offload.csum_start == packet.l4_offset;
  // A fragment does not have the bytes that the checksum is about.
  if (postponed || network.fragment) {
    sctp->source = source;
    sctp->destination = destination;
    return;
  }
  const Be32 stored = sctp->checksum;
  const uint32_t size = network.end - packet.l4_offset;
  sctp->checksum = Be32(0);
  uint32_t change = Crc32cPacket(packet, packet.l4_offset, size);
  sctp->source = source;
  sctp->destination = destination;
  change ^= Crc32cPacket(packet, packet.l4_offset, size);
  sctp->checksum = Be32::FromRaw(stored.Raw() ^ change);  // both least significant byte first
}

bool SetPorts(DpPacket& packet, uint8_t protocol, const FlowKey& value, const FlowMask& mask) {
  NetworkInfo network = InspectNetwork(packet);
  if (network.later_fragment) return true;
  if (network.protocol != protocol) return false;
  struct Ports {
    Be16 source, destination;
  };
  auto* ports = HeaderAt<Ports>(packet, packet.l4_offset);
  const Ports before = *ports;
  const Ports after{Masked(before.source, value.tp_src, mask.tp_src),
                    Masked(before.destination, value.tp_dst, mask.tp_dst)};
  if (after.source == before.source && after.destination == before.destination) return true;
  if (protocol == kIpProtoSctp) {
    SetSctpPorts(packet, network, after.source, after.destination);
    return true;
  }
  *ports = after;
  UpdateForTransport(packet, protocol, Bytes(before), Bytes(after), sizeof before);
  return true;
}

bool SetIcmp(DpPacket& packet, uint8_t protocol, const FlowKey& value, const FlowMask& mask) {
  NetworkInfo network = InspectNetwork(packet);
  if (network.later_fragment) return true;
  if (network.protocol != protocol) return false;
  auto* icmp = HeaderAt<IcmpHeader>(packet, packet.l4_offset);
  const uint8_t before[2] = {icmp->type, icmp->code};
  auto low = [](Be16 field) { return static_cast<uint8_t>(field.Get()); };
  Assign(icmp->type, low(value.tp_src), low(mask.tp_src));
  Assign(icmp->code, low(value.tp_dst), low(mask.tp_dst));
  const uint8_t after[2] = {icmp->type, icmp->code};
  UpdateForTransport(packet, protocol, before, after, sizeof before);
  return true;
}

// Sets the address of every option of `type` between `offset` and `limit` that holds one.
void SetNdOption(DpPacket& packet, uint8_t type, uint32_t offset, uint32_t limit, const MacAddress& value,
                 const MacAddress& mask) {
  while (limit - offset >= sizeof(NdOption)) {
    auto* option = HeaderAt<NdOption>(packet, offset);
    uint32_t size = option->length * 8u;
    if (size == 0 || size > limit - offset) return;
    if (option->type == type && size == sizeof(NdOption)) {
      const MacAddress before = option->address;
      Assign(option->address, value, mask);
      UpdateForTransport(packet, kIpProtoIcmpv6, before.data(), option->address.data(), sizeof before);
    }
    offset += size;
  }
}

bool SetNd(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  NetworkInfo network = InspectNetwork(packet);
  if (network.later_fragment) return true;
  if (network.protocol != kIpProtoIcmpv6) return false;
  uint32_t limit = std::min(network.end, packet.head_length());
  uint32_t options = packet.l4_offset + uint32_t{sizeof(NdMessage)};
  auto* message = HeaderAt<NdMessage>(packet, packet.l4_offset);
  bool is_nd = message->icmp.type == kNeighbourSolicitation || message->icmp.type == kNeighbourAdvertisement;
  if (!is_nd || message->icmp.code != 0 || options > limit) return false;
  const Ipv6Address before = message->target;
  Assign(message->target, value.nd_target, mask.nd_target);
  UpdateForTransport(packet, kIpProtoIcmpv6, before.data(), message->target.data(), sizeof before);
  if (mask.arp_sha != MacAddress{}) SetNdOption(packet, 1, options, limit, value.arp_sha, mask.arp_sha);
  if (mask.arp_tha != MacAddress{}) SetNdOption(packet, 2, options, limit, value.arp_tha, mask.arp_tha);
  return true;
}

bool SetArp(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  // Of ARP and RARP only: the first byte of IP is its version.
  if (packet.l3_offset == kNoOffset || packet.data()[packet.l3_offset] != 0) return false;
  auto* arp = HeaderAt<ArpHeader>(packet, packet.l3_offset);
  // The key has eight bits of the opcode: set whole, they stand for all sixteen.
  Be16 high_mask = mask.ip_proto == 0xff ? Be16(0xff00) : Be16(0);
  Assign(arp->operation, Be16(value.ip_proto), Be16(mask.ip_proto) | high_mask);
  Assign(arp->sender_ip, value.ipv4_src, mask.ipv4_src);
  Assign(arp->target_ip, value.ipv4_dst, mask.ipv4_dst);
  Assign(arp->sender_mac, value.arp_sha, mask.arp_sha);
  Assign(arp->target_mac, value.arp_tha, mask.arp_tha);
  return true;
}

bool SetMpls(DpPacket& packet, const FlowKey& value, const FlowMask& mask) {
  uint32_t type_offset = TypeOffset(packet);
  if (!HasMpls(packet, type_offset)) return false;
  Assign(*HeaderAt<Be32>(packet, type_offset + sizeof(Be16)), value.mpls_lse[0], mask.mpls_lse[0]);
  return true;
}

}  // namespace

bool ApplySet(DpPacket& packet, const SetAction& action) {
  const FlowKey& value = action.value;
  const FlowMask& mask = action.mask;
  switch (action.header) {
    case SetAction::Header::kEthernet:
      return SetEthernet(packet, value, mask);
    case SetAction::Header::kVlan:
      return SetVlan(packet, value, mask);
    case SetAction::Header::kIpv4:
      return SetIpv4(packet, value, mask);
    case SetAction::Header::kIpv6:
      return SetIpv6(packet, value, mask);
    case SetAction::Header::kTcp:
      return SetPorts(packet, kIpProtoTcp, value, mask);
    case SetAction::Header::kUdp:
      return SetPorts(packet, kIpProtoUdp, value, mask);
    case SetAction::Header::kSctp:
      return SetPorts(packet, kIpProtoSctp, value, mask);
    case SetAction::Header::kArp:
      return SetArp(packet, value, mask);
    case SetAction::Header::kIcmp:
      return SetIcmp(packet, kIpProtoIcmp, value, mask);
    case SetAction::Header::kIcmpv6:
      return SetIcmp(packet, kIpProtoIcmpv6, value, mask);
    case SetAction::Header::kNd:
      return SetNd(packet, value, mask);
    case SetAction::Header::kMpls:
      return SetMpls(packet, value, mask);
    case SetAction::Header::kPriority:
      Assign(packet.skb_priority, value.skb_priority, mask.skb_priority);
      return true;
    case SetAction::Header::kMark:
      Assign(packet.skb_mark, value.skb_mark, mask.skb_mark);
      return true;
  }
  return false;
}

}  // namespace sluice
