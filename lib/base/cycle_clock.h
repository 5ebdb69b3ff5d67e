// The processor's time-stamp counter as a clock: a few nanoseconds to read, no system call.
//
// The counter is assumed invariant (constant rate, synchronised between cores), as on every x86 server of the last
// decade. Differences are meaningful, absolute values are not. Cycles are those of the counter, not of the core.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace sluice {

inline uint64_t CycleNow() { return __rdtsc(); }

// The counter's rate in cycles per second, measured once against CLOCK_MONOTONIC (the first call takes about 10 ms;
// call it at start-up). Thread-safe.
uint64_t CyclesPerSecond();

double CyclesToSeconds(uint64_t cycles);
uint64_t CyclesToNanoseconds(uint64_t cycles);
uint64_t NanosecondsToCycles(uint64_t nanoseconds);
inline uint64_t MicrosecondsToCycles(uint64_t microseconds) { return NanosecondsToCycles(microseconds * 1000); }

}  // namespace sluice
