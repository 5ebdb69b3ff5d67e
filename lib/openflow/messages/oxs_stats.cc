// OXS statistics (OpenFlow 1.5.1, 7.2.4.3): entries of the class 0x8002 behind a header with their length.
#include "lib/openflow/messages/flows.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kOxsBasic = 0x8002;
enum Field : uint8_t { kDuration = 0, kIdleTime = 1, kFlowCount = 3, kPacketCount = 4, kByteCount = 5 };

void WriteHeader(Field field, uint8_t length, WireWriter& out) {
  out.U16(kOxsBasic);
  out.U8(static_cast<uint8_t>(field << 1));
  out.U8(length);
}

void WriteCount(Field field, uint64_t count, WireWriter& out) {
  if (count == UINT64_MAX) return;  // not known: left out
  WriteHeader(field, 8, out);
  out.U64(count);
}

OfStatus ReadField(WireReader& in, OxsStats& stats) {
  uint16_t oxs_class = in.U16();
  uint8_t field = in.U8() >> 1;
  uint8_t length = in.U8();
  WireReader value(in.Take(length));
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "OXS entry of {} bytes is cut", length);
  if (oxs_class != kOxsBasic) return std::nullopt;
  uint8_t expected = field == kFlowCount ? 4 : 8;
  bool known = field == kDuration || field == kIdleTime || (field >= kFlowCount && field <= kByteCount);
  if (!known) return std::nullopt;
  if (length != expected) return Fail(OfError::kBmcBadLen, "OXS field {} of {} bytes", field, length);
  switch (field) {
    case kDuration:
      stats.duration = ReadDuration(value);
      stats.has_duration = true;
      break;
    case kIdleTime:
      stats.idle_age = static_cast<int>(std::min<uint32_t>(value.U32(), INT32_MAX));
      break;
    case kFlowCount:
      stats.flows = value.U32();
      stats.has_flows = true;
      break;
    case kPacketCount:
      stats.packets = value.U64();
      break;
    default:
      stats.bytes = value.U64();
  }
  return std::nullopt;
}

}  // namespace

void WriteOxsStats(const OxsStats& stats, WireWriter& out) {
  size_t start = out.size();
  out.Zeros(4);
  if (stats.has_duration) {
    WriteHeader(kDuration, 8, out);
    WriteDuration(stats.duration, out);
  }
  if (stats.idle_age >= 0) {
    WriteHeader(kIdleTime, 8, out);
    WriteDuration(std::chrono::seconds(stats.idle_age), out);
  }
  if (stats.has_flows) {
    WriteHeader(kFlowCount, 4, out);
    out.U32(stats.flows);
  }
  WriteCount(kPacketCount, stats.packets, out);
  WriteCount(kByteCount, stats.bytes, out);
  SetLength(out, start, 2);
  out.PadFrom(start, 8);
}

OfResult<OxsStats> ReadOxsStats(WireReader& in) {
  WireReader peek = in;
  peek.Skip(2);
  size_t length = peek.U16();
  size_t padded = (length + 7) / 8 * 8;
  if (!peek.ok() || length < 4 || padded > in.left()) {
    return Fail(OfError::kBrcBadLen, "OXS statistics of {} bytes, where {} are left", length, in.left());
  }
  WireReader entries(in.Take(padded).subspan(4, length - 4));
  OxsStats stats;
  stats.has_duration = false;
  while (!entries.AtEnd()) {
    if (OfStatus status = ReadField(entries, stats)) return *status;
  }
  return stats;
}

}  // namespace sluice::messages
