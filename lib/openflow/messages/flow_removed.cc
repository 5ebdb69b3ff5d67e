// Flow-removed: OpenFlow 1.0 (1.0.1, 5.4.3), 1.1-1.4 (1.3.5, 7.4.2), 1.5 (1.5.1, 7.4.2), and NXT_FLOW_REMOVED.
#include "lib/openflow/messages/flows.h"
#include "lib/openflow/messages/match_bytes.h"

namespace sluice::messages {
namespace {

constexpr uint8_t kNoTable = 0xff;  // versions that do not tell it

FlowRemoved::Reason ReasonFromWire(uint8_t reason) { return static_cast<FlowRemoved::Reason>(reason); }

// Reasons that came later are told as a deletion.
uint8_t ReasonToWire(FlowRemoved::Reason reason, OfVersion version) {
  using Reason = FlowRemoved::Reason;
  bool known = reason <= Reason::kDelete || (reason == Reason::kGroupDelete && version >= OfVersion::k11) ||
               version >= OfVersion::k14;
  return static_cast<uint8_t>(known ? reason : Reason::kDelete);
}

void Read10(WireReader& in, FlowRemoved& removed) {
  removed.cookie = in.U64();
  removed.priority = in.U16();
  removed.reason = ReasonFromWire(in.U8());
  in.Skip(1);
  removed.table = kNoTable;
  removed.duration = ReadDuration(in);
  removed.idle_timeout = in.U16();
  in.Skip(2);
  removed.packets = in.U64();
  removed.bytes = in.U64();
}

size_t ReadNxm(WireReader& in, FlowRemoved& removed) {
  removed.cookie = in.U64();
  removed.priority = in.U16();
  removed.reason = ReasonFromWire(in.U8());
  uint8_t table_plus_one = in.U8();
  removed.table = table_plus_one != 0 ? static_cast<uint8_t>(table_plus_one - 1) : kNoTable;
  removed.duration = ReadDuration(in);
  removed.idle_timeout = in.U16();
  size_t match_length = in.U16();
  removed.packets = in.U64();
  removed.bytes = in.U64();
  return match_length;
}

void Read11(WireReader& in, FlowRemoved& removed) {
  removed.cookie = in.U64();
  removed.priority = in.U16();
  removed.reason = ReasonFromWire(in.U8());
  removed.table = in.U8();
  removed.duration = ReadDuration(in);
  removed.idle_timeout = in.U16();
  removed.hard_timeout = in.U16();
  removed.packets = in.U64();
  removed.bytes = in.U64();
}

void Read15(WireReader& in, FlowRemoved& removed) {
  removed.table = in.U8();
  removed.reason = ReasonFromWire(in.U8());
  removed.priority = in.U16();
  removed.idle_timeout = in.U16();
  removed.hard_timeout = in.U16();
  removed.cookie = in.U64();
}

OfStatus Read15Stats(WireReader& in, FlowRemoved& removed) {
  OfResult<OxsStats> stats = ReadOxsStats(in);
  if (!stats.ok()) return stats.failure();
  removed.duration = stats->duration;
  removed.packets = stats->packets;
  removed.bytes = stats->bytes;
  return std::nullopt;
}

void Write15(const FlowRemoved& removed, WireWriter& out) {
  out.U8(removed.table);
  out.U8(ReasonToWire(removed.reason, OfVersion::k15));
  out.U16(removed.priority);
  out.U16(removed.idle_timeout);
  out.U16(removed.hard_timeout);
  out.U64(removed.cookie);
  EncodeMatch(removed.match, OfVersion::k15, out);
  OxsStats stats;
  stats.duration = removed.duration;
  stats.packets = removed.packets;
  stats.bytes = removed.bytes;
  WriteOxsStats(stats, out);
}

void Write11(const FlowRemoved& removed, OfVersion version, WireWriter& out) {
  out.U64(removed.cookie);
  out.U16(removed.priority);
  out.U8(ReasonToWire(removed.reason, version));
  out.U8(removed.table);
  WriteDuration(removed.duration, out);
  out.U16(removed.idle_timeout);
  out.U16(version == OfVersion::k11 ? 0 : removed.hard_timeout);
  out.U64(removed.packets);
  out.U64(removed.bytes);
  EncodeMatch(removed.match, version, out);
}

void Write10(const FlowRemoved& removed, const Form& form, WireWriter& out) {
  if (!form.extension) EncodeMatch10(removed.match, out);
  out.U64(removed.cookie);
  out.U16(removed.priority);
  out.U8(ReasonToWire(removed.reason, form.version));
  out.U8(form.extension && removed.table != kNoTable ? static_cast<uint8_t>(removed.table + 1) : 0);
  WriteDuration(removed.duration, out);
  out.U16(removed.idle_timeout);
  size_t length_at = out.size();
  out.U16(0);
  out.U64(removed.packets);
  out.U64(removed.bytes);
  if (form.extension) out.SetU16(length_at, WriteNxmMatch(removed.match, nullptr, form.version, out));
}

}  // namespace

OfResult<FlowRemoved> ReadFlowRemoved(WireReader& in, const Form& form) {
  FlowRemoved removed;
  OfResult<OfMatch> match = OfMatch();
  if (form.extension) {
    size_t match_length = ReadNxm(in, removed);
    match = ReadNxmMatch(in, match_length, false, nullptr);
  } else if (form.version == OfVersion::k10) {
    match = DecodeMatch10(in);
    Read10(in, removed);
  } else {
    if (form.version == OfVersion::k15) {
      Read15(in, removed);
    } else {
      Read11(in, removed);
    }
    match = DecodeMatch(in, form.version);
  }
  if (!match.ok()) return match.failure();
  removed.match = *match;
  if (form.version == OfVersion::k15 && !form.extension) {
    if (OfStatus status = Read15Stats(in, removed)) return *status;
  }
  return removed;
}

void WriteFlowRemoved(const FlowRemoved& removed, const Form& form, WireWriter& out) {
  if (form.extension || form.version == OfVersion::k10) {
    Write10(removed, form, out);
  } else if (form.version == OfVersion::k15) {
    Write15(removed, out);
  } else {
    Write11(removed, form.version, out);
  }
}

}  // namespace sluice::messages
