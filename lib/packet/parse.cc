#include "lib/packet/parse.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/hash.h"
#include "lib/packet/headers.h"

namespace sluice {
namespace {

// FlowKey::eth_type of an 802.2 frame that carries no Ethernet type.
constexpr Be16 kEthTypeNone{0x05ff};

constexpr Be16 kTypeIpv4{kEthTypeIpv4};
constexpr Be16 kTypeIpv6{kEthTypeIpv6};
constexpr Be16 kTypeVlan{kEthTypeVlan};
constexpr Be16 kTypeQinq{kEthTypeQinq};
constexpr Be16 kTypeMpls{kEthTypeMpls};
constexpr Be16 kTypeMplsMulticast{kEthTypeMplsMulticast};
constexpr Be16 kTypeArp{kEthTypeArp};
constexpr Be16 kTypeRarp{kEthTypeRarp};

constexpr uint8_t kNeighbourSolicitation = 135;
constexpr uint8_t kNeighbourAdvertisement = 136;
constexpr uint32_t kVlanTagSize = 4;
constexpr uint32_t kMplsEntrySize = 4;
constexpr uint32_t kMplsBottomOfStack = 0x100;

constexpr uint8_t kLlcSnap[6] = {0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00};
constexpr uint32_t kLlcSnapSize = sizeof kLlcSnap + sizeof(Be16);

// One pass over a frame. With kKey the flow key is filled, without it only offsets and layers are found.
template <bool kKey>
class Parser {
 public:
  // `key` is zero but for the metadata, or nullptr without kKey.
  Parser(DpPacket& packet, FlowKey* key)
      : packet_(packet),
        key_(key),
        data_(packet.data()),
        // Any offset, one past the end included, fits its field and is not kNoOffset.
        readable_(std::min<uint32_t>(packet.head_length(), kNoOffset - 1)) {}

  Layers Parse() {
    if (readable_ < sizeof(EthernetHeader)) [[unlikely]]
      return layers_;
    Be16 type = At<EthernetHeader>(0)->type;
    uint32_t offset = sizeof(EthernetHeader);
    if constexpr (kKey) std::memcpy(&key_->eth_dst, data_, 2 * sizeof(MacAddress));
    if (type != kTypeIpv4 && type != kTypeIpv6) ParseType(type, offset);
    layers_.eth_type = type.Get();
    if constexpr (kKey) key_->eth_type = type;

    if (type == kTypeIpv4) {
      ParseIpv4(offset);
    } else if (type == kTypeIpv6) {
      ParseIpv6(offset);
    } else if (type == kTypeArp || type == kTypeRarp) {
      ParseArp(offset);
    } else if (type == kTypeMpls || type == kTypeMplsMulticast) {
      ParseMpls(offset);
    }
    return layers_;
  }

 private:
  template <typename T>
  const T* At(uint32_t offset) const {
    return reinterpret_cast<const T*>(data_ + offset);
  }
  // `offset` never lies beyond readable_.
  bool Has(uint32_t offset, uint32_t bytes) const { return readable_ - offset >= bytes; }

  // Goes over VLAN tags and LLC/SNAP: `type` becomes the type behind them, `offset` moves to what follows it.
  void ParseType(Be16& type, uint32_t& offset) {
    for (int tag = 0; tag < 2 && (type == kTypeVlan || type == kTypeQinq); ++tag) {
      if (!Has(offset, kVlanTagSize)) return;
      const auto* vlan = At<VlanHeader>(offset);
      if constexpr (kKey) {
        Be16 tci = vlan->tci | Be16(kVlanPresent);
        (tag == 0 ? key_->vlan_tci : key_->inner_vlan_tci) = tci;
        (tag == 0 ? key_->vlan_tpid : key_->inner_vlan_tpid) = type;
      }
      type = vlan->type;
      offset += kVlanTagSize;
    }
    if (type.Get() >= kEthTypeMinimum) return;
    type = kEthTypeNone;
    if (!Has(offset, kLlcSnapSize) || std::memcmp(data_ + offset, kLlcSnap, sizeof kLlcSnap) != 0) return;
    Be16 snap_type = *At<Be16>(offset + sizeof kLlcSnap);
    if (snap_type.Get() < kEthTypeMinimum) return;
    type = snap_type;
    offset += kLlcSnapSize;
  }

