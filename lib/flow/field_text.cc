#include "lib/flow/field_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "lib/base/status.h"
#include "lib/flow/mac_text.h"

namespace sluice {
namespace {

using Kind = FieldText::Kind;

constexpr FieldText Number(std::string_view name, Kind kind, size_t offset, uint8_t size, uint8_t bits,
                           uint8_t shift = 0) {
  return {name, kind, static_cast<uint16_t>(offset), size, shift, bits};
}
constexpr FieldText HostNumber(Kind kind, size_t offset) {
  return {"", kind, static_cast<uint16_t>(offset), 4, 0, 32, true};
}
constexpr FieldText Address(std::string_view name, Kind kind, size_t offset) {
  uint8_t size = kind == Kind::kMac ? 6 : kind == Kind::kIpv4 ? 4 : 16;
  return {name, kind, static_cast<uint16_t>(offset), size};
}

#define SLUICE_OFFSET(field) offsetof(FlowKey, field)

constexpr FieldText kRecircId[] = {HostNumber(Kind::kHex, SLUICE_OFFSET(recirc_id))};
constexpr FieldText kDpHash[] = {HostNumber(Kind::kHex, SLUICE_OFFSET(dp_hash))};
constexpr FieldText kSkbPriority[] = {HostNumber(Kind::kHex, SLUICE_OFFSET(skb_priority))};
constexpr FieldText kSkbMark[] = {HostNumber(Kind::kHex, SLUICE_OFFSET(skb_mark))};
constexpr FieldText kEthType[] = {Number("", Kind::kHex, SLUICE_OFFSET(eth_type), 2, 16)};
constexpr FieldText kEth[] = {
    Address("src", Kind::kMac, SLUICE_OFFSET(eth_src)),
    Address("dst", Kind::kMac, SLUICE_OFFSET(eth_dst)),
};
constexpr FieldText kVlan[] = {
    Number("vid", Kind::kDecimal, SLUICE_OFFSET(vlan_tci), 2, 12),
    Number("pcp", Kind::kDecimal, SLUICE_OFFSET(vlan_tci), 2, 3, 13),
};
constexpr FieldText kIpv4[] = {
    Address("src", Kind::kIpv4, SLUICE_OFFSET(ipv4_src)),
    Address("dst", Kind::kIpv4, SLUICE_OFFSET(ipv4_dst)),
    Number("proto", Kind::kDecimal, SLUICE_OFFSET(ip_proto), 1, 8),
    Number("tos", Kind::kHex, SLUICE_OFFSET(ip_tos), 1, 8),
    Number("ttl", Kind::kDecimal, SLUICE_OFFSET(ip_ttl), 1, 8),
    Number("frag", Kind::kFrag, SLUICE_OFFSET(ip_frag), 1, 2),
};
constexpr FieldText kIpv6[] = {
    Address("src", Kind::kIpv6, SLUICE_OFFSET(ipv6_src)),
    Address("dst", Kind::kIpv6, SLUICE_OFFSET(ipv6_dst)),
    Number("label", Kind::kHex, SLUICE_OFFSET(ipv6_label), 4, 20),
    Number("proto", Kind::kDecimal, SLUICE_OFFSET(ip_proto), 1, 8),
    Number("tclass", Kind::kHex, SLUICE_OFFSET(ip_tos), 1, 8),
    Number("hlimit", Kind::kDecimal, SLUICE_OFFSET(ip_ttl), 1, 8),
    Number("frag", Kind::kFrag, SLUICE_OFFSET(ip_frag), 1, 2),
};
constexpr FieldText kPorts[] = {
    Number("src", Kind::kDecimal, SLUICE_OFFSET(tp_src), 2, 16),
    Number("dst", Kind::kDecimal, SLUICE_OFFSET(tp_dst), 2, 16),
};
constexpr FieldText kIcmp[] = {
    Number("type", Kind::kDecimal, SLUICE_OFFSET(tp_src), 2, 8),
    Number("code", Kind::kDecimal, SLUICE_OFFSET(tp_dst), 2, 8),
};
constexpr FieldText kArp[] = {
    Address("sip", Kind::kIpv4, SLUICE_OFFSET(ipv4_src)),        Address("tip", Kind::kIpv4, SLUICE_OFFSET(ipv4_dst)),
    Number("op", Kind::kDecimal, SLUICE_OFFSET(ip_proto), 1, 8), Address("sha", Kind::kMac, SLUICE_OFFSET(arp_sha)),
    Address("tha", Kind::kMac, SLUICE_OFFSET(arp_tha)),
};
constexpr FieldText kNd[] = {
    Address("target", Kind::kIpv6, SLUICE_OFFSET(nd_target)),
    Address("sll", Kind::kMac, SLUICE_OFFSET(arp_sha)),
    Address("tll", Kind::kMac, SLUICE_OFFSET(arp_tha)),
};
// RFC 3032. Behind the fields of the top entry: whole entries, for matches deeper into the stack.
constexpr FieldText kMpls[] = {
    Number("label", Kind::kDecimal, SLUICE_OFFSET(mpls_lse), 4, 20, 12),
    Number("tc", Kind::kDecimal, SLUICE_OFFSET(mpls_lse), 4, 3, 9),
    Number("ttl", Kind::kDecimal, SLUICE_OFFSET(mpls_lse), 4, 8),
    Number("bos", Kind::kDecimal, SLUICE_OFFSET(mpls_lse), 4, 1, 8),
    Number("lse0", Kind::kHex, SLUICE_OFFSET(mpls_lse), 4, 32),
    Number("lse1", Kind::kHex, SLUICE_OFFSET(mpls_lse) + 4, 4, 32),
    Number("lse2", Kind::kHex, SLUICE_OFFSET(mpls_lse) + 8, 4, 32),
};
constexpr size_t kMplsParts = 4;  // label, tc, ttl, bos

#undef SLUICE_OFFSET

constexpr GroupText kGroups[] = {
    {"recirc_id", kRecircId},
    {"dp_hash", kDpHash},
    {"skb_priority", kSkbPriority},
    {"skb_mark", kSkbMark},
    {"eth", kEth},
    {"vlan", kVlan},
    {"eth_type", kEthType},
    {"ipv4", kIpv4},
    {"ipv6", kIpv6},
    {"tcp", kPorts},
    {"udp", kPorts},
    {"sctp", kPorts},
    {"icmp", kIcmp},
    {"icmpv6", kIcmp},
    {"arp", kArp},
    {"nd", kNd},
    {"mpls", kMpls},
};

uint8_t* BytesOf(FlowKey& key, const FieldText& field) { return reinterpret_cast<uint8_t*>(&key) + field.offset; }
const uint8_t* BytesOf(const FlowKey& key, const FieldText& field) {
  return reinterpret_cast<const uint8_t*>(&key) + field.offset;
}

uint32_t LoadWhole(const FlowKey& key, const FieldText& field) {
  const uint8_t* bytes = BytesOf(key, field);
  uint32_t value = 0;
  if (field.host_order) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  for (size_t i = 0; i < field.size; ++i) value = value << 8 | bytes[i];
  return value;
}

// An address of `size` bytes in `bytes`.
bool ParseAddress(std::string_view word, const FieldText& field, uint8_t* bytes) {
  std::string text(word);
  if (field.kind == Kind::kIpv4) return inet_pton(AF_INET, text.c_str(), bytes) == 1;
  if (field.kind == Kind::kIpv6) return inet_pton(AF_INET6, text.c_str(), bytes) == 1;
  unsigned parts[6];
  int used = 0;
  bool fits = text.size() <= 17 && std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &parts[0], &parts[1],
                                               &parts[2], &parts[3], &parts[4], &parts[5], &used) == 6;
  if (!fits || static_cast<size_t>(used) != text.size() ||
      text.find_first_not_of("0123456789abcdefABCDEF:") != text.npos)
    return false;
  std::copy(parts, parts + 6, bytes);
  return true;
}

std::string FormatAddress(const FieldText& field, const uint8_t* bytes) {
  char text[INET6_ADDRSTRLEN];
  if (field.kind == Kind::kIpv4) return inet_ntop(AF_INET, bytes, text, sizeof text);
  if (field.kind == Kind::kIpv6) return inet_ntop(AF_INET6, bytes, text, sizeof text);
  return FormatMac({bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]});
}

