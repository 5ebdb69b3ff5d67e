// The named fields of a flow key as text: "src=10.0.0.1/255.255.255.0,proto=6". Shared by matches and set actions.
#pragma once

#include <absl/status/status.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/flow/flow_key.h"
#include "lib/flow/text_cursor.h"

namespace sluice {

// One field. Numbers lie `shift` bits up in an integer of `size` bytes; the others fill their bytes.
struct FieldText {
  enum class Kind : uint8_t { kDecimal, kHex, kMac, kIpv4, kIpv6, kFrag };

  std::string_view name;
  Kind kind;
  uint16_t offset;  // in FlowKey
  uint8_t size;     // bytes
  uint8_t shift = 0;
  uint8_t bits = 0;  // 0 unless it is a number
  bool host_order = false;

  // All ones of a number.
  uint32_t Maximum() const { return bits == 32 ? UINT32_MAX : (1u << bits) - 1; }
};

// "eth(src=...,dst=...)". A group whose one field has no name reads "recirc_id(0x1)".
struct GroupText {
  std::string_view name;
  absl::Span<const FieldText> fields;
};

// The group called `name`, or nullptr: recirc_id, dp_hash, skb_priority, skb_mark, eth, eth_type, vlan, ipv4, ipv6,
// tcp, udp, sctp, icmp, icmpv6, arp, nd, mpls.
const GroupText* FindGroup(std::string_view name);

// Reads what follows "NAME(" up to and with the closing parenthesis into `key` and `mask`; `key` comes out masked. A
// field without a mask is exact. Fields that are not named are left alone.
absl::Status ParseGroup(TextCursor& cursor, const GroupText& group, FlowKey& key, FlowMask& mask);
// Reads one value, with "/MASK" if there is one.
absl::Status ParseField(TextCursor& cursor, const FieldText& field, FlowKey& key, FlowMask& mask);

// Appends ",NAME(...)" (without the comma at the start of `out`) with the fields that `mask` has bits of; nothing if
// there is none.
void FormatGroup(std::string& out, std::string_view name, const FlowKey& key, const FlowMask& mask);
// The same without name and parentheses: "src=...,dst=...".
std::string FormatFields(const GroupText& group, const FlowKey& key, const FlowMask& mask);

// A number's value in `key` (or `mask`), and back.
uint32_t LoadField(const FlowKey& key, const FieldText& field);
void StoreField(FlowKey& key, const FieldText& field, uint32_t value);

}  // namespace sluice
