#include "datapath/meters.h"

#include "lib/base/status.h"

namespace sluice {

DpMeters::~DpMeters() {
  for (std::atomic<Chunk*>& chunk : chunks_) {
    std::unique_ptr<Chunk> owned(chunk.load(std::memory_order_relaxed));
    if (owned == nullptr) continue;
    for (RcuPtr<DpMeter>& meter : owned->meters) delete meter.Load();
  }
}

absl::StatusOr<uint32_t> DpMeters::Add(const DpMeterConfig& config) {
  uint32_t number = made_;
  if (!free_.empty()) {
    number = *free_.begin();
    free_.erase(free_.begin());
  } else if (made_ == kMaxMeters) {
    return ResourceExhausted("the datapath has {} meters already", kMaxMeters);
  } else {
    ++made_;
    std::atomic<Chunk*>& chunk = chunks_[number / kChunkSize];
    if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk, std::memory_order_release);
  }
  At(number).Replace(std::make_unique<DpMeter>(config));
  return number;
}

absl::Status DpMeters::Modify(uint32_t number, const DpMeterConfig& config) {
  if (Find(number) == nullptr) return NotFound("the datapath has no meter {}", number);
  At(number).Replace(std::make_unique<DpMeter>(config));
  return absl::OkStatus();
}

absl::Status DpMeters::Remove(uint32_t number) {
  if (Find(number) == nullptr) return NotFound("the datapath has no meter {}", number);
  At(number).Replace(nullptr);
  free_.insert(number);
  return absl::OkStatus();
}

}  // namespace sluice
