#include "lib/flow/mac_text.h"

#include <fmt/format.h>

namespace sluice {
namespace {

std::optional<uint8_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  c = static_cast<char>(c | 0x20);
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::string FormatMac(const MacAddress& mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

std::optional<MacAddress> ParseMac(std::string_view text) {
  MacAddress mac;
  if (text.size() != mac.size() * 3 - 1) return std::nullopt;
  for (size_t i = 0; i < mac.size(); ++i) {
    auto high = HexDigit(text[i * 3]);
    auto low = HexDigit(text[i * 3 + 1]);
    if (!high || !low || (i + 1 < mac.size() && text[i * 3 + 2] != ':')) return std::nullopt;
    mac[i] = static_cast<uint8_t>(*high << 4 | *low);
  }
  return mac;
}

}  // namespace sluice
