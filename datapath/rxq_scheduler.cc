#include "datapath/rxq_scheduler.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "lib/base/status.h"

namespace sluice {
namespace {

// Hands out threads, in turn or by load.
class ThreadPicker {
 public:
  ThreadPicker(std::vector<size_t> candidates, RxqAssignment assignment, const std::vector<uint64_t>& load,
               const std::vector<size_t>& queues)
      : candidates_(std::move(candidates)), assignment_(assignment), load_(load), queues_(queues) {}

  size_t Next() {
    if (assignment_ == RxqAssignment::kGroup) {
      return *std::min_element(candidates_.begin(), candidates_.end(), [this](size_t a, size_t b) {
        return std::pair(load_[a], queues_[a]) < std::pair(load_[b], queues_[b]);
      });
    }
    size_t lap = turn_ / candidates_.size();
    size_t place = turn_ % candidates_.size();
    ++turn_;
    bool backwards = assignment_ == RxqAssignment::kCycles && lap % 2 == 1;
    return candidates_[backwards ? candidates_.size() - 1 - place : place];
  }

 private:
  const std::vector<size_t> candidates_;
  const RxqAssignment assignment_;
  const std::vector<uint64_t>& load_;
  const std::vector<size_t>& queues_;
  size_t turn_ = 0;
};

// A whole decimal number at the front of `text`, taken off it.
bool TakeNumber(std::string_view& text, uint32_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

absl::StatusOr<RxqAssignment> ParseRxqAssignment(std::string_view text) {
  if (text == "roundrobin") return RxqAssignment::kRoundRobin;
  if (text == "cycles") return RxqAssignment::kCycles;
  if (text == "group") return RxqAssignment::kGroup;
  return InvalidArgument("pmd-rxq-assign {}: expected roundrobin, cycles or group", text);
}

std::string_view RxqAssignmentName(RxqAssignment assignment) {
  switch (assignment) {
    case RxqAssignment::kRoundRobin:
      return "roundrobin";
    case RxqAssignment::kCycles:
      return "cycles";
    case RxqAssignment::kGroup:
      return "group";
  }
  return "";
}

RxqPlan ScheduleRxqs(absl::Span<const RxqLoad> queues, absl::Span<const int> cores, RxqAssignment assignment,
                     bool isolate) {
  RxqPlan plan;
  plan.thread_of.resize(queues.size());
  plan.isolated.resize(cores.size());
  plan.load.resize(cores.size());
  std::vector<size_t> queue_count(cores.size());
  auto assign = [&](size_t queue, size_t thread) {
    plan.thread_of[queue] = thread;
    plan.load[thread] += queues[queue].cycles;
    ++queue_count[thread];
  };

  std::vector<size_t> order;
  for (size_t i = 0; i < queues.size(); ++i) {
    if (!queues[i].core) {
      order.push_back(i);
      continue;
    }
    auto thread = std::find(cores.begin(), cores.end(), queues[i].core);
    if (thread == cores.end()) {
      plan.warnings.push_back(fmt::format("port {} queue {}: no PMD thread on core {}, pinning ignored", queues[i].port,
                                          queues[i].queue, *queues[i].core));
      order.push_back(i);
      continue;
    }
    auto index = static_cast<size_t>(thread - cores.begin());
    assign(i, index);
    if (isolate) plan.isolated[index] = true;
  }
  if (order.empty()) return plan;

  std::vector<size_t> candidates;
  for (size_t i = 0; i < cores.size(); ++i) {
    if (!plan.isolated[i]) candidates.push_back(i);
  }
  if (candidates.empty()) {
    plan.warnings.push_back("every PMD thread is isolated by pinned queues: the other queues share them");
    candidates.resize(cores.size());
    std::iota(candidates.begin(), candidates.end(), size_t{0});
  }
  if (assignment != RxqAssignment::kRoundRobin) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return queues[a].cycles > queues[b].cycles; });
  }
  ThreadPicker picker(std::move(candidates), assignment, plan.load, queue_count);
  for (size_t queue : order) assign(queue, picker.Next());
  return plan;
}

absl::StatusOr<std::vector<std::pair<uint32_t, int>>> ParseRxqAffinity(std::string_view text) {
  std::vector<std::pair<uint32_t, int>> pins;
  std::string_view rest = text;
  auto malformed = [&] {
    return InvalidArgument("pmd-rxq-affinity {}: expected QUEUE:CORE[,QUEUE:CORE...], as in 0:3,1:7", text);
  };
  while (!rest.empty()) {
    uint32_t queue = 0;
    uint32_t core = 0;
    if (!TakeNumber(rest, queue) || !rest.starts_with(':')) return malformed();
    rest.remove_prefix(1);
    if (!TakeNumber(rest, core) || core > INT32_MAX) return malformed();
    for (const auto& [known, unused] : pins) {
      if (known == queue) return InvalidArgument("pmd-rxq-affinity {}: queue {} is named twice", text, queue);
    }
    pins.emplace_back(queue, static_cast<int>(core));
    if (rest.empty()) break;
    if (!rest.starts_with(',') || rest.size() == 1) return malformed();
    rest.remove_prefix(1);
  }
  return pins;
}

}  // namespace sluice
