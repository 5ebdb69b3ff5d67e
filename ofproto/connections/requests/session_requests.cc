// Echo, features, configuration, description, barriers: what every connection begins with.
#include "ofproto/connections/requests/request_table.h"
#include "ofproto/connections/requests/table_features.h"

namespace sluice {
namespace {

// OFPC_*, by the bits of OpenFlow 1.1+ and those that 1.0 and 1.5 have besides.
constexpr uint32_t kFlowStats = 1 << 0, kTableStats = 1 << 1, kPortStats = 1 << 2, kGroupStats = 1 << 3,
                   kQueueStats = 1 << 6, kArpMatchIp10 = 1 << 7, kBundles15 = 1 << 9, kFlowMonitoring15 = 1 << 10;
constexpr uint32_t kActions10 = 0xfff;  // OFPAT10_OUTPUT to OFPAT10_ENQUEUE

constexpr uint16_t kFragmentMask = 0x3;
constexpr uint16_t kFragmentReassemble = 2;
constexpr uint16_t kInvalidTtlFlag = 1 << 2;  // up to OpenFlow 1.2

// A features reply has to hold all ports in one message; with more than fit it has none, and the peer asks for them.
constexpr size_t kMaxFeaturesPorts = (65535 - 32) / 64;

OfStatus Echo(OfRequest& request, OfEchoRequest& echo) {
  request.Reply(OfEchoReply{std::move(echo.data)});
  return std::nullopt;
}

// Replies to our probes, and errors about what we said, ask for nothing.
OfStatus IgnoreEchoReply(OfRequest&, OfEchoReply&) { return std::nullopt; }
OfStatus IgnoreError(OfRequest&, OfErrorMessage&) { return std::nullopt; }
OfStatus IgnoreHello(OfRequest&, OfHello&) { return std::nullopt; }

uint32_t Capabilities(OfVersion version) {
  uint32_t capabilities = kFlowStats | kTableStats | kPortStats | kQueueStats;
  if (version == OfVersion::k10) return capabilities | kArpMatchIp10;
  capabilities |= kGroupStats;
  if (version == OfVersion::k15) capabilities |= kBundles15 | kFlowMonitoring15;
  return capabilities;
}

OfStatus Features(OfRequest& request, OfFeaturesRequest&) {
  OfFeaturesReply reply{.datapath_id = request.of_switch().datapath_id(),
                        .n_tables = kShownTables,
                        .capabilities = Capabilities(request.version()),
                        .actions = kActions10};
  if (request.version() < OfVersion::k13) {
    reply.ports = request.of_switch().ports();
    if (reply.ports.size() > kMaxFeaturesPorts) reply.ports.clear();
  }
  request.Reply(std::move(reply));
  return std::nullopt;
}

OfStatus GetConfig(OfRequest& request, OfGetConfigRequest&) {
  OfSwitchConfig config{.flags = request.pipeline().fragments.load(), .miss_send_len = request.from.miss_send_len};
  if (request.from.invalid_ttl && request.version() < OfVersion::k13) config.flags |= kInvalidTtlFlag;
  request.Reply(OfConfigReply{config});
  return std::nullopt;
}

OfStatus SetConfig(OfRequest& request, OfSwitchConfig& config) {
  OfConnection& from = request.from;
  // What concerns all connections only those may change who may change flows.
  if (from.kind() != OfConnection::Kind::kPrimary || from.role != OfRole::kSecondary) {
    const uint16_t fragments = config.flags & kFragmentMask;
    if (fragments == kFragmentReassemble) {
      return OfFailure{OfError::kScfcBadFlags, "fragments are not reassembled: expected normal, drop or nx-match"};
    }
    if (request.pipeline().fragments.exchange(fragments) != fragments) request.of_switch().PipelineChanged();
  }
  if (request.version() < OfVersion::k13) from.invalid_ttl = (config.flags & kInvalidTtlFlag) != 0;
  from.miss_send_len = config.miss_send_len;
  request.pipeline().miss_send_len = config.miss_send_len;
  return std::nullopt;
}

OfStatus Describe(OfRequest& request, OfDescRequest&) {
  request.Reply(OfDescReply{request.of_switch().description()});
  return std::nullopt;
}

// Everything is carried out when it is handled, and answers leave in order.
OfStatus Barrier(OfRequest& request, OfBarrierRequest&) {
  request.Reply(OfBarrierReply{});
  return std::nullopt;
}

OfStatus Experimenter(OfRequest&, OfExperimenter& message) {
  return OfFailure{OfError::kBrcBadExperimenter,
                   fmt::format("experimenter {:#010x}, type {} is unknown", message.experimenter, message.type)};
}

}  // namespace

void AddSessionRequests(RequestTable& table) {
  table.Add<OfHello>(IgnoreHello);
  table.Add<OfErrorMessage>(IgnoreError);
  table.Add<OfEchoRequest>(Echo);
  table.Add<OfEchoReply>(IgnoreEchoReply);
  table.Add<OfFeaturesRequest>(Features);
  table.Add<OfGetConfigRequest>(GetConfig);
  table.Add<OfSwitchConfig>(SetConfig);
  table.Add<OfDescRequest>(Describe);
  table.Add<OfBarrierRequest>(Barrier);
  table.Add<OfExperimenter>(Experimenter);
}

}  // namespace sluice
