#include "tests/lib/openflow/messages/samples.h"

namespace sluice {
namespace {

OfMatch TcpMatch() {
  OfMatch match;
  OfFlow& value = match.value;
  OfMask& mask = match.mask;
  value.in_port = 3;
  mask.in_port = 0xffff;
  value.packet.eth_type = Be16(0x0800);
  mask.packet.eth_type = Be16(0xffff);
  value.packet.ip_proto = 6;
  mask.packet.ip_proto = 0xff;
  value.packet.ipv4_dst = Be32(0x0a000000);
  mask.packet.ipv4_dst = Be32(0xff000000);
  value.packet.tp_dst = Be16(80);
  mask.packet.tp_dst = Be16(0xffff);
  return match;
}

OfMatch RegisterMatch() {
  OfMatch match = TcpMatch();
  match.value.regs[2] = 7;
  match.mask.regs[2] = 0xffffffff;
  return match;
}

OfMatch InPort(OfPort port) {
  OfMatch match;
  match.value.in_port = port;
  match.mask.in_port = 0xffff;
  return match;
}

OfActions Output(OfPort port) { return {OfAction{OfOutput{port}}}; }

OfPortDesc Port(OfPort number) {
  OfPortDesc port;
  port.port = number;
  port.mac = {2, 0, 0, 0, 0, static_cast<uint8_t>(number)};
  port.name = "eth" + std::to_string(number);
  port.config = 0x65;
  port.state = 1;
  port.current = 0x2820;
  port.advertised = 0x20;
  port.supported = 0xffff;
  port.current_speed_kbps = 1'000'000;
  port.max_speed_kbps = 10'000'000;
  return port;
}

FlowMod AddFlow(const OfMatch& match) {
  FlowMod mod;
  mod.match = match;
  mod.table = 0;
  mod.priority = 100;
  mod.new_cookie = 0x1234;
  mod.idle_timeout = 10;
  mod.hard_timeout = 20;
  mod.flags = kSendFlowRem;
  mod.actions = Output(2);
  return mod;
}

OfFlowStats Flow(const OfMatch& match) {
  OfFlowStats flow;
  flow.match = match;
  flow.priority = 5;
  flow.cookie = 6;
  flow.duration = std::chrono::milliseconds(1500);
  flow.packets = 7;
  flow.bytes = 700;
  flow.actions = Output(2);
  return flow;
}

OfPacketIn PacketIn() {
  OfPacketIn packet_in;
  packet_in.packet = std::string(60, '\x11');
  packet_in.total_length = 80;
  packet_in.reason = OfPacketIn::Reason::kAction;
  packet_in.table = 4;
  packet_in.cookie = 99;
  packet_in.metadata = InPort(3);
  return packet_in;
}

GroupDesc SelectGroup() {
  GroupDesc group;
  group.type = GroupType::kSelect;
  group.group = 7;
  for (uint32_t id : {0, 1}) {
    GroupBucket bucket;
    bucket.id = id;
    bucket.weight = static_cast<uint16_t>(id + 2);
    bucket.actions = Output(static_cast<OfPort>(id + 1));
    group.buckets.push_back(bucket);
  }
  return group;
}

GroupMod AddGroup() {
  GroupDesc desc = SelectGroup();
  GroupMod mod;
  mod.type = desc.type;
  mod.raw_type = static_cast<uint8_t>(desc.type);
  mod.group = desc.group;
  mod.buckets = desc.buckets;
  return mod;
}

MeterConfig Meter() {
  return {3,
          kMeterKbps | kMeterBurst | kMeterStats,
          {{MeterBand::Type::kDrop, 1000, 100}, {MeterBand::Type::kDscpRemark, 2000, 200, 2}}};
}

OfTableFeatures TableFeatures() {
  OfTableFeatures features;
  features.table = 1;
  features.name = "table1";
  features.max_entries = 1'000'000;
  for (OfTableFeatures::Side& side : features.sides) {
    side.next_tables = {2, 3, 4, 9};
    side.instructions = 0x7e;
    side.write_actions = 1 | 1 << 22;
    side.apply_actions = 1 | 1 << 24;
    side.write_set_fields = {FieldId::kEthSrc};
    side.apply_set_fields = {FieldId::kEthSrc, FieldId::kEthDst};
  }
  features.match = {FieldId::kEthSrc, FieldId::kEthType};
  features.mask = {FieldId::kEthSrc};
  features.wildcard = {FieldId::kEthSrc, FieldId::kEthType};
  features.has_properties = true;
  return features;
}

template <typename Reply, typename Entry>
Reply ListOf(std::vector<Entry> entries) {
  Reply reply;
  reply.entries = std::move(entries);
  return reply;
}

OfPortStats PortStats() {
  OfPortStats stats;
  stats.port = kOfpLocal;
  stats.rx_packets = 1;
  stats.collisions = UINT64_MAX;
  stats.duration = std::chrono::seconds(9);
  stats.custom = {{"queue_full", 4}, {"x", 5}};
  return stats;
}

OfSetAsync AllAsync() {
  OfSetAsync async;
  for (size_t type = 0; type < OfAsyncConfig::kCount; ++type) {
    async.given[0][type] = async.given[1][type] = true;
    async.config.masks[0][type] = type == OfAsyncConfig::kTableStatus ? 0x18 : 3;
  }
  return async;
}

OfSetAsync FirstAsync() {
  OfSetAsync async;
  for (size_t type = 0; type < 3; ++type) async.given[0][type] = async.given[1][type] = true;
  async.config.masks[0][OfAsyncConfig::kPacketIn] = 7;
  async.config.masks[1][OfAsyncConfig::kPortStatus] = 2;
  return async;
}

void AddSwitchSamples(std::vector<Sample>& out) {
  out.push_back({"hello", OfHello{}});
  out.push_back({"hello with versions", OfHello{0x52}});
  out.push_back({"error", OfErrorMessage{{0, 1, 6}, "0123456789"}});
  out.push_back({"experimenter error", OfErrorMessage{{0x2320, 0xffff, 3}, "0123456789"}});
  out.push_back({"echo request", OfEchoRequest{"abc"}});
  out.push_back({"echo reply", OfEchoReply{""}});
  out.push_back({"barrier request", OfBarrierRequest{}});
  out.push_back({"barrier reply", OfBarrierReply{}});
  out.push_back({"features request", OfFeaturesRequest{}});
  out.push_back({"features reply", OfFeaturesReply{0x123456789a, 256, 254, 0, 0x47, 0xfff, {Port(1), Port(2)}}});
  out.push_back({"get config", OfGetConfigRequest{}});
  out.push_back({"config reply", OfConfigReply{{1, 128}}});
  out.push_back({"set config", OfSwitchConfig{3, 0xffff}});
  out.push_back({"desc request", OfDescRequest{}});
  out.push_back({"desc reply", OfDescReply{{"maker", "hardware", "software", "serial", "datapath"}}});
  out.push_back({"port status", OfPortStatus{OfPortStatus::Reason::kDelete, Port(4)}});
  OfPortMod mod{5, {2, 0, 0, 0, 0, 5}, 0x21, 0x65, 0x2820};
  out.push_back({"port mod", mod});
  out.push_back({"port desc request", OfPortDescRequest{}});
  out.push_back({"port desc reply", ListOf<OfPortDescReply>(std::vector{Port(1), Port(kOfpLocal)})});
  out.push_back({"port stats request", OfPortStatsRequest{kOfpNone}});
  out.push_back({"port stats reply", ListOf<OfPortStatsReply>(std::vector{PortStats(), PortStats()})});
}

void AddFlowSamples(std::vector<Sample>& out) {
  FlowMod deletion = AddFlow(TcpMatch());
  deletion.command = FlowCommand::kDelete;
  deletion.cookie = 0x10;
  deletion.cookie_mask = 0xff;
  deletion.new_cookie = UINT64_MAX;
  deletion.actions.clear();
  out.push_back({"flow mod", AddFlow(TcpMatch())});
  out.push_back({"flow mod as NXM", AddFlow(TcpMatch()), {}, true});
  out.push_back({"flow mod with a register", AddFlow(RegisterMatch())});
  out.push_back({"flow mod with a table", AddFlow(TcpMatch()), {.nx_table_id = true}});
  out.push_back({"flow deletion by cookie", deletion});
  FlowStatsRequest request;
  request.match = TcpMatch();
  request.table = 2;
  out.push_back({"flow request", request});
  out.push_back({"flow request as NXM", request, {}, true});
  request.cookie = 1;
  request.cookie_mask = UINT64_MAX;
  request.aggregate = true;
  out.push_back({"aggregate request", request});
  out.push_back({"flow reply", ListOf<OfFlowStatsReply>(std::vector{Flow(TcpMatch()), Flow(OfMatch())})});
  out.push_back({"flow reply as NXM", ListOf<OfFlowStatsReply>(std::vector{Flow(RegisterMatch())}), {}, true});
  out.push_back({"aggregate reply", OfAggregateReply{{5, 600, 7}}});
  out.push_back({"aggregate reply as NXM", OfAggregateReply{{5, 600, 7}}, {}, true});
  FlowRemoved removed;
  removed.match = TcpMatch();
  removed.table = 3;
  removed.duration = std::chrono::seconds(3);
  removed.packets = 4;
  removed.bytes = 5;
  out.push_back({"flow removed", removed});
  out.push_back({"flow removed as NXM", removed, {}, true});
  OfFlowMonitorRequest monitor;
  monitor.id = 1;
  monitor.flags = kMonitorInitial | kMonitorAdd | kMonitorInstructions;
  monitor.match = TcpMatch();
  out.push_back({"flow monitor request", OfReply<OfFlowMonitorRequest>{{monitor}}});
  out.push_back({"flow monitor cancel", OfFlowMonitorCancel{1}});
  OfFlowUpdate update;
  update.match = TcpMatch();
  update.actions = Output(1);
  OfFlowUpdate abbreviated;
  abbreviated.event = OfFlowUpdate::Event::kAbbrev;
  abbreviated.xid = 77;
  out.push_back({"flow monitor reply", ListOf<OfFlowMonitorReply>(std::vector{update, abbreviated})});
  OfFlowUpdate paused;
  paused.event = OfFlowUpdate::Event::kPaused;
  out.push_back({"flow monitor paused", ListOf<OfFlowMonitorReply>(std::vector{paused})});
}

void AddPacketSamples(std::vector<Sample>& out) {
  out.push_back({"packet-in", PacketIn()});
  out.push_back({"NXT_PACKET_IN", PacketIn(), {.packet_in = PacketInFormat::kNxt}});
  OfPacketIn full = PacketIn();
  full.userdata = {1, 2, 3};
  full.continuation = std::string("\0\x08\0\x04\0\0\0\0", 8);
  out.push_back({"NXT_PACKET_IN2", full, {.packet_in = PacketInFormat::kNxt2}});
  out.push_back({"resume", OfResume{full}});
  out.push_back({"packet-out", OfPacketOut{std::string(20, '\x22'), kNoBuffer, InPort(kOfpController), Output(1)}});
}

void AddTableSamples(std::vector<Sample>& out) {
  OfTableMod mod;
  mod.table = 3;
  mod.config = kTableEviction | kTableVacancy;
  mod.eviction_flags = 5;
  mod.vacancy_down = 10;
  mod.vacancy_up = 20;
  out.push_back({"table mod", mod});
  OfTableDesc desc{3, kTableEviction | kTableVacancy, 1, 10, 20, 15};
  out.push_back({"table status", OfTableStatus{3, desc}});
  out.push_back({"table desc request", OfTableDescRequest{}});
  out.push_back({"table desc reply", ListOf<OfTableDescReply>(std::vector{desc, desc})});
  out.push_back({"table stats request", OfTableStatsRequest{}});
  OfTableStats stats{1, "classifier", 2, 3, 4, 1'000'000};
  out.push_back({"table stats reply", ListOf<OfTableStatsReply>(std::vector{stats, stats})});
  out.push_back({"table features request", OfTableFeaturesRequest{}});
  out.push_back({"table features reply", ListOf<OfTableFeaturesReply>(std::vector{TableFeatures()})});
  out.push_back({"queue config request", OfQueueGetConfigRequest{3}});
  OfQueueDesc queue{3, 1, 100, 500};
  out.push_back({"queue config reply", OfQueueGetConfigReply{3, {queue, queue}}});
  out.push_back({"queue desc request", OfQueueDescRequest{3, 1}});
  out.push_back({"queue desc reply", ListOf<OfQueueDescReply>(std::vector{queue})});
  out.push_back({"queue stats request", OfQueueStatsRequest{}});
  OfQueueStats queue_stats{3, 1, 100, 2, 0, std::chrono::seconds(8)};
  out.push_back({"queue stats reply", ListOf<OfQueueStatsReply>(std::vector{queue_stats})});
}

void AddGroupAndMeterSamples(std::vector<Sample>& out) {
  out.push_back({"group mod", AddGroup()});
  out.push_back({"group stats request", OfGroupStatsRequest{7}});
  GroupStats stats{7, 1, 2, 3, std::chrono::seconds(4), {{5, 6}, {7, 8}}};
  out.push_back({"group stats reply", ListOf<OfGroupStatsReply>(std::vector{stats})});
  out.push_back({"group desc request", OfGroupDescRequest{}});
  out.push_back({"group desc reply", ListOf<OfGroupDescReply>(std::vector{SelectGroup()})});
  out.push_back({"group features request", OfGroupFeaturesRequest{}});
  out.push_back({"group features reply", OfGroupFeaturesReply{{15, 7, {1, 2, 3, 4}, {5, 6, 7, 8}}}});
  out.push_back({"meter mod", MeterMod{MeterCommand::kAdd, Meter()}});
  out.push_back({"meter stats request", OfMeterStatsRequest{}});
  MeterStats meter_stats{3, 1, 2, 3, std::chrono::seconds(4), {{5, 6}}};
  out.push_back({"meter stats reply", ListOf<OfMeterStatsReply>(std::vector{meter_stats})});
  out.push_back({"meter config request", OfMeterConfigRequest{3}});
  out.push_back({"meter config reply", ListOf<OfMeterConfigReply>(std::vector{Meter(), Meter()})});
  out.push_back({"meter features request", OfMeterFeaturesRequest{}});
  out.push_back({"meter features reply", OfMeterFeaturesReply{{1000, 6, 15, 8, 2}}});
}

void AddControllerSamples(std::vector<Sample>& out) {
  out.push_back({"role request", OfRoleRequest{OfRole::kPrimary, 5, true}});
  out.push_back({"role request as Nicira's", OfRoleRequest{OfRole::kSecondary}, {}, true});
  out.push_back({"role reply", OfRoleReply{OfRole::kSecondary, 5}});
  out.push_back({"role status", OfRoleStatus{OfRole::kSecondary, 1, 5}});
  out.push_back({"get async request", OfGetAsyncRequest{}});
  out.push_back({"get async reply", OfGetAsyncReply{FirstAsync().config}});
  out.push_back({"set async", FirstAsync()});
  out.push_back({"set async as Nicira's", FirstAsync(), {}, true});
  out.push_back({"set async of all", AllAsync()});
  out.push_back({"bundle control", OfBundleControl{9, 4, 3}});
  std::string mod(kOfHeaderSize, '\0');
  out.push_back({"bundle add", OfBundleAdd{9, 3, mod}});
  out.push_back({"request forward", OfRequestForward{mod}});
  out.push_back({"flow format", NxSetFlowFormat{2}});
  out.push_back({"flow mod table id", NxSetFlowModTableId{true}});
  out.push_back({"packet-in format", NxSetPacketInFormat{PacketInFormat::kNxt2}});
  out.push_back({"controller id", NxSetControllerId{77}});
  out.push_back({"tlv mod", NxTlvTableMod{0, {{0xffff, 1, 4, 3}, {1, 2, 124, 63}}}});
  out.push_back({"tlv request", NxTlvTableRequest{}});
  out.push_back({"tlv reply", NxTlvTableReply{256, 64, {{0xffff, 1, 4, 3}}}});
  out.push_back({"ct flush zone", NxCtFlush{5, ""}});
  out.push_back({"ct flush", NxCtFlush{5, std::string("\6\0\0\0\0\0\0\0\0\2\0\6\0\5\0\0", 16)}});
  for (bool flow : {false, true}) {
    out.push_back({"ipfix request", OfIpfixStatsRequest{flow}});
    OfIpfixStatsReply reply;
    reply.entries = {{5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}};
    reply.flow = flow;
    out.push_back({"ipfix reply", reply});
  }
}

// A message inside another has its version and transaction id, and Nicira's errors the numbers of theirs.
OfBody WithInner(const OfBody& body, OfVersion version, uint32_t xid) {
  if (const auto* add = std::get_if<OfBundleAdd>(&body)) {
    OfBundleAdd copy = *add;
    copy.message = EncodeMessage({version, xid, AddFlow(TcpMatch())});
    return copy;
  }
  if (std::holds_alternative<OfRequestForward>(body)) {
    return OfRequestForward{EncodeMessage({version, xid, MeterMod{MeterCommand::kModify, Meter()}})};
  }
  if (const auto* error = std::get_if<OfErrorMessage>(&body); error != nullptr && error->code.experimenter != 0) {
    return OfErrorMessage{ErrorCode(OfError::kNxBrcMustBeZero, version), error->data};
  }
  return body;
}

}  // namespace

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  AddSwitchSamples(samples);
  AddFlowSamples(samples);
  AddPacketSamples(samples);
  AddTableSamples(samples);
  AddGroupAndMeterSamples(samples);
  AddControllerSamples(samples);
  return samples;
}

std::string Encode(const Sample& sample, OfVersion version) {
  constexpr uint32_t kXid = 0x12345678;
  return EncodeMessage({version, kXid, WithInner(sample.body, version, kXid), sample.nxm}, sample.state);
}

}  // namespace sluice
