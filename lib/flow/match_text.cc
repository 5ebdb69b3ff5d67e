#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "lib/base/status.h"
#include "lib/flow/field_text.h"
#include "lib/flow/flow_text.h"
#include "lib/flow/port_text.h"
#include "lib/flow/tcp_flags_text.h"
#include "lib/flow/text_cursor.h"

namespace sluice {
namespace {

constexpr size_t kMaxTags = 2;
constexpr uint16_t kIpv4 = 0x0800, kArp = 0x0806, kRarp = 0x8035, kIpv6 = 0x86dd, kMpls = 0x8847,
                   kMplsMulticast = 0x8848;
constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58, kSctp = 132;

bool IsVlanType(uint32_t type) { return type == 0x8100 || type == 0x88a8; }

// The tags of a key or mask, outer first.
struct Tag {
  Be16& tci;
  Be16& tpid;
};
Tag TagAt(FlowKey& key, size_t level) {
  return level == 0 ? Tag{key.vlan_tci, key.vlan_tpid} : Tag{key.inner_vlan_tci, key.inner_vlan_tpid};
}

// What a group says nothing about without another: tcp(...) of a flow that is not TCP.
struct Needs {
  std::string_view group;
  std::vector<uint16_t> eth_types;  // empty: any
  std::optional<uint8_t> ip_proto;
  std::string_view text;
};
const std::vector<Needs>& GroupNeeds() {
  static const std::vector<Needs> needs = {
      {"ipv4", {kIpv4}, {}, "eth_type(0x0800)"},
      {"ipv6", {kIpv6}, {}, "eth_type(0x86dd)"},
      {"arp", {kArp, kRarp}, {}, "eth_type(0x0806)"},
      {"mpls", {kMpls, kMplsMulticast}, {}, "eth_type(0x8847)"},
      {"tcp", {kIpv4, kIpv6}, kTcp, "ipv4(proto=6) or ipv6(proto=6)"},
      {"tcp_flags", {kIpv4, kIpv6}, kTcp, "ipv4(proto=6) or ipv6(proto=6)"},
      {"udp", {kIpv4, kIpv6}, kUdp, "ipv4(proto=17) or ipv6(proto=17)"},
      {"sctp", {kIpv4, kIpv6}, kSctp, "ipv4(proto=132) or ipv6(proto=132)"},
      {"icmp", {kIpv4}, kIcmp, "ipv4(proto=1)"},
      {"icmpv6", {kIpv6}, kIcmpv6, "ipv6(proto=58)"},
      {"nd", {kIpv6}, kIcmpv6, "ipv6(proto=58)"},
  };
  return needs;
}

class MatchParser {
 public:
  MatchParser(std::string_view text, const PortNames& ports) : cursor_(text), ports_(ports) {}

  absl::StatusOr<Match> Parse() {
    SLUICE_RETURN_IF_ERROR(ParseLevel(0));
    if (!cursor_.AtEnd()) return cursor_.Expected("the end, or ',' and another field");
    SLUICE_RETURN_IF_ERROR(CheckNeeds());
    match_.key = ApplyMask(match_.key, match_.mask);
    return match_;
  }

 private:
  // What one level of encap(...) says of its Ethernet type and tag.
  struct Level {
    size_t index;
    size_t type_column = 0;
    std::optional<uint16_t> type;
    uint16_t type_mask = 0;
    std::optional<size_t> tag_column;
    bool raw_tag = false;
    bool encap = false;
  };
  struct Seen {
    std::string_view group;
    size_t column;
  };

  // Up to the end of the text or, inside encap(, to the closing parenthesis, which is left.
  absl::Status ParseLevel(size_t index) {
    Level level{index};
    for (cursor_.SkipSeparators(); !cursor_.AtEnd() && cursor_.Peek() != ')'; cursor_.SkipSeparators()) {
      size_t column = cursor_.position();
      std::string_view name = cursor_.Word();
      if (!cursor_.Accept("(")) return cursor_.ExpectedAt(column, "a field such as in_port(1) or eth_type(0x0800)");
      SLUICE_RETURN_IF_ERROR(ParseNamed(name, column, level));
    }
    return FinishLevel(level);
  }

