#include "datapath/subtable.h"

#include "lib/base/hash.h"

namespace sluice {
namespace {

constexpr uint64_t kFree = 0;
constexpr uint64_t kGrave = 1;  // a removed flow's place: a probe goes on behind it
constexpr int kTagShift = 48;
constexpr uint64_t kAddressMask = (uint64_t{1} << kTagShift) - 1;
constexpr size_t kFirstSlots = 16;

uint64_t Tag(uint32_t hash) { return uint64_t{hash >> 16} << kTagShift; }
DpFlow* FlowOf(uint64_t slot) { return reinterpret_cast<DpFlow*>(slot & kAddressMask); }

}  // namespace

uint32_t MaskedHash(const FlowKey& key, const FlowMask& mask) {
  uint64_t hash = 0;
  for (size_t i = 0; i < FlowKey::kWords; ++i) {
    if (uint64_t m = mask.Word(i); m != 0) hash = HashAdd(hash, key.Word(i) & m);
  }
  return HashFinish(hash);
}

Subtable::Subtable(const FlowMask& mask) : mask_(mask), slots_(new Slots(kFirstSlots)) {
  for (uint32_t i = 0; i < FlowKey::kWords; ++i) {
    if (uint64_t m = mask.Word(i); m != 0) words_.push_back({i, m});
  }
}

Subtable::~Subtable() { delete slots_.Load(); }

// The same as MaskedHash(key, mask_), over the words known to count.
uint32_t Subtable::Hash(const FlowKey& key) const {
  uint64_t hash = 0;
  for (const WordMask& word : words_) hash = HashAdd(hash, key.Word(word.index) & word.mask);
  return HashFinish(hash);
}

DpFlow* Subtable::Lookup(const FlowKey& key) const {
  const uint32_t hash = Hash(key);
  const uint64_t tag = Tag(hash);
  const Slots& slots = *slots_.Load();
  for (size_t i = hash & slots.mask;; i = (i + 1) & slots.mask) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_acquire);
    if (slot == kFree) return nullptr;
    if (slot == kGrave || (slot & ~kAddressMask) != tag) continue;
    if (DpFlow* flow = FlowOf(slot); flow->Matches(key)) return flow;
  }
}

void Subtable::Place(Slots& slots, DpFlow* flow) {
  size_t i = flow->hash() & slots.mask;
  while (slots.slot[i].load(std::memory_order_relaxed) != kFree) i = (i + 1) & slots.mask;
  slots.slot[i].store(reinterpret_cast<uint64_t>(flow) | Tag(flow->hash()), std::memory_order_release);
}

void Subtable::Insert(DpFlow* flow) {
  size_t count = slots_.Load()->mask + 1;
  // At most half full, graves included: probes stay short. Mostly graves: the same size will do.
  if ((used_ + 1) * 2 > count) Rebuild((size_ + 1) * 4 > count ? count * 2 : count);
  Place(*slots_.Load(), flow);
  ++size_;
  ++used_;
}

void Subtable::Remove(const DpFlow* flow) {
  Slots& slots = *slots_.Load();
  for (size_t i = flow->hash() & slots.mask;; i = (i + 1) & slots.mask) {
    const uint64_t slot = slots.slot[i].load(std::memory_order_relaxed);
    if (slot == kFree) return;
    if (slot != kGrave && FlowOf(slot) == flow) {
      slots.slot[i].store(kGrave, std::memory_order_release);
      --size_;
      return;
    }
  }
}

void Subtable::Rebuild(size_t slot_count) {
  auto next = std::make_unique<Slots>(slot_count);
  const Slots& old = *slots_.Load();
  for (size_t i = 0; i <= old.mask; ++i) {
    const uint64_t slot = old.slot[i].load(std::memory_order_relaxed);
    if (slot != kFree && slot != kGrave) Place(*next, FlowOf(slot));
  }
  used_ = size_;
  slots_.Replace(std::move(next));
}

uint64_t Subtable::TakeHits() {
  uint64_t total = 0;
  for (const Hits& hits : hits_) total += hits.count;
  uint64_t since = total - hits_taken_;
  hits_taken_ = total;
  return since;
}

}  // namespace sluice
