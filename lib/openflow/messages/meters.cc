// Meters: OpenFlow 1.3.5, 7.3.4.4 and 7.3.5.12-14; 1.5.1, 7.3.5.14.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"
#include "lib/openflow/meter.h"

namespace sluice {
namespace messages {
namespace {

constexpr size_t kBandSize = 16;

OfResult<MeterBand> ReadBand(WireReader& in) {
  WireReader peek = in;
  uint16_t type = peek.U16();
  size_t length = peek.U16();
  if (!peek.ok() || length < 12 || length > in.left()) {
    return Fail(OfError::kBrcBadLen, "meter band of {} bytes, where {} are left", length, in.left());
  }
  WireReader entry(in.Take(length));
  entry.Skip(4);
  MeterBand band;
  band.type = static_cast<MeterBand::Type>(type);
  band.rate = entry.U32();
  band.burst = entry.U32();
  if (band.type != MeterBand::Type::kDrop && band.type != MeterBand::Type::kDscpRemark) {
    return Fail(OfError::kMmfcBadBand, "meter band of type {}", type);
  }
  if (length != kBandSize) return Fail(OfError::kBrcBadLen, "meter band of {} bytes instead of 16", length);
  uint8_t precedence = entry.U8();
  if (band.type == MeterBand::Type::kDscpRemark) band.precedence = precedence;
  return band;
}

OfStatus ReadBands(WireReader& in, MeterConfig& config) {
  while (!in.AtEnd()) {
    OfResult<MeterBand> band = ReadBand(in);
    if (!band.ok()) return band.failure();
    config.bands.push_back(*band);
  }
  return std::nullopt;
}

void WriteBands(const MeterConfig& config, WireWriter& out) {
  for (const MeterBand& band : config.bands) {
    out.U16(static_cast<uint16_t>(band.type));
    out.U16(kBandSize);
    out.U32(band.rate);
    out.U32(band.burst);
    out.U8(band.type == MeterBand::Type::kDscpRemark ? band.precedence : 0);
    out.Zeros(3);
  }
}

OfResult<MeterMod> ReadMod(WireReader& in, const Form& form) { return DecodeMeterMod(in.Rest(), form.version); }
void WriteMod(const MeterMod& mod, const Form& form, WireWriter& out) { EncodeMeterMod(mod, form.version, out); }

// -- Statistics, configuration, features
// -------------------------------------------------------------------------------

template <typename Request>
OfResult<Request> ReadRequest(WireReader& in, const Form&) {
  Request request;
  request.meter = in.U32();
  in.Skip(4);
  return request;
}
template <typename Request>
void WriteRequest(const Request& request, const Form&, WireWriter& out) {
  out.U32(request.meter);
  out.Zeros(4);
}

OfResult<MeterStats> ReadStats(WireReader& in, const Form&) {
  WireReader peek = in;
  MeterStats stats;
  stats.meter = peek.U32();
  size_t length = peek.U16();
  if (!peek.ok() || length < 40 || (length - 40) % 16 != 0 || length > in.left()) {
    return Fail(OfError::kBrcBadLen, "meter statistics of {} bytes, where {} are left", length, in.left());
  }
  WireReader entry(in.Take(length));
  entry.Skip(12);
  stats.flow_count = entry.U32();
  stats.packets_in = entry.U64();
  stats.bytes_in = entry.U64();
  stats.duration = ReadDuration(entry);
  while (!entry.AtEnd()) {
    uint64_t packets = entry.U64();
    stats.bands.push_back({packets, entry.U64()});
  }
  return stats;
}

void WriteStats(const MeterStats& stats, const Form&, WireWriter& out) {
  size_t start = out.size();
  out.U32(stats.meter);
  out.Zeros(8);
  out.U32(stats.flow_count);
  out.U64(stats.packets_in);
  out.U64(stats.bytes_in);
  WriteDuration(stats.duration, out);
  for (const MeterStats::Band& band : stats.bands) {
    out.U64(band.packets);
    out.U64(band.bytes);
  }
  SetLength(out, start, 4);
}

OfResult<MeterConfig> ReadConfig(WireReader& in, const Form&) {
  OfResult<WireReader> entry = TakeEntry(in, 8, "meter configuration");
  if (!entry.ok()) return entry.failure();
  MeterConfig config;
  entry->Skip(2);
  config.flags = entry->U16();
  config.meter = entry->U32();
  if (OfStatus status = ReadBands(*entry, config)) return *status;
  return config;
}

void WriteConfig(const MeterConfig& config, const Form&, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U16(config.flags);
  out.U32(config.meter);
  WriteBands(config, out);
  SetLength(out, start);
}

OfResult<OfMeterFeaturesReply> ReadFeatures(WireReader& in, const Form&) {
  OfMeterFeaturesReply reply;
  MeterFeatures& features = reply.features;
  features.max_meters = in.U32();
  features.band_types = in.U32();
  features.capabilities = in.U32();
  features.max_bands = in.U8();
  features.max_color = in.U8();
  in.Skip(2);
  return reply;
}
// The length of 1.3 in all versions: Open vSwitch's tools take no other.
void WriteFeatures(const OfMeterFeaturesReply& reply, const Form&, WireWriter& out) {
  const MeterFeatures& features = reply.features;
  out.U32(features.max_meters);
  out.U32(features.band_types);
  out.U32(features.capabilities);
  out.U8(features.max_bands);
  out.U8(features.max_color);
  out.Zeros(2);
}

constexpr Codec kMod = Single<ReadMod, WriteMod, FormatMeterMod>();
constexpr Codec kStatsRequest =
    Single<ReadRequest<OfMeterStatsRequest>, WriteRequest<OfMeterStatsRequest>, FormatMeterStatsRequest>();
constexpr Codec kConfigRequest =
    Single<ReadRequest<OfMeterConfigRequest>, WriteRequest<OfMeterConfigRequest>, FormatMeterConfigRequest>();
constexpr Codec kStats = List<OfMeterStatsReply, ReadStats, WriteStats, FormatMeterStatsReply>();
constexpr Codec kConfig = List<OfMeterConfigReply, ReadConfig, WriteConfig, FormatMeterConfigReply>();
constexpr Codec kFeatures = Single<ReadFeatures, WriteFeatures, FormatMeterFeatures>();

constexpr Row kRows[] = {
    {"OFPT_METER_MOD", Space::kPlain, 29, 4, 6, {8, 8}, kMod},
    {"OFPST_METER request", Space::kRequest, 9, 4, 6, {8, 0}, kStatsRequest},
    {"OFPST_METER reply", Space::kReply, 9, 4, 6, {0, 8}, kStats},
    {"OFPST_METER_CONFIG request", Space::kRequest, 10, 4, 6, {8, 0}, kConfigRequest},
    {"OFPST_METER_CONFIG reply", Space::kReply, 10, 4, 6, {0, 8}, kConfig},
    {"OFPST_METER_FEATURES request", Space::kRequest, 11, 4, 6, {}, Empty<OfMeterFeaturesRequest>()},
    {"OFPST_METER_FEATURES reply", Space::kReply, 11, 4, 6, {16, 0}, kFeatures},
};

}  // namespace

absl::Span<const Row> MeterRows() { return kRows; }

}  // namespace messages

void EncodeMeterMod(const MeterMod& mod, OfVersion, WireWriter& out) {
  out.U16(static_cast<uint16_t>(mod.command));
  out.U16(mod.config.flags);
  out.U32(mod.config.meter);
  messages::WriteBands(mod.config, out);
}

OfResult<MeterMod> DecodeMeterMod(Bytes body, OfVersion) {
  WireReader in(body);
  MeterMod mod;
  uint16_t command = in.U16();
  uint16_t flags = in.U16();
  mod.config.meter = in.U32();
  if (!in.ok()) return messages::Fail(OfError::kBrcBadLen, "meter mod of {} bytes", body.size());
  if (command > static_cast<uint16_t>(MeterCommand::kDelete)) {
    return messages::Fail(OfError::kMmfcBadCommand, "meter mod with command {}", command);
  }
  mod.command = static_cast<MeterCommand>(command);
  if (mod.command == MeterCommand::kDelete) return mod;  // it has nothing else
  mod.config.flags = flags;
  bool both_units = (flags & kMeterKbps) != 0 && (flags & kMeterPktps) != 0;
  if (both_units || (flags & ~0xf) != 0) {
    return messages::Fail(OfError::kMmfcBadFlags, "meter mod with flags {:#x}", flags);
  }
  if (OfStatus status = messages::ReadBands(in, mod.config)) return *status;
  return mod;
}

}  // namespace sluice
