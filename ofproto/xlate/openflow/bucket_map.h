// Which bucket of a select group gets which datapath hash.
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "lib/openflow/group.h"

namespace sluice {

// A power of two of entries, at least 16 and at most 256: per value of the hash's low bits the place of a bucket. The
// share of each follows its weight (Webster/Sainte-Lague method), and neighbours differ where they can. Empty: no bucket
// has a weight.
std::vector<uint16_t> MapHashesToBuckets(absl::Span<const GroupBucket> buckets);

}  // namespace sluice
