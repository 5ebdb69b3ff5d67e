#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lib/base/status.h"
#include "lib/flow/field_text.h"
#include "lib/flow/flow_text.h"
#include "lib/flow/port_text.h"
#include "lib/flow/text_cursor.h"

namespace sluice {
namespace {

// Lists inside lists that text may ask for: fewer than the executor follows.
constexpr int kMaxNesting = 12;
constexpr uint32_t kMinTrunc = 14;  // an Ethernet header
constexpr uint16_t kVlanTpid = 0x8100, kQinqTpid = 0x88a8, kMplsType = 0x8847, kMplsMulticastType = 0x8848;

constexpr std::string_view kActionNames =
    "a port, drop, set, push_vlan, pop_vlan, push_mpls, pop_mpls, recirc, hash, clone, sample, trunc, check_pkt_len or "
    "userspace";

struct SettableGroup {
  std::string_view name;
  SetAction::Header header;
};
constexpr SettableGroup kSettable[] = {
    {"eth", SetAction::Header::kEthernet},
    {"vlan", SetAction::Header::kVlan},
    {"ipv4", SetAction::Header::kIpv4},
    {"ipv6", SetAction::Header::kIpv6},
    {"tcp", SetAction::Header::kTcp},
    {"udp", SetAction::Header::kUdp},
    {"sctp", SetAction::Header::kSctp},
    {"arp", SetAction::Header::kArp},
    {"icmp", SetAction::Header::kIcmp},
    {"icmpv6", SetAction::Header::kIcmpv6},
    {"nd", SetAction::Header::kNd},
    {"mpls", SetAction::Header::kMpls},
    {"skb_priority", SetAction::Header::kPriority},
    {"skb_mark", SetAction::Header::kMark},
};

class ActionsParser {
 public:
  ActionsParser(std::string_view text, const PortNames& ports) : cursor_(text), ports_(ports) {}

  absl::StatusOr<ActionList> Parse() {
    ActionList actions;
    SLUICE_RETURN_IF_ERROR(ParseList(actions));
    if (!cursor_.AtEnd()) return cursor_.Expected("the end, or ',' and another action");
    return actions;
  }

 private:
  // Up to the end or a closing parenthesis, which is left.
  absl::Status ParseList(ActionList& actions) {
    for (cursor_.SkipSeparators(); !cursor_.AtEnd() && cursor_.Peek() != ')'; cursor_.SkipSeparators()) {
      SLUICE_RETURN_IF_ERROR(ParseAction(actions));
    }
    return absl::OkStatus();
  }

  // "(" was read: a list and its ")".
  absl::Status ParseNested(ActionList& actions) {
    if (depth_ == kMaxNesting) return cursor_.Expected(fmt::format("no more than {} lists inside lists", kMaxNesting));
    ++depth_;
    SLUICE_RETURN_IF_ERROR(ParseList(actions));
    --depth_;
    return cursor_.Expect(")");
  }

  absl::Status ParseAction(ActionList& actions) {
    size_t start = cursor_.position();
    TextCursor ahead = cursor_;
    std::string_view name = ahead.Word();
    if (name.empty()) return cursor_.Expected(kActionNames);
    if (!ahead.Accept("(")) {
      if (name == "drop" || name == "pop_vlan") {
        cursor_ = ahead;
        return Add(actions, name == "drop" ? Action{DropAction{}} : Action{PopVlanAction{}});
      }
      if (!ports_.to_number && !cursor_.AtNumber()) return cursor_.Expected(kActionNames);
      absl::StatusOr<uint32_t> port = ParsePort(cursor_, ports_);
      if (!port.ok()) return port.status();
      if (!cursor_.AtEnd() && std::string_view(", \t\r\n)").find(cursor_.Peek()) == std::string_view::npos) {
        return cursor_.Expected("',' and another action");
      }
      return Add(actions, Action{OutputAction{*port}});
    }
    cursor_ = ahead;
    if (name == "set") return ParseSet(actions);
    if (name == "push_vlan") return ParsePushVlan(actions);
    if (name == "push_mpls") return ParsePushMpls(actions);
    if (name == "pop_mpls") return ParsePopMpls(actions);
    if (name == "recirc") return ParseRecirc(actions);
    if (name == "hash") return ParseHash(actions);
    if (name == "clone") return ParseClone(actions);
    if (name == "sample") return ParseSample(actions);
    if (name == "trunc") return ParseTrunc(actions);
    if (name == "check_pkt_len") return ParseCheckPktLen(actions);
    if (name == "userspace") return ParseUserspace(actions);
    return cursor_.ExpectedAt(start, kActionNames);
  }

