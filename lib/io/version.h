// What --version and the version command say. The number is CMake's project version.
#pragma once

#include <string_view>

namespace sluice {

inline constexpr std::string_view kVersion = SLUICE_VERSION;
inline constexpr std::string_view kVersionLine = "vswitchd (Sluice) " SLUICE_VERSION;

}  // namespace sluice
