#include "lib/base/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace sluice {

namespace {

// A kernel affinity mask wide enough for kMaxCpus; cpu_set_t stops at 1024.
using KernelMask = std::array<unsigned long, CpuSet::kMaxCpus / (8 * sizeof(unsigned long))>;
constexpr int kBitsPerWord = 8 * sizeof(unsigned long);

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool ParseCpu(std::string_view text, int* cpu) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *cpu);
  return error == std::errc() && end == text.data() + text.size() && *cpu >= 0 && *cpu < CpuSet::kMaxCpus;
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (int cpu : cpus) {
    Add(cpu);
  }
}

absl::StatusOr<CpuSet> CpuSet::FromMask(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
  }
  if (digits.empty()) {
    return InvalidArgument("CPU mask \"{}\": expected hexadecimal digits, for instance 0x6 for CPUs 1 and 2", text);
  }
  CpuSet set;
  int bit = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, bit += 4) {
    const int value = HexDigit(*digit);
    if (value < 0) {
      return InvalidArgument(
          "CPU mask \"{}\": '{}' is not a hexadecimal digit; expected a mask such as 0x6 for CPUs 1 and 2", text,
          *digit);
    }
    if (value != 0 && bit >= kMaxCpus) {
      return InvalidArgument("CPU mask \"{}\": names a CPU above {}, the highest that is supported", text,
                             kMaxCpus - 1);
    }
    for (int i = 0; i < 4; ++i) {
      if (value & (1 << i)) {
        set.cpus_.push_back(bit + i);
      }
    }
  }
  if (set.empty()) {
    return InvalidArgument("CPU mask \"{}\": no CPU is set; expected at least one, for instance 0x1", text);
  }
  return set;
}

absl::StatusOr<CpuSet> CpuSet::FromList(std::string_view text) {
  CpuSet set;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t dash = item.find('-');
    int first = 0;
    int last = 0;
    const bool valid = dash == std::string_view::npos
                           ? ParseCpu(item, &first) && ParseCpu(item, &last)
                           : ParseCpu(item.substr(0, dash), &first) && ParseCpu(item.substr(dash + 1), &last);
    if (!valid || first > last) {
      return InvalidArgument("CPU list \"{}\": \"{}\" is no CPU number or ascending range in 0-{}, such as 3 or 2-5",
                             text, item, kMaxCpus - 1);
    }
    for (int cpu = first; cpu <= last; ++cpu) {
      set.Add(cpu);
    }
    if (comma == std::string_view::npos) {
      return set;
    }
    rest.remove_prefix(comma + 1);
  }
}

CpuSet CpuSet::Allowed() {
  KernelMask mask{};
  CpuSet set;
  if (sched_getaffinity(0, sizeof(mask), reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
    return set;
  }
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (mask[cpu / kBitsPerWord] >> (cpu % kBitsPerWord) & 1) {
      set.cpus_.push_back(cpu);
    }
  }
  return set;
}

void CpuSet::Add(int cpu) {
  if (cpu < 0 || cpu >= kMaxCpus) {
    return;
  }
  const auto position = std::lower_bound(cpus_.begin(), cpus_.end(), cpu);
  if (position == cpus_.end() || *position != cpu) {
    cpus_.insert(position, cpu);
  }
}

void CpuSet::Remove(int cpu) {
  const auto position = std::lower_bound(cpus_.begin(), cpus_.end(), cpu);
  if (position != cpus_.end() && *position == cpu) {
    cpus_.erase(position);
  }
}

bool CpuSet::Contains(int cpu) const { return std::binary_search(cpus_.begin(), cpus_.end(), cpu); }

std::string CpuSet::ToMask() const {
  const int digits = empty() ? 1 : cpus_.back() / 4 + 1;
  std::string text(digits, '0');
  for (int cpu : cpus_) {
    char& digit = text[digits - 1 - cpu / 4];
    digit = "0123456789abcdef"[HexDigit(digit) | 1 << (cpu % 4)];
  }
  return "0x" + text;
}

std::string CpuSet::ToList() const {
  std::string text;
  for (size_t i = 0; i < cpus_.size();) {
    size_t last = i;
    while (last + 1 < cpus_.size() && cpus_[last + 1] == cpus_[last] + 1) {
      ++last;
    }
    const char* separator = text.empty() ? "" : ",";
    text +=
        last == i ? fmt::format("{}{}", separator, cpus_[i]) : fmt::format("{}{}-{}", separator, cpus_[i], cpus_[last]);
    i = last + 1;
  }
  return text;
}

absl::Status CpuSet::BindThisThread() const {
  KernelMask mask{};
  for (int cpu : cpus_) {
    mask[cpu / kBitsPerWord] |= 1ul << (cpu % kBitsPerWord);
  }
  if (sched_setaffinity(0, sizeof(mask), reinterpret_cast<const cpu_set_t*>(mask.data())) != 0) {
    return ErrnoStatus(
        errno, fmt::format("cannot run on CPUs \"{}\" (the allowed ones are \"{}\")", ToList(), Allowed().ToList()));
  }
  return absl::OkStatus();
}

}  // namespace sluice