  // Behind "NAME(".
  absl::Status ParseNamed(std::string_view name, size_t column, Level& level) {
    if (name == "in_port") {
      SLUICE_RETURN_IF_ERROR(SeeOnce(name, column));
      return ParseInPort();
    }
    if (name == "eth_type") return ParseEthType(column, level);
    if (name == "vlan") return ParseVlan(column, level);
    if (name == "encap") return ParseEncap(column, level);
    if (name == "packet_type") return ParsePacketType();
    if (name == "tcp_flags") {
      SLUICE_RETURN_IF_ERROR(SeeOnce(name, column));
      return ParseTcpFlags(cursor_, match_.key.tcp_flags, match_.mask.tcp_flags);
    }
    if (name.substr(0, 3) == "ct_") {
      // Printed by verbose dumps of other datapaths: a field that is wildcarded is none.
      return cursor_.Accept("0/0)") ? absl::OkStatus() : cursor_.Expected("0/0, as there is no connection tracking");
    }
    const GroupText* group = FindGroup(name);
    if (group == nullptr) {
      return cursor_.ExpectedAt(column,
                                "recirc_id, dp_hash, skb_priority, skb_mark, in_port, packet_type, eth, eth_type, "
                                "vlan, encap, mpls, ipv4, ipv6, arp, tcp, tcp_flags, udp, sctp, icmp, icmpv6 or nd");
    }
    SLUICE_RETURN_IF_ERROR(SeeOnce(group->name, column));
    return ParseGroup(cursor_, *group, match_.key, match_.mask);
  }

  // A second in_port(...) would silently replace the first.
  absl::Status SeeOnce(std::string_view name, size_t column) {
    auto same = [name](const Seen& seen) { return seen.group == name; };
    if (std::any_of(seen_.begin(), seen_.end(), same)) return cursor_.ExpectedAt(column, fmt::format("{} once", name));
    seen_.push_back({name, column});
    return absl::OkStatus();
  }

  absl::Status ParseInPort() {
    absl::StatusOr<uint32_t> port = ParsePort(cursor_, ports_);
    if (!port.ok()) return port.status();
    match_.key.in_port = *port;
    match_.mask.in_port = UINT32_MAX;
    if (cursor_.Accept("/")) {
      absl::StatusOr<uint32_t> mask = cursor_.Number(UINT32_MAX);
      if (!mask.ok()) return mask.status();
      match_.mask.in_port = *mask;
    }
    return cursor_.Expect(")");
  }

  absl::Status ParsePacketType() {
    if (cursor_.Accept("ns=0,id=0)") || cursor_.Accept("ns=0/0,id=0/0)")) return absl::OkStatus();
    return cursor_.Expected("ns=0,id=0, as all packets are Ethernet");
  }

  absl::Status ParseEthType(size_t column, Level& level) {
    FlowKey value;
    FlowMask mask;
    SLUICE_RETURN_IF_ERROR(ParseGroup(cursor_, *FindGroup("eth_type"), value, mask));
    if (level.type.has_value())
      return cursor_.ExpectedAt(column, "eth_type once; inside encap(...) for the next header");
    level.type_column = column;
    level.type = value.eth_type.Get();
    level.type_mask = mask.eth_type.Get();
    return absl::OkStatus();
  }

  // vlan(vid=,pcp=,cfi=) of the tag that this level's eth_type announces; or bits of the outer tag, and of the inner
  // one, as they stand in the key: vlan(tci=,tpid=,inner_tci=,inner_tpid=).
  absl::Status ParseVlan(size_t column, Level& level) {
    if (level.tag_column.has_value())
      return cursor_.ExpectedAt(column, "vlan once; inside encap(...) for an inner tag");
    level.tag_column = column;
    for (;;) {
      cursor_.SkipSeparators();
      if (cursor_.Accept(")")) return absl::OkStatus();
      size_t start = cursor_.position();
      std::string_view name = cursor_.Word();
      if (!cursor_.Accept("=")) return cursor_.ExpectedAt(start, kVlanFields);
      SLUICE_RETURN_IF_ERROR(ParseVlanField(name, start, level));
    }
  }

  absl::Status ParseVlanField(std::string_view name, size_t start, Level& level) {
    constexpr auto kHex = FieldText::Kind::kHex;
    static constexpr FieldText kRaw[] = {
        {"tci", kHex, offsetof(FlowKey, vlan_tci), 2, 0, 16},
        {"tpid", kHex, offsetof(FlowKey, vlan_tpid), 2, 0, 16},
        {"inner_tci", kHex, offsetof(FlowKey, inner_vlan_tci), 2, 0, 16},
        {"inner_tpid", kHex, offsetof(FlowKey, inner_vlan_tpid), 2, 0, 16},
    };
    for (const FieldText& field : kRaw) {
      if (field.name == name && level.index == 0) {
        level.raw_tag = true;
        return ParseField(cursor_, field, match_.key, match_.mask);
      }
    }
    if (name == "cfi") {
      return cursor_.Accept("1") ? absl::OkStatus() : cursor_.Expected("1, as the tag is there");
    }
    if (level.index >= kMaxTags) return cursor_.ExpectedAt(start, kTwoTags);
    auto offset =
        static_cast<uint16_t>(level.index == 0 ? offsetof(FlowKey, vlan_tci) : offsetof(FlowKey, inner_vlan_tci));
    for (FieldText field : FindGroup("vlan")->fields) {
      if (field.name != name) continue;
      field.offset = offset;
      return ParseField(cursor_, field, match_.key, match_.mask);
    }
    return cursor_.ExpectedAt(start, kVlanFields);
  }

