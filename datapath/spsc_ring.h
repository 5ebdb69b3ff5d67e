// A bounded queue between two threads, one that pushes and one that pops. Neither waits, locks or allocates.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

// `kCapacity` is a power of two.
template <typename T, size_t kCapacity>
class SpscRing {
 public:
  // The place for the next element, or nullptr if the ring is full; then CommitPush().
  T* Next() {
    size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return nullptr;
    return &elements_[tail % kCapacity];
  }
  void CommitPush() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // The element behind `index` older ones, or nullptr.
  T* Peek(size_t index) {
    size_t head = head_.load(std::memory_order_relaxed);
    if (tail_.load(std::memory_order_acquire) - head <= index) return nullptr;
    return &elements_[(head + index) % kCapacity];
  }
  // The oldest element, or nullptr; then Pop().
  T* Front() {
    size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return nullptr;
    return &elements_[head % kCapacity];
  }
  void Pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  bool empty() const { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed); }

 private:
  static_assert((kCapacity & (kCapacity - 1)) == 0);

  alignas(64) std::atomic<size_t> head_{0};
  alignas(64) std::atomic<size_t> tail_{0};
  alignas(64) std::array<T, kCapacity> elements_;
};

}  // namespace sluice