  void ParseIpv4(uint32_t offset) {
    if (!Has(offset, sizeof(Ipv4Header))) [[unlikely]]
      return;
    const auto* ip = At<Ipv4Header>(offset);
    uint32_t header_length = ip->HeaderLength();
    uint32_t total_length = ip->total_length.Get();
    if (ip->version_ihl >> 4 != 4 || header_length < sizeof(Ipv4Header) || !Has(offset, header_length) ||
        total_length < header_length) [[unlikely]] {
      return;
    }
    packet_.l3_offset = static_cast<uint16_t>(offset);
    if constexpr (kKey) {
      std::memcpy(&key_->ipv4_src, &ip->source, 2 * sizeof(Be32));
      key_->ip_proto = ip->protocol;
      key_->ip_tos = ip->tos;
      key_->ip_ttl = ip->ttl;
    }
    uint16_t fragment = ip->fragment.Get() & (kIpv4MoreFragments | kIpv4OffsetMask);
    if (fragment != 0) [[unlikely]] {
      fragment_ = (fragment & kIpv4OffsetMask) != 0 ? kFragAny | kFragLater : kFragAny;
      if constexpr (kKey) key_->ip_frag = fragment_;
      if ((fragment_ & kFragLater) != 0) return;
    }
    if (total_length > packet_.length() - offset) [[unlikely]]
      return;
    ParseTransport(ip->protocol, offset + header_length, offset + total_length);
  }

  void ParseIpv6(uint32_t offset) {
    if (!Has(offset, sizeof(Ipv6Header))) [[unlikely]]
      return;
    const auto* ip = At<Ipv6Header>(offset);
    uint32_t first_word = ip->version_class_label.Get();
    if (first_word >> 28 != 6) [[unlikely]]
      return;
    packet_.l3_offset = static_cast<uint16_t>(offset);
    if constexpr (kKey) {
      std::memcpy(&key_->ipv6_src, &ip->source, 2 * sizeof(Ipv6Address));
      key_->ip_tos = static_cast<uint8_t>(first_word >> 20);
      key_->ipv6_label = Be32(first_word & 0xfffff);
      key_->ip_ttl = ip->hop_limit;
    }
    uint8_t protocol = ip->next_header;
    uint32_t l4 = offset + sizeof(Ipv6Header);
    uint32_t end = l4 + ip->payload_length.Get();
    bool complete = end <= packet_.length();
    bool reached = complete;
    if (protocol != kIpProtoTcp && protocol != kIpProtoUdp) {
      reached = SkipExtensions(protocol, l4, std::min(end, readable_)) && complete;
    }
    if constexpr (kKey) {
      key_->ip_proto = protocol;
      key_->ip_frag = fragment_;
    }
    if (reached) [[likely]]
      ParseTransport(protocol, l4, end);
  }

  // Goes over extension headers; `limit` ends what may be read. False if there is no transport header to be read behind
  // them: `protocol` then names the header where it stopped (kIpv6Fragment for a later fragment).
  bool SkipExtensions(uint8_t& protocol, uint32_t& offset, uint32_t limit) {
    for (;;) {
      uint32_t size;
      switch (protocol) {
        case kIpv6HopByHop:
        case kIpv6Routing:
        case kIpv6Destination:
        case kIpv6Mobility:
        case kIpv6Auth:
        case kIpv6Fragment:
          break;
        default:
          return true;
      }
      // The shortest of them is 8 bytes.
      if (offset > limit || limit - offset < 8) return false;
      const auto* extension = At<Ipv6ExtensionHeader>(offset);
      if (protocol == kIpv6Fragment) {
        size = sizeof(Ipv6FragmentHeader);
        uint16_t offset_more = At<Ipv6FragmentHeader>(offset)->offset_more.Get();
        if ((offset_more & 0xfff8) != 0) {
          fragment_ = kFragAny | kFragLater;
          return false;
        }
        // An atomic fragment (RFC 6946) is none.
        if ((offset_more & 1) != 0) fragment_ = kFragAny;
      } else {
        size = protocol == kIpv6Auth ? (extension->length + 2u) * 4 : (extension->length + 1u) * 8;
      }
      if (limit - offset < size) return false;
      protocol = extension->next_header;
      offset += size;
    }
  }

