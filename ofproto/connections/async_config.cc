#include "ofproto/connections/async_config.h"

namespace sluice {
namespace {

using Reason = OfPacketIn::Reason;

constexpr uint32_t Bit(Reason reason) { return 1u << static_cast<unsigned>(reason); }

constexpr uint32_t kHidden = Bit(Reason::kExplicitMiss) | Bit(Reason::kImplicitMiss);
constexpr uint32_t kPacketInDefault = Bit(Reason::kNoMatch) | Bit(Reason::kAction) | Bit(Reason::kActionSet) |
                                      Bit(Reason::kGroup) | Bit(Reason::kPacketOut) | kHidden;
constexpr uint32_t kAllPortReasons = 0x7;
constexpr uint32_t kFlowRemovedReasons13 = 0xf;
constexpr uint32_t kFlowRemovedReasons14 = 0x3f;

}  // namespace

OfAsyncConfig DefaultAsyncConfig(OfVersion version) {
  OfAsyncConfig config;
  auto& primary = config.masks[0];
  primary[OfAsyncConfig::kPacketIn] = kPacketInDefault;
  primary[OfAsyncConfig::kPortStatus] = kAllPortReasons;
  primary[OfAsyncConfig::kFlowRemoved] = version >= OfVersion::k14 ? kFlowRemovedReasons14 : kFlowRemovedReasons13;
  config.masks[1][OfAsyncConfig::kPortStatus] = kAllPortReasons;
  // Role-status tells the one that was deposed, whatever it is now.
  for (auto& masks : config.masks) masks[OfAsyncConfig::kRoleStatus] = 0x7;
  return config;
}

void ApplyAsync(const OfSetAsync& set, OfAsyncConfig& config) {
  for (size_t side = 0; side < config.masks.size(); ++side) {
    for (size_t type = 0; type < OfAsyncConfig::kCount; ++type) {
      if (!set.given[side][type]) continue;
      uint32_t mask = set.config.masks[side][type];
      // Who asks for packets without a match asks for those of a table-miss flow too.
      if (type == OfAsyncConfig::kPacketIn) {
        mask &= ~kHidden;
        if ((mask & Bit(Reason::kNoMatch)) != 0) mask |= kHidden;
      }
      config.masks[side][type] = mask;
    }
  }
}

OfAsyncConfig PublicAsync(OfAsyncConfig config) {
  for (auto& masks : config.masks) masks[OfAsyncConfig::kPacketIn] &= ~kHidden;
  return config;
}

Reason PublicReason(Reason reason, OfVersion version) {
  switch (reason) {
    case Reason::kActionSet:
    case Reason::kGroup:
    case Reason::kPacketOut:
      return version < OfVersion::k14 ? Reason::kAction : reason;
    case Reason::kExplicitMiss:
      return version < OfVersion::k13 ? Reason::kAction : Reason::kNoMatch;
    case Reason::kImplicitMiss:
      return Reason::kNoMatch;
    default:
      return reason;
  }
}

bool WantsImplicitMisses(OfVersion version) { return version < OfVersion::k13; }

}  // namespace sluice
