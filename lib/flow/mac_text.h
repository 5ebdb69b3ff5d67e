// The text of hardware addresses: "xx:xx:xx:xx:xx:xx".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/flow/flow_key.h"

namespace sluice {

std::string FormatMac(const MacAddress& mac);
// Either case; nothing if the text is anything else.
std::optional<MacAddress> ParseMac(std::string_view text);

}  // namespace sluice
