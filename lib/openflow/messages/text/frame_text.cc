// The headers of a frame as a match, for packet-in and packet-out.
#include <cstring>

#include "lib/openflow/messages/text/text.h"
#include "lib/packet/parse.h"
#include "lib/packet/slab_pool.h"

namespace sluice::messages {
namespace {

constexpr size_t kEthernetHeader = 14;
constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58, kSctp = 132;

struct Parsed {
  FlowKey key;
  std::string checksum;  // " tcp_csum:1a2b"
};

// Where a transport header has its checksum.
struct ChecksumPlace {
  std::string_view name;
  size_t offset = 0;
  size_t size = 2;
};
ChecksumPlace ChecksumOf(const FlowKey& key) {
  bool is_v6 = key.eth_type.Get() == 0x86dd;
  switch (key.ip_proto) {
    case kTcp:
      return {"tcp_csum", 16};
    case kUdp:
      return {"udp_csum", 6};
    case kSctp:
      return {"sctp_csum", 8, 4};
    case kIcmp:
      return is_v6 ? ChecksumPlace{} : ChecksumPlace{"icmp_csum", 2};
    case kIcmpv6:
      return is_v6 ? ChecksumPlace{"icmp6_csum", 2} : ChecksumPlace{};
    default:
      return {};
  }
}

std::string ChecksumText(std::string_view frame, size_t l4_offset, const FlowKey& key) {
  bool is_ip = key.eth_type.Get() == 0x0800 || key.eth_type.Get() == 0x86dd;
  ChecksumPlace place = ChecksumOf(key);
  if (!is_ip || place.name.empty() || l4_offset + place.offset + place.size > frame.size()) return "";
  uint32_t value = 0;
  for (size_t i = 0; i < place.size; ++i) {
    value = value << 8 | static_cast<uint8_t>(frame[l4_offset + place.offset + i]);
  }
  return fmt::format(" {}:{:x}", place.name, value);
}

Parsed Parse(std::string_view frame) {
  Parsed parsed;
  if (frame.size() < kEthernetHeader) return parsed;
  auto size = static_cast<uint32_t>(frame.size());
  auto pool = SlabPool::Create({.count = 1, .data_size = size + 1, .headroom = 0});
  if (!pool.ok()) return parsed;
  DpPacketPtr packet = (*pool)->Allocate();
  if (packet == nullptr) return parsed;
  packet->SetHeadLength(size);
  std::memcpy(packet->data(), frame.data(), frame.size());
  ParsePacket(*packet, parsed.key);
  if (packet->l4_offset != kNoOffset) parsed.checksum = ChecksumText(frame, packet->l4_offset, parsed.key);
  return parsed;
}

template <typename T>
void Exact(T& mask) {
  std::memset(static_cast<void*>(&mask), 0xff, sizeof mask);
}

void MaskTransport(const FlowKey& key, FlowMask& mask) {
  bool is_v6 = key.eth_type.Get() == 0x86dd;
  bool has_ports = key.ip_proto == kTcp || key.ip_proto == kUdp || key.ip_proto == kSctp ||
                   (is_v6 ? key.ip_proto == kIcmpv6 : key.ip_proto == kIcmp);
  if ((key.ip_frag & kFragLater) != 0 || !has_ports) return;
  Exact(mask.tp_src);
  Exact(mask.tp_dst);
  if (key.ip_proto == kTcp) mask.tcp_flags = Be16(0x0fff);
  bool is_nd = key.ip_proto == kIcmpv6 && is_v6 && (key.tp_src.Get() == 135 || key.tp_src.Get() == 136);
  if (!is_nd) return;
  Exact(mask.nd_target);
  Exact(mask.arp_sha);
  Exact(mask.arp_tha);
}

// One bits in every field that the packet has.
FlowMask MaskOf(const FlowKey& key) {
  FlowMask mask;
  Exact(mask.eth_src);
  Exact(mask.eth_dst);
  Exact(mask.eth_type);
  Exact(mask.vlan_tci);
  uint16_t type = key.eth_type.Get();
  if (type == 0x0800 || type == 0x86dd) {
    if (type == 0x0800) {
      Exact(mask.ipv4_src);
      Exact(mask.ipv4_dst);
    } else {
      Exact(mask.ipv6_src);
      Exact(mask.ipv6_dst);
      mask.ipv6_label = Be32(0xfffff);
    }
    mask.ip_proto = mask.ip_tos = mask.ip_ttl = 0xff;
    mask.ip_frag = kFragAny | kFragLater;
    MaskTransport(key, mask);
  } else if (type == 0x0806 || type == 0x8035) {
    Exact(mask.ipv4_src);
    Exact(mask.ipv4_dst);
    mask.ip_proto = 0xff;
    Exact(mask.arp_sha);
    Exact(mask.arp_tha);
  } else if (type == 0x8847 || type == 0x8848) {
    Exact(mask.mpls_lse[0]);
  }
  return mask;
}

}  // namespace

std::string PacketText(std::string_view packet, const Text& text) {
  Parsed parsed = Parse(packet);
  OfMatch match;
  match.mask.packet = MaskOf(parsed.key);
  match.value.packet = ApplyMask(parsed.key, match.mask.packet);
  return FormatMatch(match, 32768, text.names) + parsed.checksum + "\n";
}

}  // namespace sluice::messages
