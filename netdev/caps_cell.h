// Where a port keeps its EgressCaps: one writer replaces them whole while any number of threads read. Reading takes a
// few loads and writes nothing; a reader never sees half of a change.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "lib/packet/egress.h"

namespace sluice {

class CapsCell {
 public:
  explicit CapsCell(const EgressCaps& caps = {}) { Store(caps); }

  EgressCaps Load() const {
    for (;;) {
      uint32_t before = version_.load(std::memory_order_acquire);
      Words words = {first_.load(std::memory_order_relaxed), second_.load(std::memory_order_relaxed)};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before)
        return std::bit_cast<EgressCaps>(words);
    }
  }

  void Store(const EgressCaps& caps) {
    auto words = std::bit_cast<Words>(caps);
    uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    first_.store(words.first, std::memory_order_relaxed);
    second_.store(words.second, std::memory_order_relaxed);
    version_.store(version + 2, std::memory_order_release);
  }

 private:
  struct Words {
    uint64_t first;
    uint64_t second;
  };
  static_assert(sizeof(EgressCaps) == sizeof(Words));

  std::atomic<uint32_t> version_{0};  // odd while a change is under way
  std::atomic<uint64_t> first_{0};
  std::atomic<uint64_t> second_{0};
};

}  // namespace sluice