  template <typename T>
  absl::Status Add(ActionList& actions, T&& action) {
    actions.push_back(Action{std::forward<T>(action)});
    return absl::OkStatus();
  }

  // "NAME=NUMBER" parts in any order, up to and with ")". Each part says whether it was there.
  struct Part {
    std::string_view name;
    uint32_t max;
    uint32_t value = 0;
    bool there = false;
  };
  absl::Status ParseParts(absl::Span<Part> parts) {
    for (;;) {
      cursor_.SkipSeparators();
      if (cursor_.Accept(")")) return absl::OkStatus();
      size_t start = cursor_.position();
      std::string_view name = cursor_.Word();
      auto part = std::find_if(parts.begin(), parts.end(), [name](const Part& p) { return p.name == name; });
      if (part == parts.end() || !cursor_.Accept("=")) {
        std::string names;
        for (const Part& p : parts) names += fmt::format("{}=, ", p.name);
        return cursor_.ExpectedAt(start, names + "or ')'");
      }
      SLUICE_RETURN_IF_ERROR(ReadNumber(part->max, part->value));
      part->there = true;
      if (cursor_.Peek() != ',' && cursor_.Peek() != ' ' && cursor_.Peek() != ')')
        return cursor_.Expected("',' or ')'");
    }
  }

  absl::Status ReadNumber(uint32_t max, uint32_t& value) {
    absl::StatusOr<uint32_t> number = cursor_.Number(max);
    if (number.ok()) value = *number;
    return number.status();
  }

  absl::Status ParseSet(ActionList& actions) {
    size_t start = cursor_.position();
    std::string_view name = cursor_.Word();
    auto settable = std::find_if(std::begin(kSettable), std::end(kSettable),
                                 [name](const SettableGroup& group) { return group.name == name; });
    if (settable == std::end(kSettable) || !cursor_.Accept("(")) {
      std::string names;
      for (const SettableGroup& group : kSettable) names += fmt::format("{}(...), ", group.name);
      names.resize(names.size() - 2);
      return cursor_.ExpectedAt(start, "one of " + names);
    }
    SetAction set{settable->header};
    SLUICE_RETURN_IF_ERROR(ParseGroup(cursor_, *FindGroup(name), set.value, set.mask));
    if (set.header == SetAction::Header::kIpv4 || set.header == SetAction::Header::kIpv6) {
      // Old text repeats what the packet has there; it is not for setting.
      set.value.ip_proto = set.mask.ip_proto = 0;
      set.value.ip_frag = set.mask.ip_frag = 0;
    }
    if (set.mask == FlowMask{}) return cursor_.ExpectedAt(start, fmt::format("a field to set in {}(...)", name));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(")"));
    return Add(actions, std::move(set));
  }

  absl::Status ParsePushVlan(ActionList& actions) {
    size_t start = cursor_.position();
    Part parts[] = {{"tpid", 0xffff, kVlanTpid}, {"vid", 0xfff}, {"pcp", 7}, {"cfi", 1, 1}};
    SLUICE_RETURN_IF_ERROR(ParseParts(absl::MakeSpan(parts)));
    if (!parts[1].there) return cursor_.ExpectedAt(start, "vid=, and perhaps pcp= and tpid=");
    if (parts[0].value != kVlanTpid && parts[0].value != kQinqTpid) {
      return cursor_.ExpectedAt(start, "tpid=0x8100 or tpid=0x88a8");
    }
    if (parts[3].value != 1) return cursor_.ExpectedAt(start, "cfi=1, as the tag will be there");
    auto tci = static_cast<uint16_t>(parts[1].value | parts[2].value << 13);
    return Add(actions, PushVlanAction{Be16(static_cast<uint16_t>(parts[0].value)), Be16(tci)});
  }

  absl::Status ParsePushMpls(ActionList& actions) {
    size_t start = cursor_.position();
    Part parts[] = {{"label", 0xfffff}, {"tc", 7}, {"ttl", 255}, {"bos", 1}, {"eth_type", 0xffff}};
    SLUICE_RETURN_IF_ERROR(ParseParts(absl::MakeSpan(parts)));
    if (!parts[0].there) return cursor_.ExpectedAt(start, "label=, tc=, ttl=, bos= and eth_type=");
    if (parts[4].value != kMplsType && parts[4].value != kMplsMulticastType) {
      return cursor_.ExpectedAt(start, "eth_type=0x8847 or eth_type=0x8848");
    }
    uint32_t lse = parts[0].value << 12 | parts[1].value << 9 | parts[3].value << 8 | parts[2].value;
    return Add(actions, PushMplsAction{Be16(static_cast<uint16_t>(parts[4].value)), Be32(lse)});
  }

