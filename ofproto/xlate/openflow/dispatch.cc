// Lists of actions, action sets, and the actions that only steer.
#include <algorithm>
#include <variant>

#include "ofproto/xlate/translator.h"

namespace sluice {

void Translator::RunList(Pass& pass, absl::Span<const OfAction> actions, bool is_last, bool is_group_bucket) {
  if (actions.empty() && !is_group_bucket) {
    if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, "drop");
    if (reason_.empty()) reason_ = "the flow drops";
  }
  for (size_t i = 0; i < actions.size(); ++i) {
    const OfAction& action = actions[i];
    if (failed_) return;
    if (pass.exit) {
      if (pass.freezing) KeepRest(pass, actions.subspan(i));
      return;
    }
    if (RecirculatesFor(pass, action)) return KeepRest(pass, actions.subspan(i));
    if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, FormatActions(OfActions{action}, OfNames{}));
    List list{.rest = actions.subspan(i + 1)};
    list.is_last = is_last && list.rest.empty() && pass.action_set.empty();
    const Step step =
        std::visit([this, &pass, &list](const auto& alternative) { return Do(pass, alternative, list); }, action.value);
    if (failed_) return;
    if (pass.frozen_this) {
      pass.frozen_this = false;
      return KeepRest(pass, actions.subspan(i));
    }
    if (step == Step::kEndList) return;
  }
}

// Action sets
// ------------------------------------------------------------------------------------------------------------------

namespace {

// The order of OpenFlow 1.5.1, 5.6: each of these once, the latest.
template <typename T>
void AddLatest(const OfActions& set, OfActions& ordered) {
  auto latest =
      std::find_if(set.rbegin(), set.rend(), [](const OfAction& action) { return std::holds_alternative<T>(action.value); });
  if (latest != set.rend()) ordered.push_back(*latest);
}

template <typename T>
bool Has(const OfActions& set) {
  return std::any_of(set.begin(), set.end(), [](const OfAction& action) { return std::holds_alternative<T>(action.value); });
}

template <typename... Ts>
bool IsAnyOf(const OfAction& action) {
  return (std::holds_alternative<Ts>(action.value) || ...);
}

bool SetsOrMoves(const OfAction& action) {
  return IsAnyOf<OfSetVlanVid, OfSetVlanPcp, OfSetEth, OfSetIpv4, OfSetL4Port, OfSetIpDscp, OfSetIpEcn, OfSetIpTtl,
                 OfSetField, OfMove, OfSetMplsLabel, OfSetMplsTc, OfSetMplsTtl, OfDeleteField>(action);
}

}  // namespace

// A set that leads nowhere does nothing.
OfActions Translator::InSetOrder(const OfActions& set) const {
  if (!Has<OfGroup>(set) && !Has<OfOutput>(set) && !Has<OfOutputReg>(set) && !Has<OfOutputTrunc>(set) &&
      !Has<OfController>(set) && !Has<OfResubmit>(set)) {
    return {};
  }
  OfActions ordered;
  AddLatest<OfStripVlan>(set, ordered);
  AddLatest<OfPopMpls>(set, ordered);
  AddLatest<OfPushMpls>(set, ordered);
  AddLatest<OfPushVlan>(set, ordered);
  AddLatest<OfDecTtl>(set, ordered);
  AddLatest<OfDecMplsTtl>(set, ordered);
  AddLatest<OfDecNshTtl>(set, ordered);
  std::copy_if(set.begin(), set.end(), std::back_inserter(ordered), SetsOrMoves);
  AddLatest<OfSetQueue>(set, ordered);
  if (Has<OfGroup>(set)) {
    AddLatest<OfGroup>(set, ordered);
    return ordered;
  }
  auto output = std::find_if(set.rbegin(), set.rend(), [](const OfAction& action) {
    return IsAnyOf<OfOutput, OfOutputReg, OfOutputTrunc, OfController>(action);
  });
  if (output != set.rend()) {
    ordered.push_back(*output);
  } else {
    AddLatest<OfResubmit>(set, ordered);
  }
  return ordered;
}

void Translator::RunActionSet(Pass& pass) {
  if (pass.action_set.empty()) return;
  OfActions ordered = InSetOrder(std::exchange(pass.action_set, {}));
  if (ordered.empty()) return;
  TraceScope scope(*this, TraceNode::Type::kTable, "--. Executing action set:");
  pass.in_action_set = true;
  RunList(pass, ordered, /*is_last=*/true);
  pass.in_action_set = false;
}

void Translator::RunBucketSet(Pass& pass, const OfActions& actions, bool is_last) {
  OfActions ordered = InSetOrder(actions);
  RunList(pass, ordered, is_last, /*is_group_bucket=*/true);
}

// Actions that steer
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfWriteActions& action, const List&) {
  for (const OfAction& written : *action.actions) {
    pass.action_set.push_back(written);
    if (const auto* output = std::get_if<OfOutput>(&written.value)) {
      if (!Has<OfGroup>(pass.action_set)) pass.flow.actset_output = output->port;
    } else if (std::holds_alternative<OfGroup>(written.value)) {
      pass.flow.actset_output = kOfpUnset;
    }
  }
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfClearActions&, const List&) {
  pass.action_set.clear();
  pass.flow.actset_output = kOfpUnset;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfWriteMetadata& action, const List&) {
  pass.flow.metadata = (pass.flow.metadata & ~action.mask) | (action.metadata & action.mask);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfExit&, const List&) {
  pass.exit = true;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass&, const OfNote&, const List&) { return Step::kNext; }

// Matched while the table was searched.
Translator::Step Translator::Do(Pass&, const OfConjunction&, const List&) {
  Note("conjunction: the flow matches one dimension");
  return Step::kNext;
}

// There are no collectors.
Translator::Step Translator::Do(Pass&, const OfSample&, const List&) { return Step::kNext; }

}  // namespace sluice
