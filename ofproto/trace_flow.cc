#include "ofproto/trace_flow.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "lib/base/status.h"
#include "lib/packet/headers.h"
#include "lib/flow/mac_text.h"

namespace sluice {
namespace {

constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58, kSctp = 132;
constexpr uint16_t kArpType = 0x0806;

struct Keyword {
  std::string_view name;
  uint16_t eth_type;
  uint8_t protocol;  // 0: any
};
constexpr Keyword kKeywords[] = {
    {"icmp", kEthTypeIpv4, kIcmp},
    {"tcp", kEthTypeIpv4, kTcp},
    {"udp", kEthTypeIpv4, kUdp},
    {"sctp", kEthTypeIpv4, kSctp},
    {"icmp6", kEthTypeIpv6, kIcmp6},
    {"tcp6", kEthTypeIpv6, kTcp},
    {"udp6", kEthTypeIpv6, kUdp},
    {"sctp6", kEthTypeIpv6, kSctp},
    {"ip", kEthTypeIpv4, 0},
    {"ipv6", kEthTypeIpv6, 0},
    {"arp", kArpType, 0},
};

// Reading
// ------------------------------------------------------------------------------------------------------------------

std::optional<uint32_t> ParseNumber(std::string_view text, uint32_t max) {
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    text.remove_prefix(2);
    base = 16;
  }
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

// A field's value in the key; false if the text is no such value.
using Setter = bool (*)(FlowKey& key, std::string_view text);
struct Field {
  std::string_view name;
  std::string_view expected;
  Setter set;
};

template <MacAddress FlowKey::*kMember>
bool SetMac(FlowKey& key, std::string_view text) {
  auto mac = ParseMac(text);
  if (mac) key.*kMember = *mac;
  return mac.has_value();
}

template <Be32 FlowKey::*kMember>
bool SetIpv4(FlowKey& key, std::string_view text) {
  in_addr address;
  if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return false;
  key.*kMember = Be32(ntohl(address.s_addr));
  return true;
}

template <Ipv6Address FlowKey::*kMember>
bool SetIpv6(FlowKey& key, std::string_view text) {
  return inet_pton(AF_INET6, std::string(text).c_str(), (key.*kMember).data()) == 1;
}

template <auto kMember, uint32_t kMax>
bool SetNumber(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, kMax);
  if (!number) return false;
  using Value = std::remove_reference_t<decltype(key.*kMember)>;
  if constexpr (std::is_integral_v<Value>) {
    key.*kMember = static_cast<Value>(*number);
  } else {
    key.*kMember = Value(static_cast<decltype(Value().Get())>(*number));
  }
  return true;
}

void MergeTci(FlowKey& key, uint16_t bits, uint16_t mask) {
  key.vlan_tci = Be16(static_cast<uint16_t>((key.vlan_tci.Get() & ~mask) | bits | kVlanPresent));
  if (key.vlan_tpid.Get() == 0) key.vlan_tpid = Be16(kEthTypeVlan);
}

bool SetVlan(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, 4095);
  if (number) MergeTci(key, static_cast<uint16_t>(*number), 0x0fff);
  return number.has_value();
}

bool SetPcp(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, 7);
  if (number) MergeTci(key, static_cast<uint16_t>(*number << 13), 0xe000);
  return number.has_value();
}

bool SetTci(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, UINT16_MAX);
  if (!number) return false;
  key.vlan_tci = Be16(static_cast<uint16_t>(*number));
  key.vlan_tpid = Be16((*number & kVlanPresent) != 0 ? kEthTypeVlan : uint16_t{0});
  return true;
}

bool SetFrag(FlowKey& key, std::string_view text) {
  if (text == "no") {
    key.ip_frag = 0;
  } else if (text == "first") {
    key.ip_frag = kFragAny;
  } else if (text == "later") {
    key.ip_frag = kFragAny | kFragLater;
  } else {
    return false;
  }
  return true;
}

bool SetTos(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, 0xfc);
  if (!number || (*number & 3) != 0) return false;
  key.ip_tos = static_cast<uint8_t>(*number | (key.ip_tos & 3));
  return true;
}

bool SetEcn(FlowKey& key, std::string_view text) {
  auto number = ParseNumber(text, 3);
  if (number) key.ip_tos = static_cast<uint8_t>((key.ip_tos & 0xfc) | *number);
  return number.has_value();
}

