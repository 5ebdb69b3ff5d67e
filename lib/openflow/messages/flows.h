// Flow mods, flow statistics and flow-removed: the functions behind their rows.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

OfResult<FlowMod> ReadFlowMod(WireReader& in, const Form& form);
void WriteFlowMod(const FlowMod& mod, const Form& form, WireWriter& out);
void FormatFlowModText(const FlowMod& mod, const Text& text, std::string& out);

OfResult<FlowStatsRequest> ReadFlowStatsRequest(WireReader& in, const Form& form);
OfResult<FlowStatsRequest> ReadAggregateRequest(WireReader& in, const Form& form);
void WriteFlowStatsRequest(const FlowStatsRequest& request, const Form& form, WireWriter& out);
void FormatFlowStatsRequest(const FlowStatsRequest& request, const Text& text, std::string& out);

OfResult<OfFlowStats> ReadFlowStats(WireReader& in, const Form& form);
void WriteFlowStats(const OfFlowStats& stats, const Form& form, WireWriter& out);
void FormatFlowStatsReply(const OfFlowStatsReply& reply, const Text& text, std::string& out);

OfResult<OfAggregateReply> ReadAggregate(WireReader& in, const Form& form);
void WriteAggregate(const OfAggregateReply& reply, const Form& form, WireWriter& out);
void FormatAggregate(const OfAggregateReply& reply, const Text& text, std::string& out);

OfResult<FlowRemoved> ReadFlowRemoved(WireReader& in, const Form& form);
void WriteFlowRemoved(const FlowRemoved& removed, const Form& form, WireWriter& out);
void FormatFlowRemoved(const FlowRemoved& removed, const Text& text, std::string& out);

// Statistics of flows in OpenFlow 1.5 (7.2.4): a list of OXS entries.
struct OxsStats {
  std::chrono::nanoseconds duration{0};
  int idle_age = -1;  // seconds
  uint64_t packets = UINT64_MAX;
  uint64_t bytes = UINT64_MAX;
  uint32_t flows = 0;
  bool has_flows = false;
  bool has_duration = true;
};
void WriteOxsStats(const OxsStats& stats, WireWriter& out);
OfResult<OxsStats> ReadOxsStats(WireReader& in);

}  // namespace sluice::messages
