// One bridge's tables, with verbs, and what they told about changes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "lib/base/rcu.h"
#include "tests/ofproto/flows/flow_maker.h"

namespace sluice {

class FlowTablesTest : public testing::Test {
 protected:
  FlowTablesTest() {
    tables_.OnChange([this](absl::Span<const FlowNotice> notices) {
      notices_.insert(notices_.end(), notices.begin(), notices.end());
    });
  }

  // "" or the error's name in the specification, as far as these tests need it.
  static OfError ErrorOf(const OfStatus& status) { return status.has_value() ? status->error : OfError{}; }
  void Apply(const FlowMod& mod) {
    OfStatus failure = tables_.Apply(mod, {});
    ASSERT_FALSE(failure.has_value()) << failure->message;
  }
  void Add(uint16_t priority, const OfMatch& match, OfPort output) { Apply(AddFlow(priority, match, output)); }
  static FlowMod Command(FlowCommand command, uint16_t priority, const OfMatch& match, OfPort output = 1) {
    FlowMod mod = AddFlow(priority, match, output, kTableAll);
    mod.command = command;
    mod.new_cookie = UINT64_MAX;  // as OpenFlow 1.2 and later decode it
    return mod;
  }
  static OfMatch InPort(OfPort port) {
    OfMatch match;
    MatchInPort(match, port);
    return match;
  }
  static OfMatch Ipv4Dst(uint32_t address, int bits) {
    OfMatch match;
    MatchIpv4Dst(match, address, bits);
    return match;
  }

  std::vector<RulePtr> All() { return tables_.Collect({}); }
  // The flow with the match; nullptr: there is none.
  RulePtr Find(const OfMatch& match) {
    for (const RulePtr& rule : All()) {
      if (rule->match.Expand() == match) return rule;
    }
    return nullptr;
  }
  // Where the flow with the match sends packets; 0: there is none.
  OfPort OutputOf(const OfMatch& match) {
    RulePtr rule = Find(match);
    return rule == nullptr ? 0 : std::get<OfOutput>(rule->actions->at(0).value).port;
  }
  std::vector<FlowNotice> TakeNotices() { return std::exchange(notices_, {}); }

  RcuThread reader_;
  FlowTables tables_;
  std::vector<FlowNotice> notices_;
};

}  // namespace sluice
