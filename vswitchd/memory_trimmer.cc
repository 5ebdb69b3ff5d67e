#include "vswitchd/memory_trimmer.h"

#include <malloc.h>

#include <algorithm>

namespace sluice {

void MemoryTrimmer::Tick() {
  // Free chunks count as free also when their pages are gone, so only growth says that there is something to return.
  const size_t free_bytes = mallinfo2().fordblks;
  kept_ = std::min(kept_, free_bytes);
  if (free_bytes - kept_ < kWorthWhile) return;
  malloc_trim(0);
  kept_ = free_bytes;
}

}  // namespace sluice
