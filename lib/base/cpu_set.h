// A set of processor numbers, in the text forms that users write.
//
// A mask is hexadecimal, bit n standing for processor n, with or without "0x", of any length up to kMaxCpus bits
// (Open vSwitch's other_config:pmd-cpu-mask). A list is "0,2-5,8" (the kernel's cpulist). A plain value type.
#pragma once

#include <compare>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace sluice {

class CpuSet {
 public:
  static constexpr int kMaxCpus = 4096;
  using value_type = int;
  using const_iterator = std::vector<int>::const_iterator;

  CpuSet() = default;
  // Numbers outside [0, kMaxCpus) are ignored.
  CpuSet(std::initializer_list<int> cpus);

  // "0x6", "6", "f0000000000000000". Empty text and text with no bit set are errors: a caller for whom "none" has a
  // meaning (pmd-cpu-mask unset) decides that before it parses.
  static absl::StatusOr<CpuSet> FromMask(std::string_view text);
  static absl::StatusOr<CpuSet> FromList(std::string_view text);

  // The processors that the calling thread may run on (sched_getaffinity).
  static CpuSet Allowed();

  void Add(int cpu);
  void Remove(int cpu);
  bool Contains(int cpu) const;
  bool empty() const { return cpus_.empty(); }
  size_t size() const { return cpus_.size(); }

  // Ascending order.
  const_iterator begin() const { return cpus_.begin(); }
  const_iterator end() const { return cpus_.end(); }

  std::string ToMask() const;  // "0x6"; the empty set is "0x0"
  std::string ToList() const;  // "1-2,5"; the empty set is ""

  // Restricts the calling thread to this set. An error names the set and the processors that are allowed.
  absl::Status BindThisThread() const;

  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<int> cpus_;  // sorted, unique
};

}  // namespace sluice