std::string_view AddressExample(Kind kind) {
  if (kind == Kind::kIpv4) return "an IPv4 address such as 10.0.0.1";
  if (kind == Kind::kIpv6) return "an IPv6 address such as fe80::1";
  return "an Ethernet address such as 00:11:22:33:44:55";
}

absl::Status ParseAddressField(TextCursor& cursor, const FieldText& field, FlowKey& key, FlowMask& mask) {
  size_t start = cursor.position();
  uint8_t* value = BytesOf(key, field);
  uint8_t* value_mask = BytesOf(mask, field);
  if (!ParseAddress(cursor.Word(), field, value)) return cursor.ExpectedAt(start, AddressExample(field.kind));
  std::fill_n(value_mask, field.size, 0xff);
  if (!cursor.Accept("/")) return absl::OkStatus();
  start = cursor.position();
  if (field.kind != Kind::kMac && cursor.AtNumber()) {  // a prefix length
    absl::StatusOr<uint32_t> length = cursor.Number(field.size * 8u);
    if (!length.ok()) return length.status();
    for (uint32_t i = 0; i < field.size * 8u; ++i) {
      if (i >= *length) value_mask[i / 8] = static_cast<uint8_t>(value_mask[i / 8] & ~(0x80u >> i % 8));
    }
  } else if (!ParseAddress(cursor.Word(), field, value_mask)) {
    return cursor.ExpectedAt(start, field.kind == Kind::kMac ? "a mask such as ff:ff:ff:00:00:00"
                                                             : "a mask, as an address or a prefix length");
  }
  for (size_t i = 0; i < field.size; ++i) value[i] &= value_mask[i];
  return absl::OkStatus();
}

