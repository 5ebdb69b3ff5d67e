// Nicira's messages that have no counterpart in the specifications.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

bool AreZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// -- Formats and ids
// -----------------------------------------------------------------------------------------------------

OfResult<NxSetFlowFormat> ReadFlowFormat(WireReader& in, const Form&) {
  NxSetFlowFormat format{in.U32()};
  if (format.format != 0 && format.format != 2) {
    return Fail(OfError::kBrcEperm, "flow format {}; 0 is OpenFlow 1.0, 2 is NXM", format.format);
  }
  return format;
}
void WriteFlowFormat(const NxSetFlowFormat& format, const Form&, WireWriter& out) { out.U32(format.format); }

OfResult<NxSetFlowModTableId> ReadTableId(WireReader& in, const Form&) {
  NxSetFlowModTableId table_id{in.U8() != 0};
  in.Skip(7);
  return table_id;
}
void WriteTableId(const NxSetFlowModTableId& table_id, const Form&, WireWriter& out) {
  out.U8(table_id.on ? 1 : 0);
  out.Zeros(7);
}

OfResult<NxSetPacketInFormat> ReadPacketInFormat(WireReader& in, const Form&) {
  uint32_t format = in.U32();
  if (format > static_cast<uint32_t>(PacketInFormat::kNxt2)) {
    return Fail(OfError::kBrcEperm, "packet-in format {} is above 2", format);
  }
  return NxSetPacketInFormat{static_cast<PacketInFormat>(format)};
}
void WritePacketInFormat(const NxSetPacketInFormat& format, const Form&, WireWriter& out) {
  out.U32(static_cast<uint32_t>(format.format));
}

OfResult<NxSetControllerId> ReadControllerId(WireReader& in, const Form&) {
  bool zero = AreZero(in.Take(6));
  NxSetControllerId id{in.U16()};
  if (!zero) return Fail(OfError::kNxBrcMustBeZero, "controller id whose padding is not zero");
  return id;
}
void WriteControllerId(const NxSetControllerId& id, const Form&, WireWriter& out) {
  out.Zeros(6);
  out.U16(id.id);
}

// -- The map of tunnel options
// -------------------------------------------------------------------------------------------

constexpr uint16_t kMaxCommand = 2;
constexpr uint16_t kTunMetadataFields = 64;
constexpr uint8_t kMaxOptionLength = 124;

OfStatus ReadMaps(WireReader& in, std::vector<NxTlvTableMod::Map>& maps) {
  while (!in.AtEnd()) {
    NxTlvTableMod::Map& map = maps.emplace_back();
    map.option_class = in.U16();
    map.option_type = in.U8();
    map.option_length = in.U8();
    map.index = in.U16();
    in.Skip(2);
    if (map.option_length % 4 != 0 || map.option_length > kMaxOptionLength) {
      return Fail(OfError::kNxTtmfcBadOptLen, "tunnel option of {} bytes, not a multiple of 4 up to 124",
                  map.option_length);
    }
    if (map.index >= kTunMetadataFields) {
      return Fail(OfError::kNxTtmfcBadFieldIdx, "field tun_metadata{}; there are 64", map.index);
    }
  }
  return std::nullopt;
}
void WriteMaps(const std::vector<NxTlvTableMod::Map>& maps, WireWriter& out) {
  for (const NxTlvTableMod::Map& map : maps) {
    out.U16(map.option_class);
    out.U8(map.option_type);
    out.U8(map.option_length);
    out.U16(map.index);
    out.Zeros(2);
  }
}

OfResult<NxTlvTableMod> ReadTlvMod(WireReader& in, const Form&) {
  NxTlvTableMod mod;
  mod.command = in.U16();
  in.Skip(6);
  if (mod.command > kMaxCommand) return Fail(OfError::kNxTtmfcBadCommand, "tunnel option command {}", mod.command);
  if (OfStatus status = ReadMaps(in, mod.maps)) return *status;
  return mod;
}
void WriteTlvMod(const NxTlvTableMod& mod, const Form&, WireWriter& out) {
  out.U16(mod.command);
  out.Zeros(6);
  WriteMaps(mod.maps, out);
}

