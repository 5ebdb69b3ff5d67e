// Groups: modification, statistics, description.
#include "ofproto/connections/requests/checks.h"
#include "ofproto/connections/requests/request_forward.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr size_t kPerPiece = 64;

OfStatus Modify(OfRequest& request, GroupMod& mod) {
  OfPipeline& pipeline = request.pipeline();
  if (OfStatus failed = CheckGroupMod(mod, pipeline)) return failed;
  OfStatus failed =
      pipeline.groups.Apply(mod, [&pipeline](uint32_t group) { pipeline.tables.RemoveUsersOfGroup(group); });
  if (failed) return failed;
  request.of_switch().PipelineChanged();
  ForwardRequest(request, ForwardReason::kGroupMod);
  return std::nullopt;
}

OfStatus Statistics(OfRequest& request, OfGroupStatsRequest& asked) {
  request.of_switch().SyncStatistics();
  auto count = [&tables = request.pipeline().tables](uint32_t group) { return tables.group_users(group); };
  request.ReplyInPieces<OfGroupStatsReply>(request.pipeline().groups.Statistics(asked.group, OfClock::now(), count),
                                           kPerPiece);
  return std::nullopt;
}

// OpenFlow 1.0 to 1.4 ask for all; 1.5 may ask for one.
OfStatus Describe(OfRequest& request, OfGroupDescRequest& asked) {
  request.ReplyInPieces<OfGroupDescReply>(request.pipeline().groups.Describe(asked.group), kPerPiece);
  return std::nullopt;
}

OfStatus Features(OfRequest& request, OfGroupFeaturesRequest&) {
  request.Reply(OfGroupFeaturesReply{request.pipeline().groups.features()});
  return std::nullopt;
}

}  // namespace

void AddGroupRequests(RequestTable& table) {
  table.AddChange<GroupMod>(Modify);
  table.Add<OfGroupStatsRequest>(Statistics);
  table.Add<OfGroupDescRequest>(Describe);
  table.Add<OfGroupFeaturesRequest>(Features);
}

}  // namespace sluice