// One of the kinds of fragment, or a number of FlowKey::ip_frag bits.
absl::StatusOr<uint32_t> ParseFrag(TextCursor& cursor) {
  size_t start = cursor.position();
  if (cursor.AtNumber()) return cursor.Number(kFragAny | kFragLater);
  std::string_view word = cursor.Word();
  if (word == "no") return 0;
  if (word == "first") return kFragAny;
  if (word == "later") return kFragAny | kFragLater;
  return cursor.ExpectedAt(start, "no, first or later");
}

std::string FormatNumber(const FieldText& field, uint32_t value, uint32_t mask) {
  bool exact = mask == field.Maximum();
  if (field.kind == Kind::kFrag && exact) {
    if (value == 0) return "no";
    if (value == kFragAny) return "first";
    if (value == (kFragAny | kFragLater)) return "later";
  }
  // As C's "%#x", which writes zero without a prefix.
  std::string text = field.kind == Kind::kDecimal || value == 0 ? fmt::to_string(value) : fmt::format("{:#x}", value);
  if (!exact) text += fmt::format("/{:#x}", mask);
  return text;
}

// Empty if the mask has no bit of the field.
std::string FormatField(const FieldText& field, const FlowKey& key, const FlowMask& mask) {
  if (field.bits != 0) {
    uint32_t bits = LoadField(mask, field);
    return bits == 0 ? "" : FormatNumber(field, LoadField(key, field), bits);
  }
  const uint8_t* bytes = BytesOf(mask, field);
  auto is = [](uint8_t value) { return [value](uint8_t byte) { return byte == value; }; };
  if (std::all_of(bytes, bytes + field.size, is(0))) return "";
  std::string text = FormatAddress(field, BytesOf(key, field));
  if (!std::all_of(bytes, bytes + field.size, is(0xff))) text += "/" + FormatAddress(field, bytes);
  return text;
}

// The top entry alone, by its parts: as soon as one bit is wildcarded, every part shows its mask.
std::string FormatMplsTop(const FlowKey& key, const FlowMask& mask) {
  const FieldText &label = kMpls[0], &tc = kMpls[1], &ttl = kMpls[2], &bos = kMpls[3];
  auto in_key = [&key](const FieldText& field) { return LoadField(key, field); };
  auto in_mask = [&mask](const FieldText& field) { return LoadField(mask, field); };
  if (LoadField(mask, kMpls[kMplsParts]) == UINT32_MAX) {
    return fmt::format("label={},tc={},ttl={},bos={}", in_key(label), in_key(tc), in_key(ttl), in_key(bos));
  }
  return fmt::format("label={}/0x{:x},tc={}/{:x},ttl={}/0x{:x},bos={}/{:x}", in_key(label), in_mask(label), in_key(tc),
                     in_mask(tc), in_key(ttl), in_mask(ttl), in_key(bos), in_mask(bos));
}

}  // namespace

