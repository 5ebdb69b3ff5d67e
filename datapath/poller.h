// Poller: which receive queues of one PMD thread are worth asking, and how the thread sleeps when none is.
//
// Adaptive, as NAPI is. A queue that gives packets is active and is asked again without any system call of ours. One
// that was found empty is left to epoll, where its descriptor was registered once (level-triggered): Wait() makes what
// has become readable active again. So a busy thread looks at epoll now and then, a thread whose queues are all empty
// sleeps in it, and the first packet after that wakes it at once.
//
// A queue without descriptor stays active always; a thread that has such a queue only naps.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/pmd_port.h"
#include "netdev/netdev.h"

namespace sluice {

// One receive queue as it is polled. Set up by the main thread; used by the thread it is assigned to.
struct PolledRxq {
  NetdevRxq* rxq = nullptr;
  uint32_t queue = 0;       // its index in the port
  PmdPort* port = nullptr;  // of the thread that polls it

  // Written by the polling thread, read by any: cycles of the time-stamp counter spent on packets of this queue.
  Counter busy_cycles;

 private:
  friend class Poller;
  int fd_ = -1;  // as registered
  bool active_ = false;
  bool parked_ = false;
  uint32_t barren_wakeups_ = 0;  // in a row: with an error, and nothing came
};

class Poller {
 public:
  // How often a busy thread looks at the queues that rest: a tenth of what a first packet may wait.
  static constexpr std::chrono::nanoseconds kLookInterval = std::chrono::microseconds(20);
  // A descriptor that wakes the thread this often in a row with an error and without a packet is broken (its device is
  // gone): it is left out until Refresh(), so that it cannot keep the thread awake.
  static constexpr uint32_t kMaxBarrenWakeups = 16;
  // How long a thread sleeps at most that has a queue without descriptor.
  static constexpr std::chrono::nanoseconds kNap = std::chrono::microseconds(50);

  static absl::StatusOr<std::unique_ptr<Poller>> Create();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Ends a sleep, or prevents the next one. Any thread.
  void Wake();

  // The rest belongs to the polling thread
  // ------------------------------------------------------------------------------ A queue starts active. Removing it
  // forgets its descriptor.
  void Add(PolledRxq* queue);
  void Remove(PolledRxq* queue);
  // Registers all descriptors anew: they may have changed, or been left out.
  void Refresh();
  // The same for one.
  void Refresh(PolledRxq* queue);

  // The queues to ask, in the order in which they became active. Asking one may end with Rest(i); the list keeps its
  // order.
  size_t active_count() const { return active_.size(); }
  PolledRxq& active(size_t i) { return *active_[i]; }
  // Queue `i` gave packets / was empty: the latter leaves the list (and active(i) is the next one) unless it has no
  // descriptor. Returns whether it left.
  void KeepActive(size_t i) { active_[i]->barren_wakeups_ = 0; }
  bool Rest(size_t i);

  bool all_active() const { return active_.size() == all_.size(); }
  // True when every queue may be left to epoll.
  bool may_sleep() const { return active_.size() == unpollable_count_; }
  // Adds what has become readable to the active queues. Sleeps until something is, if `sleep`.
  void Wait(bool sleep);

 private:
  Poller(int epoll_fd, int wake_fd) : epoll_fd_(epoll_fd), wake_fd_(wake_fd) {}
  void Register(PolledRxq* queue);
  void Unregister(PolledRxq* queue);
  void Activate(PolledRxq* queue);

  const int epoll_fd_;
  const int wake_fd_;
  std::vector<PolledRxq*> all_;
  std::vector<PolledRxq*> active_;
  size_t unpollable_count_ = 0;
};

}  // namespace sluice
