#include "lib/packet/slab_pool.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <new>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{1} << 21;

// Bytes from one buffer's metadata to the next one's: whole cache lines, an odd number of them.
size_t Stride(const SlabPool::Options& options) {
  size_t lines = (sizeof(DpPacket) + options.headroom + options.data_size + kCacheLine - 1) / kCacheLine;
  return (lines | 1) * kCacheLine;
}

uint8_t* AlignToHugePage(uint8_t* memory) { return memory + (0 - reinterpret_cast<uintptr_t>(memory)) % kHugePage; }

}  // namespace

absl::StatusOr<SlabPool::Ptr> SlabPool::Create(const Options& options) {
  const size_t used = Stride(options) * options.count;
  const size_t size = used < kHugePage ? used : used + kHugePage;  // room to align
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhausted("packet pool of {} buffers of {} bytes: {} bytes of memory cannot be mapped",
                             options.count, options.data_size, size);
  }
  return Ptr(new SlabPool(options, static_cast<uint8_t*>(memory), size));
}

SlabPool::SlabPool(const Options& options, uint8_t* memory, size_t memory_size)
    : options_(options),
      owner_(ThreadToken()),
      memory_(memory),
      memory_size_(memory_size),
      buffers_(memory_size < kHugePage ? memory : AlignToHugePage(memory)) {
  // Advice only: without huge pages the pool works as well.
  if (memory_size_ >= kHugePage)
    madvise(buffers_, static_cast<size_t>(memory_ + memory_size_ - buffers_), MADV_HUGEPAGE);
}

SlabPool::~SlabPool() {
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

// What came home goes before what was never used.
bool SlabPool::Refill() {
  DrainReturned();
  if (free_ == nullptr) MakeBuffers();
  return free_ != nullptr;
}

void SlabPool::DrainReturned() {
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
}

void SlabPool::MakeBuffers() {
  const size_t stride = Stride(options_);
  const uint32_t capacity = options_.headroom + options_.data_size;
  const uint32_t first = made_;
  made_ += std::min(kMadeAtOnce, options_.count - made_);
  // Linked backwards, so that they are handed out in the order of their addresses.
  for (uint32_t i = made_; i-- > first;) {
    uint8_t* place = buffers_ + stride * i;
    auto* packet = new (place) DpPacket(this, place + sizeof(DpPacket), capacity);
    packet->set_pool_link(free_);
    free_ = packet;
    Poison(packet);
  }
  free_count_ += made_ - first;
}

uint32_t SlabPool::OutstandingCount() {
  DrainReturned();
  return made_ - free_count_;
}

void SlabPool::Retire() {
  owner_.store(nullptr, std::memory_order_relaxed);
  const int64_t change = static_cast<int64_t>(made_) - free_count_ - kBias;
  if (holds_.fetch_add(change, std::memory_order_acq_rel) + change == 0) delete this;
}

absl::StatusOr<PacketPools> PacketPools::Create(uint32_t small_count, uint32_t large_count) {
  auto small = SlabPool::Create({.count = small_count, .data_size = kSmallDataSize, .headroom = kHeadroom});
  if (!small.ok()) return small.status();
  auto large = SlabPool::Create({.count = large_count, .data_size = kLargeDataSize, .headroom = kLargeHeadroom});
  if (!large.ok()) return large.status();
  return PacketPools{.small = *std::move(small), .large = *std::move(large)};
}

}  // namespace sluice
