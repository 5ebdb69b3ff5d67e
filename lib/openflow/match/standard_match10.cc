// struct ofp_match of OpenFlow 1.0 (5.2.3).
#include "lib/openflow/match/standard_match.h"

namespace sluice {
namespace {

using F = FieldId;

// enum ofp_flow_wildcards of 1.0.
enum Wildcards10 : uint32_t {
  kInPort10 = 1 << 0,
  kVlan10 = 1 << 1,
  kEthSrc10 = 1 << 2,
  kEthDst10 = 1 << 3,
  kEthType10 = 1 << 4,
  kIpProto10 = 1 << 5,
  kTpSrc10 = 1 << 6,
  kTpDst10 = 1 << 7,
  kPcp10 = 1 << 20,
  kTos10 = 1 << 21,
};
constexpr unsigned kIpSrcShift = 8, kIpDstShift = 14;  // six bits each: how many low bits of the address do not count

uint32_t PrefixMask(uint32_t wildcards, unsigned shift) {
  uint32_t low = wildcards >> shift & 0x3f;
  return low >= 32 ? 0 : UINT32_MAX << low;
}

}  // namespace

bool EncodeMatch10(const OfMatch& match, WireWriter& out) {
  const FlowKey& value = match.value.packet;
  const FlowKey& mask = match.mask.packet;
  StandardVlan vlan = StandardVlanOf(match, OfVersion::k10);
  uint32_t wildcards = 0;
  auto wild = [&wildcards](bool counts, uint32_t bit) {
    if (!counts) wildcards |= bit;
  };
  wild(match.mask.in_port != 0, kInPort10);
  wild(vlan.has_vid, kVlan10);
  wild(mask.eth_src == kAllMacBits, kEthSrc10);
  wild(mask.eth_dst == kAllMacBits, kEthDst10);
  wild(mask.eth_type != Be16(), kEthType10);
  wild(mask.ip_proto != 0, kIpProto10);
  wild(mask.tp_src == Be16(0xffff), kTpSrc10);
  wild(mask.tp_dst == Be16(0xffff), kTpDst10);
  wild(vlan.has_pcp, kPcp10);
  wild((mask.ip_tos & 0xfc) == 0xfc, kTos10);
  wildcards |= WildcardBits(mask.ipv4_src.Get()) << kIpSrcShift | WildcardBits(mask.ipv4_dst.Get()) << kIpDstShift;

  out.U32(wildcards);
  out.U16(static_cast<uint16_t>(match.value.in_port));
  out.Copy(value.eth_src);
  out.Copy(value.eth_dst);
  out.U16(vlan.has_vid ? vlan.vid : 0);
  out.U8(vlan.has_pcp ? vlan.pcp : 0);
  out.Zeros(1);
  out.Copy(value.eth_type);
  out.U8(value.ip_tos & 0xfc);
  out.U8(value.ip_proto);
  out.Zeros(2);
  out.Copy(value.ipv4_src);
  out.Copy(value.ipv4_dst);
  out.Copy(value.tp_src);
  out.Copy(value.tp_dst);
  return FitsStandardMatch(match, OfVersion::k10);
}

OfResult<OfMatch> DecodeMatch10(WireReader& in) {
  OfMatch match;
  uint32_t wildcards = in.U32();
  auto counts = [wildcards](uint32_t bit) { return (wildcards & bit) == 0; };
  uint16_t in_port = in.U16();
  MacAddress eth_src{}, eth_dst{};
  in.Copy(eth_src);
  in.Copy(eth_dst);
  uint16_t vid = in.U16();
  uint8_t pcp = in.U8();
  in.Skip(1);
  uint16_t type = in.U16();
  uint8_t tos = in.U8(), protocol = in.U8();
  in.Skip(2);
  uint32_t ip_src = in.U32(), ip_dst = in.U32();
  uint16_t tp_src = in.U16(), tp_dst = in.U16();
  if (!in.ok()) return {OfError::kBrcBadLen, "OpenFlow 1.0 match: shorter than 40 bytes"};

  if (counts(kInPort10)) MatchExactly(match, F::kInPort, in_port);
  if (counts(kEthSrc10)) MatchMac(match, F::kEthSrc, eth_src, kAllMacBits);
  if (counts(kEthDst10)) MatchMac(match, F::kEthDst, eth_dst, kAllMacBits);
  if (counts(kVlan10) && vid == kNoVlan) {
    // Whatever it says of the priority, which a packet without tag does not have.
    MatchExactly(match, F::kDlVlan, kNoVlan);
  } else {
    if (counts(kVlan10)) MatchExactly(match, F::kDlVlan, vid & 0x0fff);
    if (counts(kPcp10)) MatchExactly(match, F::kDlVlanPcp, pcp & 7);
  }
  if (counts(kEthType10)) MatchExactly(match, F::kEthType, type);
  if (counts(kTos10)) MatchExactly(match, F::kIpDscp, tos & 0xfc);
  if (counts(kIpProto10)) MatchExactly(match, F::kIpProto, protocol);
  MatchIpv4(match, F::kIpv4Src, ip_src, PrefixMask(wildcards, kIpSrcShift));
  MatchIpv4(match, F::kIpv4Dst, ip_dst, PrefixMask(wildcards, kIpDstShift));
  if (counts(kTpSrc10)) MatchExactly(match, F::kTcpSrc, tp_src);
  if (counts(kTpDst10)) MatchExactly(match, F::kTcpDst, tp_dst);
  NormalizeMatch(match);  // fields that the packet does not have are to be ignored (1.0.1, 3.4)
  return match;
}

}  // namespace sluice
