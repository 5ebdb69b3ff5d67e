// Named 64-bit counters of events: how often did something rare or interesting happen in this process.
//
// For events, not for packets: an increment looks up the calling thread's own block of counters (thread-local), adds
// to a word that no other thread writes, and never takes a lock after the thread's first event. Readers sum all
// threads' blocks; the counts of a thread that ended are kept. Any thread may increment and read.
//
//   SLUICE_COVERAGE_DEFINE(netdev_reopen);        // at namespace scope of one .cc, outside or inside sluice
//   ...
//   SLUICE_COVERAGE_INC(netdev_reopen);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class CoverageCounter {
 public:
  static constexpr int kMaxCounters = 512;

  // `name` must outlive the program (a literal). Only at namespace scope, so that all counters exist before main.
  explicit CoverageCounter(const char* name);
  CoverageCounter(const CoverageCounter&) = delete;
  CoverageCounter& operator=(const CoverageCounter&) = delete;

  void Add(uint64_t n);
  uint64_t Total() const;
  const char* name() const { return name_; }

 private:
  const char* name_;
  int index_;
};

// The total of the counter called `name`, or nothing if there is none.
std::optional<uint64_t> CoverageRead(std::string_view name);

// Feeds the rates; call it every kCoverageSampleSeconds from one thread.
inline constexpr int kCoverageSampleSeconds = 5;
void CoverageSample();

// The text of coverage/show: per event hit at least once, its rates over 5 seconds, a minute and an hour and its total.
std::string CoverageShow();

}  // namespace sluice

#define SLUICE_COVERAGE_DEFINE(name) static ::sluice::CoverageCounter sluice_coverage_##name(#name)
#define SLUICE_COVERAGE_ADD(name, n) sluice_coverage_##name.Add(n)
#define SLUICE_COVERAGE_INC(name) sluice_coverage_##name.Add(1)
