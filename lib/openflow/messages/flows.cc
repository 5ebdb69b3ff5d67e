#include "lib/openflow/messages/flows.h"

#include "lib/openflow/messages/match_bytes.h"

namespace sluice::messages {
namespace {

bool IsAggregate(const OfMessage& message) {
  const auto* request = std::get_if<FlowStatsRequest>(&message.body);
  return request != nullptr && request->aggregate;
}

// A flow mod or request in 1.0's own form can say neither a match that needs NXM nor which cookies are meant.
bool FitsFlowMod10(const OfMessage& message, const OfCodecState&) {
  const auto& mod = std::get<FlowMod>(message.body);
  return mod.cookie_mask == 0 && FitsStandardMatch(mod.match, OfVersion::k10);
}
bool FitsFlowMod11(const OfMessage& message, const OfCodecState&) {
  return FitsStandardMatch(std::get<FlowMod>(message.body).match, OfVersion::k11);
}
bool FitsFlow10(const OfMessage& message, const OfCodecState&) {
  const auto& request = std::get<FlowStatsRequest>(message.body);
  return !request.aggregate && request.cookie_mask == 0 && FitsStandardMatch(request.match, OfVersion::k10);
}
bool FitsAggregate10(const OfMessage& message, const OfCodecState&) {
  const auto& request = std::get<FlowStatsRequest>(message.body);
  return request.aggregate && request.cookie_mask == 0 && FitsStandardMatch(request.match, OfVersion::k10);
}
bool FitsFlow(const OfMessage& message, const OfCodecState&) { return !IsAggregate(message); }
bool FitsAggregate(const OfMessage& message, const OfCodecState&) { return IsAggregate(message); }
bool FitsFlowReply10(const OfMessage& message, const OfCodecState&) {
  for (const OfFlowStats& flow : std::get<OfFlowStatsReply>(message.body).entries) {
    if (!FitsStandardMatch(flow.match, OfVersion::k10)) return false;
  }
  return true;
}
bool FitsRemoved10(const OfMessage& message, const OfCodecState&) {
  return FitsStandardMatch(std::get<FlowRemoved>(message.body).match, OfVersion::k10);
}
bool FitsRemoved11(const OfMessage& message, const OfCodecState&) {
  return FitsStandardMatch(std::get<FlowRemoved>(message.body).match, OfVersion::k11);
}

constexpr Codec kFlowMod = Single<ReadFlowMod, WriteFlowMod, FormatFlowModText>();
constexpr Codec kFlowRequest = Single<ReadFlowStatsRequest, WriteFlowStatsRequest, FormatFlowStatsRequest>();
constexpr Codec kAggregateRequest = Single<ReadAggregateRequest, WriteFlowStatsRequest, FormatFlowStatsRequest>();
constexpr Codec kFlowReply = List<OfFlowStatsReply, ReadFlowStats, WriteFlowStats, FormatFlowStatsReply>();
constexpr Codec kAggregate = Single<ReadAggregate, WriteAggregate, FormatAggregate>();
constexpr Codec kRemoved = Single<ReadFlowRemoved, WriteFlowRemoved, FormatFlowRemoved>();

constexpr Row kRows[] = {
    {"OFPT_FLOW_MOD", Space::kPlain, 14, 1, 1, {64, 8}, kFlowMod, 0, FitsFlowMod10},
    {"OFPT_FLOW_MOD", Space::kPlain, 14, 2, 2, {40, 8}, kFlowMod, 0, FitsFlowMod11},
    {"OFPT_FLOW_MOD", Space::kPlain, 14, 3, 6, {40, 8}, kFlowMod},
    {"NXT_FLOW_MOD", Space::kExperimenter, 13, 1, 6, {32, 8}, kFlowMod, kNiciraVendor},
    {"OFPT_FLOW_REMOVED", Space::kPlain, 11, 1, 1, {80, 0}, kRemoved, 0, FitsRemoved10},
    {"OFPT_FLOW_REMOVED", Space::kPlain, 11, 2, 2, {40, 8}, kRemoved, 0, FitsRemoved11},
    {"OFPT_FLOW_REMOVED", Space::kPlain, 11, 3, 5, {40, 8}, kRemoved},
    {"OFPT_FLOW_REMOVED", Space::kPlain, 11, 6, 6, {16, 8}, kRemoved},
    {"NXT_FLOW_REMOVED", Space::kExperimenter, 14, 1, 6, {40, 8}, kRemoved, kNiciraVendor},
    {"OFPST_FLOW request", Space::kRequest, 1, 1, 1, {44, 0}, kFlowRequest, 0, FitsFlow10},
    {"OFPST_FLOW request", Space::kRequest, 1, 2, 6, {32, 8}, kFlowRequest, 0, FitsFlow},
    {"NXST_FLOW request", Space::kExperimenterReq, 0, 1, 1, {8, 8}, kFlowRequest, kNiciraVendor, FitsFlow},
    {"OFPST_AGGREGATE request", Space::kRequest, 2, 1, 1, {44, 0}, kAggregateRequest, 0, FitsAggregate10},
    {"OFPST_AGGREGATE request", Space::kRequest, 2, 2, 6, {32, 8}, kAggregateRequest, 0, FitsAggregate},
    {"NXST_AGGREGATE request",
     Space::kExperimenterReq,
     1,
     1,
     1,
     {8, 8},
     kAggregateRequest,
     kNiciraVendor,
     FitsAggregate},
    {"OFPST_FLOW reply", Space::kReply, 1, 1, 1, {0, 1}, kFlowReply, 0, FitsFlowReply10},
    {"OFPST_FLOW reply", Space::kReply, 1, 2, 6, {0, 1}, kFlowReply},
    {"NXST_FLOW reply", Space::kExperimenterReply, 0, 1, 1, {0, 1}, kFlowReply, kNiciraVendor},
    {"OFPST_AGGREGATE reply", Space::kReply, 2, 1, 5, {24, 0}, kAggregate},
    {"OFPST_AGGREGATE reply", Space::kReply, 2, 6, 6, {0, 1}, kAggregate},
    {"NXST_AGGREGATE reply", Space::kExperimenterReply, 1, 1, 1, {24, 0}, kAggregate, kNiciraVendor},
};

}  // namespace

absl::Span<const Row> FlowRows() { return kRows; }

}  // namespace sluice::messages
