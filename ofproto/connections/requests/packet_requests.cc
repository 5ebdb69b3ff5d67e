// Packet-out, and the continuation of a packet that was paused.
#include "ofproto/connections/requests/checks.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

OfStatus PacketOut(OfRequest& request, OfPacketOut& out) {
  if (OfStatus failed = CheckPacketOut(out, request.version(), request.pipeline())) return failed;
  return request.of_switch().ExecutePacketOut(out);
}

OfStatus Resume(OfRequest& request, OfResume& resume) { return request.of_switch().Resume(resume.packet); }

}  // namespace

void AddPacketRequests(RequestTable& table) {
  table.AddChange<OfPacketOut>(PacketOut);
  table.AddChange<OfResume>(Resume);
}

}  // namespace sluice