OfResult<NxTlvTableReply> ReadTlvReply(WireReader& in, const Form&) {
  NxTlvTableReply reply;
  reply.max_option_space = in.U32();
  reply.max_fields = in.U16();
  in.Skip(10);
  if (OfStatus status = ReadMaps(in, reply.maps)) return *status;
  return reply;
}
void WriteTlvReply(const NxTlvTableReply& reply, const Form&, WireWriter& out) {
  out.U32(reply.max_option_space);
  out.U16(reply.max_fields);
  out.Zeros(10);
  WriteMaps(reply.maps, out);
}

// -- Connection tracking
// -------------------------------------------------------------------------------------------------

constexpr uint16_t kZoneProperty = 2;

OfResult<NxCtFlush> ReadFlushZone(WireReader& in, const Form&) {
  bool zero = AreZero(in.Take(6));
  NxCtFlush flush;
  flush.zone = in.U16();
  if (!zero) return Fail(OfError::kNxBrcMustBeZero, "zone to flush whose padding is not zero");
  return flush;
}
void WriteFlushZone(const NxCtFlush& flush, const Form&, WireWriter& out) {
  out.Zeros(6);
  out.U16(flush.zone.value_or(0));
}
bool IsZoneOnly(const OfMessage& message, const OfCodecState&) {
  const auto& flush = std::get<NxCtFlush>(message.body);
  return flush.zone && flush.properties.empty();
}

// The properties stay as they are: only the zone is looked for.
OfResult<NxCtFlush> ReadFlush(WireReader& in, const Form&) {
  NxCtFlush flush;
  WireReader body = in;
  Bytes all = in.Rest();
  flush.properties.assign(all.begin(), all.end());
  body.Skip(1);
  if (!AreZero(body.Take(7))) return Fail(OfError::kNxBrcMustBeZero, "NXT_CT_FLUSH whose padding is not zero");
  while (!body.AtEnd()) {
    OfResult<Property> property = TakeProperty(body);
    if (!property.ok()) return property.failure();
    if (property->type > kZoneProperty) return *UnknownProperty(*property, false, "NXT_CT_FLUSH");
    if (property->type != kZoneProperty) continue;
    flush.zone = property->contents.U16();
    if (!property->contents.ok()) return Fail(OfError::kBpcBadLen, "zone of NXT_CT_FLUSH is cut");
  }
  return flush;
}
void WriteFlush(const NxCtFlush& flush, const Form&, WireWriter& out) {
  if (flush.properties.empty()) {
    out.Zeros(8);
  } else {
    out.Raw(AsBytes(flush.properties));
  }
}

// -- IPFIX statistics
// ----------------------------------------------------------------------------------------------------

template <bool kFlow>
OfResult<OfIpfixStatsRequest> ReadIpfixRequest(WireReader&, const Form&) {
  return OfIpfixStatsRequest{kFlow};
}
void WriteIpfixRequest(const OfIpfixStatsRequest&, const Form&, WireWriter&) {}
void FormatIpfixRequest(const OfIpfixStatsRequest&, const Text&, std::string&) {}

template <bool kFlow>
OfResult<OfIpfixStatsReply> ReadIpfixReply(WireReader& in, const Form&) {
  OfIpfixStatsReply reply;
  reply.flow = kFlow;
  while (!in.AtEnd()) {
    OfIpfixStats& stats = reply.entries.emplace_back();
    for (uint64_t& value : stats.values) value = in.U64();
    stats.collector_set = in.U32();
    in.Skip(4);
  }
  return reply;
}
void WriteIpfixReply(const OfIpfixStatsReply& reply, const Form&, WireWriter& out) {
  constexpr size_t kEntry = 88;
  for (const OfIpfixStats& stats : reply.entries) {
    if (out.size() + kEntry > kMaxMessage) break;
    for (uint64_t value : stats.values) out.U64(value);
    out.U32(stats.collector_set);
    out.Zeros(4);
  }
}

template <bool kFlow>
bool IsIpfixRequest(const OfMessage& message, const OfCodecState&) {
  return std::get<OfIpfixStatsRequest>(message.body).flow == kFlow;
}
template <bool kFlow>
bool IsIpfixReply(const OfMessage& message, const OfCodecState&) {
  return std::get<OfIpfixStatsReply>(message.body).flow == kFlow;
}

