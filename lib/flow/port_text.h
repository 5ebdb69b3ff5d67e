// Ports in the text of flows and actions: a number, or a name where PortNames knows names.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "lib/flow/flow_text.h"
#include "lib/flow/text_cursor.h"

namespace sluice {

absl::StatusOr<uint32_t> ParsePort(TextCursor& cursor, const PortNames& ports);

// The name, unless it would be read as something else.
std::string FormatPort(uint32_t number, const PortNames& ports);

}  // namespace sluice
