#include "ofproto/connections/flow_monitors.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

using Event = OfFlowUpdate::Event;

constexpr uint8_t kCommandAdd = 0;
constexpr uint8_t kCommandModify = 1;
constexpr uint8_t kCommandDelete = 2;
constexpr uint16_t kKnownFlags = 0x7f;

// Whether the rule's match is at least as narrow as the monitor's and agrees with it.
bool IsWithin(const OfMatch& rule, const OfMatch& wanted) {
  for (size_t i = 0; i < OfFlow::kWords; ++i) {
    const uint64_t mask = wanted.mask.Word(i);
    if ((mask & ~rule.mask.Word(i)) != 0) return false;
    if (((rule.value.Word(i) ^ wanted.value.Word(i)) & mask) != 0) return false;
  }
  return true;
}

bool Selects(const OfFlowMonitorRequest& monitor, const Rule& rule) {
  if (monitor.table != kTableAll && monitor.table != rule.table) return false;
  if (!IsWithin(rule.match, monitor.match)) return false;
  if (monitor.out_port != kOfpNone && !OutputsToPort(*rule.actions, monitor.out_port)) return false;
  return monitor.out_group == kGroupAny || OutputsToGroup(*rule.actions, monitor.out_group);
}

uint16_t FlagOf(FlowEvent event) {
  switch (event) {
    case FlowEvent::kAdded:
      return kMonitorAdd;
    case FlowEvent::kModified:
      return kMonitorModify;
    case FlowEvent::kRemoved:
      return kMonitorRemoved;
  }
  return 0;
}

OfFlowUpdate UpdateOf(const Rule& rule, Event event, bool instructions) {
  OfFlowUpdate update{.event = event,
                      .idle_timeout = rule.counters->idle_timeout.load(std::memory_order_relaxed),
                      .hard_timeout = rule.counters->hard_timeout.load(std::memory_order_relaxed),
                      .priority = rule.priority,
                      .table = rule.table,
                      .cookie = rule.cookie,
                      .match = rule.match};
  if (instructions) update.actions = *rule.actions;
  return update;
}

}  // namespace

OfStatus FlowMonitors::Apply(const OfFlowMonitorRequest& request, const FlowTables& tables,
                             std::vector<OfFlowUpdate>& initial) {
  if (request.command == kCommandDelete) return Cancel(request.id);
  const bool exists = monitors_.contains(request.id);
  if (request.command == kCommandAdd && exists) {
    return OfFailure{OfError::kMofcMonitorExists, fmt::format("flow monitor {} exists already", request.id)};
  }
  if (request.command == kCommandModify && !exists) {
    return OfFailure{OfError::kMofcUnknownMonitor, fmt::format("flow monitor {} does not exist", request.id)};
  }
  if (request.command > kCommandDelete) {
    return OfFailure{OfError::kMofcBadCommand, fmt::format("flow monitor command {} is unknown", request.command)};
  }
  const bool any = (request.flags & (kMonitorInitial | kMonitorAdd | kMonitorRemoved | kMonitorModify)) != 0;
  if ((request.flags & ~kKnownFlags) != 0 || !any) {
    return OfFailure{OfError::kMofcBadFlags,
                     fmt::format("flow monitor {} has flags {:#x}: unknown ones, or none that says what to monitor",
                                 request.id, request.flags)};
  }
  if (!exists && monitors_.size() >= kMaxMonitors) {
    return OfFailure{OfError::kMofcUnknown, fmt::format("there are {} flow monitors already", monitors_.size())};
  }
  monitors_[request.id] = request;
  if ((request.flags & kMonitorInitial) == 0) return std::nullopt;
  const FlowStatsRequest wanted{
      .match = request.match, .out_port = request.out_port, .out_group = request.out_group, .table = request.table};
  for (const RulePtr& rule : tables.Collect(wanted)) {
    if ((rule->flags & kHiddenFlow) != 0) continue;
    initial.push_back(UpdateOf(*rule, Event::kInitial, (request.flags & kMonitorInstructions) != 0));
  }
  return std::nullopt;
}

OfStatus FlowMonitors::Cancel(uint32_t id) {
  if (monitors_.erase(id) == 1) return std::nullopt;
  return OfFailure{OfError::kMofcUnknownMonitor, fmt::format("flow monitor {} does not exist", id)};
}

FlowMonitors::Wanted FlowMonitors::Find(const Rule& rule, uint16_t event, bool own) const {
  Wanted wanted;
  for (const auto& [id, monitor] : monitors_) {
    if ((monitor.flags & event) == 0 || !Selects(monitor, rule)) continue;
    if ((monitor.flags & kMonitorOnlyOwn) != 0 && !own) continue;
    wanted.any = true;
    wanted.full |= (monitor.flags & kMonitorNoAbbrev) != 0;
    wanted.instructions |= (monitor.flags & kMonitorInstructions) != 0;
  }
  return wanted;
}

std::vector<OfFlowUpdate> FlowMonitors::Report(absl::Span<const FlowNotice> notices, uint32_t self, size_t backlog) {
  std::vector<OfFlowUpdate> updates;
  if (monitors_.empty()) return updates;
  bool abbreviated = false;
  for (const FlowNotice& notice : notices) {
    const Rule& rule = *notice.rule;
    if ((rule.flags & kHiddenFlow) != 0) continue;
    // Paused, the peer will be told of what is there then; what it knew and is gone it would not hear of.
    if (paused_ && (notice.event != FlowEvent::kRemoved || rule.created > *paused_)) continue;
    const bool own = notice.controller == self;
    const Wanted wanted = Find(rule, FlagOf(notice.event), own);
    if (!wanted.any) continue;
    if (own && !wanted.full && !paused_) {
      if (!std::exchange(abbreviated, true)) updates.push_back({.event = Event::kAbbrev, .xid = notice.xid});
      continue;
    }
    const bool removed = notice.event == FlowEvent::kRemoved;
    const Event event = removed                             ? Event::kRemoved
                        : notice.event == FlowEvent::kAdded ? Event::kAdded
                                                            : Event::kModified;
    updates.push_back(UpdateOf(rule, event, wanted.instructions && !removed));
    updates.back().reason = notice.reason;
  }
  if (!updates.empty() && !paused_ && backlog >= kPauseBytes) {
    paused_ = OfClock::now();
    updates.push_back({.event = Event::kPaused});
  }
  return updates;
}

std::vector<OfFlowUpdate> FlowMonitors::Resume(const FlowTables& tables) {
  std::vector<OfFlowUpdate> updates;
  if (!paused_) return updates;
  const OfClock::time_point since = *paused_;
  paused_.reset();
  for (const RulePtr& rule : tables.Collect({})) {
    if ((rule->flags & kHiddenFlow) != 0 || rule->modified.load(std::memory_order_relaxed) < since) continue;
    const bool added = rule->created >= since;
    const Wanted wanted = Find(*rule, added ? kMonitorAdd : kMonitorModify, false);
    if (!wanted.any) continue;
    updates.push_back(UpdateOf(*rule, added ? Event::kAdded : Event::kModified, wanted.instructions));
  }
  updates.push_back({.event = Event::kResumed});
  return updates;
}

}  // namespace sluice
