// TCP flags as text: "syn|ack" where all bits count, "+syn-ack" where some do, numbers for either on input.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "lib/base/byte_order.h"
#include "lib/flow/text_cursor.h"

namespace sluice {

constexpr uint16_t kTcpFlagBits = 0x0fff;  // of FlowKey::tcp_flags

// Up to and with the closing parenthesis. Without a mask, exact.
absl::Status ParseTcpFlags(TextCursor& cursor, Be16& flags, Be16& mask);
std::string FormatTcpFlags(Be16 flags, Be16 mask);

}  // namespace sluice
