// Tables: statistics, features, description, configuration.
#include "ofproto/connections/requests/request_table.h"
#include "ofproto/connections/requests/table_features.h"

namespace sluice {
namespace {

constexpr size_t kStatsPerPiece = 64;
constexpr size_t kFeaturesPerPiece = 8;

OfStatus Statistics(OfRequest& request, OfTableStatsRequest&) {
  request.of_switch().SyncStatistics();
  const FlowTables& tables = request.pipeline().tables;
  std::vector<OfTableStats> stats;
  for (uint8_t table = 0; table < kShownTables; ++table) {
    stats.push_back(tables.table_stats(table));
    stats.back().table = table;
    if (stats.back().name.empty()) stats.back().name = TableName(tables, table);
  }
  request.ReplyInPieces<OfTableStatsReply>(std::move(stats), kStatsPerPiece);
  return std::nullopt;
}

OfStatus Features(OfRequest& request, OfTableFeaturesRequest& asked) {
  if (!asked.tables.empty()) {
    return OfFailure{OfError::kTffcEperm, "what tables can do is fixed: table features can be asked for, not set"};
  }
  std::vector<OfTableFeatures> features;
  for (uint8_t table = 0; table < kShownTables; ++table) {
    features.push_back(FeaturesOf(request.pipeline().tables, table, request.version()));
  }
  request.ReplyInPieces<OfTableFeaturesReply>(std::move(features), kFeaturesPerPiece);
  return std::nullopt;
}

OfStatus Describe(OfRequest& request, OfTableDescRequest&) {
  std::vector<OfTableDesc> descs;
  for (uint8_t table = 0; table < kShownTables; ++table) {
    descs.push_back(request.pipeline().tables.table_desc(table));
    descs.back().table = table;
  }
  request.ReplyInPieces<OfTableDescReply>(std::move(descs), kStatsPerPiece);
  return std::nullopt;
}

OfStatus Modify(OfRequest& request, OfTableMod& mod) {
  OfStatus failed = request.pipeline().tables.SetTableConfig(mod);
  if (!failed) request.of_switch().PipelineChanged();
  return failed;
}

}  // namespace

void AddTableRequests(RequestTable& table) {
  table.Add<OfTableStatsRequest>(Statistics);
  table.Add<OfTableFeaturesRequest>(Features);
  table.Add<OfTableDescRequest>(Describe);
  table.AddChange<OfTableMod>(Modify);
}

}  // namespace sluice
