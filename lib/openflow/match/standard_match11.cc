// OFPMT_STANDARD of OpenFlow 1.1 (A.2.3).
#include <fmt/format.h>

#include <optional>

#include "lib/openflow/match/standard_match.h"

namespace sluice {
namespace {

using F = FieldId;

constexpr uint16_t kStandardType = 0;
constexpr uint16_t kStandardLength = 88;

// enum ofp_flow_wildcards of 1.1.
enum Wildcards11 : uint32_t {
  kInPort11 = 1 << 0,
  kVlan11 = 1 << 1,
  kPcp11 = 1 << 2,
  kEthType11 = 1 << 3,
  kTos11 = 1 << 4,
  kIpProto11 = 1 << 5,
  kTpSrc11 = 1 << 6,
  kTpDst11 = 1 << 7,
  kMplsLabel11 = 1 << 8,
  kMplsTc11 = 1 << 9,
};

MacAddress Inverted(MacAddress mask) {
  for (uint8_t& byte : mask) byte = static_cast<uint8_t>(~byte);
  return mask;
}

OfStatus DecodeVlan11(uint16_t vid, uint8_t pcp, bool has_vid, bool has_pcp, OfMatch& match) {
  if (has_vid && vid == kNoVlan) {
    MatchExactly(match, F::kDlVlan, kNoVlan);
    return std::nullopt;
  }
  if (has_vid && vid == kAnyVlan) {
    match.value.packet.vlan_tci = match.mask.packet.vlan_tci = Be16(kVlanPresent);
  } else if (has_vid) {
    if (vid > 0x0fff) return OfFailure{OfError::kBmcBadValue, fmt::format("dl_vlan {:#x} is above 4095", vid)};
    MatchExactly(match, F::kDlVlan, vid);
  }
  if (!has_pcp) return std::nullopt;
  if (pcp > 7) return OfFailure{OfError::kBmcBadValue, fmt::format("dl_vlan_pcp {} is above 7", pcp)};
  MatchExactly(match, F::kDlVlanPcp, pcp);
  return std::nullopt;
}

// What follows the Ethernet type in the standard match: of IPv4 and ARP only.
struct Network11 {
  uint8_t tos, protocol;
  uint32_t ip_src, ip_src_wild, ip_dst, ip_dst_wild;
  uint16_t tp_src, tp_dst;
};

OfStatus DecodeNetwork11(const Network11& network, uint16_t type, uint32_t wildcards, OfMatch& match) {
  auto counts = [wildcards](uint32_t bit) { return (wildcards & bit) == 0; };
  if (!HasIpv4Fields(type)) return std::nullopt;
  if (type == 0x0800 && counts(kTos11)) {
    if ((network.tos & 3) != 0) {
      return OfFailure{OfError::kBmcBadValue, fmt::format("nw_tos {:#x} has bits beside DSCP's", network.tos)};
    }
    MatchExactly(match, F::kIpDscp, network.tos);
  }
  if (counts(kIpProto11)) MatchExactly(match, F::kIpProto, network.protocol);
  MatchIpv4(match, F::kIpv4Src, network.ip_src, ~network.ip_src_wild);
  MatchIpv4(match, F::kIpv4Dst, network.ip_dst, ~network.ip_dst_wild);
  if (type != 0x0800 || !counts(kIpProto11)) return std::nullopt;
  if (!counts(kTpSrc11) && !counts(kTpDst11)) return std::nullopt;
  switch (network.protocol) {
    case 1:
      if ((counts(kTpSrc11) && network.tp_src > 0xff) || (counts(kTpDst11) && network.tp_dst > 0xff)) {
        return OfFailure{OfError::kBmcBadField, "an ICMP type or code is above 255"};
      }
      [[fallthrough]];
    case 6:
    case 17:
    case 132:
      if (counts(kTpSrc11)) MatchExactly(match, F::kTcpSrc, network.tp_src);
      if (counts(kTpDst11)) MatchExactly(match, F::kTcpDst, network.tp_dst);
      return std::nullopt;
    default:
      return OfFailure{OfError::kBmcBadField,
                       fmt::format("tp_src and tp_dst do not belong to IP protocol {}", network.protocol)};
  }
}

}  // namespace

void EncodeStandardMatch11(const OfMatch& match, WireWriter& out) {
  const FlowKey& value = match.value.packet;
  const FlowKey& mask = match.mask.packet;
  StandardVlan vlan = StandardVlanOf(match, OfVersion::k11);
  const bool is_mpls = mask.mpls_lse[0] != Be32();
  uint32_t wildcards = 0;
  auto wild = [&wildcards](bool counts, uint32_t bit) {
    if (!counts) wildcards |= bit;
  };
  wild(match.mask.in_port != 0, kInPort11);
  wild(vlan.has_vid, kVlan11);
  wild(vlan.has_pcp, kPcp11);
  wild(mask.eth_type != Be16(), kEthType11);
  wild((mask.ip_tos & 0xfc) == 0xfc, kTos11);
  wild(mask.ip_proto != 0, kIpProto11);
  wild(mask.tp_src == Be16(0xffff), kTpSrc11);
  wild(mask.tp_dst == Be16(0xffff), kTpDst11);
  wild(is_mpls && IsFieldUsed(match.mask, Field(F::kMplsLabel)), kMplsLabel11);
  wild(is_mpls && IsFieldUsed(match.mask, Field(F::kMplsTc)), kMplsTc11);
  auto number = [&match](F id) { return FieldToU64(Field(id), GetField(match.value, Field(id))); };
  auto mac = [&out](const MacAddress& address, const MacAddress& bits) {
    out.Copy(address);
    for (uint8_t byte : bits) out.U8(static_cast<uint8_t>(~byte));
  };

  out.U16(kStandardType);
  out.U16(kStandardLength);
  out.U32(match.mask.in_port != 0 ? PortToWire(static_cast<OfPort>(match.value.in_port)) : 0);
  out.U32(wildcards);
  mac(value.eth_src, mask.eth_src);
  mac(value.eth_dst, mask.eth_dst);
  out.U16(vlan.has_vid ? vlan.vid : 0);
  out.U8(vlan.has_pcp ? vlan.pcp : 0);
  out.Zeros(1);
  out.Copy(value.eth_type);
  out.U8(value.ip_tos & 0xfc);
  out.U8(value.ip_proto);
  out.Copy(value.ipv4_src);
  out.U32(~mask.ipv4_src.Get());
  out.Copy(value.ipv4_dst);
  out.U32(~mask.ipv4_dst.Get());
  out.Copy(value.tp_src);
  out.Copy(value.tp_dst);
  out.U32(static_cast<uint32_t>(number(F::kMplsLabel)));
  out.U8(static_cast<uint8_t>(number(F::kMplsTc)));
  out.Zeros(3);
  out.U64(match.value.metadata);
  out.U64(~match.mask.metadata);
}

OfResult<OfMatch> DecodeStandardMatch11(WireReader& in) {
  OfMatch match;
  uint32_t in_port = in.U32(), wildcards = in.U32();
  auto counts = [wildcards](uint32_t bit) { return (wildcards & bit) == 0; };
  MacAddress eth_src{}, eth_src_wild{}, eth_dst{}, eth_dst_wild{};
  in.Copy(eth_src);
  in.Copy(eth_src_wild);
  in.Copy(eth_dst);
  in.Copy(eth_dst_wild);
  uint16_t vid = in.U16();
  uint8_t pcp = in.U8();
  in.Skip(1);
  uint16_t type = in.U16();
  Network11 network{};
  network.tos = in.U8();
  network.protocol = in.U8();
  network.ip_src = in.U32();
  network.ip_src_wild = in.U32();
  network.ip_dst = in.U32();
  network.ip_dst_wild = in.U32();
  network.tp_src = in.U16();
  network.tp_dst = in.U16();
  uint32_t label = in.U32();
  uint8_t tc = in.U8();
  in.Skip(3);
  uint64_t metadata = in.U64(), metadata_wild = in.U64();
  if (!in.ok()) return {OfError::kBmcBadLen, "standard match: shorter than 88 bytes"};

  if (counts(kInPort11)) {
    std::optional<OfPort> port = PortFromWire(in_port);
    if (!port) return {OfError::kBmcBadValue, fmt::format("in_port {:#x} is no port", in_port)};
    MatchExactly(match, F::kInPort, *port);
  }
  MatchMac(match, F::kEthSrc, eth_src, Inverted(eth_src_wild));
  MatchMac(match, F::kEthDst, eth_dst, Inverted(eth_dst_wild));
  if (OfStatus failed = DecodeVlan11(vid, pcp, counts(kVlan11), counts(kPcp11), match)) return *failed;
  if (counts(kEthType11)) {
    MatchExactly(match, F::kEthType, type);
    if (OfStatus failed = DecodeNetwork11(network, type, wildcards, match)) return *failed;
    if (type == 0x8847 || type == 0x8848) {
      if (counts(kMplsLabel11)) MatchExactly(match, F::kMplsLabel, label);
      if (counts(kMplsTc11)) MatchExactly(match, F::kMplsTc, tc);
    }
  }
  match.value.metadata = metadata & ~metadata_wild;
  match.mask.metadata = ~metadata_wild;
  return match;
}

}  // namespace sluice
