#include "ofproto/connections/tlv_table.h"

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr uint16_t kAdd = 0;
constexpr uint16_t kDelete = 1;
constexpr uint16_t kClear = 2;

}  // namespace

OfStatus TlvTable::Apply(const NxTlvTableMod& mod) {
  Maps next = maps_;
  switch (mod.command) {
    case kAdd:
      for (const NxTlvTableMod::Map& map : mod.maps) {
        if (OfStatus failed = Add(map, next)) return failed;
      }
      break;
    case kDelete:
      for (const NxTlvTableMod::Map& map : mod.maps) next.erase(map.index);
      break;
    case kClear:
      next.clear();
      break;
    default:
      return OfFailure{OfError::kNxTtmfcBadCommand, fmt::format("tunnel option command {} is unknown", mod.command)};
  }
  maps_ = std::move(next);
  return std::nullopt;
}

OfStatus TlvTable::Add(const NxTlvTableMod::Map& map, Maps& maps) {
  const std::string name = fmt::format("tun_metadata{}", map.index);
  if (map.option_length == 0 || map.option_length % 4 != 0 || map.option_length > kMaxOptionLength) {
    return OfFailure{OfError::kNxTtmfcBadOptLen,
                     fmt::format("{}: an option of {} bytes: expected a multiple of 4 up to {}", name,
                                 map.option_length, kMaxOptionLength)};
  }
  if (map.index >= kMaxFields) {
    return OfFailure{OfError::kNxTtmfcBadFieldIdx, fmt::format("{}: there are {} fields", name, kMaxFields)};
  }
  uint32_t space = map.option_length;
  for (const auto& [index, other] : maps) {
    if (other.option_class == map.option_class && other.option_type == map.option_type) {
      return OfFailure{OfError::kNxTtmfcDupEntry, fmt::format("{}: the option is tun_metadata{} already", name, index)};
    }
    space += other.option_length;
  }
  if (maps.contains(map.index))
    return OfFailure{OfError::kNxTtmfcAlreadyMapped, fmt::format("{}: is mapped already", name)};
  if (space > kMaxOptionSpace) {
    return OfFailure{OfError::kNxTtmfcTableFull,
                     fmt::format("{}: options of {} bytes in all: at most {}", name, space, kMaxOptionSpace)};
  }
  maps[map.index] = map;
  return std::nullopt;
}

NxTlvTableReply TlvTable::Describe() const {
  NxTlvTableReply reply{.max_option_space = kMaxOptionSpace, .max_fields = kMaxFields};
  for (const auto& [index, map] : maps_) reply.maps.push_back(map);
  return reply;
}

}  // namespace sluice
