// Read-copy-update between threads that loop (liburcu, QSBR flavour).
//
// A reading thread registers once (RcuThread), then reads RcuPtrs with a plain load, and says RcuQuiescent() once per
// loop iteration, at a point where it holds no pointer that it read. Between two such points everything that it read
// stays alive. Before it sleeps it goes offline (RcuOffline), else writers wait for it.
//
// A writer builds a new object, publishes it, and frees the old one after a grace period: RcuSynchronize() waits for
// it, RcuPostpone() runs a function after it. Threads that are not registered may write; they may read only under the
// writers' own lock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace sluice {

// Registers the calling thread as a reader for the object's lifetime; online at once. Create and destroy it in the same
// thread. Nested registrations in one thread are allowed and count as one.
class RcuThread {
 public:
  RcuThread();
  ~RcuThread();
  RcuThread(const RcuThread&) = delete;
  RcuThread& operator=(const RcuThread&) = delete;
};

// The calling registered thread holds no RCU-protected pointer at this moment. A few nanoseconds.
void RcuQuiescent();

// While it lives, the calling thread holds no RCU-protected pointer and may sleep as long as it likes. In a thread that
// is not registered or is offline already it does nothing.
class RcuOffline {
 public:
  RcuOffline();
  ~RcuOffline();
  RcuOffline(const RcuOffline&) = delete;
  RcuOffline& operator=(const RcuOffline&) = delete;

 private:
  bool was_online_;
};

// Waits until every registered online thread was quiescent once. The caller, if registered, holds no RCU-protected
// pointer. Never in a hot path.
void RcuSynchronize();

// Runs `function` in a background thread after a grace period, in order of the calls. Does not wait. Allocates.
void RcuPostpone(std::function<void()> function);

// Waits until everything postponed so far has run. For tests and for the end of the process.
void RcuBarrier();

// Frees `object` after a grace period.
template <typename T>
void RcuPostponeDelete(std::unique_ptr<T> object) {
  if (object != nullptr) {
    RcuPostpone([raw = object.release()] { delete raw; });
  }
}

// A pointer that readers load while a writer replaces it. Writers serialise among themselves. Does not own: what
// Publish returns is the writer's to free after a grace period, and so is what is left at the end.
template <typename T>
class RcuPtr {
 public:
  RcuPtr() = default;
  explicit RcuPtr(T* initial) : pointer_(initial) {}
  RcuPtr(const RcuPtr&) = delete;
  RcuPtr& operator=(const RcuPtr&) = delete;

  // Valid until the calling thread is quiescent next. A plain move on x86.
  T* Load() const { return pointer_.load(std::memory_order_acquire); }

  // Makes `next` (fully built) visible to readers and returns the pointer that it replaced.
  [[nodiscard]] T* Publish(T* next) { return pointer_.exchange(next, std::memory_order_acq_rel); }

  // Makes `next` visible and frees the old object after a grace period.
  void Replace(std::unique_ptr<T> next) { RcuPostponeDelete(std::unique_ptr<T>(Publish(next.release()))); }

 private:
  std::atomic<T*> pointer_{nullptr};
};

}  // namespace sluice
