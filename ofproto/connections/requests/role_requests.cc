// Roles (OpenFlow 1.5.1, 6.3.7) and which asynchronous messages a connection gets.
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr uint8_t kPrimaryRequest = 0;  // OFPCRR_MASTER_REQUEST

bool IsStale(uint64_t offered, const std::optional<uint64_t>& known) {
  return known.has_value() && static_cast<int64_t>(offered - *known) < 0;
}

uint64_t GenerationId(const ConnectionCore& core) { return core.generation_id.value_or(UINT64_MAX); }

// There is one primary controller: the others step back, and are told if their version can say it.
void Depose(ConnectionCore& core, const OfConnection& next) {
  for (const auto& other : core.connections) {
    if (other.get() == &next || other->role != OfRole::kPrimary) continue;
    other->role = OfRole::kSecondary;
    if (other->version() >= OfVersion::k14 && other->Wants(OfAsyncConfig::kRoleStatus, kPrimaryRequest)) {
      other->Send(OfRoleStatus{OfRole::kSecondary, kPrimaryRequest, GenerationId(core)}, 0);
    }
  }
}

OfStatus Role(OfRequest& request, OfRoleRequest& role) {
  if (role.role != OfRole::kNoChange) {
    const bool ordered = role.role == OfRole::kPrimary || role.role == OfRole::kSecondary;
    if (ordered && role.have_generation) {
      if (IsStale(role.generation_id, request.core.generation_id)) {
        return OfFailure{OfError::kRrfcStale, fmt::format("generation id {:#x} is older than {:#x}", role.generation_id,
                                                          *request.core.generation_id)};
      }
      request.core.generation_id = role.generation_id;
    }
    if (role.role == OfRole::kPrimary && request.from.role != OfRole::kPrimary) Depose(request.core, request.from);
    request.from.role = role.role;
  }
  request.Reply(OfRoleReply{request.from.role, GenerationId(request.core)});
  return std::nullopt;
}

OfStatus GetAsync(OfRequest& request, OfGetAsyncRequest&) {
  request.Reply(OfGetAsyncReply{PublicAsync(request.from.async())});
  return std::nullopt;
}

OfStatus SetAsync(OfRequest& request, OfSetAsync& set) {
  request.from.SetAsync(set);
  return std::nullopt;
}

}  // namespace

void AddRoleRequests(RequestTable& table) {
  table.Add<OfRoleRequest>(Role);
  table.Add<OfGetAsyncRequest>(GetAsync);
  table.Add<OfSetAsync>(SetAsync);
}

}  // namespace sluice
