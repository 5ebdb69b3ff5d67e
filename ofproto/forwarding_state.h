// What the threads that translate share: PMD threads (misses), the revalidator, and the main thread, which writes it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/rcu.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

struct ForwardingState {
  ForwardingState() = default;
  ~ForwardingState() { delete topology.Load(); }  // no thread reads it any more

  RcuPtr<const Topology> topology;  // never nullptr while threads translate

  // As configured (other_config of Open_vSwitch).
  std::atomic<uint32_t> configured_flow_limit{200000};
  std::atomic<uint32_t> max_idle_ms{10000};
  std::atomic<uint32_t> max_revalidator_ms{500};
  // How many flows may be installed now: the revalidator adapts it to the time that it takes.
  std::atomic<uint32_t> flow_limit{200000};

  // Misses, and those of them for which no flow was installed because of the limit. Slow path: shared lines are fine.
  std::atomic<uint64_t> upcalls{0};
  std::atomic<uint64_t> upcalls_over_limit{0};
};

}  // namespace sluice
