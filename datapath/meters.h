// DpMeters: the meters of one datapath, by number. PMD threads read, the main thread writes.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>

#include "datapath/meter.h"
#include "lib/base/rcu.h"

namespace sluice {

class DpMeters {
 public:
  static constexpr uint32_t kMaxMeters = 262144;

  DpMeters() = default;
  // No thread reads any more.
  ~DpMeters();
  DpMeters(const DpMeters&) = delete;
  DpMeters& operator=(const DpMeters&) = delete;

  // Readers under RCU, or the main thread. nullptr: there is none of this number.
  DpMeter* Find(uint32_t number) const {
    if (number >= kMaxMeters) return nullptr;
    const Chunk* chunk = chunks_[number / kChunkSize].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk->meters[number % kChunkSize].Load();
  }

  // Main thread
  // ---------------------------------------------------------------------------------------------------------------
  // Gives the lowest free number; kResourceExhausted if there is none.
  absl::StatusOr<uint32_t> Add(const DpMeterConfig& config);
  // Makes it anew: buckets are full and statistics zero. kNotFound if there is none.
  absl::Status Modify(uint32_t number, const DpMeterConfig& config);
  absl::Status Remove(uint32_t number);
  size_t count() const { return made_ - free_.size(); }

 private:
  static constexpr uint32_t kChunkSize = 1024;
  struct Chunk {
    std::array<RcuPtr<DpMeter>, kChunkSize> meters;
  };

  RcuPtr<DpMeter>& At(uint32_t number) {
    return chunks_[number / kChunkSize].load(std::memory_order_relaxed)->meters[number % kChunkSize];
  }

  // A chunk stays once it was made, so that a reader needs no more than its number.
  std::array<std::atomic<Chunk*>, kMaxMeters / kChunkSize> chunks_{};
  uint32_t made_ = 0;        // numbers that were handed out at least once
  std::set<uint32_t> free_;  // those of them that are free again
};

}  // namespace sluice
