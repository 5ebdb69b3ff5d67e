// MemoryTrimmer: gives the kernel back what the allocator keeps after much was freed: flows that expired, bridges and
// ports that were deleted. glibc itself only returns the end of its main heap (mallopt(3), M_TRIM_THRESHOLD).
#pragma once

#include <cstddef>

namespace sluice {

class MemoryTrimmer {
 public:
  static constexpr size_t kWorthWhile = 16 << 20;  // bytes

  // Call every few seconds, in the main thread.
  void Tick();

 private:
  size_t kept_ = 0;  // free bytes that were there after the last trim, or fewer since
};

}  // namespace sluice