constexpr auto kSetSourcePort = SetNumber<&FlowKey::tp_src, UINT16_MAX>;
constexpr auto kSetDestinationPort = SetNumber<&FlowKey::tp_dst, UINT16_MAX>;
constexpr auto kSetProtocol = SetNumber<&FlowKey::ip_proto, UINT8_MAX>;
constexpr auto kSetTtl = SetNumber<&FlowKey::ip_ttl, UINT8_MAX>;
constexpr auto kSetEthType = SetNumber<&FlowKey::eth_type, UINT16_MAX>;
constexpr std::string_view kMac = "an Ethernet address", kIpv4 = "an IPv4 address", kIpv6 = "an IPv6 address",
                           kByte = "a number up to 255", kPort = "a number up to 65535";

constexpr Field kFields[] = {
    {"dl_src", kMac, SetMac<&FlowKey::eth_src>},
    {"eth_src", kMac, SetMac<&FlowKey::eth_src>},
    {"dl_dst", kMac, SetMac<&FlowKey::eth_dst>},
    {"eth_dst", kMac, SetMac<&FlowKey::eth_dst>},
    {"dl_type", kPort, kSetEthType},
    {"eth_type", kPort, kSetEthType},
    {"dl_vlan", "a number up to 4095", SetVlan},
    {"vlan_vid", "a number up to 4095", SetVlan},
    {"dl_vlan_pcp", "a number up to 7", SetPcp},
    {"vlan_pcp", "a number up to 7", SetPcp},
    {"vlan_tci", kPort, SetTci},
    {"nw_src", kIpv4, SetIpv4<&FlowKey::ipv4_src>},
    {"ip_src", kIpv4, SetIpv4<&FlowKey::ipv4_src>},
    {"nw_dst", kIpv4, SetIpv4<&FlowKey::ipv4_dst>},
    {"ip_dst", kIpv4, SetIpv4<&FlowKey::ipv4_dst>},
    {"arp_spa", kIpv4, SetIpv4<&FlowKey::ipv4_src>},
    {"arp_tpa", kIpv4, SetIpv4<&FlowKey::ipv4_dst>},
    {"arp_sha", kMac, SetMac<&FlowKey::arp_sha>},
    {"arp_tha", kMac, SetMac<&FlowKey::arp_tha>},
    {"arp_op", kByte, kSetProtocol},
    {"ipv6_src", kIpv6, SetIpv6<&FlowKey::ipv6_src>},
    {"ipv6_dst", kIpv6, SetIpv6<&FlowKey::ipv6_dst>},
    {"ipv6_label", "a number of 20 bits", SetNumber<&FlowKey::ipv6_label, 0xfffff>},
    {"nw_proto", kByte, kSetProtocol},
    {"ip_proto", kByte, kSetProtocol},
    {"nw_ttl", kByte, kSetTtl},
    {"nw_tos", "a multiple of 4 up to 252", SetTos},
    {"nw_ecn", "a number up to 3", SetEcn},
    {"ip_frag", "no, first or later", SetFrag},
    {"nw_frag", "no, first or later", SetFrag},
    {"tp_src", kPort, kSetSourcePort},
    {"tcp_src", kPort, kSetSourcePort},
    {"udp_src", kPort, kSetSourcePort},
    {"icmp_type", kByte, SetNumber<&FlowKey::tp_src, UINT8_MAX>},
    {"tp_dst", kPort, kSetDestinationPort},
    {"tcp_dst", kPort, kSetDestinationPort},
    {"udp_dst", kPort, kSetDestinationPort},
    {"icmp_code", kByte, SetNumber<&FlowKey::tp_dst, UINT8_MAX>},
    {"tcp_flags", "a number of 12 bits", SetNumber<&FlowKey::tcp_flags, 0xfff>},
    {"pkt_mark", "a number", SetNumber<&FlowKey::skb_mark, UINT32_MAX>},
    {"skb_priority", "a number", SetNumber<&FlowKey::skb_priority, UINT32_MAX>},
};

