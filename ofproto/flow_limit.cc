#include "ofproto/flow_limit.h"

#include <algorithm>

namespace sluice {

uint32_t AdaptFlowLimit(uint32_t limit, uint32_t configured, size_t flows, std::chrono::milliseconds pass) {
  uint64_t milliseconds = std::max<uint64_t>(1, static_cast<uint64_t>(pass.count()));
  uint64_t next = limit;
  if (milliseconds > 2000) {
    next = limit / (milliseconds / 1000);
  } else if (milliseconds > 1300) {
    next = uint64_t{limit} * 3 / 4;
  } else if (milliseconds < 1000 && limit < uint64_t{flows} * 1000 / milliseconds) {
    next = limit + std::max<uint64_t>(1000, limit / 20);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(configured, std::max<uint64_t>(next, kMinFlowLimit)));
}

}  // namespace sluice
