#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "lib/base/status.h"
#include "lib/openflow/field.h"
#include "lib/openflow/match.h"

namespace sluice {
namespace {

using Prereq = FieldInfo::Prereq;

constexpr uint16_t kIpv4Type = 0x0800;
constexpr uint16_t kIpv6Type = 0x86dd;
constexpr uint16_t kNshType = 0x894f;
constexpr uint32_t kEthertypeSpace = 1;  // of packet_type: the type is an Ethernet type

// The network protocol of a flow: of an Ethernet frame, or of a packet without Ethernet header.
uint16_t NetworkType(const OfFlow& flow) {
  if (flow.packet_type == 0) return flow.packet.eth_type.Get();
  return flow.packet_type >> 16 == kEthertypeSpace ? static_cast<uint16_t>(flow.packet_type) : 0;
}

struct Needs {
  bool ethernet = false;  // packet_type
  bool type = false;      // eth_type, or packet_type
  bool protocol = false;  // ip_proto, and of fragments the first only
  bool icmp = false;      // the ICMPv6 type and code
  bool vlan = false;
};

Needs NeedsOf(Prereq prereq) {
  switch (prereq) {
    case Prereq::kNone:
      return {};
    case Prereq::kEthernet:
      return {.ethernet = true};
    case Prereq::kVlan:
      return {.ethernet = true, .vlan = true};
    case Prereq::kMpls:
    case Prereq::kIpv4:
    case Prereq::kIpv6:
    case Prereq::kIp:
    case Prereq::kArp:
    case Prereq::kNsh:
      return {.type = true};
    case Prereq::kTcp:
    case Prereq::kUdp:
    case Prereq::kSctp:
    case Prereq::kIcmpv4:
    case Prereq::kIcmpv6:
      return {.type = true, .protocol = true};
    case Prereq::kNd:
    case Prereq::kNdSolicit:
    case Prereq::kNdAdvert:
      return {.type = true, .protocol = true, .icmp = true};
  }
  return {};
}

bool Holds(Prereq prereq, const OfFlow& flow) {
  const FlowKey& packet = flow.packet;
  uint16_t type = NetworkType(flow);
  bool is_ip = type == kIpv4Type || type == kIpv6Type;
  bool has_transport = (packet.ip_frag & kFragLater) == 0;
  auto carries = [&](uint8_t protocol) { return is_ip && packet.ip_proto == protocol && has_transport; };
  auto is_nd = [&](uint16_t icmp) {
    return type == kIpv6Type && carries(58) && packet.tp_src.Get() == icmp && packet.tp_dst.Get() == 0;
  };
  switch (prereq) {
    case Prereq::kNone:
      return true;
    case Prereq::kEthernet:
      return flow.packet_type == 0;
    case Prereq::kVlan:
      return flow.packet_type == 0 && (packet.vlan_tci.Get() & kVlanPresent) != 0;
    case Prereq::kMpls:
      return type == 0x8847 || type == 0x8848;
    case Prereq::kIpv4:
      return type == kIpv4Type;
    case Prereq::kIpv6:
      return type == kIpv6Type;
    case Prereq::kIp:
      return is_ip;
    case Prereq::kArp:
      return type == 0x0806 || type == 0x8035;
    case Prereq::kNsh:
      return type == kNshType;
    case Prereq::kTcp:
      return carries(6);
    case Prereq::kUdp:
      return carries(17);
    case Prereq::kSctp:
      return carries(132);
    case Prereq::kIcmpv4:
      return type == kIpv4Type && carries(1);
    case Prereq::kIcmpv6:
      return type == kIpv6Type && carries(58);
    case Prereq::kNd:
      return is_nd(135) || is_nd(136);
    case Prereq::kNdSolicit:
      return is_nd(135);
    case Prereq::kNdAdvert:
      return is_nd(136);
  }
  return false;
}

// What a field wants, for a message; in the order of Prereq.
std::string_view NameOf(Prereq prereq) {
  constexpr std::string_view kNames[] = {"nothing",
                                         "an Ethernet packet_type",
                                         "a VLAN tag (vlan_vid or dl_vlan)",
                                         "mpls or mplsm",
                                         "ip",
                                         "ipv6",
                                         "ip or ipv6",
                                         "arp or rarp",
                                         "tcp or tcp6",
                                         "udp or udp6",
                                         "sctp or sctp6",
                                         "icmp",
                                         "icmp6",
                                         "icmp6 with icmp_type 135 or 136",
                                         "icmp6 with icmp_type 135",
                                         "icmp6 with icmp_type 136",
                                         "dl_type=0x894f"};
  return kNames[static_cast<size_t>(prereq)];
}

using F = FieldId;

// A place in the flow that several fields share: which of them is meant depends on the protocol.
struct Slot {
  bool normalized;                     // NormalizeMatch may leave it out
  std::array<FieldId, 5> fields = {};  // the first covers all bits of the place
  size_t n_fields = 1;
};

constexpr Slot Fixed(FieldId field) { return {false, {field}, 1}; }
template <typename... Fields>
constexpr Slot Normalized(Fields... fields) {
  return {true, {fields...}, sizeof...(fields)};
}

// What others need comes before them.
constexpr Slot kSlots[] = {
    Fixed(F::kEthSrc),
    Fixed(F::kEthDst),
    Fixed(F::kEthType),
    Fixed(F::kVlanTci),
    Normalized(F::kMplsLabel),
    Normalized(F::kMplsTc),
    Normalized(F::kMplsBos),
    Normalized(F::kMplsTtl),
    Normalized(F::kIpProto, F::kArpOp),
    Normalized(F::kIpv4Src, F::kArpSpa),
    Normalized(F::kIpv4Dst, F::kArpTpa),
    Normalized(F::kIpv6Src),
    Normalized(F::kIpv6Dst),
    Normalized(F::kIpv6Label),
    Normalized(F::kIpDscp),
    Normalized(F::kIpEcn),
    Normalized(F::kIpTtl),
    Normalized(F::kIpFrag),
    Normalized(F::kTcpSrc, F::kUdpSrc, F::kSctpSrc, F::kIcmpv4Type, F::kIcmpv6Type),
    Normalized(F::kTcpDst, F::kUdpDst, F::kSctpDst, F::kIcmpv4Code, F::kIcmpv6Code),
    Normalized(F::kTcpFlags),
    Normalized(F::kNdTarget),
    Normalized(F::kArpSha, F::kNdSll),
    Normalized(F::kArpTha, F::kNdTll),
    Fixed(F::kNshFlags),
    Fixed(F::kNshTtl),
    Fixed(F::kNshMdtype),
    Fixed(F::kNshNp),
    Fixed(F::kNshSpi),
    Fixed(F::kNshSi),
    Fixed(F::kNshC1),
    Fixed(F::kNshC2),
    Fixed(F::kNshC3),
    Fixed(F::kNshC4),
};

// What tp_src and tp_dst can say but ICMP's types and codes cannot.
bool IsIcmpOutOfRange(const OfMatch& match) {
  if (!MatchHasPrereqs(Field(F::kIcmpv4Type), match) && !MatchHasPrereqs(Field(F::kIcmpv6Type), match)) return false;
  auto out_of_range = [](Be16 value, Be16 mask) {
    return mask != Be16() && (mask != Be16(0xffff) || value.Get() > 0xff);
  };
  const FlowKey& value = match.value.packet;
  const FlowKey& mask = match.mask.packet;
  return out_of_range(value.tp_src, mask.tp_src) || out_of_range(value.tp_dst, mask.tp_dst);
}

bool SlotHolds(const Slot& slot, const OfMatch& match) {
  return std::any_of(slot.fields.begin(), slot.fields.begin() + slot.n_fields,
                     [&match](FieldId id) { return MatchHasPrereqs(Field(id), match); });
}

}  // namespace

bool HasPrereqs(const FieldInfo& field, const OfFlow& flow) { return Holds(field.prereq, flow); }

bool MatchHasPrereqs(const FieldInfo& field, const OfMatch& match) {
  const FlowKey& mask = match.mask.packet;
  Needs needs = NeedsOf(field.prereq);
  if (needs.type && mask.eth_type != Be16(0xffff) && match.mask.packet_type != UINT32_MAX) return false;
  if (needs.protocol && mask.ip_proto != 0xff) return false;
  if (needs.icmp && (mask.tp_src.Get() & 0xff) != 0xff) return false;
  return Holds(field.prereq, match.value);
}

void UnwildcardField(const FieldInfo& field, OfMask& wildcards) {
  Needs needs = NeedsOf(field.prereq);
  if (needs.type) wildcards.packet.eth_type = Be16(0xffff);
  if (needs.protocol) {
    wildcards.packet.ip_proto = 0xff;
    wildcards.packet.ip_frag |= kFragLater;
  }
  if (needs.icmp) wildcards.packet.tp_src = wildcards.packet.tp_dst = Be16(0xffff);
  if (needs.vlan) wildcards.packet.vlan_tci = Be16(wildcards.packet.vlan_tci.Get() | kVlanPresent);
  OfMatch all{.value = {}, .mask = wildcards};
  MatchField(all, field, FieldValue(), ExactMask(field));
  wildcards = all.mask;
}

OfStatus CheckMatch(const OfMatch& match) {
  for (const Slot& slot : kSlots) {
    const FieldInfo& field = Field(slot.fields[0]);
    if (!IsFieldUsed(match.mask, field) || SlotHolds(slot, match)) continue;
    std::string wanted;
    for (size_t i = 0; i < slot.n_fields; ++i) {
      const FieldInfo& meant = Field(slot.fields[i]);
      wanted += fmt::format("{}{} needs {}", i == 0 ? "" : ", ", meant.name, NameOf(meant.prereq));
    }
    return OfFailure{OfError::kBmcBadPrereq, fmt::format("match: {}", wanted)};
  }
  if (IsIcmpOutOfRange(match)) {
    return OfFailure{OfError::kBmcBadValue,
                     "match: ICMP types and codes are numbers from 0 to 255, which cannot be masked"};
  }
  return std::nullopt;
}

bool NormalizeMatch(OfMatch& match) {
  bool changed = false;
  for (const Slot& slot : kSlots) {
    const FieldInfo& field = Field(slot.fields[0]);
    if (!slot.normalized || !IsFieldUsed(match.mask, field) || SlotHolds(slot, match)) continue;
    SetField(match.value, field, FieldValue());
    SetField(match.mask, field, FieldValue());
    changed = true;
  }
  return changed;
}

}  // namespace sluice
