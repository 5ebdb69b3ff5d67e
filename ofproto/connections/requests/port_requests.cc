// Ports and queues: description, statistics, configuration.
#include <algorithm>

#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

constexpr size_t kPerPiece = 256;
constexpr uint32_t kAllQueues = 0xffffffff;

bool HasPort(const OfSwitch& of_switch, OfPort port) {
  const std::vector<OfPortDesc> ports = of_switch.ports();
  return std::any_of(ports.begin(), ports.end(), [port](const OfPortDesc& desc) { return desc.port == port; });
}

OfFailure NoSuchPort(OfError error, OfPort port) { return {error, fmt::format("port {} does not exist", port)}; }

OfStatus Describe(OfRequest& request, OfPortDescRequest& asked) {
  std::vector<OfPortDesc> ports = request.of_switch().ports();
  if (asked.port != kOfpNone) {
    std::erase_if(ports, [&asked](const OfPortDesc& desc) { return desc.port != asked.port; });
    if (ports.empty()) return NoSuchPort(OfError::kBrcBadPort, asked.port);
  }
  request.ReplyInPieces<OfPortDescReply>(std::move(ports), kPerPiece);
  return std::nullopt;
}

OfStatus Statistics(OfRequest& request, OfPortStatsRequest& asked) {
  std::vector<OfPortStats> stats = request.of_switch().port_stats(asked.port);
  if (asked.port != kOfpNone && stats.empty()) return NoSuchPort(OfError::kBrcBadPort, asked.port);
  request.ReplyInPieces<OfPortStatsReply>(std::move(stats), kPerPiece);
  return std::nullopt;
}

OfStatus Modify(OfRequest& request, OfPortMod& mod) { return request.of_switch().ModifyPort(mod); }

// No port has queues: all of none.
OfStatus CheckQueues(OfRequest& request, OfPort port, uint32_t queue) {
  if (port != kOfpNone && port != kOfpAll && !HasPort(request.of_switch(), port)) {
    return NoSuchPort(OfError::kQofcBadPort, port);
  }
  if (queue == kAllQueues) return std::nullopt;
  return OfFailure{OfError::kQofcBadQueue, fmt::format("port {} has no queue {}", port, queue)};
}

OfStatus QueueStatistics(OfRequest& request, OfQueueStatsRequest& asked) {
  if (OfStatus failed = CheckQueues(request, asked.port, asked.queue)) return failed;
  request.Reply(OfQueueStatsReply{});
  return std::nullopt;
}

OfStatus DescribeQueues(OfRequest& request, OfQueueDescRequest& asked) {
  if (OfStatus failed = CheckQueues(request, asked.port, asked.queue)) return failed;
  request.Reply(OfQueueDescReply{});
  return std::nullopt;
}

OfStatus QueueConfig(OfRequest& request, OfQueueGetConfigRequest& asked) {
  if (OfStatus failed = CheckQueues(request, asked.port, kAllQueues)) return failed;
  request.Reply(OfQueueGetConfigReply{.port = asked.port});
  return std::nullopt;
}

}  // namespace

void AddPortRequests(RequestTable& table) {
  table.Add<OfPortDescRequest>(Describe);
  table.Add<OfPortStatsRequest>(Statistics);
  table.AddChange<OfPortMod>(Modify);
  table.Add<OfQueueStatsRequest>(QueueStatistics);
  table.Add<OfQueueDescRequest>(DescribeQueues);
  table.Add<OfQueueGetConfigRequest>(QueueConfig);
}

}  // namespace sluice
