// FlowData: what whoever installs flows keeps with each of them.
#pragma once

namespace sluice {

// Destroyed with its flow, after a grace period, in any thread.
class FlowData {
 public:
  virtual ~FlowData() = default;
};

}  // namespace sluice
