#include "lib/packet/slab_pool.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <new>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr size_t kCacheLine = 64;

// Bytes from one buffer's metadata to the next one's: whole cache lines, an odd number of them.
size_t Stride(const SlabPool::Options& options) {
  size_t lines = (sizeof(DpPacket) + options.headroom + options.data_size + kCacheLine - 1) / kCacheLine;
  return (lines | 1) * kCacheLine;
}

}  // namespace

absl::StatusOr<SlabPool::Ptr> SlabPool::Create(const Options& options) {
  Ptr pool(new SlabPool(options));
  if (pool->memory_ == nullptr) {
    return ResourceExhausted("packet pool of {} buffers of {} bytes: {} bytes of memory cannot be mapped",
                             options.count, options.data_size, Stride(options) * options.count);
  }
  return pool;
}

SlabPool::SlabPool(const Options& options) : options_(options), owner_(ThreadToken()) {
  size_t stride = Stride(options);
  memory_size_ = stride * options.count;
  void* memory =
      mmap(nullptr, memory_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    memory_size_ = 0;
    return;
  }
  memory_ = static_cast<uint8_t*>(memory);
  uint32_t capacity = options.headroom + options.data_size;
  // Linked backwards, so that the first allocations come from the start of the mapping.
  for (uint32_t i = options.count; i-- > 0;) {
    uint8_t* place = memory_ + stride * i;
    auto* packet = new (place) DpPacket(this, place + sizeof(DpPacket), capacity);
    packet->set_pool_link(free_);
    free_ = packet;
    Poison(packet);
  }
  free_count_ = options.count;
}

SlabPool::~SlabPool() {
  if (memory_ == nullptr) return;
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(memory_, memory_size_);  // whoever maps these addresses next may use them
#endif
  munmap(memory_, memory_size_);
}

#ifdef __SANITIZE_ADDRESS__
void SlabPool::Poison(DpPacket* buffer) const {
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<uint8_t*>(buffer + 1), options_.headroom + options_.data_size);
}
void SlabPool::Unpoison(DpPacket* buffer) const {
  ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<uint8_t*>(buffer + 1), options_.headroom + options_.data_size);
}
#endif

void SlabPool::Free(DpPacket* buffer) {
  Poison(buffer);
  if (ThreadToken() == owner_.load(std::memory_order_relaxed)) {
    buffer->set_pool_link(free_);
    free_ = buffer;
    ++free_count_;
    return;
  }
  ReturnRemotely(buffer);
}

void SlabPool::ReturnRemotely(DpPacket* buffer) {
  DpPacket* head = returned_.load(std::memory_order_relaxed);
  do {
    buffer->set_pool_link(head);
  } while (!returned_.compare_exchange_weak(head, buffer, std::memory_order_release, std::memory_order_relaxed));
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool SlabPool::Refill() {
  DpPacket* returned = returned_.exchange(nullptr, std::memory_order_acquire);
  uint32_t taken = 0;
  while (returned != nullptr) {
    DpPacket* next = returned->pool_link();
    returned->set_pool_link(free_);
    free_ = returned;
    returned = next;
    ++taken;
  }
  free_count_ += taken;
  // The one who pushed it may not have subtracted yet; the sum is right once it has.
  if (taken > 0) holds_.fetch_add(taken, std::memory_order_relaxed);
  return free_ != nullptr;
}

uint32_t SlabPool::OutstandingCount() {
  Refill();
  return options_.count - free_count_;
}

void SlabPool::Retire() {
  owner_.store(nullptr, std::memory_order_relaxed);
  int64_t change = static_cast<int64_t>(options_.count) - free_count_ - kBias;
  if (memory_ == nullptr || holds_.fetch_add(change, std::memory_order_acq_rel) + change == 0) delete this;
}

absl::StatusOr<PacketPools> PacketPools::Create(uint32_t small_count, uint32_t large_count) {
  auto small = SlabPool::Create({.count = small_count, .data_size = kSmallDataSize, .headroom = kHeadroom});
  if (!small.ok()) return small.status();
  auto large = SlabPool::Create({.count = large_count, .data_size = kLargeDataSize, .headroom = kLargeHeadroom});
  if (!large.ok()) return large.status();
  return PacketPools{.small = *std::move(small), .large = *std::move(large)};
}

}  // namespace sluice