uint32_t LoadField(const FlowKey& key, const FieldText& field) {
  return LoadWhole(key, field) >> field.shift & field.Maximum();
}

void StoreField(FlowKey& key, const FieldText& field, uint32_t value) {
  uint8_t* bytes = BytesOf(key, field);
  uint32_t whole = LoadWhole(key, field) & ~(field.Maximum() << field.shift);
  whole |= value << field.shift;
  if (field.host_order) {
    std::memcpy(bytes, &whole, sizeof whole);
    return;
  }
  for (size_t i = 0; i < field.size; ++i) bytes[i] = static_cast<uint8_t>(whole >> (field.size - 1 - i) * 8);
}

const GroupText* FindGroup(std::string_view name) {
  for (const GroupText& group : kGroups) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

absl::Status ParseField(TextCursor& cursor, const FieldText& field, FlowKey& key, FlowMask& mask) {
  if (field.bits == 0) return ParseAddressField(cursor, field, key, mask);
  bool frag = field.kind == Kind::kFrag;
  absl::StatusOr<uint32_t> value = frag ? ParseFrag(cursor) : cursor.Number(field.Maximum());
  if (!value.ok()) return value.status();
  absl::StatusOr<uint32_t> bits = field.Maximum();
  if (cursor.Accept("/")) bits = cursor.Number(field.Maximum());
  if (!bits.ok()) return bits.status();
  StoreField(key, field, *value & *bits);
  StoreField(mask, field, *bits);
  return absl::OkStatus();
}

absl::Status ParseGroup(TextCursor& cursor, const GroupText& group, FlowKey& key, FlowMask& mask) {
  if (group.fields[0].name.empty()) {
    SLUICE_RETURN_IF_ERROR(ParseField(cursor, group.fields[0], key, mask));
    return cursor.Expect(")");
  }
  for (;;) {
    cursor.SkipSeparators();
    if (cursor.Accept(")")) return absl::OkStatus();
    size_t start = cursor.position();
    std::string_view name = cursor.Word();
    auto field = std::find_if(group.fields.begin(), group.fields.end(),
                              [name](const FieldText& candidate) { return candidate.name == name; });
    if (field == group.fields.end() || !cursor.Accept("=")) {
      std::string names;
      for (const FieldText& candidate : group.fields) names += fmt::format("{}=, ", candidate.name);
      return cursor.ExpectedAt(start, fmt::format("{}or ')' in {}(...)", names, group.name));
    }
    SLUICE_RETURN_IF_ERROR(ParseField(cursor, *field, key, mask));
    if (cursor.Peek() != ',' && cursor.Peek() != ' ' && cursor.Peek() != ')') return cursor.Expected("',' or ')'");
  }
}

std::string FormatFields(const GroupText& group, const FlowKey& key, const FlowMask& mask) {
  absl::Span<const FieldText> fields = group.fields;
  if (group.name == "mpls") {
    bool deep = mask.mpls_lse[1] != Be32() || mask.mpls_lse[2] != Be32();
    if (!deep) return mask.mpls_lse[0] == Be32() ? "" : FormatMplsTop(key, mask);
    fields = fields.subspan(kMplsParts);
  }
  std::string text;
  for (const FieldText& field : fields) {
    std::string value = FormatField(field, key, mask);
    if (value.empty()) continue;
    if (!text.empty()) text += ',';
    if (!field.name.empty()) text += fmt::format("{}=", field.name);
    text += value;
  }
  return text;
}

void FormatGroup(std::string& out, std::string_view name, const FlowKey& key, const FlowMask& mask) {
  std::string fields = FormatFields(*FindGroup(name), key, mask);
  if (fields.empty()) return;
  if (!out.empty()) out += ',';
  out += fmt::format("{}({})", name, fields);
}

}  // namespace sluice
