#include "lib/flow/flow_text.h"

#include <array>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr std::string_view kUfidPrefix = "ufid:";
// Hexadecimal digits between the dashes.
constexpr std::array<int, 5> kUfidGroups = {8, 4, 4, 4, 12};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::StatusOr<Ufid> ParseUfid(std::string_view text) {
  absl::Status error =
      InvalidArgument("flow id '{}': expected ufid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx with hexadecimal digits", text);
  if (text.substr(0, kUfidPrefix.size()) != kUfidPrefix) return error;
  std::string_view digits = text.substr(kUfidPrefix.size());
  Ufid ufid;
  size_t at = 0;
  for (size_t group = 0; group < kUfidGroups.size(); ++group) {
    if (group > 0 && (at >= digits.size() || digits[at++] != '-')) return error;
    for (int i = 0; i < kUfidGroups[group]; ++i) {
      int digit = at < digits.size() ? HexDigit(digits[at++]) : -1;
      if (digit < 0) return error;
      ufid.high = ufid.high << 4 | ufid.low >> 60;
      ufid.low = ufid.low << 4 | static_cast<uint64_t>(digit);
    }
  }
  if (at != digits.size()) return error;
  return ufid;
}

std::string FormatUfid(const Ufid& ufid) {
  return fmt::format("ufid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", ufid.high >> 32, ufid.high >> 16 & 0xffff,
                     ufid.high & 0xffff, ufid.low >> 48, ufid.low & 0xffffffffffff);
}

}  // namespace sluice
