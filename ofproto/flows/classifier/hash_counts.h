// HashCounts: how many rules of a subtable have a given hash of their first fields. One writer; readers need no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/base/rcu.h"

namespace sluice {

class HashCounts {
 public:
  HashCounts();
  ~HashCounts();
  HashCounts(const HashCounts&) = delete;
  HashCounts& operator=(const HashCounts&) = delete;

  // Reader, under RCU: whether any has it.
  bool Contains(uint32_t hash) const;

  void Add(uint32_t hash);
  void Remove(uint32_t hash);  // it was added

 private:
  // A slot is the hash in the upper half and the count in the lower one; all zero is free. A count of zero behind a
  // hash is a place that was used: a probe goes on behind it.
  struct Slots {
    explicit Slots(size_t count) : mask(count - 1), slot(new std::atomic<uint64_t>[count]()) {}
    const size_t mask;
    std::unique_ptr<std::atomic<uint64_t>[]> slot;
  };
  // The slot of the hash, or the free one where it would be.
  static std::atomic<uint64_t>& Find(const Slots& slots, uint32_t hash);
  void Rebuild(size_t slot_count);

  RcuPtr<Slots> slots_;
  size_t used_ = 0;  // slots that are not free
  size_t size_ = 0;  // slots with a count
};

}  // namespace sluice
