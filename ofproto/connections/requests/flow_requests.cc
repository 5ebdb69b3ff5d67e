// Flows: flow mods, flow and aggregate statistics.
#include "ofproto/connections/requests/checks.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr size_t kFlowsPerPiece = 128;

OfStatus Modify(OfRequest& request, FlowMod& mod) {
  OfPipeline& pipeline = request.pipeline();
  if (OfStatus failed = CheckFlowMod(mod, request.version(), pipeline)) return failed;
  if (OfStatus failed = pipeline.tables.Apply(mod, request.requester())) return failed;
  // The flow is there all the same, as the specification wants it.
  const bool deletes = mod.command == FlowCommand::kDelete || mod.command == FlowCommand::kDeleteStrict;
  if (mod.buffer_id == kNoBuffer || deletes) return std::nullopt;
  return OfFailure{OfError::kBrcBufferUnknown,
                   fmt::format("buffer {:#x}: the switch buffers no packets", mod.buffer_id)};
}

void Aggregate(OfRequest& request, const std::vector<RulePtr>& rules) {
  OfAggregate aggregate;
  const auto now = OfClock::now();
  for (const RulePtr& rule : rules) {
    const OfFlowStats stats = request.pipeline().tables.StatsOf(*rule, now);
    aggregate.packets += stats.packets;
    aggregate.bytes += stats.bytes;
    ++aggregate.flows;
  }
  request.Reply(OfAggregateReply{aggregate});
}

// The rules are what was there when they were asked for; their statistics are taken when they are sent.
void List(OfRequest& request, std::vector<RulePtr> rules) {
  auto pieces = [&connection = request.from, &tables = request.pipeline().tables, xid = request.message.xid,
                 nxm = request.message.nxm, rules = std::move(rules), at = size_t{0}, done = false]() mutable {
    if (done) return std::string();
    OfFlowStatsReply reply;
    const size_t end = std::min(rules.size(), at + kFlowsPerPiece);
    const auto now = OfClock::now();
    for (; at < end; ++at) {
      reply.entries.push_back(tables.StatsOf(*rules[at], now));
      rules[at].reset();
    }
    done = at == rules.size();
    reply.more = !done;
    return connection.Encode(std::move(reply), xid, nxm);
  };
  request.from.channel().SendPieces(std::move(pieces));
}

OfStatus Statistics(OfRequest& request, FlowStatsRequest& asked) {
  if (OfStatus failed = CheckMatch(asked.match)) return failed;
  request.of_switch().SyncStatistics();
  std::vector<RulePtr> rules = request.pipeline().tables.Collect(asked);
  if (asked.aggregate) {
    Aggregate(request, rules);
  } else {
    List(request, std::move(rules));
  }
  return std::nullopt;
}

}  // namespace

void AddFlowRequests(RequestTable& table) {
  table.AddChange<FlowMod>(Modify);
  table.Add<FlowStatsRequest>(Statistics);
}

}  // namespace sluice
