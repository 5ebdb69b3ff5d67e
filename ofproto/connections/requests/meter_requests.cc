// Meters: modification, statistics, configuration.
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

OfStatus CheckExists(const OfPipeline& pipeline, uint32_t meter) {
  if (meter == kMeterAll || !pipeline.meters.Describe(meter).empty()) return std::nullopt;
  return OfFailure{OfError::kMmfcUnknownMeter, fmt::format("meter {} does not exist", meter)};
}

OfStatus Statistics(OfRequest& request, OfMeterStatsRequest& asked) {
  OfPipeline& pipeline = request.pipeline();
  if (OfStatus failed = CheckExists(pipeline, asked.meter)) return failed;
  request.of_switch().SyncStatistics();
  auto count = [&pipeline](uint32_t meter) { return pipeline.tables.meter_users(meter); };
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