  absl::Status ParsePopMpls(ActionList& actions) {
    size_t start = cursor_.position();
    Part parts[] = {{"eth_type", 0xffff}};
    SLUICE_RETURN_IF_ERROR(ParseParts(absl::MakeSpan(parts)));
    if (!parts[0].there) return cursor_.ExpectedAt(start, "eth_type= of what is below the label");
    return Add(actions, PopMplsAction{Be16(static_cast<uint16_t>(parts[0].value))});
  }

  absl::Status ParseRecirc(ActionList& actions) {
    RecircAction recirc;
    SLUICE_RETURN_IF_ERROR(ReadNumber(UINT32_MAX, recirc.id));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(")"));
    return Add(actions, recirc);
  }

  absl::Status ParseHash(ActionList& actions) {
    HashAction hash;
    if (cursor_.Accept("sym_l4(") || cursor_.Accept("hash_sym_l4(")) {
      hash.algorithm = HashAction::Algorithm::kSymL4;
    } else if (!cursor_.Accept("l4(") && !cursor_.Accept("hash_l4(")) {
      return cursor_.Expected("l4(BASIS) or sym_l4(BASIS)");
    }
    SLUICE_RETURN_IF_ERROR(ReadNumber(UINT32_MAX, hash.basis));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect("))"));
    return Add(actions, hash);
  }

  absl::Status ParseClone(ActionList& actions) {
    CloneAction clone;
    SLUICE_RETURN_IF_ERROR(ParseNested(clone.actions));
    return Add(actions, std::move(clone));
  }

  absl::Status ParseSample(ActionList& actions) {
    SampleAction sample;
    SLUICE_RETURN_IF_ERROR(cursor_.Expect("sample="));
    size_t start = cursor_.position();
    std::string percent(cursor_.Word());
    char* end = nullptr;
    double value = std::strtod(percent.c_str(), &end);
    bool digits = !percent.empty() && percent.find_first_not_of("0123456789.%") == std::string::npos;
    if (!digits || std::string_view(end) != "%" || value > 100) {
      return cursor_.ExpectedAt(start, "a percentage from 0% to 100%");
    }
    sample.probability = static_cast<uint32_t>(std::floor(UINT32_MAX * (value / 100) + 0.5));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(",actions("));
    SLUICE_RETURN_IF_ERROR(ParseNested(sample.actions));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(")"));
    return Add(actions, std::move(sample));
  }

  absl::Status ParseTrunc(ActionList& actions) {
    TruncAction trunc;
    size_t start = cursor_.position();
    SLUICE_RETURN_IF_ERROR(ReadNumber(UINT32_MAX, trunc.max_length));
    if (trunc.max_length < kMinTrunc) return cursor_.ExpectedAt(start, fmt::format("at least {} bytes", kMinTrunc));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(")"));
    return Add(actions, trunc);
  }

  absl::Status ParseCheckPktLen(ActionList& actions) {
    CheckPktLenAction check;
    uint32_t length = 0;
    SLUICE_RETURN_IF_ERROR(cursor_.Expect("size="));
    SLUICE_RETURN_IF_ERROR(ReadNumber(UINT16_MAX, length));
    check.length = static_cast<uint16_t>(length);
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(",gt("));
    SLUICE_RETURN_IF_ERROR(ParseNested(check.if_greater));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(",le("));
    SLUICE_RETURN_IF_ERROR(ParseNested(check.if_less_or_equal));
    SLUICE_RETURN_IF_ERROR(cursor_.Expect(")"));
    return Add(actions, std::move(check));
  }

  absl::Status ParseUserspace(ActionList& actions) {
    UserspaceAction userspace;
    SLUICE_RETURN_IF_ERROR(cursor_.Expect("pid="));
    SLUICE_RETURN_IF_ERROR(ReadNumber(UINT32_MAX, userspace.pid));
    while (!cursor_.Accept(")")) {
      if (cursor_.Accept(",userdata(")) {
        SLUICE_RETURN_IF_ERROR(ParseUserdata(userspace.userdata));
      } else if (cursor_.Accept(",actions")) {
        userspace.include_actions = true;
      } else if (cursor_.Accept(",tunnel_out_port=")) {
        absl::StatusOr<uint32_t> port = ParsePort(cursor_, ports_);
        if (!port.ok()) return port.status();
        userspace.tunnel_out_port = *port;
      } else {
        return cursor_.Expected("',userdata(HEX)', ',actions', ',tunnel_out_port=PORT' or ')'");
      }
    }
    return Add(actions, std::move(userspace));
  }

  absl::Status ParseUserdata(std::vector<uint8_t>& data) {
    size_t start = cursor_.position();
    std::string digits(cursor_.Word());
    bool hex = digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (!hex || digits.size() % 2 != 0) return cursor_.ExpectedAt(start, "bytes of two hexadecimal digits");
    data.clear();
    for (size_t i = 0; i < digits.size(); i += 2) {
      data.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    return cursor_.Expect(")");
  }

  TextCursor cursor_;
  const PortNames& ports_;
  int depth_ = 0;
};