absl::Status SetField(std::string_view token, TraceFlow& flow) {
  const size_t equals = token.find('=');
  const std::string_view name = token.substr(0, equals);
  if (equals == std::string_view::npos) {
    for (const Keyword& keyword : kKeywords) {
      if (keyword.name != name) continue;
      flow.key.eth_type = Be16(keyword.eth_type);
      if (keyword.protocol != 0) flow.key.ip_proto = keyword.protocol;
      return absl::OkStatus();
    }
    return InvalidArgument("unknown field {}", name);
  }
  const std::string_view value = token.substr(equals + 1);
  if (name == "in_port") {
    flow.in_port = std::string(value);
    return absl::OkStatus();
  }
  for (const Field& field : kFields) {
    if (field.name != name) continue;
    if (field.set(flow.key, value)) return absl::OkStatus();
    return InvalidArgument("{}={}: expected {}", name, value, field.expected);
  }
  return InvalidArgument("unknown field {}", name);
}

// Writing
// ------------------------------------------------------------------------------------------------------------------

bool IsAny(const FlowMask& mask, size_t offset, size_t size) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&mask) + offset;
  return std::any_of(bytes, bytes + size, [](uint8_t byte) { return byte != 0; });
}
#define SLUICE_LOOKS_AT(mask, field) IsAny(mask, offsetof(FlowKey, field), sizeof(FlowKey::field))

class Writer {
 public:
  Writer(const FlowKey& key, const FlowMask& mask, bool everything) : key_(key), mask_(mask), all_(everything) {}

  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ',';
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

  // Returns whether there is a keyword for the type.
  bool AddKeyword() {
    for (const Keyword& keyword : kKeywords) {
      const bool type = keyword.eth_type == key_.eth_type.Get();
      const bool protocol =
          keyword.protocol == 0 || (keyword.protocol == key_.ip_proto && (all_ || mask_.ip_proto == 0xff));
      if (!type || !protocol) continue;
      Add("{}", keyword.name);
      return true;
    }
    return false;
  }

  void AddVlan() {
    const uint16_t tci = key_.vlan_tci.Get();
    const uint16_t mask = all_ ? uint16_t{0xffff} : mask_.vlan_tci.Get();
    if ((tci & kVlanPresent) != 0) {
      if ((mask & 0x0fff) != 0) Add("dl_vlan={}", tci & 0x0fff);
      if ((mask & 0xe000) != 0) Add("dl_vlan_pcp={}", tci >> 13);
      if (all_) Add("vlan_tci1=0x{:04x}", key_.inner_vlan_tci.Get());
    } else if (all_) {
      Add("vlan_tci=0x0000");
    }
  }

  void AddEthernet(bool has_keyword) {
    if (all_ || SLUICE_LOOKS_AT(mask_, eth_src)) Add("dl_src={}", FormatMac(key_.eth_src));
    if (all_ || SLUICE_LOOKS_AT(mask_, eth_dst)) Add("dl_dst={}", FormatMac(key_.eth_dst));
    if (!has_keyword && (all_ || SLUICE_LOOKS_AT(mask_, eth_type))) Add("dl_type=0x{:04x}", key_.eth_type.Get());
  }

  void AddArp() {
    if (all_ || SLUICE_LOOKS_AT(mask_, ipv4_src)) Add("arp_spa={}", Ipv4(key_.ipv4_src));
    if (all_ || SLUICE_LOOKS_AT(mask_, ipv4_dst)) Add("arp_tpa={}", Ipv4(key_.ipv4_dst));
    if (all_ || SLUICE_LOOKS_AT(mask_, ip_proto)) Add("arp_op={}", key_.ip_proto);
    if (all_ || SLUICE_LOOKS_AT(mask_, arp_sha)) Add("arp_sha={}", FormatMac(key_.arp_sha));
    if (all_ || SLUICE_LOOKS_AT(mask_, arp_tha)) Add("arp_tha={}", FormatMac(key_.arp_tha));
  }

