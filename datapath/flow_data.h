// FlowData: what whoever installs flows keeps with each of them.
#pragma once

namespace sluice {

struct FlowStats;

// Destroyed with its flow, after a grace period, in any thread.
class FlowData {
 public:
  virtual ~FlowData() = default;

  // The flow is about to be destroyed, however it was removed; `last` is final: no thread counts any more. Same thread.
  virtual void OnGone(const FlowStats& last) = 0;
};

}  // namespace sluice
