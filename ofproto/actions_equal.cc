#include "ofproto/actions_equal.h"

#include <algorithm>

namespace sluice {
namespace {

bool Same(const OutputAction& a, const OutputAction& b) { return a.port == b.port; }
bool Same(const DropAction&, const DropAction&) { return true; }
bool Same(const SetAction& a, const SetAction& b) {
  return a.header == b.header && a.value == b.value && a.mask == b.mask;
}
bool Same(const PushVlanAction& a, const PushVlanAction& b) { return a.tpid == b.tpid && a.tci == b.tci; }
bool Same(const PopVlanAction&, const PopVlanAction&) { return true; }
bool Same(const PushMplsAction& a, const PushMplsAction& b) { return a.eth_type == b.eth_type && a.lse == b.lse; }
bool Same(const PopMplsAction& a, const PopMplsAction& b) { return a.eth_type == b.eth_type; }
bool Same(const RecircAction& a, const RecircAction& b) { return a.id == b.id; }
bool Same(const HashAction& a, const HashAction& b) { return a.algorithm == b.algorithm && a.basis == b.basis; }
bool Same(const CloneAction& a, const CloneAction& b) { return ActionsEqual(a.actions, b.actions); }
bool Same(const SampleAction& a, const SampleAction& b) {
  return a.probability == b.probability && ActionsEqual(a.actions, b.actions);
}
bool Same(const TruncAction& a, const TruncAction& b) { return a.max_length == b.max_length; }
bool Same(const CheckPktLenAction& a, const CheckPktLenAction& b) {
  return a.length == b.length && ActionsEqual(a.if_greater, b.if_greater) &&
         ActionsEqual(a.if_less_or_equal, b.if_less_or_equal);
}
bool Same(const UserspaceAction& a, const UserspaceAction& b) {
  return a.pid == b.pid && a.userdata == b.userdata && a.include_actions == b.include_actions &&
         a.tunnel_out_port == b.tunnel_out_port;
}

}  // namespace

bool ActionsEqual(const ActionList& a, const ActionList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Action& x, const Action& y) {
    if (x.value.index() != y.value.index()) return false;
    return std::visit(
        [&y](const auto& action) { return Same(action, std::get<std::decay_t<decltype(action)>>(y.value)); }, x.value);
  });
}

bool OutputsTo(const ActionList& actions, const std::function<bool(uint32_t port)>& wanted) {
  return std::any_of(actions.begin(), actions.end(), [&wanted](const Action& action) {
    if (const auto* output = std::get_if<OutputAction>(&action.value)) return wanted(output->port);
    if (const auto* clone = std::get_if<CloneAction>(&action.value)) return OutputsTo(clone->actions, wanted);
    if (const auto* sample = std::get_if<SampleAction>(&action.value)) return OutputsTo(sample->actions, wanted);
    if (const auto* check = std::get_if<CheckPktLenAction>(&action.value)) {
      return OutputsTo(check->if_greater, wanted) || OutputsTo(check->if_less_or_equal, wanted);
    }
    return false;
  });
}

}  // namespace sluice