  void AddIp(bool is_ipv6) {
    if (is_ipv6) {
      if (all_ || SLUICE_LOOKS_AT(mask_, ipv6_src)) Add("ipv6_src={}", Ipv6(key_.ipv6_src));
      if (all_ || SLUICE_LOOKS_AT(mask_, ipv6_dst)) Add("ipv6_dst={}", Ipv6(key_.ipv6_dst));
      if (all_ || SLUICE_LOOKS_AT(mask_, ipv6_label)) Add("ipv6_label=0x{:05x}", key_.ipv6_label.Get());
    } else {
      if (all_ || SLUICE_LOOKS_AT(mask_, ipv4_src)) Add("nw_src={}", Ipv4(key_.ipv4_src));
      if (all_ || SLUICE_LOOKS_AT(mask_, ipv4_dst)) Add("nw_dst={}", Ipv4(key_.ipv4_dst));
    }
    if (!HasProtocolKeyword() && (all_ || SLUICE_LOOKS_AT(mask_, ip_proto))) Add("nw_proto={}", key_.ip_proto);
    if (all_ || (mask_.ip_tos & 0xfc) != 0) Add("nw_tos={}", key_.ip_tos & 0xfc);
    if (all_ || (mask_.ip_tos & 3) != 0) Add("nw_ecn={}", key_.ip_tos & 3);
    if (all_ || SLUICE_LOOKS_AT(mask_, ip_ttl)) Add("nw_ttl={}", key_.ip_ttl);
    if (all_ || SLUICE_LOOKS_AT(mask_, ip_frag)) {
      Add("nw_frag={}", key_.ip_frag == 0 ? "no" : (key_.ip_frag & kFragLater) != 0 ? "later" : "first");
    }
    AddTransport();
  }

  std::string Take() { return std::move(text_); }

 private:
  bool HasProtocolKeyword() const {
    const uint8_t protocol = key_.ip_proto;
    return protocol == kTcp || protocol == kUdp || protocol == kSctp ||
           protocol == (key_.eth_type.Get() == kEthTypeIpv6 ? kIcmp6 : kIcmp);
  }

  void AddTransport() {
    if (!HasProtocolKeyword()) return;
    const bool is_icmp = key_.ip_proto == kIcmp || key_.ip_proto == kIcmp6;
    if (all_ || SLUICE_LOOKS_AT(mask_, tp_src)) Add("{}={}", is_icmp ? "icmp_type" : "tp_src", key_.tp_src.Get());
    if (all_ || SLUICE_LOOKS_AT(mask_, tp_dst)) Add("{}={}", is_icmp ? "icmp_code" : "tp_dst", key_.tp_dst.Get());
    if (key_.ip_proto != kTcp || !(all_ || SLUICE_LOOKS_AT(mask_, tcp_flags))) return;
    const uint16_t flags = key_.tcp_flags.Get();
    Add("tcp_flags={}{:x}", flags == 0 ? "" : "0x", flags);
  }

  static std::string Ipv4(Be32 address) {
    const uint32_t bits = address.Get();
    return fmt::format("{}.{}.{}.{}", bits >> 24, bits >> 16 & 255, bits >> 8 & 255, bits & 255);
  }
  static std::string Ipv6(const Ipv6Address& address) {
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(AF_INET6, address.data(), text, sizeof text);
  }

  const FlowKey& key_;
  const FlowMask& mask_;
  const bool all_;
  std::string text_;
};

std::string Format(Writer& writer, const FlowKey& key, bool has_keyword, std::string_view in_port) {
  writer.Add("in_port={}", in_port);
  writer.AddVlan();
  writer.AddEthernet(has_keyword);
  const uint16_t type = key.eth_type.Get();
  if (type == kArpType) writer.AddArp();
  if (type == kEthTypeIpv4 || type == kEthTypeIpv6) writer.AddIp(type == kEthTypeIpv6);
  return writer.Take();
}

}  // namespace

absl::StatusOr<TraceFlow> ParseTraceFlow(std::string_view text) {
  TraceFlow flow;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(", "), rest.size());
    const std::string_view token = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (token.empty()) continue;
    if (absl::Status set = SetField(token, flow); !set.ok()) {
      return InvalidArgument("Bad openflow flow syntax: {}: {}", text, Message(set));
    }
  }
  return flow;
}

std::string FormatTraceFlow(const FlowKey& key, std::string_view in_port) {
  FlowMask mask;
  Writer writer(key, mask, /*everything=*/true);
  if (key.skb_mark != 0) writer.Add("pkt_mark=0x{:x}", key.skb_mark);
  if (key.skb_priority != 0) writer.Add("skb_priority=0x{:x}", key.skb_priority);
  const bool has_keyword = writer.AddKeyword();
  return Format(writer, key, has_keyword, in_port);
}

std::string FormatMegaflow(const FlowKey& key, const FlowMask& mask, std::string_view in_port) {
  Writer writer(key, mask, /*everything=*/false);
  writer.Add("recirc_id={},eth", key.recirc_id);
  const bool has_keyword = writer.AddKeyword();
  return Format(writer, key, has_keyword, in_port);
}

}  // namespace sluice
