// Small texts of OpenFlow: hardware addresses and port numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/flow/flow_key.h"

namespace sluice {

std::string FormatMac(const MacAddress& mac);
// "xx:xx:xx:xx:xx:xx"; nothing if it is anything else.
std::optional<MacAddress> ParseMac(std::string_view text);

// "LOCAL" or the number.
std::string OfportText(uint16_t ofport);

}  // namespace sluice
