// FlowKey: the fields of a packet that forwarding decides by. FlowMask: which bits of them count.
//
// A flat struct of 64-bit words, so that masking, hashing and comparing are loops over words. Multi-byte fields are in
// network byte order; metadata (ports, marks, ids) in host order. A field the packet does not have is zero.
//
// Layout contract: fields that every IPv4 packet uses fill the first kIpv4Words words; IPv6 adds up to kIpv6Words; the
// rest (MPLS, ARP, ND) only rare packets use. KeyWords(key) says how many leading words may be non-zero, so that the
// caches compare no more than that. Tunnel and conntrack fields will be added at the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/byte_order.h"

namespace sluice {

using MacAddress = std::array<uint8_t, 6>;
using Ipv6Address = std::array<uint8_t, 16>;

// FlowKey::ip_frag bits.
constexpr uint8_t kFragAny = 1;    // the packet is a fragment
constexpr uint8_t kFragLater = 2;  // and not the first one: it has no transport header
// FlowKey::vlan_tci: set when the tag is present (the place of the CFI/DEI bit, as in Open vSwitch).
constexpr uint16_t kVlanPresent = 0x1000;

struct FlowKey {
  // Words 0-2: metadata.
  uint32_t in_port = 0;
  uint32_t recirc_id = 0;
  uint32_t dp_hash = 0;
  uint32_t skb_mark = 0;
  uint32_t skb_priority = 0;
  Be16 tcp_flags;    // the 12 flag bits of TCP bytes 12-13
  uint8_t ip_frag = 0;
  uint8_t ip_ttl = 0;  // or hop limit
  // Words 3-4: Ethernet. eth_type is the type behind all VLAN tags; 0x05ff stands for an 802.2 frame without SNAP type.
  MacAddress eth_dst{};
  MacAddress eth_src{};
  Be16 eth_type;
  uint8_t ip_proto = 0;  // or the low byte of the ARP opcode
  uint8_t ip_tos = 0;    // DSCP and ECN, or traffic class
  // Word 5: VLAN tags, outer first. A tag that is absent is all zero.
  Be16 vlan_tci;
  Be16 vlan_tpid;
  Be16 inner_vlan_tci;
  Be16 inner_vlan_tpid;
  // Word 6: transport ports. ICMP and ICMPv6: type and code, each in 16 bits.
  Be16 tp_src;
  Be16 tp_dst;
  Be32 ipv6_label;  // 20 bits
  // Word 7: IPv4 or ARP protocol addresses.
  Be32 ipv4_src;
  Be32 ipv4_dst;
  // Words 8-11: IPv6.
  Ipv6Address ipv6_src{};
  Ipv6Address ipv6_dst{};
  // Words 12-13: MPLS label stack entries from the top; beyond the bottom of stack zero.
  std::array<Be32, 3> mpls_lse{};
  uint32_t mpls_reserved = 0;
  // Words 14-15: ND target.
  Ipv6Address nd_target{};
  // Words 16-17: ARP sender/target hardware address, or ND source/target link-layer address option.
  MacAddress arp_sha{};
  MacAddress arp_tha{};
  uint32_t arp_reserved = 0;

  static constexpr size_t kIpv4Words = 8;
  static constexpr size_t kIpv6Words = 12;
  static constexpr size_t kWords = 18;

  uint64_t Word(size_t i) const {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const uint8_t*>(this) + i * 8, 8);
    return word;
  }
  void SetWord(size_t i, uint64_t word) { std::memcpy(reinterpret_cast<uint8_t*>(this) + i * 8, &word, 8); }

  friend bool operator==(const FlowKey& a, const FlowKey& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};
static_assert(sizeof(FlowKey) == FlowKey::kWords * 8);
static_assert(offsetof(FlowKey, eth_dst) == 24 && offsetof(FlowKey, vlan_tci) == 40 && offsetof(FlowKey, ipv4_src) == 56);
static_assert(offsetof(FlowKey, ipv6_src) == 64 && offsetof(FlowKey, mpls_lse) == 96);

// One bits where the key counts. Same layout as the key.
using FlowMask = FlowKey;

// How many leading words of `key` may be non-zero.
inline size_t KeyWords(const FlowKey& key) {
  uint16_t type = key.eth_type.Get();
  if (type == 0x0800) return FlowKey::kIpv4Words;
  if (type == 0x86dd && key.ip_proto != 58) return FlowKey::kIpv6Words;
  return FlowKey::kWords;
}

// key & mask, field by field.
inline FlowKey ApplyMask(const FlowKey& key, const FlowMask& mask) {
  FlowKey masked;
  for (size_t i = 0; i < FlowKey::kWords; ++i) masked.SetWord(i, key.Word(i) & mask.Word(i));
  return masked;
}

}  // namespace sluice
