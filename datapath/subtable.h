// All flows of one mask: an open-addressed hash table that readers probe without a lock.
//
// A slot is one word: a flow's address with 16 bits of its hash in the unused top bits, so that a probe that misses
// reads no flow. Writers (one at a time) set slots in place; when the table fills up they publish a larger copy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/flow_table.h"

namespace sluice {

// The hash of `key` under `mask`, over the words that the mask has.
uint32_t MaskedHash(const FlowKey& key, const FlowMask& mask);

class Subtable {
 public:
  static constexpr size_t kCountedSlots = 64;  // threads beyond that do not take part in the ranking

  explicit Subtable(const FlowMask& mask);
  ~Subtable();

  const FlowMask& mask() const { return mask_; }
  size_t size() const { return size_; }

  // Reader.
  DpFlow* Lookup(const FlowKey& key) const;
  void CountHit(size_t slot) {
    if (slot < kCountedSlots) ++hits_[slot].count;
  }

  // Writers. The flow must have this mask.
  void Insert(DpFlow* flow);
  void Remove(const DpFlow* flow);
  // Hits since the last call.
  uint64_t TakeHits();

 private:
  struct WordMask {
    uint32_t index;
    uint64_t mask;
  };
  struct Slots {
    explicit Slots(size_t count) : mask(count - 1), slot(new std::atomic<uint64_t>[count]()) {}
    const size_t mask;
    std::unique_ptr<std::atomic<uint64_t>[]> slot;
  };
  struct alignas(64) Hits {
    Counter count;
  };

  uint32_t Hash(const FlowKey& key) const;
  static void Place(Slots& slots, DpFlow* flow);
  void Rebuild(size_t slot_count);

  const FlowMask mask_;
  std::vector<WordMask> words_;
  RcuPtr<Slots> slots_;
  size_t size_ = 0;  // flows
  size_t used_ = 0;  // slots that are not free: flows and graves
  uint64_t hits_taken_ = 0;
  std::array<Hits, kCountedSlots> hits_;
};

}  // namespace sluice
