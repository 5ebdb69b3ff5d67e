// Nicira's extensions that set how a connection speaks, and what belongs nowhere else.
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr uint32_t kFormatOpenFlow10 = 0;
constexpr uint32_t kFormatNxm = 2;

OfStatus SetFlowFormat(OfRequest& request, NxSetFlowFormat& set) {
  if (set.format != kFormatOpenFlow10 && set.format != kFormatNxm) {
    return OfFailure{OfError::kBrcEperm, fmt::format("flow format {} is unknown: expected 0 or 2", set.format)};
  }
  request.from.nxm = set.format == kFormatNxm;
  return std::nullopt;
}

OfStatus SetFlowModTableId(OfRequest& request, NxSetFlowModTableId& set) {
  request.from.codec.nx_table_id = set.on;
  return std::nullopt;
}

OfStatus SetPacketInFormat(OfRequest& request, NxSetPacketInFormat& set) {
  request.from.codec.packet_in = set.format;
  return std::nullopt;
}

OfStatus SetControllerId(OfRequest& request, NxSetControllerId& set) {
  request.from.controller_id = set.id;
  return std::nullopt;
}

OfStatus ModifyTlvTable(OfRequest& request, NxTlvTableMod& mod) { return request.core.tlv_table.Apply(mod); }

OfStatus DescribeTlvTable(OfRequest& request, NxTlvTableRequest&) {
  request.Reply(request.core.tlv_table.Describe());
  return std::nullopt;
}

OfStatus FlushConnections(OfRequest&, NxCtFlush&) {
  return OfFailure{OfError::kBrcBadExpType, "connections are not tracked yet: there are none to flush"};
}

OfStatus Ipfix(OfRequest&, OfIpfixStatsRequest&) {
  return OfFailure{OfError::kBrcBadStat, "IPFIX is not built: there are no statistics of it"};
}

}  // namespace

void AddNiciraRequests(RequestTable& table) {
  table.Add<NxSetFlowFormat>(SetFlowFormat);
  table.Add<NxSetFlowModTableId>(SetFlowModTableId);
  table.Add<NxSetPacketInFormat>(SetPacketInFormat);
  table.Add<NxSetControllerId>(SetControllerId);
  table.AddChange<NxTlvTableMod>(ModifyTlvTable);
  table.Add<NxTlvTableRequest>(DescribeTlvTable);
  table.AddChange<NxCtFlush>(FlushConnections);
  table.Add<OfIpfixStatsRequest>(Ipfix);
}

}  // namespace sluice
