#include "lib/base/cycle_clock.h"

#include <chrono>

namespace sluice {

namespace {

uint64_t MeasureCyclesPerSecond() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kWindow = std::chrono::milliseconds(10);
  const auto start_time = Clock::now();
  const uint64_t start_cycles = CycleNow();
  auto now = start_time;
  // Spinning, not sleeping: the end of the window is then read without a wake-up's delay between the two clocks.
  while (now - start_time < kWindow) {
    now = Clock::now();
  }
  const uint64_t cycles = CycleNow() - start_cycles;
  return static_cast<uint64_t>(static_cast<double>(cycles) / std::chrono::duration<double>(now - start_time).count());
}

uint64_t Scale(uint64_t value, uint64_t numerator, uint64_t denominator) {
  __extension__ using Uint128 = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Uint128>(value) * numerator / denominator);
}

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

uint64_t CyclesPerSecond() {
  static const uint64_t rate = MeasureCyclesPerSecond();
  return rate;
}

double CyclesToSeconds(uint64_t cycles) { return static_cast<double>(cycles) / static_cast<double>(CyclesPerSecond()); }

uint64_t CyclesToNanoseconds(uint64_t cycles) { return Scale(cycles, kNanosecondsPerSecond, CyclesPerSecond()); }

uint64_t NanosecondsToCycles(uint64_t nanoseconds) {
  return Scale(nanoseconds, CyclesPerSecond(), kNanosecondsPerSecond);
}

}  // namespace sluice
