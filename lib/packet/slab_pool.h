// A pool of equal buffers carved from one mapping, for one owner thread.
//
// The owner allocates from a LIFO (the buffer freed last is the one still in cache). Other threads return buffers to a
// lock-free stack that the owner drains when its own list runs dry. The number of buffers has a limit that is set when
// the pool is made: at the limit an empty pool answers nullptr and counts it, and recovers as soon as packets come
// home.
//
// Memory follows use: buffers are made from front to back, a few at a time, when there is none to hand out. What was
// once touched stays until the pool goes. A large pool lies in huge pages where the kernel has them.
//
// Buffers are strided by an odd number of cache lines, so that the headers of one batch fall into different cache sets.
//
// Lifetime: packets may outlive the thread that owns the pool. The owner thread, or another one after the owner's
// Unbind(), lets go of the Ptr, which retires the pool: it deletes itself when the last packet is home.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/packet/dp_packet.h"

namespace sluice {

class SlabPool final : public PacketPool {
 public:
  struct Options {
    uint32_t count = 0;      // buffers at most
    uint32_t data_size = 0;  // bytes for data behind the headroom
    uint32_t headroom = 0;   // bytes kept free in front
  };

  struct Retirer {
    void operator()(SlabPool* pool) const { pool->Retire(); }
  };
  using Ptr = std::unique_ptr<SlabPool, Retirer>;

  // How many buffers are made when there is none.
  static constexpr uint32_t kMadeAtOnce = 16;

  // Fails with kResourceExhausted when the memory cannot be mapped. Touches none of it.
  static absl::StatusOr<Ptr> Create(const Options& options);

  // The thread that allocates and whose frees take the short way. Set once by the thread itself before its first
  // Allocate(); the creating thread is the owner until then.
  void BindToThisThread() { owner_.store(ThreadToken(), std::memory_order_relaxed); }
  // The owner says this last when another thread will destroy the pool: a later thread may get this one's token.
  void Unbind() { owner_.store(nullptr, std::memory_order_relaxed); }

  // An empty buffer with the pool's headroom, or nullptr when none is left (counted). Owner thread only.
  DpPacketPtr Allocate() {
    if (free_ == nullptr && !Refill()) {
      ++empty_count_;
      return nullptr;
    }
    DpPacket* packet = free_;
    free_ = packet->pool_link();
    --free_count_;
    Unpoison(packet);
    packet->Reset(options_.headroom);
    return DpPacketPtr(packet);
  }

  void Free(DpPacket* buffer) override;

  uint64_t empty_count() const { return empty_count_; }  // owner thread, or approximate
  uint32_t count() const { return options_.count; }
  uint32_t made_count() const { return made_; }  // buffers that exist: the most that were out at once, about
  uint32_t data_size() const { return options_.data_size; }
  // Buffers not in the pool. Exact only while no other thread frees. Owner thread.
  uint32_t OutstandingCount();

 private:
  SlabPool(const Options& options, uint8_t* memory, size_t memory_size);
  ~SlabPool() override;

  static constexpr int64_t kBias = int64_t{1} << 40;

  // Names the running thread at the cost of one register read.
  static const void* ThreadToken() { return __builtin_thread_pointer(); }
  // Under the address sanitizer the bytes of a buffer in the pool are out of bounds. Otherwise they do nothing.
  void Poison(DpPacket* buffer) const;
  void Unpoison(DpPacket* buffer) const;
  bool Refill();
  void DrainReturned();
  void MakeBuffers();
  void Retire();
  void ReturnRemotely(DpPacket* buffer);

  const Options options_;
  std::atomic<const void*> owner_;
  DpPacket* free_ = nullptr;
  uint32_t free_count_ = 0;
  uint32_t made_ = 0;
  uint64_t empty_count_ = 0;
  uint8_t* const memory_;  // as mapped
  const size_t memory_size_;
  uint8_t* const buffers_;  // where the first one is
  // Written by other threads: on a line of its own.
  alignas(64) std::atomic<DpPacket*> returned_{nullptr};
  // Minus one for each remote free, plus one for each buffer drained from returned_, on top of a bias that only
  // Retire() takes away, adding the buffers then out: zero means retired and all home, and who reaches it deletes.
  std::atomic<int64_t> holds_{kBias};
};

#ifndef __SANITIZE_ADDRESS__
inline void SlabPool::Poison(DpPacket*) const {}
inline void SlabPool::Unpoison(DpPacket*) const {}
#endif

// The pools that one PMD thread receives into and segments into.
//
// A receive queue posts pairs: a small buffer takes the headers and a frame of one MTU whole, a large one behind it
// takes the rest of a frame of up to 64 KiB and is chained only when it was needed. So MTU-sized frames stay dense in
// cache, large ones are received and sent in place, and no byte is copied between the two.
struct PacketPools {
  static constexpr uint32_t kHeadroom = 512;         // any tunnel push: Geneve with all options over IPv6 is 322
  static constexpr uint32_t kSmallDataSize = 2048;   // a frame of 1500 + tags, or the head of a large one
  static constexpr uint32_t kLargeDataSize = 65536;  // with the small buffer before it: more than the largest frame
  // In front of a large buffer. It takes what the second of two segments, of 1024 bytes at least, has in the small one
  // (segment_in_place.h).
  static constexpr uint32_t kLargeHeadroom = 1024;

  SlabPool::Ptr small;
  SlabPool::Ptr large;

  static absl::StatusOr<PacketPools> Create(uint32_t small_count, uint32_t large_count);
  void BindToThisThread() {
    small->BindToThisThread();
    large->BindToThisThread();
  }
  void Unbind() {
    small->Unbind();
    large->Unbind();
  }
};

}  // namespace sluice
