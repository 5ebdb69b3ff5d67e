// The text of an OpenFlow port number.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// "LOCAL" or the number.
std::string OfportText(uint16_t ofport);

}  // namespace sluice
