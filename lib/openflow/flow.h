// OfFlow: all of a packet and its way that OpenFlow can match on: the packet's fields (FlowKey) and the pipeline's
// (registers, metadata, ...). OfMatch: a value and which of its bits count.
//
// Like FlowKey a flat struct of 64-bit words, so that masking, hashing and comparing are loops over words. Pipeline
// fields are in host byte order. packet.in_port is not used (zero): in_port below is the OpenFlow port. The other
// metadata of `packet` (recirc_id, dp_hash, skb_mark, skb_priority) are OpenFlow's recirc_id, dp_hash, pkt_mark and
// skb_priority.
//
// Conventions, those of ovs-fields(7): vlan_tci has kVlanPresent set where there is a tag; ICMP type and code are in
// tp_src and tp_dst; an ARP opcode is in ip_proto; arp_sha and arp_tha are also ND's link-layer addresses; ip_tos holds
// DSCP and ECN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/flow/flow_key.h"
#include "lib/openflow/ofp.h"

namespace sluice {

struct OfFlow {
  FlowKey packet;
  // Words 18-19.
  uint64_t metadata = 0;
  uint32_t in_port = 0;      // an OfPort; in a mask 0xffff
  uint32_t packet_type = 0;  // namespace << 16 | type; 0 is Ethernet
  // Word 20.
  uint32_t conj_id = 0;
  uint32_t actset_output = 0;
  // Words 21-28.
  std::array<uint32_t, 16>
      regs{};  // xreg0 is regs[0] << 32 | regs[1]; xxreg0 is regs[0..3], the first most significant
  // Words 29-31: NSH (RFC 8300).
  uint8_t nsh_flags = 0;
  uint8_t nsh_ttl = 0;
  uint8_t nsh_mdtype = 0;
  uint8_t nsh_np = 0;
  uint32_t nsh_path = 0;  // SPI << 8 | SI
  std::array<uint32_t, 4> nsh_c{};
  // Words 32-33: connection tracking, whose matching is not built yet.
  uint32_t ct_state = 0;
  uint32_t ct_mark = 0;
  uint32_t ct_zone = 0;
  uint32_t reserved = 0;

  static constexpr size_t kWords = FlowKey::kWords + 16;

  uint64_t Word(size_t i) const {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const uint8_t*>(this) + i * 8, 8);
    return word;
  }
  void SetWord(size_t i, uint64_t word) { std::memcpy(reinterpret_cast<uint8_t*>(this) + i * 8, &word, 8); }

  friend bool operator==(const OfFlow& a, const OfFlow& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};
static_assert(sizeof(OfFlow) == OfFlow::kWords * 8);

// One bits where the flow counts.
using OfMask = OfFlow;

struct OfMatch {
  OfFlow value;  // zero where the mask is
  OfMask mask;

  friend bool operator==(const OfMatch&, const OfMatch&) = default;

  bool Matches(const OfFlow& flow) const {
    for (size_t i = 0; i < OfFlow::kWords; ++i) {
      if (((flow.Word(i) ^ value.Word(i)) & mask.Word(i)) != 0) return false;
    }
    return true;
  }
  bool IsCatchAll() const { return mask == OfMask{}; }
};

}  // namespace sluice
