// A 64-bit counter with one writer and any number of readers.
//
// Adding is a plain load, add and store (no locked instruction); reading never tears. Two writers would lose counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

class Counter {
 public:
  Counter() = default;
  Counter(const Counter& other) : value_(other.Get()) {}
  Counter& operator=(const Counter& other) {
    value_.store(other.Get(), std::memory_order_relaxed);
    return *this;
  }

  void Add(uint64_t count) { value_.store(Get() + count, std::memory_order_relaxed); }
  Counter& operator++() {
    Add(1);
    return *this;
  }
  Counter& operator+=(uint64_t count) {
    Add(count);
    return *this;
  }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }
  operator uint64_t() const { return Get(); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace sluice
