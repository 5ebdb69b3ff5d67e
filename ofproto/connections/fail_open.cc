#include "ofproto/connections/fail_open.h"

#include <utility>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("fail_open");

FlowMod StandInFlow(FlowCommand command) {
  FlowMod mod{.command = command, .priority = FailOpen::kPriority, .table = 0, .flags = kHiddenFlow};
  mod.actions.push_back({OfOutput{.port = kOfpNormal}});
  return mod;
}

}  // namespace

// One probe is silence, one is waited for, and one is for a new connection.
void FailOpen::Update(Duration failed, Duration probe) {
  if (active_ || failed < 3 * (probe.count() > 0 ? probe : Duration(kDefaultProbe))) return;
  SLUICE_LOG(log_module, kWarn, "bridge {}: no controller has answered for {} s: forwarding as without one", bridge_,
             std::chrono::duration_cast<std::chrono::seconds>(failed).count());
  tables_.Flush();
  if (OfStatus refused = tables_.Apply(StandInFlow(FlowCommand::kAdd), {})) {
    SLUICE_LOG(log_module, kErr, "bridge {}: {}", bridge_, refused->message);
    return;
  }
  active_ = true;
}

void FailOpen::Recover() {
  if (!std::exchange(active_, false)) return;
  SLUICE_LOG(log_module, kWarn, "bridge {}: controllers decide again", bridge_);
  if (OfStatus refused = tables_.Apply(StandInFlow(FlowCommand::kDeleteStrict), {})) {
    SLUICE_LOG(log_module, kErr, "bridge {}: {}", bridge_, refused->message);
  }
}

}  // namespace sluice
