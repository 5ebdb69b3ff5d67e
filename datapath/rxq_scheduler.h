// Which PMD thread polls which receive queue: a pure function, of what Open vSwitch calls pmd-rxq-assign.
//
//   round-robin  queues in the order given, threads in turn
//   cycles       busiest queue first, threads in turn and back again (0,1,2,2,1,0)
//   group        busiest queue first, each to the thread with the least load so far
//
// A queue may be pinned to a core (pmd-rxq-affinity). A thread with pinned queues is isolated, it gets no others,
// unless isolation is off; then its pinned load counts. Every queue is assigned: where the wish cannot be fulfilled (no
// thread on that core, no thread left that is not isolated) a warning says so and the queue is treated as if it were
// not pinned, or the thread as if it were not isolated.
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class RxqAssignment { kRoundRobin, kCycles, kGroup };

absl::StatusOr<RxqAssignment> ParseRxqAssignment(std::string_view text);  // "roundrobin", "cycles", "group"
std::string_view RxqAssignmentName(RxqAssignment assignment);

struct RxqLoad {
  std::string port;
  uint32_t queue = 0;
  uint64_t cycles = 0;      // busy, over the same interval for all
  std::optional<int> core;  // pinned there
};

struct RxqPlan {
  std::vector<size_t> thread_of;  // per queue: index into the threads
  std::vector<bool> isolated;     // per thread
  std::vector<uint64_t> load;     // per thread: cycles of its queues
  std::vector<std::string> warnings;
};

// `cores` has the core of each thread, at least one.
RxqPlan ScheduleRxqs(absl::Span<const RxqLoad> queues, absl::Span<const int> cores, RxqAssignment assignment,
                     bool isolate);

// "0:3,1:7": queue 0 on core 3, queue 1 on core 7. Empty text: none. Returns the core per queue that is named.
absl::StatusOr<std::vector<std::pair<uint32_t, int>>> ParseRxqAffinity(std::string_view text);

}  // namespace sluice
