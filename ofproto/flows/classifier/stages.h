// Stages of a lookup. A lookup compares the fields of a subtable in these steps, so that a flow that fails in an early
// one has looked at none of the bits of those after it.
#pragma once

#include <array>
#include <cstddef>

#include "lib/openflow/flow.h"

namespace sluice {

enum Stage : size_t { kStageMetadata, kStageL2, kStageL3, kStageL4, kStageCount };

// Which bits belong to each; every bit of a flow that can be matched is in exactly one.
extern const std::array<OfMask, kStageCount> kStageMasks;

}  // namespace sluice
