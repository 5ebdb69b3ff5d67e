// Flow monitors: one request may set up several.
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr size_t kPerPiece = 128;

OfStatus Monitor(OfRequest& request, OfReply<OfFlowMonitorRequest>& asked) {
  OfConnection& from = request.from;
  std::vector<OfFlowUpdate> initial;
  std::vector<uint32_t> added;
  for (const OfFlowMonitorRequest& monitor : asked.entries) {
    OfStatus failed = CheckMatch(monitor.match);
    if (!failed) failed = from.monitors.Apply(monitor, request.pipeline().tables, initial);
    if (failed) {
      // All of them or none.
      for (const uint32_t id : added) from.monitors.Cancel(id);
      return failed;
    }
    if (monitor.command == 0) added.push_back(monitor.id);
  }
  request.ReplyInPieces<OfFlowMonitorReply>(std::move(initial), kPerPiece);
  return std::nullopt;
}

OfStatus Cancel(OfRequest& request, OfFlowMonitorCancel& cancel) { return request.from.monitors.Cancel(cancel.id); }

}  // namespace

void AddMonitorRequests(RequestTable& table) {
  table.Add<OfReply<OfFlowMonitorRequest>>(Monitor);
  table.Add<OfFlowMonitorCancel>(Cancel);
}

}  // namespace sluice
