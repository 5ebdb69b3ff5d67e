#include "lib/openflow/messages/flows.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {

std::string_view ReasonName(FlowRemoved::Reason reason) {
  constexpr std::string_view kNames[] = {"idle", "hard", "delete", "group_delete", "meter_delete", "eviction"};
  auto index = static_cast<size_t>(reason);
  return index < std::size(kNames) ? kNames[index] : "";
}

namespace {

std::string ReasonText(FlowRemoved::Reason reason) {
  std::string_view name = ReasonName(reason);
  return name.empty() ? std::to_string(static_cast<int>(reason)) : std::string(name);
}

std::string CountText(uint64_t count) { return count == UINT64_MAX ? "?" : std::to_string(count); }

}  // namespace

void FormatFlowModText(const FlowMod& mod, const Text& text, std::string& out) {
  out += " " + FormatFlowMod(mod, text.form.version, text.names);
}

void FormatFlowStatsRequest(const FlowStatsRequest& request, const Text& text, std::string& out) {
  if (request.table != kTableAll) out += " table=" + FormatOfTable(request.table, text.names);
  if (request.out_port != kOfpNone) out += " out_port=" + FormatOfPort(request.out_port, text.names);
  if (request.out_group != kGroupAny) out += fmt::format(" out_group={}", request.out_group);
  if (request.cookie_mask == UINT64_MAX) {
    out += fmt::format(" cookie={:#x}", request.cookie);
  } else if (request.cookie_mask != 0) {
    out += fmt::format(" cookie={:#x}/{:#x}", request.cookie, request.cookie_mask);
  }
  out += " " + FormatMatch(request.match, 32768, text.names);
}

void FormatFlowStatsReply(const OfFlowStatsReply& reply, const Text& text, std::string& out) {
  for (const OfFlowStats& stats : reply.entries) {
    out += "\n" + FormatFlow(stats, text.names, {});
  }
}

void FormatAggregate(const OfAggregateReply& reply, const Text&, std::string& out) {
  const OfAggregate& aggregate = reply.aggregate;
  out +=
      fmt::format(" packet_count={} byte_count={} flow_count={}", aggregate.packets, aggregate.bytes, aggregate.flows);
}

void FormatFlowRemoved(const FlowRemoved& removed, const Text& text, std::string& out) {
  out += " " + FormatMatch(removed.match, removed.priority, text.names);
  out += " reason=" + ReasonText(removed.reason);
  if (removed.table != 255) out += " table_id=" + FormatOfTable(removed.table, text.names);
  if (removed.cookie != 0) out += fmt::format(" cookie:{:#x}", removed.cookie);
  out += fmt::format(" duration{}", DurationText(removed.duration));
  out += fmt::format(" idle{}", removed.idle_timeout);
  if (removed.hard_timeout != 0) out += fmt::format(" hard{}", removed.hard_timeout);
  out += fmt::format(" pkts{} bytes{}\n", CountText(removed.packets), CountText(removed.bytes));
}

}  // namespace sluice::messages