// Formatting
// -----------------------------------------------------------------------------------------------------------

std::string_view GroupOf(SetAction::Header header) {
  for (const SettableGroup& group : kSettable) {
    if (group.header == header) return group.name;
  }
  return {};
}

class ActionsFormatter {
 public:
  explicit ActionsFormatter(const PortNames& ports) : ports_(ports) {}

  std::string Format(const ActionList& actions) const {
    if (actions.empty()) return "drop";
    std::string text;
    for (const Action& action : actions) {
      if (!text.empty()) text += ',';
      text += std::visit([this](const auto& value) { return One(value); }, action.value);
    }
    return text;
  }

 private:
  std::string One(const OutputAction& output) const { return FormatPort(output.port, ports_); }
  std::string One(const DropAction&) const { return "drop"; }
  std::string One(const SetAction& set) const {
    std::string_view name = GroupOf(set.header);
    return fmt::format("set({}({}))", name, FormatFields(*FindGroup(name), set.value, set.mask));
  }
  std::string One(const PushVlanAction& push) const {
    std::string tpid = push.tpid.Get() == kVlanTpid ? "" : fmt::format("tpid=0x{:04x},", push.tpid.Get());
    return fmt::format("push_vlan({}vid={},pcp={})", tpid, push.tci.Get() & 0xfff, push.tci.Get() >> 13);
  }
  std::string One(const PopVlanAction&) const { return "pop_vlan"; }
  std::string One(const PushMplsAction& push) const {
    uint32_t lse = push.lse.Get();
    return fmt::format("push_mpls(label={},tc={},ttl={},bos={},eth_type={:#x})", lse >> 12, lse >> 9 & 7, lse & 0xff,
                       lse >> 8 & 1, push.eth_type.Get());
  }
  std::string One(const PopMplsAction& pop) const {
    return fmt::format("pop_mpls(eth_type={:#x})", pop.eth_type.Get());
  }
  std::string One(const RecircAction& recirc) const {
    return recirc.id == 0 ? "recirc(0)" : fmt::format("recirc({:#x})", recirc.id);
  }
  std::string One(const HashAction& hash) const {
    return fmt::format("hash({}({}))", hash.algorithm == HashAction::Algorithm::kL4 ? "l4" : "sym_l4", hash.basis);
  }
  std::string One(const CloneAction& clone) const { return fmt::format("clone({})", Format(clone.actions)); }
  std::string One(const SampleAction& sample) const {
    return fmt::format("sample(sample={:.1f}%,actions({}))", 100.0 * sample.probability / UINT32_MAX,
                       Format(sample.actions));
  }
  std::string One(const TruncAction& trunc) const { return fmt::format("trunc({})", trunc.max_length); }
  std::string One(const CheckPktLenAction& check) const {
    return fmt::format("check_pkt_len(size={},gt({}),le({}))", check.length, Format(check.if_greater),
                       Format(check.if_less_or_equal));
  }
  std::string One(const UserspaceAction& userspace) const {
    std::string text = fmt::format("userspace(pid={}", userspace.pid);
    if (!userspace.userdata.empty()) {
      text += ",userdata(";
      for (uint8_t byte : userspace.userdata) text += fmt::format("{:02x}", byte);
      text += ')';
    }
    if (userspace.include_actions) text += ",actions";
    if (userspace.tunnel_out_port != UINT32_MAX) {
      text += ",tunnel_out_port=" + FormatPort(userspace.tunnel_out_port, ports_);
    }
    return text + ')';
  }

  const PortNames& ports_;
};

}  // namespace

absl::StatusOr<ActionList> ParseActions(std::string_view text, const PortNames& ports) {
  return ActionsParser(text, ports).Parse();
}

std::string FormatActions(const ActionList& actions, const PortNames& ports) {
  return ActionsFormatter(ports).Format(actions);
}

}  // namespace sluice