  absl::Status ParseEncap(size_t column, Level& level) {
    if (level.encap) return cursor_.ExpectedAt(column, "encap once at each level");
    if (level.index >= kMaxTags) return cursor_.ExpectedAt(column, kTwoTags);
    level.encap = true;
    SLUICE_RETURN_IF_ERROR(ParseLevel(level.index + 1));
    return cursor_.Expect(")");
  }

  absl::Status FinishLevel(const Level& level) {
    bool vlan_type = level.type.has_value() && IsVlanType(*level.type) && level.type_mask == 0xffff;
    bool tagged =
        !level.raw_tag && (level.tag_column.has_value() || level.encap || (vlan_type && level.index < kMaxTags));
    if (tagged) {
      if (level.index >= kMaxTags) return cursor_.ExpectedAt(*level.tag_column, kTwoTags);
      if (!vlan_type) {
        return cursor_.ExpectedAt(level.tag_column.value_or(level.type_column),
                                  "eth_type(0x8100) or eth_type(0x88a8) beside vlan and encap");
      }
      Tag key = TagAt(match_.key, level.index);
      Tag mask = TagAt(match_.mask, level.index);
      key.tci = key.tci | Be16(kVlanPresent);
      mask.tci = mask.tci | Be16(kVlanPresent);
      key.tpid = Be16(*level.type);
      mask.tpid = Be16(0xffff);
      return absl::OkStatus();
    }
    if (!level.type.has_value()) return absl::OkStatus();
    // The type of a packet without tag, said with a mask of its own: dumps write a packet without any type as 0/0xffff.
    match_.key.eth_type = *level.type == 0 && level.type_mask == 0xffff ? Be16(0x05ff) : Be16(*level.type);
    match_.mask.eth_type = Be16(level.type_mask);
    if (!level.raw_tag && level.index < kMaxTags) {
      Tag mask = TagAt(match_.mask, level.index);
      mask.tci = mask.tpid = Be16(0xffff);
    }
    return absl::OkStatus();
  }

  absl::Status CheckNeeds() const {
    bool type_exact = match_.mask.eth_type == Be16(0xffff);
    for (const Seen& seen : seen_) {
      for (const Needs& needs : GroupNeeds()) {
        if (needs.group != seen.group) continue;
        bool type = std::count(needs.eth_types.begin(), needs.eth_types.end(), match_.key.eth_type.Get()) != 0;
        bool proto = !needs.ip_proto || (match_.key.ip_proto == *needs.ip_proto && match_.mask.ip_proto == 0xff);
        if (!type_exact || !type || !proto)
          return cursor_.ExpectedAt(seen.column, fmt::format("{} beside it", needs.text));
      }
    }
    return absl::OkStatus();
  }

  static constexpr std::string_view kTwoTags = "no more than two tags";
  static constexpr std::string_view kVlanFields = "vid=, pcp= or ')' in vlan(...)";

  TextCursor cursor_;
  const PortNames& ports_;
  Match match_;
  std::vector<Seen> seen_;
};

// Formatting
// -----------------------------------------------------------------------------------------------------------

class MatchFormatter {
 public:
  MatchFormatter(const Match& match, const PortNames& ports)
      : key_(match.key), mask_(match.mask), ports_(ports), type_exact_(mask_.eth_type == Be16(0xffff)) {}

  std::string Format() {
    for (std::string_view name : {"skb_priority", "skb_mark", "recirc_id", "dp_hash"}) Group(name);
    if (mask_.in_port != 0) {
      std::string port = FormatPort(key_.in_port, ports_);
      if (mask_.in_port != UINT32_MAX) port = fmt::format("{}/{:#x}", key_.in_port, mask_.in_port);
      Add("in_port", port);
    }
    Group("eth");
    FormatTags();
    FormatNetwork();
    text_ += std::string(open_encaps_, ')');
    return text_;
  }

 private:
  enum class Presence { kWild, kAbsent, kPresent, kOther };

  void Group(std::string_view name) {
    std::string fields = FormatFields(*FindGroup(name), key_, mask_);
    if (!fields.empty()) Add(name, fields);
  }
  void Separate() {
    if (!text_.empty() && text_.back() != '(') text_ += ',';
  }
  void Add(std::string_view name, std::string_view value) {
    Separate();
    text_ += fmt::format("{}({})", name, value);
  }

