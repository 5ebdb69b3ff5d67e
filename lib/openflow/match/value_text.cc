#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "lib/base/status.h"
#include "lib/flow/mac_text.h"
#include "lib/flow/tcp_flags_text.h"
#include "lib/openflow/field.h"

namespace sluice {
namespace {

using Text = FieldInfo::Text;

// How many leading one bits, if nothing but zeros follows.
std::optional<size_t> PrefixLength(const uint8_t* mask, size_t size) {
  size_t bits = 0;
  while (bits < size * 8 && (mask[bits / 8] & (0x80 >> bits % 8)) != 0) ++bits;
  for (size_t i = bits; i < size * 8; ++i) {
    if ((mask[i / 8] & (0x80 >> i % 8)) != 0) return std::nullopt;
  }
  return bits;
}

std::string AddressText(int family, const uint8_t* bytes) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(family, bytes, text, sizeof text);
}

// As C's %#x, which writes zero without prefix.
std::string HexText(const FieldInfo& field, const FieldValue& value) {
  if (field.n_bytes <= 8) {
    uint64_t number = FieldToU64(field, value);
    return number == 0 ? "0" : fmt::format("{:#x}", number);
  }
  std::string digits;
  for (size_t i = 0; i < field.n_bytes; ++i) fmt::format_to(std::back_inserter(digits), "{:02x}", value.bytes[i]);
  size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : "0x" + digits.substr(first);
}

std::string MacText(const FieldValue& value) {
  MacAddress mac;
  std::copy_n(value.bytes.begin(), mac.size(), mac.begin());
  return FormatMac(mac);
}

struct FragWord {
  std::string_view name;
  uint8_t bits, mask;
};
constexpr FragWord kFragWords[] = {{"no", 0, 3}, {"yes", 1, 1}, {"first", 1, 3}, {"later", 3, 3}, {"not_later", 0, 2}};

std::string FragText(uint64_t bits, uint64_t mask) {
  for (const FragWord& word : kFragWords) {
    if (word.bits == bits && word.mask == mask) return std::string(word.name);
  }
  return "<error>";
}

// Text of one address or number, without mask. False: it does not read as one.
bool ParseAddress(int family, std::string_view text, uint8_t* bytes) {
  return inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

enum class Read : uint8_t { kNumber, kNoNumber, kTooLarge };

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

// Of any width up to 128 bits: decimal, hexadecimal behind 0x, octal behind 0.
Read ParseInteger(const FieldInfo& field, std::string_view text, FieldValue& value) {
  using Wide = unsigned __int128;
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  if (text.empty()) return Read::kNoNumber;
  size_t n_bits = field.n_bytes * 8u;
  Wide limit = n_bits == 128 ? ~Wide{0} : (Wide{1} << n_bits) - 1;
  Wide number = 0;
  bool too_large = negative;
  for (char c : text) {
    int digit = DigitOf(c);
    if (digit >= base) return Read::kNoNumber;
    Wide wide_digit = static_cast<unsigned>(digit);
    too_large = too_large || number > (limit - wide_digit) / static_cast<unsigned>(base);
    number = number * static_cast<unsigned>(base) + wide_digit;
  }
  if (too_large) return Read::kTooLarge;
  for (size_t i = field.n_bytes; i-- > 0; number >>= 8) value.bytes[i] = static_cast<uint8_t>(number);
  return Read::kNumber;
}

absl::Status Bad(const FieldInfo& field, std::string_view text, std::string_view wanted) {
  return InvalidArgument("{}: invalid {}: expected {}", text, field.name, wanted);
}

void PutPrefix(FieldValue& mask, size_t bits) {
  mask = {};
  for (size_t i = 0; i < bits; ++i) mask.bytes[i / 8] |= static_cast<uint8_t>(0x80 >> i % 8);
}

absl::Status ParseAddressAndMask(const FieldInfo& field, int family, std::string_view text, ParsedValue& parsed) {
  size_t slash = text.find('/');
  std::string_view wanted =
      family == AF_INET ? "an IPv4 address, with /BITS or /MASK if any" : "an IPv6 address, with /BITS or /MASK if any";
  if (!ParseAddress(family, text.substr(0, slash), parsed.value.bytes.data())) return Bad(field, text, wanted);
  if (slash == std::string_view::npos) return absl::OkStatus();
  std::string_view mask = text.substr(slash + 1);
  unsigned bits = 0;
  auto [end, error] = std::from_chars(mask.data(), mask.data() + mask.size(), bits);
  if (error == std::errc() && end == mask.data() + mask.size()) {
    if (bits > field.n_bytes * 8u)
      return InvalidArgument("{}: network prefix bits not between 0 and {}, inclusive", text, field.n_bytes * 8);
    PutPrefix(parsed.mask, bits);
    return absl::OkStatus();
  }
  parsed.mask = {};
  return ParseAddress(family, mask, parsed.mask.bytes.data()) ? absl::OkStatus() : Bad(field, text, wanted);
}

// Six numbers of one or two hexadecimal digits, with colons between.
bool ParseMacBytes(std::string_view text, uint8_t* bytes) {
  for (size_t i = 0; i < 6; ++i) {
    size_t length = i < 5 ? text.find(':') : text.size();
    if (length == std::string_view::npos || length < 1 || length > 2) return false;
    unsigned value = 0;
    for (char c : text.substr(0, length)) {
      int digit = DigitOf(c);
      if (digit >= 16) return false;
      value = value << 4 | static_cast<unsigned>(digit);
    }
    bytes[i] = static_cast<uint8_t>(value);
    text.remove_prefix(i < 5 ? length + 1 : length);
  }
  return true;
}

absl::Status ParseMacAndMask(const FieldInfo& field, std::string_view text, ParsedValue& parsed) {
  size_t slash = text.find('/');
  bool ok = ParseMacBytes(text.substr(0, slash), parsed.value.bytes.data());
  if (ok && slash != std::string_view::npos) ok = ParseMacBytes(text.substr(slash + 1), parsed.mask.bytes.data());
  return ok ? absl::OkStatus() : Bad(field, text, "an Ethernet address, xx:xx:xx:xx:xx:xx, with /MASK if any");
}

absl::Status ParseIntegerAndMask(const FieldInfo& field, std::string_view text, ParsedValue& parsed) {
  size_t slash = text.find('/');
  bool has_mask = slash != std::string_view::npos;
  const std::string_view parts[] = {text.substr(0, slash), has_mask ? text.substr(slash + 1) : std::string_view()};
  for (bool mask : {false, true}) {
    if (mask && !has_mask) break;
    switch (ParseInteger(field, parts[mask], mask ? parsed.mask : parsed.value)) {
      case Read::kNumber:
        break;
      case Read::kNoNumber:
        return InvalidArgument("{}: bad syntax for {} {}", text, field.name, mask ? "mask" : "value");
      case Read::kTooLarge:
        return InvalidArgument("{}: {} too large for {}-byte field {}", text, mask ? "mask" : "value", field.n_bytes,
                               field.name);
    }
  }
  return absl::OkStatus();
}

// From bit 0 up (RFC 9293, and RFC 3540 for ns).
constexpr std::array<std::string_view, 12> kTcpFlags = {"fin", "syn", "rst", "psh",   "ack",   "urg",
                                                        "ece", "cwr", "ns",  "[200]", "[400]", "[800]"};

uint16_t TcpFlag(std::string_view name) {
  for (size_t i = 0; i < kTcpFlags.size(); ++i) {
    if (kTcpFlags[i] == name) return static_cast<uint16_t>(1u << i);
  }
  return 0;
}

// "syn|ack", which is exact, or "+syn-ack", where only those that are named count.
absl::Status ParseTcpFlagNames(std::string_view text, uint16_t& flags, uint16_t& mask) {
  bool is_signed = text.starts_with('+') || text.starts_with('-');
  std::string_view rest = text;
  flags = mask = 0;
  do {
    bool set = !rest.starts_with('-');
    if (is_signed) rest.remove_prefix(1);
    size_t length = std::min(is_signed ? rest.find_first_of("+-") : rest.find('|'), rest.size());
    uint16_t flag = TcpFlag(rest.substr(0, length));
    if (flag == 0) return InvalidArgument("{}: {}: unknown TCP flag(s)", text, rest);
    if ((mask & flag) != 0) return InvalidArgument("{}: {}: Each TCP flag can be specified only once", text, rest);
    mask |= flag;
    if (set) flags |= flag;
    rest.remove_prefix(!is_signed && length < rest.size() ? length + 1 : length);
  } while (!rest.empty());
  if (!is_signed) mask = kTcpFlagBits;
  return absl::OkStatus();
}

absl::Status ParseTcpFlagsText(const FieldInfo& field, std::string_view text, ParsedValue& parsed) {
  if (DigitOf(text.empty() ? 'x' : text[0]) < 10) {
    SLUICE_RETURN_IF_ERROR(ParseIntegerAndMask(field, text, parsed));
    uint64_t used = FieldToU64(field, parsed.value) | FieldToU64(field, parsed.mask);
    return used <= kTcpFlagBits ? absl::OkStatus() : InvalidArgument("{}: unknown TCP flag(s)", text);
  }
  uint16_t flags = 0, mask = 0;
  SLUICE_RETURN_IF_ERROR(ParseTcpFlagNames(text, flags, mask));
  parsed = {FieldFromU64(field, flags), FieldFromU64(field, mask)};
  return absl::OkStatus();
}

absl::Status ParsePacketType(const FieldInfo& field, std::string_view text, ParsedValue& parsed) {
  size_t comma = text.find(',');
  FieldValue space, type;
  if (text.size() < 5 || text.front() != '(' || text.back() != ')' || comma == std::string_view::npos ||
      ParseInteger(field, text.substr(1, comma - 1), space) != Read::kNumber ||
      ParseInteger(field, text.substr(comma + 1, text.size() - comma - 2), type) != Read::kNumber ||
      FieldToU64(field, space) > 0xffff || FieldToU64(field, type) > 0xffff) {
    return Bad(field, text, "(NAMESPACE,TYPE), two numbers of 16 bits");
  }
  parsed.value = FieldFromU64(field, FieldToU64(field, space) << 16 | FieldToU64(field, type));
  return absl::OkStatus();
}

}  // namespace

std::string FormatFieldValue(const FieldInfo& field, const FieldValue& value, const FieldValue* mask,
                             const OfNames& names) {
  bool exact = mask == nullptr || *mask == ExactMask(field);
  uint64_t number = FieldToU64(field, value);
  switch (field.text) {
    case Text::kDecimal:
    case Text::kHex: {
      std::string text = field.text == Text::kDecimal ? fmt::format("{}", number) : HexText(field, value);
      return exact ? text : text + "/" + HexText(field, *mask);
    }
    case Text::kMac:
      return exact ? MacText(value) : MacText(value) + "/" + MacText(*mask);
    case Text::kIpv4:
    case Text::kIpv6: {
      int family = field.text == Text::kIpv4 ? AF_INET : AF_INET6;
      std::string text = AddressText(family, value.bytes.data());
      if (exact) return text;
      std::optional<size_t> bits = PrefixLength(mask->bytes.data(), field.n_bytes);
      return text + "/" + (bits ? fmt::format("{}", *bits) : AddressText(family, mask->bytes.data()));
    }
    case Text::kOfPort: {
      std::optional<OfPort> port = PortFromWire(static_cast<uint32_t>(number));
      if (field.n_bytes == 2) port = static_cast<OfPort>(number);
      return port ? FormatOfPort(*port, names) : fmt::format("{}", number);
    }
    case Text::kFrag:
      return FragText(number, mask == nullptr ? 3 : FieldToU64(field, *mask));
    case Text::kTcpFlags:
      return FormatTcpFlags(Be16(static_cast<uint16_t>(number)),
                            Be16(exact ? kTcpFlagBits : static_cast<uint16_t>(FieldToU64(field, *mask))));
    case Text::kPacketType:
      return fmt::format("({},{:#x})", number >> 16, number & 0xffff);
  }
  return {};
}

absl::StatusOr<ParsedValue> ParseFieldValue(const FieldInfo& field, std::string_view text, const OfNames& names) {
  ParsedValue parsed{.value = {}, .mask = ExactMask(field)};
  absl::Status status;
  switch (field.text) {
    case Text::kDecimal:
    case Text::kHex:
      status = ParseIntegerAndMask(field, text, parsed);
      break;
    case Text::kMac:
      status = ParseMacAndMask(field, text, parsed);
      break;
    case Text::kIpv4:
      status = ParseAddressAndMask(field, AF_INET, text, parsed);
      break;
    case Text::kIpv6:
      status = ParseAddressAndMask(field, AF_INET6, text, parsed);
      break;
    case Text::kOfPort: {
      std::optional<OfPort> port = ParseOfPort(text, names);
      if (!port) return InvalidArgument("{}: invalid or unknown port for {}", text, field.name);
      parsed.value = FieldFromU64(field, field.n_bytes == 2 ? *port : PortToWire(*port));
      break;
    }
    case Text::kFrag:
      status = InvalidArgument(
          "{}: unknown fragment type (valid types are \"no\", \"yes\", \"first\", \"later\", \"not_later\")", text);
      for (const FragWord& word : kFragWords) {
        if (word.name != text) continue;
        parsed = {FieldFromU64(field, word.bits), FieldFromU64(field, word.mask)};
        status = absl::OkStatus();
      }
      break;
    case Text::kTcpFlags:
      status = ParseTcpFlagsText(field, text, parsed);
      break;
    case Text::kPacketType:
      status = ParsePacketType(field, text, parsed);
      break;
  }
  if (!status.ok()) return status;
  const FieldValue exact = ExactMask(field);
  for (size_t i = 0; i < field.n_bytes; ++i) parsed.mask.bytes[i] &= exact.bytes[i];
  if (!IsValidValue(field, parsed.value)) {
    return InvalidArgument("{} is not a valid value for field {}", text, field.name);
  }
  if (field.mask == FieldInfo::Mask::kNone && parsed.mask != exact) {
    return InvalidArgument("{}: invalid mask for field {}", text, field.name);
  }
  return parsed;
}

}  // namespace sluice
