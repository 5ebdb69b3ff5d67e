// Port statistics: OpenFlow 1.0.1, 5.3.5; 1.3.5, 7.3.5.6; 1.4.1, 7.3.5.6 with properties; Intel's experimenter
// properties for counters of RFC 2819 and of the device.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kEthernetProperty = 0;
constexpr uint16_t kExperimenterProperty = 0xffff;
constexpr uint32_t kIntel = 0x0000aa01;
constexpr uint32_t kCustomCounters = 2;

constexpr uint64_t OfPortStats::*kCommon[] = {
    &OfPortStats::rx_packets, &OfPortStats::tx_packets, &OfPortStats::rx_bytes,  &OfPortStats::tx_bytes,
    &OfPortStats::rx_dropped, &OfPortStats::tx_dropped, &OfPortStats::rx_errors, &OfPortStats::tx_errors,
};
constexpr uint64_t OfPortStats::*kEthernet[] = {
    &OfPortStats::rx_frame_errors,
    &OfPortStats::rx_over_errors,
    &OfPortStats::rx_crc_errors,
    &OfPortStats::collisions,
};

template <size_t kCount>
void ReadCounters(WireReader& in, uint64_t OfPortStats::*const (&members)[kCount], OfPortStats& stats) {
  for (auto member : members) stats.*member = in.U64();
}
template <size_t kCount>
void WriteCounters(const OfPortStats& stats, uint64_t OfPortStats::*const (&members)[kCount], WireWriter& out) {
  for (auto member : members) out.U64(stats.*member);
}

OfResult<OfPortStats> ReadFixed(WireReader& in, OfVersion version) {
  OfPortStats stats;
  OfResult<OfPort> port = ReadPort(in, version);
  in.Skip(version == OfVersion::k10 ? 6 : 4);
  ReadCounters(in, kCommon, stats);
  ReadCounters(in, kEthernet, stats);
  stats.duration = version >= OfVersion::k13 ? ReadOptionalDuration(in) : kNoDuration;
  if (!port.ok()) return port.failure();
  stats.port = *port;
  return stats;
}

// Names and values, each name behind its length.
OfStatus ReadCustom(WireReader& in, OfPortStats& stats) {
  in.Skip(2);
  size_t count = in.U16();
  for (size_t i = 0; i < count; ++i) {
    size_t length = in.U8();
    std::string name = in.FixedText(length);
    uint64_t value = in.U64();
    if (!in.ok()) return Fail(OfError::kBpcBadLen, "property with {} counters ends in counter {}", count, i);
    stats.custom[name] = value;
  }
  return std::nullopt;
}

OfStatus ReadProperty(Property& property, OfPortStats& stats) {
  if (property.type == kEthernetProperty) {
    property.contents.Skip(4);
    ReadCounters(property.contents, kEthernet, stats);
    if (!property.contents.ok() || !property.contents.AtEnd()) {
      return Fail(OfError::kBpcBadLen, "Ethernet property of port statistics does not have 40 bytes");
    }
  } else if (property.type == kExperimenterProperty && property.experimenter == kIntel &&
             property.exp_type == kCustomCounters) {
    return ReadCustom(property.contents, stats);
  }
  return std::nullopt;
}

OfResult<OfPortStats> Read14(WireReader& in, OfVersion version) {
  OfResult<WireReader> entry = TakeEntry(in, 80, "port statistics");
  if (!entry.ok()) return entry.failure();
  OfPortStats stats;
  for (auto member : kEthernet) stats.*member = UINT64_MAX;
  entry->Skip(4);
  OfResult<OfPort> port = ReadPort(*entry, version);
  if (!port.ok()) return port.failure();
  stats.port = *port;
  stats.duration = ReadOptionalDuration(*entry);
  ReadCounters(*entry, kCommon, stats);
  while (!entry->AtEnd()) {
    OfResult<Property> property = TakeProperty(*entry);
    if (!property.ok()) return property.failure();
    if (OfStatus status = ReadProperty(*property, stats)) return *status;
  }
  return stats;
}

void WriteCustom(const OfPortStats& stats, WireWriter& out) {
  if (stats.custom.empty()) return;
  size_t start = BeginProperty(kExperimenterProperty, out);
  out.U32(kIntel);
  out.U32(kCustomCounters);
  out.Zeros(2);
  size_t count_at = out.size();
  out.U16(0);
  uint16_t count = 0;
  for (const auto& [name, value] : stats.custom) {
    if (out.size() - start > 60000) break;  // the property's length has 16 bits
    out.U8(static_cast<uint8_t>(std::min<size_t>(name.size(), 255)));
    out.Raw(AsBytes(std::string_view(name).substr(0, 255)));
    out.U64(value);
    ++count;
  }
  out.SetU16(count_at, count);
  EndProperty(start, out);
}

void Write14(const OfPortStats& stats, WireWriter& out) {
  size_t start = out.size();
  out.Zeros(4);
  out.U32(PortToWire(stats.port));
  WriteOptionalDuration(stats.duration, out);
  WriteCounters(stats, kCommon, out);
  size_t property = BeginProperty(kEthernetProperty, out);
  out.Zeros(4);
  WriteCounters(stats, kEthernet, out);
  EndProperty(property, out);
  WriteCustom(stats, out);
  SetLength(out, start);
}

OfResult<OfPortStats> ReadStats(WireReader& in, const Form& form) {
  return form.version >= OfVersion::k14 ? Read14(in, form.version) : ReadFixed(in, form.version);
}

void WriteStats(const OfPortStats& stats, const Form& form, WireWriter& out) {
  if (form.version >= OfVersion::k14) return Write14(stats, out);
  WritePort(stats.port, form.version, out);
  out.Zeros(form.version == OfVersion::k10 ? 6 : 4);
  WriteCounters(stats, kCommon, out);
  WriteCounters(stats, kEthernet, out);
  if (form.version >= OfVersion::k13) WriteOptionalDuration(stats.duration, out);
}

OfResult<OfPortStatsRequest> ReadRequest(WireReader& in, const Form& form) {
  OfResult<OfPort> port = ReadPort(in, form.version);
  in.Skip(form.version == OfVersion::k10 ? 6 : 4);
  if (!port.ok()) return port.failure();
  return OfPortStatsRequest{*port};
}
void WriteRequest(const OfPortStatsRequest& request, const Form& form, WireWriter& out) {
  WritePort(request.port, form.version, out);
  out.Zeros(form.version == OfVersion::k10 ? 6 : 4);
}

constexpr Codec kRequest = Single<ReadRequest, WriteRequest, FormatPortStatsRequest>();
constexpr Codec kReply = List<OfPortStatsReply, ReadStats, WriteStats, FormatPortStatsReply>();

constexpr Row kRows[] = {
    {"OFPST_PORT request", Space::kRequest, 4, 1, 6, {8, 0}, kRequest},
    {"OFPST_PORT reply", Space::kReply, 4, 1, 3, {0, 104}, kReply},
    {"OFPST_PORT reply", Space::kReply, 4, 4, 4, {0, 112}, kReply},
    {"OFPST_PORT reply", Space::kReply, 4, 5, 6, {0, 8}, kReply},
};

}  // namespace

absl::Span<const Row> PortStatsRows() { return kRows; }

}  // namespace sluice::messages