  static Presence PresenceOf(Tag key, Tag mask) {
    if (mask.tci == Be16() && mask.tpid == Be16()) return Presence::kWild;
    bool looked = (mask.tci.Get() & kVlanPresent) != 0;
    if (looked && (key.tci.Get() & kVlanPresent) == 0) return Presence::kAbsent;
    bool present = looked && mask.tpid == Be16(0xffff) && IsVlanType(key.tpid.Get());
    return present ? Presence::kPresent : Presence::kOther;
  }

  // Ethernet types and tags, leaving open what encap( holds.
  void FormatTags() {
    std::array<Presence, kMaxTags + 1> tags;
    for (size_t i = 0; i < kMaxTags; ++i) tags[i] = PresenceOf(TagAt(key_, i), TagAt(mask_, i));
    tags[kMaxTags] = Presence::kAbsent;  // beyond the second nothing is looked at
    size_t depth = 0;
    while (depth < kMaxTags && tags[depth] == Presence::kPresent) ++depth;
    if (!FitsEncap(tags, depth)) {
      FormatType();
      FormatRawTags();
      return;
    }
    for (size_t i = 0; i < depth; ++i) {
      Add("eth_type", fmt::format("0x{:04x}", TagAt(key_, i).tpid.Get()));
      FormatTag(i);
      Separate();
      text_ += "encap(";
      ++open_encaps_;
    }
    FormatType();
  }

  // Whether eth_type behind `depth` tags, written the usual way, says what the masks say: that no further tag follows.
  bool FitsEncap(const std::array<Presence, kMaxTags + 1>& tags, size_t depth) const {
    bool type_looked_at = mask_.eth_type != Be16();
    Presence next = tags[depth];
    if (!type_looked_at) return next == Presence::kWild || depth == kMaxTags;
    bool reads_as_tag = type_exact_ && IsVlanType(key_.eth_type.Get()) && depth < kMaxTags;
    return next == Presence::kAbsent && !reads_as_tag;
  }

  void FormatTag(size_t level) {
    FlowKey key;
    FlowMask mask;
    key.vlan_tci = TagAt(key_, level).tci;
    mask.vlan_tci = TagAt(mask_, level).tci;
    Add("vlan", FormatFields(*FindGroup("vlan"), key, mask));
  }

  void FormatRawTags() {
    std::string fields;
    auto add = [&fields](std::string_view name, Be16 value, Be16 mask) {
      if (mask == Be16()) return;
      if (!fields.empty()) fields += ',';
      fields += fmt::format("{}={:#x}/{:#x}", name, value.Get(), mask.Get());
    };
    add("tci", key_.vlan_tci, mask_.vlan_tci);
    add("tpid", key_.vlan_tpid, mask_.vlan_tpid);
    add("inner_tci", key_.inner_vlan_tci, mask_.inner_vlan_tci);
    add("inner_tpid", key_.inner_vlan_tpid, mask_.inner_vlan_tpid);
    if (fields.empty()) fields = "tci=0/0";
    Add("vlan", fields);
  }

  void FormatType() {
    if (mask_.eth_type == Be16()) return;
    std::string type = fmt::format("0x{:04x}", key_.eth_type.Get());
    if (!type_exact_) type += fmt::format("/{:#x}", mask_.eth_type.Get());
    Add("eth_type", type);
  }

  void FormatNetwork() {
    if (!type_exact_) return;
    uint16_t type = key_.eth_type.Get();
    if (type == kMpls || type == kMplsMulticast) Group("mpls");
    if (type == kArp || type == kRarp) Group("arp");
    if (type == kIpv4) Group("ipv4");
    if (type == kIpv6) Group("ipv6");
    if ((type == kIpv4 || type == kIpv6) && mask_.ip_proto == 0xff) FormatTransport(type);
  }

  void FormatTransport(uint16_t type) {
    switch (key_.ip_proto) {
      case kTcp:
        Group("tcp");
        if ((mask_.tcp_flags & Be16(kTcpFlagBits)) != Be16()) {
          Add("tcp_flags", FormatTcpFlags(key_.tcp_flags, mask_.tcp_flags));
        }
        break;
      case kUdp:
        Group("udp");
        break;
      case kSctp:
        Group("sctp");
        break;
      case kIcmp:
        if (type == kIpv4) Group("icmp");
        break;
      case kIcmpv6:
        if (type == kIpv6) {
          Group("icmpv6");
          Group("nd");
        }
        break;
    }
  }

  FlowKey key_;
  FlowMask mask_;
  const PortNames& ports_;
  const bool type_exact_;
  size_t open_encaps_ = 0;
  std::string text_;
};

}  // namespace

absl::StatusOr<Match> ParseMatch(std::string_view text, const PortNames& ports) {
  return MatchParser(text, ports).Parse();
}

std::string FormatMatch(const Match& match, const PortNames& ports) { return MatchFormatter(match, ports).Format(); }

}  // namespace sluice
