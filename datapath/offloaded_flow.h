// OffloadedFlow: the share of a flow that is forwarded elsewhere than in the PMD threads (KernelForwarding).
#pragma once

namespace sluice {

struct FlowStats;

// Belongs to its flow and is destroyed with it, after a grace period, in any thread.
class OffloadedFlow {
 public:
  virtual ~OffloadedFlow() = default;

  // Nothing of the flow is forwarded elsewhere from now on: its actions change, or it goes (`gone`, the last call).
  // Under the table's writer mutex.
  virtual void Withdraw(bool gone) = 0;

  // Adds what has been forwarded elsewhere since the flow was made. Any thread that may read the flow.
  virtual void AddStats(FlowStats& sum) const = 0;
};

}  // namespace sluice
