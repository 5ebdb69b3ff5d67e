// FailOpen: what a bridge whose fail_mode is standalone does while none of its controllers answers: after three
// inactivity probes' time its flows make place for one that forwards by NORMAL, until a controller answers.
//
// No clock of its own. Loop thread.
#pragma once

#include <chrono>

#include "ofproto/flows/flow_tables.h"

namespace sluice {

class FailOpen {
 public:
  using Duration = std::chrono::steady_clock::duration;

  static constexpr uint16_t kPriority = 0xf0f0;
  static constexpr std::chrono::seconds kDefaultProbe{5};

  FailOpen(FlowTables& tables, std::string bridge) : tables_(tables), bridge_(std::move(bridge)) {}

  bool is_active() const { return active_; }
  // `failed`: how long no controller has answered. `probe`: the longest inactivity probe of a controller; 0: none.
  void Update(Duration failed, Duration probe);
  // A controller answers, or there is nothing to stand in for any more.
  void Recover();

 private:
  FlowTables& tables_;
  const std::string bridge_;
  bool active_ = false;
};

}  // namespace sluice
