// Fields: the table of everything that can be matched, set or moved, with the names, widths, wire headers,
// prerequisites and masks of ovs-fields(7).
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/openflow/error.h"
#include "lib/openflow/flow.h"

namespace sluice {

// Tunnel, conntrack and tun_metadata fields come later, before kCount.
enum class FieldId : uint8_t {
  kDpHash,
  kRecircId,
  kPacketType,
  kConjId,
  kMetadata,
  kInPort,
  kInPortOxm,
  kActsetOutput,
  kSkbPriority,
  kPktMark,
  kReg0,
  kReg1,
  kReg2,
  kReg3,
  kReg4,
  kReg5,
  kReg6,
  kReg7,
  kReg8,
  kReg9,
  kReg10,
  kReg11,
  kReg12,
  kReg13,
  kReg14,
  kReg15,
  kXreg0,
  kXreg1,
  kXreg2,
  kXreg3,
  kXreg4,
  kXreg5,
  kXreg6,
  kXreg7,
  kXxreg0,
  kXxreg1,
  kXxreg2,
  kXxreg3,
  kEthSrc,
  kEthDst,
  kEthType,
  kVlanTci,  // NXM_OF_VLAN_TCI: tci with the present bit
  kDlVlan,   // OpenFlow 1.0's dl_vlan: 12 bits, 0xffff none
  kVlanVid,  // OXM_OF_VLAN_VID: 12 bits and the present bit
  kDlVlanPcp,
  kVlanPcp,
  kMplsLabel,
  kMplsTc,
  kMplsBos,
  kMplsTtl,
  kIpv4Src,
  kIpv4Dst,
  kIpv6Src,
  kIpv6Dst,
  kIpv6Label,
  kIpProto,
  kIpDscp,         // nw_tos: the byte with its lower two bits zero
  kIpDscpShifted,  // OXM_OF_IP_DSCP: six bits
  kIpEcn,
  kIpTtl,
  kIpFrag,
  kArpOp,
  kArpSpa,
  kArpTpa,
  kArpSha,
  kArpTha,
  kTcpSrc,
  kTcpDst,
  kTcpFlags,
  kUdpSrc,
  kUdpDst,
  kSctpSrc,
  kSctpDst,
  kIcmpv4Type,
  kIcmpv4Code,
  kIcmpv6Type,
  kIcmpv6Code,
  kNdTarget,
  kNdSll,
  kNdTll,
  kNshFlags,
  kNshTtl,
  kNshMdtype,
  kNshNp,
  kNshSpi,
  kNshSi,
  kNshC1,
  kNshC2,
  kNshC3,
  kNshC4,
  kCount,
};

// A value of any field: `n_bytes` of the field, big-endian, at the front; the rest is zero.
struct FieldValue {
  std::array<uint8_t, 16> bytes{};

  friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

struct FieldInfo {
  enum class Text : uint8_t { kDecimal, kHex, kMac, kIpv4, kIpv6, kOfPort, kFrag, kTcpFlags, kPacketType };
  enum class Mask : uint8_t { kNone, kFull };
  // What must hold of a match before it may name the field.
  enum class Prereq : uint8_t {
    kNone,
    kEthernet,
    kVlan,
    kMpls,
    kIpv4,
    kIpv6,
    kIp,
    kArp,
    kTcp,
    kUdp,
    kSctp,
    kIcmpv4,
    kIcmpv6,
    kNd,
    kNdSolicit,
    kNdAdvert,
    kNsh,
  };

