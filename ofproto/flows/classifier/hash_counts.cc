#include "ofproto/flows/classifier/hash_counts.h"

namespace sluice {
namespace {

constexpr size_t kFirstSlots = 4;

uint32_t CountOf(uint64_t slot) { return static_cast<uint32_t>(slot); }
// Hash 0 is taken for 1: a slot with a hash is never zero.
uint32_t NotZero(uint32_t hash) { return hash | (hash == 0 ? 1 : 0); }

}  // namespace

HashCounts::HashCounts() : slots_(new Slots(kFirstSlots)) {}

HashCounts::~HashCounts() { delete slots_.Load(); }

std::atomic<uint64_t>& HashCounts::Find(const Slots& slots, uint32_t hash) {
  for (size_t i = hash & slots.mask;; i = (i + 1) & slots.mask) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_relaxed);
    if (slot == 0 || slot >> 32 == hash) return slots.slot[i];
  }
}

bool HashCounts::Contains(uint32_t hash) const {
  return CountOf(Find(*slots_.Load(), NotZero(hash)).load(std::memory_order_acquire)) != 0;
}

void HashCounts::Add(uint32_t hash) {
  hash = NotZero(hash);
  const size_t count = slots_.Load()->mask + 1;
  if ((used_ + 1) * 2 > count) Rebuild((size_ + 1) * 4 > count ? count * 2 : count);
  std::atomic<uint64_t>& slot = Find(*slots_.Load(), hash);
  const uint64_t old = slot.load(std::memory_order_relaxed);
  if (old == 0) ++used_;
  if (CountOf(old) == 0) ++size_;
  slot.store((uint64_t{hash} << 32) | (CountOf(old) + 1), std::memory_order_release);
}

void HashCounts::Remove(uint32_t hash) {
  std::atomic<uint64_t>& slot = Find(*slots_.Load(), NotZero(hash));
  const uint64_t old = slot.load(std::memory_order_relaxed);
  slot.store(old - 1, std::memory_order_release);
  if (CountOf(old) == 1) --size_;
}

void HashCounts::Rebuild(size_t slot_count) {
  auto next = std::make_unique<Slots>(slot_count);
  const Slots& old = *slots_.Load();
  for (size_t i = 0; i <= old.mask; ++i) {
    const uint64_t slot = old.slot[i].load(std::memory_order_relaxed);
    if (CountOf(slot) != 0) Find(*next, static_cast<uint32_t>(slot >> 32)).store(slot, std::memory_order_relaxed);
  }
  used_ = size_;
  slots_.Replace(std::move(next));
}

}  // namespace sluice
