// In the order of prerequisites, which receivers may insist on, and of ovs-ofctl.
#include "lib/openflow/match.h"
#include "lib/openflow/match/wire_header.h"

namespace sluice {
namespace {

using F = FieldId;

class EntryEncoder {
 public:
  EntryEncoder(const OfMatch& match, MatchForm form, OfVersion version, WireWriter& out)
      : match_(match), is_oxm_(form == MatchForm::kOxm), version_(is_oxm_ ? version : OfVersion::k10), out_(out) {}

  void Run() && {
    for (F id : {F::kPacketType, F::kDpHash, F::kRecircId, F::kConjId}) Put(id);
    Put(is_oxm_ ? F::kInPortOxm : F::kInPort);
    for (F id : {F::kActsetOutput, F::kEthSrc, F::kEthDst, F::kEthType}) Put(id);
    Vlan();
    for (F id : {F::kMplsTc, F::kMplsBos, F::kMplsTtl, F::kMplsLabel}) Put(id);
    Network();
    Registers();
    Put(F::kPktMark);
    Put(F::kMetadata);
  }

 private:
  void Put(F id) {
    const FieldInfo& field = Field(id);
    if (!IsFieldUsed(match_.mask, field)) return;
    FieldValue mask = GetField(match_.mask, field);
    WriteEntry(field, HeaderOf(field, version_), GetField(match_.value, field), &mask, out_);
  }

  void Vlan() {
    uint16_t mask = match_.mask.packet.vlan_tci.Get();
    if (!is_oxm_) return Put(F::kVlanTci);
    Put(F::kVlanVid);
    bool has_tag = (match_.value.packet.vlan_tci.Get() & kVlanPresent) != 0;
    if (has_tag && (mask & 0xe000) != 0) Put(F::kVlanPcp);
  }

  void Network() {
    uint16_t type = match_.value.packet.eth_type.Get();
    if (match_.value.packet_type >> 16 == 1) type = static_cast<uint16_t>(match_.value.packet_type);
    switch (type) {
      case 0x0806:
      case 0x8035:
        for (F id : {F::kArpOp, F::kArpSpa, F::kArpTpa, F::kArpSha, F::kArpTha}) Put(id);
        return;
      case 0x0800:
        Put(F::kIpv4Src);
        Put(F::kIpv4Dst);
        return Transport(false);
      case 0x86dd:
        Put(F::kIpv6Src);
        Put(F::kIpv6Dst);
        return Transport(true);
      case 0x894f:
        for (F id : {F::kNshFlags, F::kNshTtl, F::kNshMdtype, F::kNshNp, F::kNshSpi, F::kNshSi, F::kNshC1, F::kNshC2,
                     F::kNshC3, F::kNshC4}) {
          Put(id);
        }
        return;
      default:
        return;
    }
  }

  void Transport(bool is_ipv6) {
    Put(F::kIpFrag);
    Put(is_oxm_ ? F::kIpDscpShifted : F::kIpDscp);
    Put(F::kIpEcn);
    Put(F::kIpTtl);
    if (is_ipv6) Put(F::kIpv6Label);
    Put(F::kIpProto);
    switch (match_.value.packet.ip_proto) {
      case 6:
        for (F id : {F::kTcpSrc, F::kTcpDst, F::kTcpFlags}) Put(id);
        return;
      case 17:
        Put(F::kUdpSrc);
        return Put(F::kUdpDst);
      case 132:
        Put(F::kSctpSrc);
        return Put(F::kSctpDst);
      case 1:
        if (is_ipv6) return;
        Put(F::kIcmpv4Type);
        return Put(F::kIcmpv4Code);
      case 58:
        if (!is_ipv6) return;
        for (F id : {F::kIcmpv6Type, F::kIcmpv6Code, F::kNdTarget}) Put(id);
        return Put(match_.value.packet.tp_src.Get() == 135 ? F::kNdSll : F::kNdTll);
      default:
        return;
    }
  }

  // OpenFlow 1.5 has them in pairs.
  void Registers() {
    bool pairs = is_oxm_ && version_ >= OfVersion::k15;
    F first = pairs ? F::kXreg0 : F::kReg0;
    for (size_t i = 0; i < (pairs ? 8u : 16u); ++i) Put(static_cast<F>(static_cast<size_t>(first) + i));
  }

  const OfMatch& match_;
  bool is_oxm_;
  OfVersion version_;
  WireWriter& out_;
};

}  // namespace

void EncodeEntries(const OfMatch& match, MatchForm form, OfVersion version, WireWriter& out) {
  EntryEncoder(match, form, version, out).Run();
}

void EncodeFieldEntry(const FieldInfo& field, const FieldValue& value, const FieldValue* mask, OfVersion version,
                      WireWriter& out) {
  WriteEntry(field, HeaderOf(field, version), value, mask, out);
}

void EncodeFieldHeader(const FieldInfo& field, OfVersion version, WireWriter& out) {
  WriteHeader(HeaderOf(field, version), out);
}

}  // namespace sluice
