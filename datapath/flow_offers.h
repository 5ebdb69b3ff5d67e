// FlowOffers: between one PMD thread and KernelForwarding. The thread offers flows that it sees often; KernelForwarding
// answers with slots that wait until the thread has done the flow's packets (KernelFlows).
//
// The thread says so when it has found the receive queue of the flow empty: everything from it has been sent by then,
// as nothing is kept from one turn to the next. What counts is what was in the queue before it looked. So no packet of
// a flow is overtaken by a later one. A queue that is never empty has its slots opened by KernelForwarding after a
// while, and the flow is reordered once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "datapath/spsc_ring.h"
#include "lib/base/counter.h"
#include "lib/flow/flow_key.h"
#include "lib/flow/flow_text.h"
#include "netdev/kernel_flows/kernel_flows.h"

namespace sluice {

struct FlowOffer {
  FlowKey key;
  Ufid ufid;
  const void* queue = nullptr;  // names the receive queue
};

// A thread that sleeps until somebody has something for it. One system call per sleep, not per thing.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Any thread.
  void Wake() {
    if (asleep_.load(std::memory_order_relaxed) && asleep_.exchange(false, std::memory_order_acq_rel)) Signal();
  }
  // The sleeper: `timeout_ms` at most, -1: for ever. `deep`: Wake() ends it.
  void Sleep(int timeout_ms, bool deep);

 private:
  void Signal();

  const int event_fd_;
  std::atomic<bool> asleep_{false};
};

class FlowOffers {
 public:
  explicit FlowOffers(Waker& waker) : waker_(waker) {}

  // PMD thread. Around receiving from `queue`: before, and when it was found empty.
  //
  void BeforeReceive(const void* queue) {
    queue_ = queue;
    looked_at_ = 0;
    if (!waiting_.empty()) [[unlikely]]
      LookAtWaiting();
  }
  void OnEmpty() {
    for (size_t i = 0; i < looked_at_; ++i) looked_[i].flows->SetDone(looked_[i].slot, looked_[i].passed);
  }
  // A flow of a packet that came from that queue.
  void Offer(const FlowKey& key, const Ufid& ufid) {
    FlowOffer* offer = offers_.Next();
    if (offer == nullptr) {
      ++lost_;
      return;
    }
    *offer = {.key = key, .ufid = ufid, .queue = queue_};
    offers_.CommitPush();
    waker_.Wake();
  }

  // KernelForwarding.
  //
  FlowOffer* Front() { return offers_.Front(); }
  void Pop() { offers_.Pop(); }
  // What finds no room is opened later, as if its queue were never empty.
  void Answer(KernelFlows& flows, uint32_t slot, const void* queue) {
    if (Waiting* waiting = waiting_.Next()) {
      *waiting = {.flows = &flows, .slot = slot, .queue = queue};
      waiting_.CommitPush();
    }
  }
  uint64_t lost() const { return lost_; }

 private:
  static constexpr size_t kCapacity = 128;
  static constexpr size_t kMaxLookedAt = 16;
  struct Waiting {
    KernelFlows* flows = nullptr;
    uint32_t slot = 0;
    const void* queue = nullptr;
  };
  struct LookedAt {
    KernelFlows* flows;
    uint32_t slot;
    uint32_t passed;
  };

  // Forgets those that wait no more, and notes what the next ones of this queue have passed.
  [[gnu::noinline]] void LookAtWaiting() {
    while (Waiting* waiting = waiting_.Front()) {
      if (waiting->flows->IsWaiting(waiting->slot)) break;
      waiting_.Pop();
    }
    for (size_t i = 0; i < kMaxLookedAt; ++i) {
      Waiting* waiting = waiting_.Peek(i);
      if (waiting == nullptr) return;
      if (waiting->queue != queue_) continue;
      looked_[looked_at_++] = {waiting->flows, waiting->slot, waiting->flows->Passed(waiting->slot)};
    }
  }

  Waker& waker_;
  const void* queue_ = nullptr;
  std::array<LookedAt, kMaxLookedAt> looked_;
  size_t looked_at_ = 0;
  SpscRing<FlowOffer, kCapacity> offers_;
  SpscRing<Waiting, kCapacity> waiting_;
  Counter lost_;
};

}  // namespace sluice
