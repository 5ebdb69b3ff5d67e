// What the threads that translate share: PMD threads (misses), the revalidator, and the main thread, which writes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "lib/base/rcu.h"
#include "ofproto/xlate/frozen_state.h"
#include "ofproto/xlate/packet_in.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

// Tells the revalidator that something changed, as long as there is one. Flow tables, which any thread may change and
// which may outlive the revalidator, share it.
class RevalidatorBell {
 public:
  void Ring() {
    std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }
  void Connect(std::function<void()> wake) {
    std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
};

struct ForwardingState {
  ForwardingState() = default;
  ~ForwardingState() { delete topology.Load(); }  // no thread reads it any more

  RcuPtr<const Topology> topology;  // never nullptr while threads translate

  const std::shared_ptr<RevalidatorBell> bell = std::make_shared<RevalidatorBell>();
  XlateIds ids;
  PacketInQueue packet_ins;  // of all bridges: records name theirs

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
