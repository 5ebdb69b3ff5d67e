// How many flows the switch lets into the datapath: as many as the revalidator can look after in time, up to what is
// configured (other_config:flow-limit).
//
// After each pass: slower than 2 s, the limit goes down in proportion; slower than 1.3 s, by a quarter. Faster than 1
// s, it goes up by a twentieth or by 1,000, as long as at that speed a second is enough for more flows than the limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice {

// The lowest that a slow pass leads to.
constexpr uint32_t kMinFlowLimit = 1000;

uint32_t AdaptFlowLimit(uint32_t limit, uint32_t configured, size_t flows, std::chrono::milliseconds pass);

}  // namespace sluice