  // A transport header at `offset` of a datagram that ends at `end`.
  void ParseTransport(uint8_t protocol, uint32_t offset, uint32_t end) {
    uint32_t limit = std::min(end, readable_);
    if (offset > limit) [[unlikely]]
      return;
    uint32_t left = limit - offset;
    if (protocol == kIpProtoTcp) {
      if (left < sizeof(TcpHeader)) [[unlikely]]
        return;
      const auto* tcp = At<TcpHeader>(offset);
      uint32_t size = tcp->HeaderLength();
      if (size < sizeof(TcpHeader) || size > left) [[unlikely]]
        return;
      SetTransport(protocol, offset, size);
      if constexpr (kKey) {
        SetPorts(offset);
        key_->tcp_flags = *At<Be16>(offset + offsetof(TcpHeader, data_offset)) & Be16(0x0fff);
      }
    } else if (protocol == kIpProtoUdp) {
      if (left < sizeof(UdpHeader)) [[unlikely]]
        return;
      uint32_t length = At<UdpHeader>(offset)->length.Get();
      if ((length < sizeof(UdpHeader) || length > end - offset) && !MayMisstateUdpLength(length)) [[unlikely]]
        return;
      SetTransport(protocol, offset, sizeof(UdpHeader));
      if constexpr (kKey) SetPorts(offset);
    } else if (protocol == kIpProtoSctp) {
      if (left < sizeof(SctpHeader)) return;
      SetTransport(protocol, offset, sizeof(SctpHeader));
      if constexpr (kKey) SetPorts(offset);
    } else if (protocol == (layers_.eth_type == kEthTypeIpv4 ? kIpProtoIcmp : kIpProtoIcmpv6)) {
      ParseIcmp(protocol, offset, left);
    }
  }

  // The UDP length counts the whole datagram: in its first fragment it exceeds what is here. In a super-packet each
  // segment gets its own, and some senders leave one segment's or none in the template.
  bool MayMisstateUdpLength(uint32_t length) const {
    return IsUdp(packet_.offload.segmentation) || (fragment_ != 0 && length >= sizeof(UdpHeader));
  }

  void SetTransport(uint8_t protocol, uint32_t offset, uint32_t size) {
    packet_.l4_offset = static_cast<uint16_t>(offset);
    packet_.payload_offset = static_cast<uint16_t>(offset + size);
    layers_.ip_proto = protocol;
  }

  void SetPorts(uint32_t offset) { std::memcpy(&key_->tp_src, data_ + offset, 2 * sizeof(Be16)); }

  void ParseIcmp(uint8_t protocol, uint32_t offset, uint32_t left) {
    if (left < sizeof(IcmpHeader)) return;
    SetTransport(protocol, offset, sizeof(IcmpHeader));
    if constexpr (kKey) {
      const auto* icmp = At<IcmpHeader>(offset);
      key_->tp_src = Be16(icmp->type);
      key_->tp_dst = Be16(icmp->code);
      bool neighbour = icmp->type == kNeighbourSolicitation || icmp->type == kNeighbourAdvertisement;
      if (protocol == kIpProtoIcmpv6 && neighbour && icmp->code == 0) ParseNeighbour(offset, left);
    }
  }

  void ParseNeighbour(uint32_t offset, uint32_t left) {
    if (left < sizeof(NdMessage)) return;
    key_->nd_target = At<NdMessage>(offset)->target;
    offset += sizeof(NdMessage);
    left -= sizeof(NdMessage);
    while (left >= sizeof(NdOption)) {
      const auto* option = At<NdOption>(offset);
      uint32_t size = option->length * 8u;
      if (size == 0 || size > left) return;
      if ((option->type == 1 || option->type == 2) && size == sizeof(NdOption)) {
        MacAddress& address = option->type == 1 ? key_->arp_sha : key_->arp_tha;
        if (address != MacAddress{}) {
          // Said twice: nothing of the message is to be trusted.
          key_->nd_target = {};
          key_->arp_sha = key_->arp_tha = {};
          return;
        }
        address = option->address;
      }
      offset += size;
      left -= size;
    }
  }

  void ParseArp(uint32_t offset) {
    if (!Has(offset, sizeof(ArpHeader))) return;
    const auto* arp = At<ArpHeader>(offset);
    if (arp->hardware_type != Be16(1) || arp->protocol_type != kTypeIpv4 || arp->hardware_length != 6 ||
        arp->protocol_length != 4) {
      return;
    }
    packet_.l3_offset = static_cast<uint16_t>(offset);
    if constexpr (kKey) {
      if (arp->operation.Get() <= 0xff) key_->ip_proto = static_cast<uint8_t>(arp->operation.Get());
      key_->ipv4_src = arp->sender_ip;
      key_->ipv4_dst = arp->target_ip;
      key_->arp_sha = arp->sender_mac;
      key_->arp_tha = arp->target_mac;
    }
  }

  void ParseMpls(uint32_t offset) {
    if constexpr (kKey) {
      for (Be32& entry : key_->mpls_lse) {
        if (!Has(offset, kMplsEntrySize)) return;
        entry = *At<Be32>(offset);
        if ((entry.Get() & kMplsBottomOfStack) != 0) return;
        offset += kMplsEntrySize;
      }
    }
  }

