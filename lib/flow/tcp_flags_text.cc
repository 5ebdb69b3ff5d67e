#include "lib/flow/tcp_flags_text.h"

#include <array>

#include "lib/base/status.h"
#include "lib/flow/flow_text.h"

namespace sluice {
namespace {

// From bit 0 up (RFC 9293, and RFC 3540 for ns).
constexpr std::array<std::string_view, 12> kNames = {"fin", "syn", "rst", "psh",   "ack",   "urg",
                                                     "ece", "cwr", "ns",  "[200]", "[400]", "[800]"};
constexpr std::string_view kExpected = "TCP flags as syn|ack, as +syn-ack, or as a number with or without a mask";

// The bit whose name comes next, or 0.
uint16_t AcceptName(TextCursor& cursor) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (cursor.Accept(kNames[i])) return static_cast<uint16_t>(1u << i);
  }
  return 0;
}

absl::Status ParseNumbers(TextCursor& cursor, uint16_t& flags, uint16_t& mask) {
  absl::StatusOr<uint32_t> number = cursor.Number(kTcpFlagBits);
  if (!number.ok()) return number.status();
  flags = static_cast<uint16_t>(*number);
  mask = kTcpFlagBits;
  if (!cursor.Accept("/")) return absl::OkStatus();
  number = cursor.Number(0xffff);
  if (!number.ok()) return number.status();
  mask = static_cast<uint16_t>(*number & kTcpFlagBits);
  return absl::OkStatus();
}

absl::Status ParseNames(TextCursor& cursor, uint16_t& flags, uint16_t& mask) {
  bool is_signed = cursor.Peek() == '+' || cursor.Peek() == '-';
  flags = mask = 0;
  do {
    bool set = true;
    if (is_signed && !cursor.Accept("+")) {
      SLUICE_RETURN_IF_ERROR(cursor.Accept("-") ? absl::OkStatus() : cursor.Expected(kExpected));
      set = false;
    }
    uint16_t bit = AcceptName(cursor);
    if (bit == 0) return cursor.Expected(kExpected);
    mask |= bit;
    if (set) flags |= bit;
  } while (is_signed ? cursor.Peek() != ')' : cursor.Accept("|"));
  if (!is_signed) mask = kTcpFlagBits;
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseTcpFlags(TextCursor& cursor, Be16& flags, Be16& mask) {
  uint16_t value = 0, bits = 0;
  SLUICE_RETURN_IF_ERROR(cursor.AtNumber() ? ParseNumbers(cursor, value, bits) : ParseNames(cursor, value, bits));
  flags = Be16(value & bits);
  mask = Be16(bits);
  return cursor.Expect(")");
}

std::string FormatTcpFlags(Be16 flags, Be16 mask) {
  uint16_t value = flags.Get() & kTcpFlagBits;
  uint16_t bits = mask.Get() & kTcpFlagBits;
  bool exact = bits == kTcpFlagBits;
  if (exact && value == 0) return "0";
  std::string text;
  for (size_t i = 0; i < kNames.size(); ++i) {
    uint16_t bit = static_cast<uint16_t>(1u << i);
    if (exact) {
      if ((value & bit) == 0) continue;
      if (!text.empty()) text += '|';
      text += kNames[i];
    } else if ((bits & bit) != 0) {
      text += (value & bit) != 0 ? '+' : '-';
      text += kNames[i];
    }
  }
  return text;
}

std::string FormatTcpFlagLetters(uint16_t flags) {
  struct Letter {
    uint16_t bit;
    std::string_view text;
  };
  // In the order in which dump-flows has them.
  static constexpr Letter kLetters[] = {{0x002, "S"}, {0x001, "F"},     {0x008, "P"},     {0x004, "R"},
                                        {0x020, "U"}, {0x010, "."},     {0x040, "E"},     {0x080, "C"},
                                        {0x100, "N"}, {0x200, "[200]"}, {0x400, "[400]"}, {0x800, "[800]"}};
  std::string text;
  for (const Letter& letter : kLetters) {
    if ((flags & letter.bit) != 0) text += letter.text;
  }
  return text.empty() ? "none" : text;
}

}  // namespace sluice
