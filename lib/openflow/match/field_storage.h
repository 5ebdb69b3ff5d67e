// Where a field lies in an OfFlow. Internal to this folder.
#pragma once

#include <absl/types/span.h>

#include <cstdint>

#include "lib/openflow/field.h"

namespace sluice {

struct FieldStorage {
  enum class Kind : uint8_t {
    kBytes,  // `size` bytes as they are
    kBe,     // bits of a big-endian integer of `size` bytes
    kHost,   // bits of an integer in host order
    kWords,  // `size` / 4 registers, the first most significant
    kPort,   // an OfPort in a uint32_t; written in its 32-bit form where the field has 4 bytes
  };
  uint16_t offset = 0;
  uint8_t size = 0;
  Kind kind = Kind::kBe;
  uint8_t shift = 0;
  uint64_t bits = 0;  // of kBe and kHost, before the shift
};

const FieldStorage& StorageOf(FieldId id);

}  // namespace sluice
