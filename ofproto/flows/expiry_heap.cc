#include "ofproto/flows/expiry_heap.h"

#include <algorithm>

namespace sluice {
namespace {

int64_t HardExpiry(const Rule& rule) {
  const uint16_t seconds = rule.counters->hard_timeout.load(std::memory_order_relaxed);
  return seconds == 0 ? kNeverMs : OfClockMs(rule.modified.load(std::memory_order_relaxed)) + seconds * int64_t{1000};
}

int64_t IdleExpiry(const Rule& rule) {
  const uint16_t seconds = rule.counters->idle_timeout.load(std::memory_order_relaxed);
  return seconds == 0 ? kNeverMs : rule.counters->used_ms.load(std::memory_order_relaxed) + seconds * int64_t{1000};
}

}  // namespace

int64_t ExpiryOf(const Rule& rule) { return std::min(HardExpiry(rule), IdleExpiry(rule)); }

bool ExpiresIdle(const Rule& rule) { return IdleExpiry(rule) < HardExpiry(rule); }

void ExpiryHeap::Put(size_t i, Entry entry) {
  heap_[i] = entry;
  entry.rule->place.heap_index = static_cast<int32_t>(i);
}

// Moves the entry at `i` up or down to where it belongs.
void ExpiryHeap::Sift(size_t i) {
  const Entry entry = heap_[i];
  while (i > 0 && entry.time < heap_[(i - 1) / 2].time) {
    Put(i, heap_[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  for (size_t child; (child = 2 * i + 1) < heap_.size(); i = child) {
    if (child + 1 < heap_.size() && heap_[child + 1].time < heap_[child].time) ++child;
    if (entry.time <= heap_[child].time) break;
    Put(i, heap_[child]);
  }
  Put(i, entry);
}

void ExpiryHeap::Set(Rule& rule, int64_t time) {
  const bool is_there = rule.place.heap_index >= 0;
  if (time != kNeverMs) {
    const size_t i = is_there ? static_cast<size_t>(rule.place.heap_index) : heap_.size();
    if (!is_there) heap_.push_back({});
    Put(i, {time, &rule});
    Sift(i);
    return;
  }
  if (!is_there) return;
  const auto hole = static_cast<size_t>(rule.place.heap_index);
  rule.place.heap_index = -1;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (hole == heap_.size()) return;
  Put(hole, last);
  Sift(hole);
}

}  // namespace sluice
