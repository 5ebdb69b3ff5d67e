// The exact-match cache of one PMD thread: from a packet's flow hash straight to the flow it hit last.
//
// An entry is a hash and a flow; the hit is proved on the flow itself (DpFlow::Matches), which the packet is about to
// touch anyway, so an entry takes 24 bytes and 10,000 connections stay in the second-level cache. Two places per hash.
// No flow is ever followed that was removed: entries carry the table's generation, and older ones count as misses.
#pragma once

#include <cstdint>
#include <memory>

#include "datapath/flow_table.h"

namespace sluice {

class FlowCache {
 public:
  // `entries` is a power of two.
  explicit FlowCache(size_t entries = 32768) : mask_(entries - 1), entries_(new Entry[entries]()) {}

  // The flow for `key` with `hash`, or nullptr. `generation` is FlowTable::generation() of this loop iteration. `hits`
  // is how often this entry, that is one exact flow, was hit, this time included.
  DpFlow* Lookup(const FlowKey& key, uint32_t hash, uint64_t generation, uint32_t& hits) {
    for (Entry* entry : {&entries_[First(hash)], &entries_[Second(hash)]}) {
      if (entry->hash == hash && entry->generation == generation && entry->flow->Matches(key)) {
        hits = ++entry->hits;
        return entry->flow;
      }
    }
    return nullptr;
  }

  DpFlow* Lookup(const FlowKey& key, uint32_t hash, uint64_t generation) {
    uint32_t hits;
    return Lookup(key, hash, generation, hits);
  }

  void Insert(uint32_t hash, DpFlow* flow, uint64_t generation) {
    Entry& first = entries_[First(hash)];
    Entry& second = entries_[Second(hash)];
    bool take_first = first.generation != generation || first.hash == hash ||
                      (second.generation == generation && second.hash != hash && (++toggle_ & 1) != 0);
    (take_first ? first : second) = Entry{generation, flow, hash, 0};
  }

  void Prefetch(uint32_t hash) const { __builtin_prefetch(&entries_[First(hash)]); }

 private:
  struct Entry {
    uint64_t generation;  // 0: never used
    DpFlow* flow;
    uint32_t hash;
    uint32_t hits;
  };

  size_t First(uint32_t hash) const { return hash & mask_; }
  size_t Second(uint32_t hash) const { return (hash >> 16 | hash << 16) & mask_; }

  const size_t mask_;
  std::unique_ptr<Entry[]> entries_;
  uint32_t toggle_ = 0;
};

}  // namespace sluice
