#include "lib/base/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "lib/base/hash.h"

namespace sluice {

namespace {

constexpr int kSamplesPerMinute = 60 / kCoverageSampleSeconds;
constexpr int kMinutesPerHour = 60;

// One thread's counts. Written by that thread only, so a relaxed load and store suffice; aligned so that no line is
// shared with another thread's block.
struct alignas(64) Block {
  std::array<std::atomic<uint64_t>, CoverageCounter::kMaxCounters> counts{};
};

// What happened to one counter in the past, as a ring of five-second samples and one of minutes.
struct History {
  uint64_t last_total = 0;
  std::array<uint64_t, kSamplesPerMinute> samples{};
  std::array<uint64_t, kMinutesPerHour> minutes{};
};

struct Registry {
  std::mutex mutex;
  std::vector<const CoverageCounter*> counters;
  std::vector<Block*> blocks;
  std::array<uint64_t, CoverageCounter::kMaxCounters> retired{};  // counts of threads that ended
  std::array<History, CoverageCounter::kMaxCounters> history{};
  size_t sample_count = 0;

  uint64_t TotalLocked(int index) const {
    uint64_t total = retired[index];
    for (const Block* block : blocks) {
      total += block->counts[index].load(std::memory_order_relaxed);
    }
    return total;
  }
};

// Never destroyed: threads may still count while the process exits.
Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

struct ThreadBlock {
  ThreadBlock() {
    std::lock_guard lock(GetRegistry().mutex);
    GetRegistry().blocks.push_back(&block);
  }
  ~ThreadBlock() {
    Registry& registry = GetRegistry();
    std::lock_guard lock(registry.mutex);
    for (int i = 0; i < CoverageCounter::kMaxCounters; ++i) {
      registry.retired[i] += block.counts[i].load(std::memory_order_relaxed);
    }
    std::erase(registry.blocks, &block);
  }
  Block block;
};

}  // namespace

CoverageCounter::CoverageCounter(const char* name) : name_(name) {
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  if (registry.counters.size() == kMaxCounters) {
    std::fprintf(stderr, "coverage counter %s: more than %d counters; raise kMaxCounters\n", name, kMaxCounters);
    std::abort();
  }
  index_ = static_cast<int>(registry.counters.size());
  registry.counters.push_back(this);
}

void CoverageCounter::Add(uint64_t n) {
  thread_local ThreadBlock thread;
  std::atomic<uint64_t>& count = thread.block.counts[index_];
  count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

uint64_t CoverageCounter::Total() const {
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  return registry.TotalLocked(index_);
}

std::optional<uint64_t> CoverageRead(std::string_view name) {
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  std::optional<uint64_t> total;
  for (size_t i = 0; i < registry.counters.size(); ++i) {
    // Two files may define counters of one name; they read as one.
    if (registry.counters[i]->name() == name) {
      total = total.value_or(0) + registry.TotalLocked(static_cast<int>(i));
    }
  }
  return total;
}

void CoverageSample() {
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  const size_t slot = registry.sample_count % kSamplesPerMinute;
  const size_t minute = registry.sample_count / kSamplesPerMinute % kMinutesPerHour;
  for (size_t i = 0; i < registry.counters.size(); ++i) {
    History& history = registry.history[i];
    const uint64_t total = registry.TotalLocked(static_cast<int>(i));
    history.samples[slot] = total - history.last_total;
    history.last_total = total;
    if (slot == 0) {
      history.minutes[minute] = 0;
    }
    history.minutes[minute] += history.samples[slot];
  }
  ++registry.sample_count;
}

std::string CoverageShow() {
  struct Line {
    std::string_view name;
    uint64_t total = 0;
    uint64_t last = 0;
    uint64_t minute = 0;
    uint64_t hour = 0;
  };
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  std::vector<Line> lines;
  const size_t last_slot = (registry.sample_count + kSamplesPerMinute - 1) % kSamplesPerMinute;
  for (size_t i = 0; i < registry.counters.size(); ++i) {
    const std::string_view name = registry.counters[i]->name();
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.name == name; });
    if (line == lines.end()) {
      line = lines.insert(lines.end(), Line{.name = name});
    }
    const History& history = registry.history[i];
    line->total += registry.TotalLocked(static_cast<int>(i));
    line->last += history.samples[last_slot];
    for (uint64_t count : history.samples) line->minute += count;
    for (uint64_t count : history.minutes) line->hour += count;
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.name < b.name; });

  // The hash says which events were hit and about how often, so that two outputs can be compared at a glance.
  uint64_t hash = 0;
  size_t never_hit = 0;
  std::string body;
  for (const Line& line : lines) {
    if (line.total == 0) {
      ++never_hit;
      continue;
    }
    hash = HashAdd(HashAdd(hash, HashBytes(line.name.data(), line.name.size())), std::bit_width(line.total));
    body += fmt::format("{:<24} {:5.1f}/sec {:9.3f}/sec {:13.4f}/sec   total: {}\n", line.name,
                        static_cast<double>(line.last) / kCoverageSampleSeconds,
                        static_cast<double>(line.minute) / 60.0, static_cast<double>(line.hour) / 3600.0, line.total);
  }
  return fmt::format(
      "Event coverage, avg rate over last: {} seconds, last minute, last hour,  hash={:08x}:\n{}{} "
      "events never hit\n",
      kCoverageSampleSeconds, HashFinish(hash), body, never_hit);
}

}  // namespace sluice
