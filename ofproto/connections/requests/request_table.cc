#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

// Of statistics in 1.0, of multipart messages later.
bool IsMultipart(const OfHeader& header) {
  const bool first = header.version == static_cast<uint8_t>(OfVersion::k10);
  return first ? header.type == 16 || header.type == 17 : header.type == 18 || header.type == 19;
}

}  // namespace

const RequestTable& RequestTable::Get() {
  static const RequestTable table = [] {
    RequestTable made;
    AddSessionRequests(made);
    AddRoleRequests(made);
    AddPortRequests(made);
    AddTableRequests(made);
    AddFlowRequests(made);
    AddGroupRequests(made);
    AddMeterRequests(made);
    AddPacketRequests(made);
    AddBundleRequests(made);
    AddMonitorRequests(made);
    AddNiciraRequests(made);
    return made;
  }();
  return table;
}

OfStatus RequestTable::Handle(OfRequest& request) const {
  const Entry& entry = entries_[request.message.body.index()];
  if (!entry.handle) {
    const OfHeader header = ReadHeader(AsBytes(request.bytes));
    return OfFailure{IsMultipart(header) ? OfError::kBrcBadStat : OfError::kBrcBadType,
                     fmt::format("{} is no request to a switch", MessageName(AsBytes(request.bytes)))};
  }
  if (entry.changes && request.from.role == OfRole::kSecondary) {
    return OfFailure{OfError::kBrcIsSlave, fmt::format("{} from a secondary controller: its role lets it only read",
                                                       MessageName(AsBytes(request.bytes)))};
  }
  return entry.handle(request);
}

}  // namespace sluice