constexpr Codec kFlowFormat = Single<ReadFlowFormat, WriteFlowFormat, FormatSetFlowFormat>();
constexpr Codec kTableId = Single<ReadTableId, WriteTableId, FormatSetTableId>();
constexpr Codec kPacketInFormat = Single<ReadPacketInFormat, WritePacketInFormat, FormatSetPacketInFormat>();
constexpr Codec kControllerId = Single<ReadControllerId, WriteControllerId, FormatSetControllerId>();
constexpr Codec kTlvMod = Single<ReadTlvMod, WriteTlvMod, FormatTlvTableMod>();
constexpr Codec kTlvReply = Single<ReadTlvReply, WriteTlvReply, FormatTlvTableReply>();
constexpr Codec kFlushZone = Single<ReadFlushZone, WriteFlushZone, FormatCtFlushZone>();
constexpr Codec kFlush = Single<ReadFlush, WriteFlush, FormatCtFlush>();
constexpr Codec kBridgeRequest = Single<ReadIpfixRequest<false>, WriteIpfixRequest, FormatIpfixRequest>();
constexpr Codec kFlowRequest = Single<ReadIpfixRequest<true>, WriteIpfixRequest, FormatIpfixRequest>();
constexpr Codec kBridgeReply = Single<ReadIpfixReply<false>, WriteIpfixReply, FormatIpfixReply>();
constexpr Codec kFlowReply = Single<ReadIpfixReply<true>, WriteIpfixReply, FormatIpfixReply>();

constexpr auto kIsBridgeRequest = IsIpfixRequest<false>;
constexpr auto kIsFlowRequest = IsIpfixRequest<true>;
constexpr auto kIsBridgeReply = IsIpfixReply<false>;
constexpr auto kIsFlowReply = IsIpfixReply<true>;

constexpr Space kNx = Space::kExperimenter;
constexpr Row kRows[] = {
    {"NXT_SET_FLOW_FORMAT", kNx, 12, 1, 1, {4, 0}, kFlowFormat, kNiciraVendor},
    {"NXT_FLOW_MOD_TABLE_ID", kNx, 15, 1, 6, {8, 0}, kTableId, kNiciraVendor},
    {"NXT_SET_PACKET_IN_FORMAT", kNx, 16, 1, 6, {4, 0}, kPacketInFormat, kNiciraVendor},
    {"NXT_SET_CONTROLLER_ID", kNx, 20, 1, 6, {8, 0}, kControllerId, kNiciraVendor},
    {"NXT_TLV_TABLE_MOD", kNx, 24, 1, 6, {8, 8}, kTlvMod, kNiciraVendor},
    {"NXT_TLV_TABLE_REQUEST", kNx, 25, 1, 6, {}, Empty<NxTlvTableRequest>(), kNiciraVendor},
    {"NXT_TLV_TABLE_REPLY", kNx, 26, 1, 6, {16, 8}, kTlvReply, kNiciraVendor},
    {"NXT_CT_FLUSH_ZONE", kNx, 29, 1, 6, {8, 0}, kFlushZone, kNiciraVendor, IsZoneOnly},
    {"NXT_CT_FLUSH", kNx, 32, 1, 6, {8, 8}, kFlush, kNiciraVendor},
    {"NXST_IPFIX_BRIDGE request",
     Space::kExperimenterReq,
     3,
     1,
     6,
     {},
     kBridgeRequest,
     kNiciraVendor,
     kIsBridgeRequest},
    {"NXST_IPFIX_FLOW request", Space::kExperimenterReq, 4, 1, 6, {}, kFlowRequest, kNiciraVendor, kIsFlowRequest},
    {"NXST_IPFIX_BRIDGE reply",
     Space::kExperimenterReply,
     3,
     1,
     6,
     {88, 0},
     kBridgeReply,
     kNiciraVendor,
     kIsBridgeReply},
    {"NXST_IPFIX_FLOW reply", Space::kExperimenterReply, 4, 1, 6, {0, 88}, kFlowReply, kNiciraVendor, kIsFlowReply},
};

}  // namespace

absl::Span<const Row> NiciraRows() { return kRows; }

}  // namespace sluice::messages
