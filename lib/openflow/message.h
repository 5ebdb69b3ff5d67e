// OfMessage: any OpenFlow message, decoded; its bytes and its text.
//
// One struct per kind of message, the same for all versions; what a version cannot say is dropped on encoding, or makes
// another form of the message (Nicira's) where there is one. Multipart requests and replies are kinds of their own.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/openflow/flow_mod.h"
#include "lib/openflow/group.h"
#include "lib/openflow/meter.h"

namespace sluice {

// Immutable, small
// -----------------------------------------------------------------------------------------------------
struct OfHello {
  OfVersions versions = 0;  // 0: the header's version and all below
};
struct OfErrorMessage {
  OfErrorCode code;
  std::string data;  // the offending bytes, at least the first 64; text for kHfcIncompatible
};
struct OfEchoRequest {
  std::string data;
};
struct OfEchoReply {
  std::string data;
};
struct OfExperimenter {  // one that is not known: answered with kBrcBadExperimenter
  uint32_t experimenter = 0;
  uint32_t type = 0;
};
struct OfFeaturesRequest {};
struct OfFeaturesReply;  // below, it has ports
struct OfGetConfigRequest {};
struct OfSwitchConfig {  // SET_CONFIG, and GET_CONFIG_REPLY as OfConfigReply
  uint16_t flags = 0;    // bits 0-1: fragments: 0 normal, 1 drop, 2 reassemble, 3 nx-match
  uint16_t miss_send_len = 128;
};
struct OfConfigReply {
  OfSwitchConfig config;
};
struct OfBarrierRequest {};
struct OfBarrierReply {};

// Ports
// ----------------------------------------------------------------------------------------------------------------
struct OfPortDesc {
  OfPort port = 0;
  MacAddress mac{};
  std::string name;
  // OFPPC_* and OFPPS_* with the bit values of OpenFlow 1.0's ofp_port_config and of 1.1+'s ofp_port_state.
  uint32_t config = 0;  // 1 port_down, 2 no_stp, 4 no_recv, 8 no_recv_stp, 16 no_flood, 32 no_fwd, 64 no_packet_in
  uint32_t state = 0;   // 1 link_down, 2 blocked, 4 live
  // OFPPF_* bits of OpenFlow 1.1+; 1.0's are made on encoding.
  uint32_t current = 0, advertised = 0, supported = 0, peer = 0;
  uint32_t current_speed_kbps = 0, max_speed_kbps = 0;
};
struct OfFeaturesReply {
  uint64_t datapath_id = 0;
  uint32_t n_buffers = 0;
  uint8_t n_tables = 254;
  uint8_t auxiliary_id = 0;
  uint32_t capabilities = 0;  // OFPC_* with the bits of OpenFlow 1.1+; bit 0 flow, 1 table, 2 port, 3 group, 6 queue...
  uint32_t actions = 0;       // 1.0's bitmap
  std::vector<OfPortDesc> ports;  // up to 1.2
};
struct OfPortStatus {
  enum class Reason : uint8_t { kAdd = 0, kDelete = 1, kModify = 2 };
  Reason reason = Reason::kModify;
  OfPortDesc port;
};
struct OfPortMod {
  OfPort port = 0;
  MacAddress mac{};
  uint32_t config = 0;  // as OfPortDesc::config
  uint32_t mask = 0;
  uint32_t advertise = 0;
};
struct OfPortStats {
  OfPort port = 0;
  // UINT64_MAX: not known ("?").
  uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0, rx_dropped = 0, tx_dropped = 0;
  uint64_t rx_errors = 0, tx_errors = 0, rx_frame_errors = 0, rx_over_errors = 0, rx_crc_errors = 0, collisions = 0;
  std::chrono::nanoseconds duration{0};
  std::map<std::string, uint64_t> custom;
};

// Packets
// --------------------------------------------------------------------------------------------------------------
struct OfPacketIn {
  enum class Reason : uint8_t {
    kNoMatch = 0,
    kAction = 1,
    kInvalidTtl = 2,
    kActionSet = 3,
    kGroup = 4,
    kPacketOut = 5,  // as in OpenFlow 1.4+
    kExplicitMiss = 6,
    kImplicitMiss = 7,  // in here only
  };
  std::string packet;
  uint32_t total_length = 0;
  uint32_t buffer_id = kNoBuffer;
  Reason reason = Reason::kNoMatch;
  uint8_t table = 0;
  uint64_t cookie = UINT64_MAX;
  OfMatch metadata;  // in_port, registers, metadata, ... that are not zero
  std::vector<uint8_t> userdata;
  std::string continuation;  // opaque: what NXT_RESUME gives back
};
enum class PacketInFormat : uint8_t { kStandard, kNxt, kNxt2 };
struct OfPacketOut {
  std::string packet;
  uint32_t buffer_id = kNoBuffer;
  OfMatch metadata;  // in_port at least
  OfActions actions;
};
struct OfResume {  // NXT_RESUME
  OfPacketIn packet;
};

// Asynchronous messages and roles
// --------------------------------------------------------------------------------------
enum class OfRole : uint32_t { kNoChange = 0, kEqual = 1, kPrimary = 2, kSecondary = 3 };
struct OfRoleRequest {
  OfRole role = OfRole::kNoChange;
  uint64_t generation_id = 0;
  bool have_generation = false;
};
struct OfRoleReply {
  OfRole role = OfRole::kEqual;
  uint64_t generation_id = 0;
};
struct OfRoleStatus {
  OfRole role = OfRole::kEqual;
  uint8_t reason = 0;  // 0 primary request, 1 config, 2 experimenter
  uint64_t generation_id = 0;
};
// [0]: as equal or primary; [1]: as secondary. A bit per reason.
struct OfAsyncConfig {
  enum Type : uint8_t { kPacketIn, kPortStatus, kFlowRemoved, kRoleStatus, kTableStatus, kRequestForward, kCount };
  std::array<std::array<uint32_t, kCount>, 2> masks{};
};
struct OfSetAsync {
  OfAsyncConfig config;
  std::array<std::array<bool, OfAsyncConfig::kCount>, 2> given{};  // 1.4+: properties that were there
};
struct OfGetAsyncRequest {};
struct OfGetAsyncReply {
  OfAsyncConfig config;
};

// Tables
// ---------------------------------------------------------------------------------------------------------------
enum TableConfig : uint32_t { kTableEviction = 4, kTableVacancy = 8 };  // and 0-2: 1.1's miss handling
struct OfTableMod {
  uint8_t table = kTableAll;
  uint32_t config = 0;
  // 1.1-1.2's miss handling: 0 controller, 1 continue, 2 drop; -1: not said.
  int miss = -1;
  uint32_t eviction_flags = 0;
  uint8_t vacancy_down = 0, vacancy_up = 0;
};
struct OfTableDesc {
  uint8_t table = 0;
  uint32_t config = 0;
  uint32_t eviction_flags = 0;
  uint8_t vacancy_down = 0, vacancy_up = 0, vacancy = 0;
};
struct OfTableStatus {
  uint8_t reason = 0;
  OfTableDesc desc;
};
struct OfTableStats {
  uint8_t table = 0;
  std::string name;  // up to 1.2
  uint32_t active = 0;
  uint64_t lookups = 0;
  uint64_t matches = 0;
  uint32_t max_entries = 0;
};
struct OfTableFeatures {
  uint8_t table = 0;
  std::string name;
  uint64_t metadata_match = UINT64_MAX, metadata_write = UINT64_MAX;
  uint32_t config = 0;
  uint32_t capabilities = 0;
  uint32_t max_entries = 0;
  struct Side {  // [0] for hits, [1] for the table-miss flow
    std::vector<uint8_t> next_tables;
    uint32_t instructions = 0;                      // bit per OFPIT type
    uint32_t write_actions = 0, apply_actions = 0;  // bit per OFPAT type
    std::vector<FieldId> write_set_fields, apply_set_fields;
  };
  std::array<Side, 2> sides;
  std::vector<FieldId> match, mask, wildcard;
  bool has_properties = false;  // a request without them only asks
};

// Queues
// ---------------------------------------------------------------------------------------------------------------
struct OfQueueDesc {
  OfPort port = 0;
  uint32_t queue = 0;
  int min_rate = -1, max_rate = -1;  // tenths of a percent
};
struct OfQueueGetConfigRequest {  // 1.0-1.3; 1.4+: multipart queue description
  OfPort port = 0;
  uint32_t queue = 0xffffffff;
};
struct OfQueueGetConfigReply {
  OfPort port = 0;
  std::vector<OfQueueDesc> queues;
};
struct OfQueueStats {
  OfPort port = 0;
  uint32_t queue = 0;
  uint64_t tx_bytes = 0, tx_packets = 0, tx_errors = 0;
  std::chrono::nanoseconds duration{0};
};

// Bundles, monitors
// ----------------------------------------------------------------------------------------------------
struct OfMessage;
struct OfBundleControl {
  enum class Type : uint16_t {
    kOpenRequest = 0,
    kOpenReply = 1,
    kCloseRequest = 2,
    kCloseReply = 3,
    kCommitRequest = 4,
    kCommitReply = 5,
    kDiscardRequest = 6,
    kDiscardReply = 7,
  };
  uint32_t bundle = 0;
  uint16_t type = 0;   // Type
  uint16_t flags = 0;  // 1 atomic, 2 ordered
};
struct OfBundleAdd {
  uint32_t bundle = 0;
  uint16_t flags = 0;
  std::string message;  // bytes of the OpenFlow message inside
};
// Flow monitors: Nicira's (1.0-1.3) and OpenFlow 1.4+'s, with 1.4+'s flag bits.
enum FlowMonitorFlags : uint16_t {
  kMonitorInitial = 1,
  kMonitorAdd = 2,
  kMonitorRemoved = 4,
  kMonitorModify = 8,
  kMonitorInstructions = 16,
  kMonitorNoAbbrev = 32,
  kMonitorOnlyOwn = 64,
};
struct OfFlowMonitorRequest {
  uint32_t id = 0;
  uint8_t command = 0;  // 0 add, 1 modify, 2 delete
  uint16_t flags = 0;
  OfPort out_port = kOfpNone;
  uint32_t out_group = kGroupAny;
  uint8_t table = kTableAll;
  OfMatch match;
};
struct OfFlowMonitorCancel {  // NXT_FLOW_MONITOR_CANCEL
  uint32_t id = 0;
};
struct OfFlowUpdate {
  enum class Event : uint8_t { kInitial, kAdded, kRemoved, kModified, kAbbrev, kPaused, kResumed };
  Event event = Event::kAdded;
  FlowRemoved::Reason reason = FlowRemoved::Reason::kDelete;
  uint16_t idle_timeout = 0, hard_timeout = 0, priority = 0;
  uint8_t table = 0;
  uint64_t cookie = 0;
  uint32_t xid = 0;  // kAbbrev
  OfMatch match;
  OfActions actions;
};

// Multipart
// ------------------------------------------------------------------------------------------------------------
struct OfDescRequest {};
struct OfDesc {
  std::string manufacturer, hardware, software, serial, datapath;
};
struct OfTableStatsRequest {};
struct OfPortStatsRequest {
  OfPort port = kOfpNone;
};
struct OfQueueStatsRequest {
  OfPort port = kOfpNone;
  uint32_t queue = 0xffffffff;
};
struct OfGroupStatsRequest {
  uint32_t group = kGroupAll;
};
struct OfGroupDescRequest {
  uint32_t group = kGroupAll;
};
struct OfGroupFeaturesRequest {};
struct OfMeterStatsRequest {
  uint32_t meter = kMeterAll;
};
struct OfMeterConfigRequest {
  uint32_t meter = kMeterAll;
};
struct OfMeterFeaturesRequest {};
struct OfTableFeaturesRequest {
  std::vector<OfTableFeatures> tables;  // empty: asks; else sets
};
struct OfPortDescRequest {
  OfPort port = kOfpNone;
};
struct OfTableDescRequest {};
struct OfQueueDescRequest {
  OfPort port = kOfpNone;
  uint32_t queue = 0xffffffff;
};
struct OfBundleFeaturesRequest {};
struct OfIpfixStatsRequest {  // NXST_IPFIX_BRIDGE / _FLOW
  bool flow = false;
};
struct OfAggregate {
  uint64_t packets = 0, bytes = 0;
  uint32_t flows = 0;
};
// `more`: OFPMPF_REPLY_MORE. The encoder cuts long lists into several messages by itself.
template <typename Entry>
struct OfReply {
  std::vector<Entry> entries;
  bool more = false;
};
struct OfDescReply {
  OfDesc desc;
};
struct OfFlowStatsReply : OfReply<OfFlowStats> {};
struct OfAggregateReply {
  OfAggregate aggregate;
};
struct OfTableStatsReply : OfReply<OfTableStats> {};
struct OfPortStatsReply : OfReply<OfPortStats> {};
struct OfQueueStatsReply : OfReply<OfQueueStats> {};
struct OfGroupStatsReply : OfReply<GroupStats> {};
struct OfGroupDescReply : OfReply<GroupDesc> {};
struct OfGroupFeaturesReply {
  GroupFeatures features;
};
struct OfMeterStatsReply : OfReply<MeterStats> {};
struct OfMeterConfigReply : OfReply<MeterConfig> {};
struct OfMeterFeaturesReply {
  MeterFeatures features;
};
struct OfTableFeaturesReply : OfReply<OfTableFeatures> {};
struct OfPortDescReply : OfReply<OfPortDesc> {};
struct OfTableDescReply : OfReply<OfTableDesc> {};
struct OfQueueDescReply : OfReply<OfQueueDesc> {};
struct OfFlowMonitorReply : OfReply<OfFlowUpdate> {};
struct OfIpfixStats {
  uint32_t collector_set = 0;
  std::array<uint64_t, 9> values{};
};
struct OfIpfixStatsReply : OfReply<OfIpfixStats> {
  bool flow = false;
};

// Nicira's own
// ---------------------------------------------------------------------------------------------------------
struct NxSetFlowFormat {
  uint32_t format = 0;  // 0 openflow10, 2 nxm
};
struct NxSetFlowModTableId {
  bool on = false;
};
struct NxSetPacketInFormat {
  PacketInFormat format = PacketInFormat::kStandard;
};
struct NxSetControllerId {
  uint16_t id = 0;
};
struct NxTlvTableMod {
  struct Map {
    uint16_t option_class = 0;
    uint8_t option_type = 0;
    uint8_t option_length = 0;
    uint16_t index = 0;
  };
  uint16_t command = 0;  // 0 add, 1 delete, 2 clear
  std::vector<Map> maps;
};
struct NxTlvTableRequest {};
struct NxTlvTableReply {
  uint32_t max_option_space = 0;
  uint16_t max_fields = 0;
  std::vector<NxTlvTableMod::Map> maps;
};
struct NxCtFlush {  // NXT_CT_FLUSH_ZONE and NXT_CT_FLUSH
  std::optional<uint16_t> zone;
  std::string properties;  // of NXT_CT_FLUSH, as they came
};

// All of them
// ----------------------------------------------------------------------------------------------------------
using OfBody =
    std::variant<OfHello, OfErrorMessage, OfEchoRequest, OfEchoReply, OfExperimenter, OfFeaturesRequest,
                 OfFeaturesReply, OfGetConfigRequest, OfConfigReply, OfSwitchConfig, OfPacketIn, FlowRemoved,
                 OfPortStatus, OfPacketOut, FlowMod, GroupMod, OfPortMod, OfTableMod, OfBarrierRequest, OfBarrierReply,
                 OfQueueGetConfigRequest, OfQueueGetConfigReply, OfRoleRequest, OfRoleReply, OfRoleStatus,
                 OfGetAsyncRequest, OfGetAsyncReply, OfSetAsync, MeterMod, OfTableStatus, OfBundleControl, OfBundleAdd,
                 OfFlowMonitorCancel, OfResume, NxSetFlowFormat, NxSetFlowModTableId, NxSetPacketInFormat,
                 NxSetControllerId, NxTlvTableMod, NxTlvTableRequest, NxTlvTableReply, NxCtFlush,
                 // Multipart requests.
                 OfDescRequest, FlowStatsRequest, OfTableStatsRequest, OfPortStatsRequest, OfQueueStatsRequest,
                 OfGroupStatsRequest, OfGroupDescRequest, OfGroupFeaturesRequest, OfMeterStatsRequest,
                 OfMeterConfigRequest, OfMeterFeaturesRequest, OfTableFeaturesRequest, OfPortDescRequest,
                 OfTableDescRequest, OfQueueDescRequest, OfReply<OfFlowMonitorRequest>, OfIpfixStatsRequest,
                 // Multipart replies.
                 OfDescReply, OfFlowStatsReply, OfAggregateReply, OfTableStatsReply, OfPortStatsReply,
                 OfQueueStatsReply, OfGroupStatsReply, OfGroupDescReply, OfGroupFeaturesReply, OfMeterStatsReply,
                 OfMeterConfigReply, OfMeterFeaturesReply, OfTableFeaturesReply, OfPortDescReply, OfTableDescReply,
                 OfQueueDescReply, OfFlowMonitorReply, OfIpfixStatsReply>;

struct OfMessage {
  OfVersion version = OfVersion::k10;
  uint32_t xid = 0;
  OfBody body;
  bool nxm = false;  // of flow mods and flow statistics in 1.0/1.1: Nicira's form
};

constexpr size_t kOfHeaderSize = 8;
struct OfHeader {
  uint8_t version = 0;
  uint8_t type = 0;
  uint16_t length = 0;
  uint32_t xid = 0;
};
OfHeader ReadHeader(Bytes message);  // at least 8 bytes

// What encoding and decoding depends on besides the version.
struct OfCodecState {
  bool nx_table_id = false;  // NXT_FLOW_MOD_TABLE_ID
  PacketInFormat packet_in = PacketInFormat::kStandard;
};

// One message, or several for a long multipart reply, one after the other. Never more than 65,535 bytes each.
std::string EncodeMessage(const OfMessage& message, const OfCodecState& state = {});
// A whole message, header included: `bytes` has the length that its header says. Never reads outside; the failure has
// the error that the specification names.
OfResult<OfMessage> DecodeMessage(Bytes bytes, const OfCodecState& state = {});
// "OFPT_FLOW_MOD (OF1.3) (xid=0x4): ADD table:0 ..." with a newline at the end: as ovs-ofctl monitor and snoop print
// it. `verbosity`: 0 for a line each, more for packets' contents.
std::string FormatMessage(Bytes bytes, const OfNames& names, int verbosity);
// "OFPT_FLOW_MOD", "OFPST_FLOW request": of the message's type.
std::string MessageName(Bytes bytes);

// Cuts a stream of bytes into messages. A header whose length is below 8 closes the connection.
class OfStreamSplitter {
 public:
  // Calls `on_message` for each whole message; false: the stream is broken. At most one message is kept.
  template <typename F>
  bool Feed(std::string_view bytes, F&& on_message) {
    pending_.append(bytes);
    size_t at = 0;
    while (pending_.size() - at >= kOfHeaderSize) {
      Bytes rest = AsBytes(std::string_view(pending_).substr(at));
      size_t length = static_cast<size_t>(rest[2]) << 8 | rest[3];
      if (length < kOfHeaderSize) return false;
      if (rest.size() < length) break;
      std::string message = pending_.substr(at, length);
      at += length;
      if (!on_message(std::move(message))) return false;
    }
    pending_.erase(0, at);
    return true;
  }
  size_t pending() const { return pending_.size(); }

 private:
  std::string pending_;
};

}  // namespace sluice
