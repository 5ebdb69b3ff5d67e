// Actions that have lists of datapath actions inside: clone, check_pkt_larger; and meters.
#include <algorithm>

#include "ofproto/xlate/translator.h"

namespace sluice {

// Whether what the actions do to the datapath's packet can be undone by setting it back.
bool Translator::CanUndo(absl::Span<const OfAction> actions) const {
  return std::none_of(actions.begin(), actions.end(), [](const OfAction& action) {
    return std::holds_alternative<OfMeter>(action.value) || std::holds_alternative<OfOutputTrunc>(action.value) ||
           std::holds_alternative<OfDecNshTtl>(action.value);
  });
}

// The clone begins with an action set of its own, and leaves nothing behind.
Translator::Step Translator::Do(Pass& pass, const OfClone& action, const List& list) {
  const OfFlow flow = pass.flow;
  const TagStack tags = pass.tags;
  const bool was_mpls = pass.was_mpls;
  std::vector<SubValue> stack = pass.stack;
  OfActions action_set = std::exchange(pass.action_set, {});
  auto run = [&](bool is_last) {
    RunList(pass, *action.actions, is_last);
    FinishPass(pass);
  };
  if (list.is_last || CanUndo(*action.actions)) {
    run(list.is_last);
  } else {
    composer_.Commit(pass.flow.packet, pass.tags, !pass.was_mpls);
    ActionList nested;
    const ActionComposer::Place place = composer_.Enter(nested);
    run(/*is_last=*/true);
    composer_.Leave(place);
    if (!nested.empty()) composer_.Add({CloneAction{std::move(nested)}});
  }
  pass.flow = flow;
  pass.tags = tags;
  pass.was_mpls = was_mpls;
  pass.stack = std::move(stack);
  pass.action_set = std::move(action_set);
  pass.exit = false;
  return Step::kNext;
}

// What is behind is carried out twice: for packets that are larger, and for those that are not.
Translator::Step Translator::Do(Pass& pass, const OfCheckPktLarger& action, const List& list) {
  if (list.rest.empty() && list.is_last) return Step::kNext;
  composer_.Commit(pass.flow.packet, pass.tags, !pass.was_mpls);
  ActionList branches[2];
  const Pass before = pass;
  for (size_t larger : {size_t{1}, size_t{0}}) {
    if (trace_ != nullptr) {
      AddNode(TraceNode::Type::kDetail, larger == 1 ? "If the packet is larger:" : "If the packet is not larger:");
    }
    SubValue value{};
    value[15] = static_cast<uint8_t>(larger);
    const ActionComposer::Place place = composer_.Enter(branches[larger]);
    WriteField(pass, action.destination, value);
    RunList(pass, list.rest, list.is_last, /*is_group_bucket=*/true);
    FinishPass(pass);
    composer_.Leave(place);
    if (failed_) return Step::kEndList;
    pass.flow = before.flow;
    pass.tags = before.tags;
    pass.was_mpls = before.was_mpls;
    pass.stack = before.stack;
    pass.action_set = before.action_set;
    pass.exit = before.exit;
  }
  composer_.Add({CheckPktLenAction{.length = action.length,
                                   .if_greater = std::move(branches[1]),
                                   .if_less_or_equal = std::move(branches[0])}});
  // Both have carried it out.
  pass.action_set.clear();
  return Step::kEndList;
}

Translator::Step Translator::Do(Pass& pass, const OfMeter& action, const List&) {
  std::optional<uint32_t> number =
      pass.bridge.pipeline == nullptr ? std::nullopt : pass.bridge.pipeline->meters.DatapathNumber(action.meter);
  if (number) composer_.Add({MeterAction{*number}});
  return Step::kNext;
}

}  // namespace sluice