  DpPacket& packet_;
  FlowKey* const key_;
  const uint8_t* const data_;
  const uint32_t readable_;
  uint8_t fragment_ = 0;
  Layers layers_;
};

// Vector stores one by one: for an object of this size the compiler would take "rep stos", which costs more than all of
// the parsing.
template <size_t... kIndex>
void ZeroKey(FlowKey& key, std::index_sequence<kIndex...>) {
  auto* words = reinterpret_cast<__m128i*>(&key);
  (_mm_storeu_si128(words + kIndex, _mm_setzero_si128()), ...);
}
static_assert(sizeof(FlowKey) % sizeof(__m128i) == 0);

// The layers of a super-packet may be hidden, by a third VLAN tag for instance. How many segments it is does not change
// by that: its offload state still says where the payload begins.
void FindHiddenPayload(DpPacket& packet) {
  const bool tcp = IsTcp(packet.offload.segmentation);
  const uint32_t start = packet.offload.csum_start;
  if (start + (tcp ? sizeof(TcpHeader) : sizeof(UdpHeader)) > packet.head_length()) return;
  const uint32_t size = tcp ? HeaderAt<TcpHeader>(packet, start)->HeaderLength() : uint32_t{sizeof(UdpHeader)};
  if (start + size <= packet.head_length()) packet.payload_offset = static_cast<uint16_t>(start + size);
}
inline bool HidesPayload(const DpPacket& packet) {
  return packet.payload_offset == kNoOffset && packet.offload.IsSuper();
}

uint32_t NeverZero(uint32_t hash) { return hash != 0 ? hash : 1; }

// Ports where they tell connections apart, source in the low half.
uint32_t PortsOf(const FlowKey& key) {
  uint32_t ports;
  std::memcpy(&ports, &key.tp_src, sizeof ports);
  return ports;
}

}  // namespace

void ParsePacket(DpPacket& packet, FlowKey& key) {
  ZeroKey(key, std::make_index_sequence<sizeof(FlowKey) / sizeof(__m128i)>());
  key.in_port = packet.in_port;
  key.recirc_id = packet.recirc_id;
  key.dp_hash = packet.dp_hash;
  key.skb_mark = packet.skb_mark;
  key.skb_priority = packet.skb_priority;
  packet.l3_offset = packet.l4_offset = packet.payload_offset = kNoOffset;
  Parser<true>(packet, &key).Parse();
  if (HidesPayload(packet)) [[unlikely]]
    FindHiddenPayload(packet);
}

Layers ParseLayers(DpPacket& packet) {
  packet.l3_offset = packet.l4_offset = packet.payload_offset = kNoOffset;
  const Layers layers = Parser<false>(packet, nullptr).Parse();
  if (HidesPayload(packet)) [[unlikely]]
    FindHiddenPayload(packet);
  return layers;
}

uint32_t FlowHash(const FlowKey& key, uint32_t basis) {
  uint64_t hash = HashAdd(basis, uint64_t{PortsOf(key)} << 32 | key.ip_proto);
  if (key.eth_type == kTypeIpv4) return NeverZero(HashFinish(HashAdd(hash, key.Word(7))));
  if (key.eth_type == kTypeIpv6) {
    for (size_t i = 8; i < FlowKey::kIpv6Words; ++i) hash = HashAdd(hash, key.Word(i));
    return NeverZero(HashFinish(hash));
  }
  // Neither: the Ethernet header and, for ARP, the protocol addresses.
  for (size_t i : {3, 4, 7}) hash = HashAdd(hash, key.Word(i));
  return NeverZero(HashFinish(hash));
}

uint32_t SymmetricFlowHash(const FlowKey& key, uint32_t basis) {
  // What swaps between the directions is combined by exclusive or. ICMP's type and code do not swap, they change.
  bool ports = key.ip_proto == kIpProtoTcp || key.ip_proto == kIpProtoUdp || key.ip_proto == kIpProtoSctp;
  uint64_t both_ports = ports ? key.tp_src.Raw() ^ key.tp_dst.Raw() : 0;
  uint64_t hash = HashAdd(basis, both_ports << 32 | key.ip_proto);
  if (key.eth_type == kTypeIpv4) {
    hash = HashAdd(hash, key.ipv4_src.Raw() ^ key.ipv4_dst.Raw());
  } else if (key.eth_type == kTypeIpv6) {
    hash = HashAdd(hash, key.Word(8) ^ key.Word(10));
    hash = HashAdd(hash, key.Word(9) ^ key.Word(11));
  } else {
    uint64_t addresses = 0;
    for (size_t i = 0; i < sizeof(MacAddress); ++i) {
      addresses |= static_cast<uint64_t>(key.eth_src[i] ^ key.eth_dst[i]) << (8 * i);
    }
    hash = HashAdd(HashAdd(hash, addresses), key.eth_type.Raw());
    hash = HashAdd(hash, key.ipv4_src.Raw() ^ key.ipv4_dst.Raw());
  }
  return NeverZero(HashFinish(hash));
}

}  // namespace sluice
