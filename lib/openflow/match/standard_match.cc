#include <fmt/format.h>

#include "lib/openflow/match.h"

namespace sluice {
namespace {

constexpr uint16_t kStandardType = 0;
constexpr uint16_t kOxmType = 1;
constexpr size_t kStandardSize = 88;
constexpr uint16_t kVid = 0x0fff;
constexpr uint16_t kNoVlan = 0xffff;
constexpr uint16_t kAnyVlan = 0xfffe;  // 1.1

// OFPFW_* of OpenFlow 1.0.
enum Wildcards10 : uint32_t {
  k10InPort = 1 << 0,
  k10Vlan = 1 << 1,
  k10Source = 1 << 2,
  k10Destination = 1 << 3,
  k10Type = 1 << 4,
  k10Protocol = 1 << 5,
  k10TpSource = 1 << 6,
  k10TpDestination = 1 << 7,
  k10Pcp = 1 << 20,
  k10Tos = 1 << 21,
};
constexpr int k10NwSourceShift = 8;
constexpr int k10NwDestinationShift = 14;
constexpr uint32_t k10All = (1 << 22) - 1;

// OFPFW_* of OpenFlow 1.1.
enum Wildcards11 : uint32_t {
  k11InPort = 1 << 0,
  k11Vlan = 1 << 1,
  k11Pcp = 1 << 2,
  k11Type = 1 << 3,
  k11Tos = 1 << 4,
  k11Protocol = 1 << 5,
  k11TpSource = 1 << 6,
  k11TpDestination = 1 << 7,
  k11MplsLabel = 1 << 8,
  k11MplsTc = 1 << 9,
};

bool IsMac(const MacAddress& mask, uint8_t byte) {
  for (uint8_t b : mask) {
    if (b != byte) return false;
  }
  return true;
}
constexpr MacAddress kAllOnes = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

bool IsIpOrArp(uint16_t type) { return type == 0x0800 || type == 0x0806 || type == 0x8035; }
bool HasPorts(uint16_t type, uint8_t protocol) {
  return type == 0x0800 && (protocol == 6 || protocol == 17 || protocol == 1 || protocol == 132);
}
// How wide a port's slot is matched: ICMP's type and code are bytes.
Be16 PortMask(uint8_t protocol) { return Be16(protocol == 1 ? 0xff : 0xffff); }

bool IsPrefix(uint32_t mask) { return (~mask & (~mask + 1)) == 0; }
uint32_t PrefixMask(uint32_t ignored_bits) { return ignored_bits >= 32 ? 0 : UINT32_MAX << ignored_bits; }
uint32_t IgnoredBits(Be32 mask) {
  uint32_t bits = mask.Get();
  return bits == 0 ? 32 : static_cast<uint32_t>(__builtin_ctz(bits));
}

// What both old forms can say of `mask`, but for addresses' masks.
bool FitsFields(const OfMatch& match) {
  OfMask left = match.mask;
  FlowKey& key = left.packet;
  bool has_ports = HasPorts(match.value.packet.eth_type.Get(), match.value.packet.ip_proto) && key.ip_proto == 0xff;
  if (left.in_port != 0 && left.in_port != 0xffff) return false;
  left.in_port = 0;
  key.eth_src = key.eth_dst = {};
  if (key.eth_type != Be16() && key.eth_type != Be16(0xffff)) return false;
  key.eth_type = {};
  uint16_t tci = key.vlan_tci.Get();
  uint16_t value = match.value.packet.vlan_tci.Get();
  bool none = (tci & 0x1fff) == 0x1fff && (value & kVlanPresent) == 0;
  uint16_t vid = tci & kVid, pcp = tci & 0xe000;
  bool tag = (tci & kVlanPresent) != 0 && (value & kVlanPresent) != 0 && (vid == 0 || vid == kVid) &&
             (pcp == 0 || pcp == 0xe000) && (vid != 0 || pcp != 0);
  if (tci != 0 && !none && !tag) return false;
  key.vlan_tci = {};
  if (IsIpOrArp(match.value.packet.eth_type.Get())) {
    key.ipv4_src = key.ipv4_dst = {};
    if (key.ip_proto == 0xff) key.ip_proto = 0;
    if (key.ip_tos == 0xfc) key.ip_tos = 0;
  }
  if (has_ports) {
    if (key.tp_src == PortMask(match.value.packet.ip_proto)) key.tp_src = {};
    if (key.tp_dst == PortMask(match.value.packet.ip_proto)) key.tp_dst = {};
  }
  return left == OfMask{};
}

void MatchVlan(OfMatch& match, bool vid_counts, uint16_t vid, bool pcp_counts, uint8_t pcp) {
  uint16_t value = 0, mask = 0;
  if (vid_counts && vid == kNoVlan) {
    mask = 0xffff;
  } else {
    if (vid_counts && vid == kAnyVlan) value = mask = kVlanPresent;
    if (vid_counts && vid != kAnyVlan) {
      value = (vid & kVid) | kVlanPresent;
      mask = kVid | kVlanPresent;
    }
    if (pcp_counts) {
      value |= static_cast<uint16_t>((pcp & 7) << 13) | kVlanPresent;
      mask |= 0xe000 | kVlanPresent;
    }
  }
  match.value.packet.vlan_tci = Be16(value);
  match.mask.packet.vlan_tci = Be16(mask);
}

// (wildcard bits to set, dl_vlan, dl_vlan_pcp) for a tci; `vlan`, `pcp`: the version's wildcard bits.
struct OldVlan {
  uint32_t wildcards = 0;
  uint16_t vid = 0;
  uint8_t pcp = 0;
};
OldVlan VlanToOld(const OfMatch& match, uint32_t vlan, uint32_t pcp) {
  uint16_t mask = match.mask.packet.vlan_tci.Get();
  uint16_t tci = match.value.packet.vlan_tci.Get();
  if (mask == 0) return {.wildcards = vlan | pcp};
  if ((tci & kVlanPresent) == 0) return {.wildcards = pcp, .vid = kNoVlan};
  OldVlan old;
  if ((mask & kVid) != 0) {
    old.vid = tci & kVid;
  } else {
    old.wildcards |= vlan;
  }
  if ((mask & 0xe000) != 0) {
    old.pcp = static_cast<uint8_t>(tci >> 13);
  } else {
    old.wildcards |= pcp;
  }
  return old;
}

// Matches `value` in a slot of the key.
template <typename T>
void Exact(T& value_slot, T& mask_slot, T value, T mask) {
  value_slot = value;
  mask_slot = mask;
}

OfResult<OfMatch> DecodeStandard11(WireReader& in) {
  OfMatch match;
  FlowKey& value = match.value.packet;
  FlowKey& mask = match.mask.packet;
  uint32_t port = in.U32();
  uint32_t wildcards = in.U32();
  MacAddress source, source_ignored, destination, destination_ignored;
  in.Copy(source);
  in.Copy(source_ignored);
  in.Copy(destination);
  in.Copy(destination_ignored);
  uint16_t vid = in.U16();
  uint8_t pcp = in.U8();
  in.Skip(1);
  uint16_t type = in.U16();
  uint8_t tos = in.U8();
  uint8_t protocol = in.U8();
  uint32_t nw_source = in.U32(), nw_source_mask = ~in.U32();
  uint32_t nw_destination = in.U32(), nw_destination_mask = ~in.U32();
  uint16_t tp_source = in.U16(), tp_destination = in.U16();
  uint32_t label = in.U32();
  uint8_t tc = in.U8();
  in.Skip(3);
  uint64_t metadata = in.U64(), metadata_mask = ~in.U64();
  if (!in.ok()) return {OfError::kBmcBadLen, "match: OFPMT_STANDARD is cut off"};

  if ((wildcards & k11InPort) == 0) {
    std::optional<OfPort> in_port = PortFromWire(port);
    if (!in_port) return {OfError::kBmcBadValue, fmt::format("match: in_port {:#x} is not a port", port)};
    match.value.in_port = *in_port;
    match.mask.in_port = 0xffff;
  }
  for (size_t i = 0; i < 6; ++i) {
    mask.eth_src[i] = static_cast<uint8_t>(~source_ignored[i]);
    value.eth_src[i] = source[i] & mask.eth_src[i];
    mask.eth_dst[i] = static_cast<uint8_t>(~destination_ignored[i]);
    value.eth_dst[i] = destination[i] & mask.eth_dst[i];
  }
  bool vid_counts = (wildcards & k11Vlan) == 0;
  if (vid_counts && vid > kVid && vid < kAnyVlan)
    return {OfError::kBmcBadValue, fmt::format("match: dl_vlan {} is not a VLAN", vid)};
  MatchVlan(match, vid_counts, vid, vid_counts && vid != kNoVlan && (wildcards & k11Pcp) == 0, pcp);
  if ((wildcards & k11Type) == 0) Exact(value.eth_type, mask.eth_type, Be16(type), Be16(0xffff));
  uint16_t known = (wildcards & k11Type) == 0 ? type : 0;
  if (IsIpOrArp(known)) {
    if ((wildcards & k11Tos) == 0 && known == 0x0800) {
      if (tos > 0x3f) return {OfError::kBmcBadValue, fmt::format("match: nw_tos {} is not a DSCP value", tos)};
      Exact(value.ip_tos, mask.ip_tos, static_cast<uint8_t>(tos << 2), uint8_t{0xfc});
    }
    if ((wildcards & k11Protocol) == 0) Exact(value.ip_proto, mask.ip_proto, protocol, uint8_t{0xff});
    Exact(value.ipv4_src, mask.ipv4_src, Be32(nw_source & nw_source_mask), Be32(nw_source_mask));
    Exact(value.ipv4_dst, mask.ipv4_dst, Be32(nw_destination & nw_destination_mask), Be32(nw_destination_mask));
  }
  if (mask.ip_proto == 0xff && HasPorts(known, protocol)) {
    Be16 bits = PortMask(protocol);
    if ((wildcards & k11TpSource) == 0) Exact(value.tp_src, mask.tp_src, Be16(tp_source) & bits, bits);
    if ((wildcards & k11TpDestination) == 0) Exact(value.tp_dst, mask.tp_dst, Be16(tp_destination) & bits, bits);
  }
  if (known == 0x8847 || known == 0x8848) {
    auto add = [&match](FieldId id, uint64_t number) {
      MatchField(match, Field(id), FieldFromU64(Field(id), number), ExactMask(Field(id)));
    };
    if ((wildcards & k11MplsLabel) == 0) add(FieldId::kMplsLabel, label);
    if ((wildcards & k11MplsTc) == 0) add(FieldId::kMplsTc, tc);
  }
  match.value.metadata = metadata & metadata_mask;
  match.mask.metadata = metadata_mask;
  return match;
}

void PutIgnored(const MacAddress& mask, WireWriter& out) {
  for (uint8_t byte : mask) out.U8(static_cast<uint8_t>(~byte));
}

void EncodeStandard11(const OfMatch& match, WireWriter& out) {
  const FlowKey& value = match.value.packet;
  const FlowKey& mask = match.mask.packet;
  bool is_mpls = value.eth_type == Be16(0x8847) || value.eth_type == Be16(0x8848);
  auto wild = [](bool used, uint32_t bit) { return used ? 0 : bit; };
  OldVlan vlan = VlanToOld(match, k11Vlan, k11Pcp);
  if (mask.vlan_tci == Be16(kVlanPresent) && value.vlan_tci == Be16(kVlanPresent)) {
    vlan = {.wildcards = k11Pcp, .vid = kAnyVlan};
  }
  out.U16(kStandardType);
  out.U16(kStandardSize);
  out.U32(match.mask.in_port != 0 ? PortToWire(static_cast<OfPort>(match.value.in_port)) : 0);
  out.U32(wild(match.mask.in_port != 0, k11InPort) | vlan.wildcards | wild(mask.eth_type != Be16(), k11Type) |
          wild(mask.ip_tos != 0, k11Tos) | wild(mask.ip_proto != 0, k11Protocol) |
          wild(mask.tp_src != Be16(), k11TpSource) | wild(mask.tp_dst != Be16(), k11TpDestination) |
          wild(is_mpls && IsFieldUsed(match.mask, Field(FieldId::kMplsLabel)), k11MplsLabel) |
          wild(is_mpls && IsFieldUsed(match.mask, Field(FieldId::kMplsTc)), k11MplsTc));
  out.Copy(value.eth_src);
  PutIgnored(mask.eth_src, out);
  out.Copy(value.eth_dst);
  PutIgnored(mask.eth_dst, out);
  out.U16(vlan.vid);
  out.U8(vlan.pcp);
  out.Zeros(1);
  out.U16(value.eth_type.Get());
  out.U8(value.ip_tos >> 2);
  out.U8(value.ip_proto);
  out.U32(value.ipv4_src.Get());
  out.U32(~mask.ipv4_src.Get());
  out.U32(value.ipv4_dst.Get());
  out.U32(~mask.ipv4_dst.Get());
  out.U16(value.tp_src.Get());
  out.U16(value.tp_dst.Get());
  out.U32(
      static_cast<uint32_t>(FieldToU64(Field(FieldId::kMplsLabel), GetField(match.value, Field(FieldId::kMplsLabel)))));
  out.U8(static_cast<uint8_t>(FieldToU64(Field(FieldId::kMplsTc), GetField(match.value, Field(FieldId::kMplsTc)))));
  out.Zeros(3);
  out.U64(match.value.metadata);
  out.U64(~match.mask.metadata);
}

}  // namespace

bool FitsStandardMatch(const OfMatch& match, OfVersion version) {
  if (version == OfVersion::k11) {
    OfMatch rest = match;
    rest.mask.metadata = 0;
    uint16_t type = match.value.packet.eth_type.Get();
    if (type == 0x8847 || type == 0x8848) {
      for (FieldId id : {FieldId::kMplsLabel, FieldId::kMplsTc}) {
        FieldValue mask = GetField(match.mask, Field(id));
        if (mask == ExactMask(Field(id))) SetField(rest.mask, Field(id), {});
      }
    }
    if (rest.mask.packet.vlan_tci == Be16(kVlanPresent) && rest.value.packet.vlan_tci == Be16(kVlanPresent)) {
      rest.mask.packet.vlan_tci = rest.value.packet.vlan_tci = {};
    }
    return FitsFields(rest);
  }
  const FlowKey& mask = match.mask.packet;
  auto whole = [](const MacAddress& mac) { return IsMac(mac, 0) || IsMac(mac, 0xff); };
  return FitsFields(match) && whole(mask.eth_src) && whole(mask.eth_dst) && IsPrefix(mask.ipv4_src.Get()) &&
         IsPrefix(mask.ipv4_dst.Get());
}

bool EncodeMatch10(const OfMatch& match, WireWriter& out) {
  if (!FitsStandardMatch(match, OfVersion::k10)) return false;
  const FlowKey& value = match.value.packet;
  const FlowKey& mask = match.mask.packet;
  auto wild = [](bool used, uint32_t bit) { return used ? 0 : bit; };
  OldVlan vlan = VlanToOld(match, k10Vlan, k10Pcp);
  out.U32(wild(match.mask.in_port != 0, k10InPort) | vlan.wildcards | wild(!IsMac(mask.eth_src, 0), k10Source) |
          wild(!IsMac(mask.eth_dst, 0), k10Destination) | wild(mask.eth_type != Be16(), k10Type) |
          wild(mask.ip_proto != 0, k10Protocol) | wild(mask.tp_src != Be16(), k10TpSource) |
          wild(mask.tp_dst != Be16(), k10TpDestination) | wild(mask.ip_tos != 0, k10Tos) |
          IgnoredBits(mask.ipv4_src) << k10NwSourceShift | IgnoredBits(mask.ipv4_dst) << k10NwDestinationShift);
  out.U16(static_cast<uint16_t>(match.value.in_port));
  out.Copy(value.eth_src);
  out.Copy(value.eth_dst);
  out.U16(vlan.vid);
  out.U8(vlan.pcp);
  out.Zeros(1);
  out.U16(value.eth_type.Get());
  out.U8(value.ip_tos & 0xfc);
  out.U8(value.ip_proto);
  out.Zeros(2);
  out.U32(value.ipv4_src.Get());
  out.U32(value.ipv4_dst.Get());
  out.U16(value.tp_src.Get());
  out.U16(value.tp_dst.Get());
  return true;
}

OfResult<OfMatch> DecodeMatch10(WireReader& in) {
  OfMatch match;
  FlowKey& value = match.value.packet;
  FlowKey& mask = match.mask.packet;
  uint32_t wildcards = in.U32() & k10All;
  uint16_t port = in.U16();
  MacAddress source, destination;
  in.Copy(source);
  in.Copy(destination);
  uint16_t vid = in.U16();
  uint8_t pcp = in.U8();
  in.Skip(1);
  uint16_t type = in.U16();
  uint8_t tos = in.U8();
  uint8_t protocol = in.U8();
  in.Skip(2);
  uint32_t nw_source = in.U32(), nw_destination = in.U32();
  uint16_t tp_source = in.U16(), tp_destination = in.U16();
  if (!in.ok()) return {OfError::kBrcBadLen, "match: an OpenFlow 1.0 match has 40 bytes"};

  if ((wildcards & k10InPort) == 0) {
    match.value.in_port = port;
    match.mask.in_port = 0xffff;
  }
  if ((wildcards & k10Source) == 0) Exact(value.eth_src, mask.eth_src, source, kAllOnes);
  if ((wildcards & k10Destination) == 0) Exact(value.eth_dst, mask.eth_dst, destination, kAllOnes);
  bool vid_counts = (wildcards & k10Vlan) == 0;
  if (vid_counts && vid != kNoVlan) vid &= kVid;
  MatchVlan(match, vid_counts, vid, (wildcards & k10Pcp) == 0, pcp);
  if ((wildcards & k10Type) == 0) Exact(value.eth_type, mask.eth_type, Be16(type), Be16(0xffff));
  // Fields that the packets cannot have do not count (ovs-ofctl(8), "OpenFlow 1.0 normalization").
  uint16_t known = (wildcards & k10Type) == 0 ? type : 0;
  if (!IsIpOrArp(known)) return match;
  if ((wildcards & k10Tos) == 0 && known == 0x0800) {
    Exact(value.ip_tos, mask.ip_tos, static_cast<uint8_t>(tos & 0xfc), uint8_t{0xfc});
  }
  if ((wildcards & k10Protocol) == 0) Exact(value.ip_proto, mask.ip_proto, protocol, uint8_t{0xff});
  uint32_t source_mask = PrefixMask(wildcards >> k10NwSourceShift & 0x3f);
  uint32_t destination_mask = PrefixMask(wildcards >> k10NwDestinationShift & 0x3f);
  Exact(value.ipv4_src, mask.ipv4_src, Be32(nw_source & source_mask), Be32(source_mask));
  Exact(value.ipv4_dst, mask.ipv4_dst, Be32(nw_destination & destination_mask), Be32(destination_mask));
  if (mask.ip_proto == 0xff && HasPorts(known, protocol)) {
    Be16 bits = PortMask(protocol);
    if ((wildcards & k10TpSource) == 0) Exact(value.tp_src, mask.tp_src, Be16(tp_source) & bits, bits);
    if ((wildcards & k10TpDestination) == 0) Exact(value.tp_dst, mask.tp_dst, Be16(tp_destination) & bits, bits);
  }
  return match;
}

void EncodeMatch(const OfMatch& match, OfVersion version, WireWriter& out) {
  if (version == OfVersion::k11) return EncodeStandard11(match, out);
  size_t start = out.size();
  out.U16(kOxmType);
  out.U16(0);
  EncodeEntries(match, MatchForm::kOxm, version, out);
  out.SetU16(start + 2, static_cast<uint16_t>(out.size() - start));
  out.PadFrom(start, 8);
}

OfResult<OfMatch> DecodeMatch(WireReader& in, OfVersion version) {
  uint16_t type = in.U16();
  uint16_t length = in.U16();
  if (!in.ok() || length < 4) return {OfError::kBmcBadLen, "match: too short for its header"};
  if (type == kStandardType) {
    if (version != OfVersion::k11) return {OfError::kBmcBadType, "match: OFPMT_STANDARD is OpenFlow 1.1's"};
    if (length != kStandardSize)
      return {OfError::kBmcBadLen, fmt::format("match: OFPMT_STANDARD has 88 bytes, not {}", length)};
    return DecodeStandard11(in);
  }
  if (type != kOxmType) return {OfError::kBmcBadType, fmt::format("match: unknown type {}", type)};
  Bytes entries = in.Take(length - 4u);
  in.Skip((8 - length % 8) % 8);
  if (!in.ok()) return {OfError::kBmcBadLen, fmt::format("match: {} bytes go beyond the end of the message", length)};
  return DecodeEntries(entries, false, nullptr);
}

}  // namespace sluice