  FieldId id;
  std::string_view name;        // as matches and actions print it: "eth_src", "ip_src", "tcp_dst", "reg0"
  std::string_view extra_name;  // accepted too: "dl_src", "nw_src", "tp_dst"; "" if none
  uint8_t n_bytes = 0;
  uint8_t n_bits = 0;
  Mask mask = Mask::kNone;
  Text text = Text::kHex;
  Prereq prereq = Prereq::kNone;
  bool writable = false;
  uint32_t nxm_header = 0;  // class << 16 | field << 9 | length, without the mask bit; 0: none
  std::string_view nxm_name;
  uint32_t oxm_header = 0;
  std::string_view oxm_name;
  OfVersion oxm_since = OfVersion::k12;
  uint32_t experimenter = 0;  // of a header of class 0xffff: it follows the header
};

const FieldInfo& Field(FieldId id);
absl::Span<const FieldInfo> AllFields();
// By name, extra name, or NXM/OXM name (as in move and load: "NXM_OF_ETH_SRC", brackets not included); nullptr: none.
const FieldInfo* FindField(std::string_view name);
// By wire header (mask bit and length as they came); nullptr: none.
const FieldInfo* FindFieldByHeader(uint32_t header, uint32_t experimenter);

FieldValue GetField(const OfFlow& flow, const FieldInfo& field);
void SetField(OfFlow& flow, const FieldInfo& field, const FieldValue& value);
// All n_bits bits set; used on masks too.
FieldValue ExactMask(const FieldInfo& field);
bool IsZero(const FieldValue& value);
// Bits within the field: GetField of the mask has any.
bool IsFieldUsed(const OfMask& mask, const FieldInfo& field);
// Puts value/mask into the match (value & mask; bits of the field that were there are replaced). VLAN, DSCP and the
// other fields with conventions of their own are dealt with here.
void MatchField(OfMatch& match, const FieldInfo& field, const FieldValue& value, const FieldValue& mask);
// Whether the packet has the field: its prerequisites hold in `flow`.
bool HasPrereqs(const FieldInfo& field, const OfFlow& flow);
// The same for a match, which must name them exactly.
bool MatchHasPrereqs(const FieldInfo& field, const OfMatch& match);
// Sets in `wildcards` what HasPrereqs looked at, and the field itself.
void UnwildcardField(const FieldInfo& field, OfMask& wildcards);
// Whether the value is one that the field can have (vlan_vid above 4095, dscp above 63, ...).
bool IsValidValue(const FieldInfo& field, const FieldValue& value);

FieldValue FieldFromU64(const FieldInfo& field, uint64_t value);
uint64_t FieldToU64(const FieldInfo& field, const FieldValue& value);  // the low 64 bits

// Part of a field: n_bits from bit `ofs` (0 is the least significant) on. "NXM_NX_REG0[0..15]".
struct Subfield {
  const FieldInfo* field = nullptr;
  uint16_t ofs = 0;
  uint16_t n_bits = 0;

  friend bool operator==(const Subfield&, const Subfield&) = default;
};
// Right-aligned in the 16 bytes of `bytes`: bit 0 of the subfield is bit 0 of the last byte.
using SubValue = std::array<uint8_t, 16>;
SubValue ReadSubfield(const Subfield& subfield, const OfFlow& flow);
void WriteSubfield(const Subfield& subfield, const SubValue& value, OfFlow& flow);
uint64_t ReadSubfieldU64(const Subfield& subfield, const OfFlow& flow);  // the low 64 bits
void WriteSubfieldU64(const Subfield& subfield, uint64_t value, OfFlow& flow);
// Sets the subfield's bits (only those) in a mask.
void SetSubfieldMask(const Subfield& subfield, OfMask& mask);

// "NXM_OF_VLAN_TCI[0..11]"; the whole field is "NAME[]".
std::string FormatSubfield(const Subfield& subfield);
absl::StatusOr<Subfield> ParseSubfield(std::string_view text);
// A value as the field's text kind says, with "/mask" where the mask is not exact.
std::string FormatFieldValue(const FieldInfo& field, const FieldValue& value, const FieldValue* mask,
                             const OfNames& names);
struct ParsedValue {
  FieldValue value;
  FieldValue mask;
};
absl::StatusOr<ParsedValue> ParseFieldValue(const FieldInfo& field, std::string_view text, const OfNames& names);

}  // namespace sluice
