#include "lib/openflow/ofp.h"

#include <array>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 6> kVersionNames = {"OpenFlow10", "OpenFlow11", "OpenFlow12",
                                                           "OpenFlow13", "OpenFlow14", "OpenFlow15"};

}  // namespace

std::string_view OfVersionName(OfVersion version) { return kVersionNames[static_cast<size_t>(version) - 1]; }

std::optional<OfVersion> ParseOfVersion(std::string_view name) {
  for (size_t i = 0; i < kVersionNames.size(); ++i) {
    if (kVersionNames[i] == name) return static_cast<OfVersion>(i + 1);
  }
  return std::nullopt;
}

}  // namespace sluice
