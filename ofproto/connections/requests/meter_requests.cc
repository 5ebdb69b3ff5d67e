// Meters: modification, statistics, configuration.
#include <algorithm>

#include "ofproto/connections/requests/request_forward.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr size_t kPerPiece = 64;

OfStatus Modify(OfRequest& request, MeterMod& mod) {
  OfPipeline& pipeline = request.pipeline();
  OfStatus failed =
      pipeline.meters.Apply(mod, [&pipeline](uint32_t meter) { pipeline.tables.RemoveUsersOfMeter(meter); });
  if (failed) return failed;
  request.of_switch().PipelineChanged();
  ForwardRequest(request, ForwardReason::kMeterMod);
  return std::nullopt;
}

bool Uses(const OfActions& actions, uint32_t meter) {
  return std::any_of(actions.begin(), actions.end(), [meter](const OfAction& action) {
    const auto* used = std::get_if<OfMeter>(&action.value);
    return used != nullptr && used->meter == meter;
  });
}

OfStatus CheckExists(const OfPipeline& pipeline, uint32_t meter) {
  if (meter == kMeterAll || !pipeline.meters.Describe(meter).empty()) return std::nullopt;
  return OfFailure{OfError::kMmfcUnknownMeter, fmt::format("meter {} does not exist", meter)};
}

OfStatus Statistics(OfRequest& request, OfMeterStatsRequest& asked) {
  OfPipeline& pipeline = request.pipeline();
  if (OfStatus failed = CheckExists(pipeline, asked.meter)) return failed;
  request.of_switch().SyncStatistics();
  const std::vector<RulePtr> rules = pipeline.tables.Collect({});
  auto count = [&rules](uint32_t meter) {
    uint32_t users = 0;
    for (const RulePtr& rule : rules) users += Uses(*rule->actions, meter) ? 1 : 0;
    return users;
  };
  request.ReplyInPieces<OfMeterStatsReply>(pipeline.meters.Statistics(asked.meter, OfClock::now(), count), kPerPiece);
  return std::nullopt;
}

OfStatus Configuration(OfRequest& request, OfMeterConfigRequest& asked) {
  if (OfStatus failed = CheckExists(request.pipeline(), asked.meter)) return failed;
  request.ReplyInPieces<OfMeterConfigReply>(request.pipeline().meters.Describe(asked.meter), kPerPiece);
  return std::nullopt;
}

OfStatus Features(OfRequest& request, OfMeterFeaturesRequest&) {
  request.Reply(OfMeterFeaturesReply{request.pipeline().meters.features()});
  return std::nullopt;
}

}  // namespace

void AddMeterRequests(RequestTable& table) {
  table.AddChange<MeterMod>(Modify);
  table.Add<OfMeterStatsRequest>(Statistics);
  table.Add<OfMeterConfigRequest>(Configuration);
  table.Add<OfMeterFeaturesRequest>(Features);
}

}  // namespace sluice
