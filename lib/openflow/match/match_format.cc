// The order and the abbreviations are those of ovs-ofctl.
#include <fmt/format.h>

#include <iterator>

#include "lib/openflow/match.h"
#include "lib/openflow/match/shorthand.h"

namespace sluice {
namespace {

constexpr uint16_t kDefaultPriority = 32768;
constexpr uint16_t kVid = 0x0fff;
constexpr uint16_t kPcp = 0xe000;

class MatchFormatter {
 public:
  MatchFormatter(const OfMatch& match, const OfNames& names) : match_(match), names_(names) {}

  std::string Run(uint16_t priority) && {
    if (priority != kDefaultPriority) Item("priority={}", priority);
    Plain(FieldId::kPktMark);
    Hex(FieldId::kRecircId);
    Plain(FieldId::kDpHash);
    Plain(FieldId::kConjId);
    Plain(FieldId::kSkbPriority);
    Plain(FieldId::kActsetOutput);
    PacketType();
    Protocol();
    for (size_t i = 0; i < 16; ++i) Plain(static_cast<FieldId>(static_cast<size_t>(FieldId::kReg0) + i));
    Plain(FieldId::kMetadata);
    Plain(FieldId::kInPort);
    Vlan();
    Named(FieldId::kEthSrc, "dl_src");
    Named(FieldId::kEthDst, "dl_dst");
    if (!type_said_ && match_.mask.packet.eth_type != Be16()) {
      Item("dl_type={:#06x}", match_.value.packet.eth_type.Get());
    }
    Network();
    Transport();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Item(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ',';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void Named(FieldId id, std::string_view name) {
    const FieldInfo& field = Field(id);
    if (!IsFieldUsed(match_.mask, field)) return;
    FieldValue mask = GetField(match_.mask, field);
    Item("{}={}", name, FormatFieldValue(field, GetField(match_.value, field), &mask, names_));
  }
  void Plain(FieldId id) { Named(id, Field(id).name); }
  // As C's %#x: zero is 0.
  void Hex(FieldId id) {
    const FieldInfo& field = Field(id);
    if (!IsFieldUsed(match_.mask, field)) return;
    uint64_t value = FieldToU64(field, GetField(match_.value, field));
    Item("{}={}{:x}", field.name, value == 0 ? "" : "0x", value);
  }
  // Masked numbers are printed in hexadecimal.
  void Number(FieldId id, std::string_view name) {
    const FieldInfo& field = Field(id);
    FieldValue mask = GetField(match_.mask, field);
    if (IsZero(mask)) return;
    uint64_t value = FieldToU64(field, GetField(match_.value, field));
    if (mask == ExactMask(field)) return Item("{}={}", name, value);
    uint64_t bits = FieldToU64(field, mask);
    Item("{}={:#x}/{:#x}", name, value, bits);
  }

  // Ethernet, which goes without saying, except that ovs-ofctl says it in matches with a recirculation id.
  void PacketType() {
    if (match_.value.packet_type != 0) return Plain(FieldId::kPacketType);
    const FlowKey& mask = match_.mask.packet;
    bool has_ethernet = mask.eth_type != Be16() || mask.vlan_tci != Be16() || mask.eth_src != MacAddress() ||
                        mask.eth_dst != MacAddress() || match_.mask.packet_type != 0;
    if (mask.recirc_id != 0 && has_ethernet) Item("eth");
  }

  void Protocol() {
    type_ = match_.value.packet.eth_type.Get();
    protocol_ = match_.value.packet.ip_proto;
    if (match_.value.packet_type >> 16 == 1) type_ = static_cast<uint16_t>(match_.value.packet_type);
    if (match_.mask.packet.eth_type != Be16(0xffff)) return;
    bool has_protocol = match_.mask.packet.ip_proto == 0xff;
    const Shorthand* found = nullptr;
    for (const Shorthand& shorthand : kShorthands) {
      if (shorthand.type != type_ || !shorthand.printed) continue;
      if (shorthand.protocol < 0 || (has_protocol && shorthand.protocol == protocol_)) found = &shorthand;
    }
    if (found == nullptr) return;
    Item("{}", found->name);
    type_said_ = true;
    protocol_said_ = found->protocol >= 0;
  }

  void Vlan() {
    uint16_t mask = match_.mask.packet.vlan_tci.Get();
    uint16_t tci = match_.value.packet.vlan_tci.Get();
    if (mask == 0) return;
    uint16_t vid = mask & kVid, pcp = mask & kPcp;
    bool whole = (vid == 0 || vid == kVid) && (pcp == 0 || pcp == kPcp) && (vid != 0 || pcp != 0);
    if ((mask & kVlanPresent) != 0 && (tci & kVlanPresent) != 0 && whole) {
      if (vid != 0) Item("dl_vlan={}", tci & kVid);
      if (pcp != 0) Item("dl_vlan_pcp={}", tci >> 13);
    } else if (mask == 0xffff) {
      Item("vlan_tci={:#06x}", tci);
    } else {
      Item("vlan_tci={:#06x}/{:#06x}", tci, mask);
    }
  }

  void Network() {
    bool is_arp = type_ == 0x0806 || type_ == 0x8035;
    if (type_ == 0x86dd) {
      Plain(FieldId::kIpv6Src);
      Plain(FieldId::kIpv6Dst);
      Label();
    } else if (is_arp) {
      Plain(FieldId::kArpSpa);
      Plain(FieldId::kArpTpa);
    } else {
      Named(FieldId::kIpv4Src, "nw_src");
      Named(FieldId::kIpv4Dst, "nw_dst");
    }
    if (!protocol_said_ && match_.mask.packet.ip_proto != 0) {
      Item("{}={}", is_arp ? "arp_op" : "nw_proto", protocol_);
    }
    if (is_arp) {
      Plain(FieldId::kArpSha);
      Plain(FieldId::kArpTha);
    }
    if (type_ == 0x894f) Nsh();
    uint8_t tos = match_.value.packet.ip_tos, tos_mask = match_.mask.packet.ip_tos;
    if ((tos_mask & 0xfc) != 0) Item("nw_tos={}", tos & 0xfc);
    if ((tos_mask & 0x03) != 0) Item("nw_ecn={}", tos & 0x03);
    if (match_.mask.packet.ip_ttl != 0) Item("nw_ttl={}", match_.value.packet.ip_ttl);
    for (FieldId id : {FieldId::kMplsLabel, FieldId::kMplsTc, FieldId::kMplsTtl, FieldId::kMplsBos}) {
      Number(id, Field(id).name);
    }
    Named(FieldId::kIpFrag, "nw_frag");
  }

  void Label() {
    uint32_t mask = match_.mask.packet.ipv6_label.Get();
    uint32_t label = match_.value.packet.ipv6_label.Get();
    if (mask == 0) return;
    if (mask == 0xfffff) return Item("ipv6_label={:#07x}", label);
    Item("ipv6_label={:#07x}/{:#07x}", label, mask);
  }

  void Nsh() {
    uint8_t flags = match_.value.nsh_flags, mask = match_.mask.nsh_flags;
    if (mask == 0xff) {
      Item("nsh_flags={}", flags);
    } else if (mask != 0) {
      Item("nsh_flags={:#04x}/{:#04x}", flags, mask);
    }
    for (FieldId id : {FieldId::kNshTtl, FieldId::kNshMdtype, FieldId::kNshNp, FieldId::kNshSpi, FieldId::kNshSi,
                       FieldId::kNshC1, FieldId::kNshC2, FieldId::kNshC3, FieldId::kNshC4}) {
      const FieldInfo& field = Field(id);
      if (!IsFieldUsed(match_.mask, field)) continue;
      uint64_t value = FieldToU64(field, GetField(match_.value, field));
      if (field.text == FieldInfo::Text::kDecimal) {
        Item("{}={}", field.name, value);
        continue;
      }
      Item("{}={:#x}", field.name, value);
      FieldValue bits = GetField(match_.mask, field);
      if (bits != ExactMask(field)) fmt::format_to(std::back_inserter(text_), "/{:#x}", FieldToU64(field, bits));
    }
  }

  void Transport() {
    bool is_icmp = type_ == 0x0800 && protocol_ == 1;
    bool is_icmp6 = type_ == 0x86dd && protocol_ == 58;
    if (is_icmp || is_icmp6) {
      // The whole slot, whatever the width of the field.
      Slot("icmp_type", match_.value.packet.tp_src, match_.mask.packet.tp_src);
      Slot("icmp_code", match_.value.packet.tp_dst, match_.mask.packet.tp_dst);
      if (!is_icmp6) return;
      Plain(FieldId::kNdTarget);
      Plain(FieldId::kNdSll);
      Plain(FieldId::kNdTll);
      return;
    }
    Number(FieldId::kTcpSrc, "tp_src");
    Number(FieldId::kTcpDst, "tp_dst");
    if (protocol_ == 6) Plain(FieldId::kTcpFlags);
  }
  void Slot(std::string_view name, Be16 value, Be16 mask) {
    if (mask == Be16()) return;
    if (mask == Be16(0xffff) || mask == Be16(0xff)) return Item("{}={}", name, value.Get());
    Item("{}={:#x}/{:#x}", name, value.Get(), mask.Get());
  }

  const OfMatch& match_;
  const OfNames& names_;
  std::string text_;
  uint16_t type_ = 0;
  uint8_t protocol_ = 0;
  bool type_said_ = false;
  bool protocol_said_ = false;
};

}  // namespace

std::string FormatMatch(const OfMatch& match, uint16_t priority, const OfNames& names) {
  return MatchFormatter(match, names).Run(priority);
}

}  // namespace sluice
