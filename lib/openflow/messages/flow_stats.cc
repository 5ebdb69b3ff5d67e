// Flow and aggregate statistics: OpenFlow 1.0 (1.0.1, 5.3.5), 1.1-1.4 (1.3.5, 7.3.5), 1.5 with OXS (1.5.1, 7.3.5), and
// NXST_FLOW, NXST_AGGREGATE.
#include "lib/openflow/messages/flows.h"
#include "lib/openflow/messages/match_bytes.h"

namespace sluice::messages {
namespace {

OfResult<FlowStatsRequest> ReadRequest(WireReader& in, const Form& form, bool aggregate) {
  FlowStatsRequest request;
  request.aggregate = aggregate;
  OfResult<OfMatch> match = OfMatch();
  OfResult<OfPort> out_port = kOfpNone;
  if (form.extension) {
    out_port = in.U16();
    size_t length = in.U16();
    request.table = in.U8();
    in.Skip(3);
    CookieMatch cookie;
    match = ReadNxmMatch(in, length, true, &cookie);
    request.cookie = cookie.cookie;
    request.cookie_mask = cookie.mask;
  } else if (form.version == OfVersion::k10) {
    match = DecodeMatch10(in);
    request.table = in.U8();
    in.Skip(1);
    out_port = in.U16();
  } else {
    request.table = in.U8();
    in.Skip(3);
    out_port = ReadPort(in, form.version, OfError::kBacBadOutPort);
    request.out_group = in.U32();
    in.Skip(4);
    request.cookie = in.U64();
    request.cookie_mask = in.U64();
    match = DecodeMatch(in, form.version);
  }
  if (!out_port.ok()) return out_port.failure();
  if (!match.ok()) return match.failure();
  request.out_port = *out_port;
  request.match = *match;
  return request;
}

// Ages are one more than they are, 0 if not known.
uint16_t AgeToWire(int age) { return age < 0 ? 0 : static_cast<uint16_t>(std::min(age + 1, 0xffff)); }
int AgeFromWire(uint16_t age) { return static_cast<int>(age) - 1; }

OfStatus ReadMatchAndActions(WireReader& in, OfResult<OfMatch> match, OfVersion version, OfFlowStats& stats) {
  if (!match.ok()) return match.failure();
  stats.match = *match;
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "flow statistics are too short");
  OfResult<OfActions> actions = DecodeInstructions(in.Rest(), version);
  if (!actions.ok()) return actions.failure();
  stats.actions = *std::move(actions);
  return std::nullopt;
}

void ReadTimes(WireReader& in, OfFlowStats& stats) {
  stats.duration = ReadDuration(in);
  stats.priority = in.U16();
  stats.idle_timeout = in.U16();
  stats.hard_timeout = in.U16();
}
void WriteTimes(const OfFlowStats& stats, WireWriter& out) {
  WriteDuration(stats.duration, out);
  out.U16(stats.priority);
  out.U16(stats.idle_timeout);
  out.U16(stats.hard_timeout);
}
void ReadCounts(WireReader& in, OfFlowStats& stats) {
  stats.cookie = in.U64();
  stats.packets = in.U64();
  stats.bytes = in.U64();
}
void WriteCounts(const OfFlowStats& stats, WireWriter& out) {
  out.U64(stats.cookie);
  out.U64(stats.packets);
  out.U64(stats.bytes);
}

// -- 1.0 and Nicira --------------------------------------------------------------------------------------------------

OfStatus Read10(WireReader& in, OfFlowStats& stats) {
  in.Skip(2);
  stats.table = in.U8();
  in.Skip(1);
  OfResult<OfMatch> match = DecodeMatch10(in);
  ReadTimes(in, stats);
  in.Skip(6);
  ReadCounts(in, stats);
  return ReadMatchAndActions(in, std::move(match), OfVersion::k10, stats);
}

void Write10(const OfFlowStats& stats, WireWriter& out) {
  out.U16(0);
  out.U8(stats.table);
  out.U8(0);
  EncodeMatch10(stats.match, out);
  WriteTimes(stats, out);
  out.Zeros(6);
  WriteCounts(stats, out);
}

OfStatus ReadNxm(WireReader& in, OfVersion version, OfFlowStats& stats) {
  in.Skip(2);
  stats.table = in.U8();
  in.Skip(1);
  ReadTimes(in, stats);
  size_t match_length = in.U16();
  stats.idle_age = AgeFromWire(in.U16());
  stats.hard_age = AgeFromWire(in.U16());
  ReadCounts(in, stats);
  return ReadMatchAndActions(in, ReadNxmMatch(in, match_length, false, nullptr), version, stats);
}

void WriteNxm(const OfFlowStats& stats, OfVersion version, WireWriter& out) {
  out.U16(0);
  out.U8(stats.table);
  out.U8(0);
  WriteTimes(stats, out);
  size_t length_at = out.size();
  out.U16(0);
  out.U16(AgeToWire(stats.idle_age));
  out.U16(AgeToWire(stats.hard_age));
  WriteCounts(stats, out);
  out.SetU16(length_at, WriteNxmMatch(stats.match, nullptr, version, out));
}

// -- 1.1 to 1.4 ------------------------------------------------------------------------------------------------------

OfStatus Read11(WireReader& in, OfVersion version, OfFlowStats& stats) {
  in.Skip(2);
  stats.table = in.U8();
  in.Skip(1);
  ReadTimes(in, stats);
  uint16_t flags = in.U16();
  uint16_t importance = in.U16();
  in.Skip(2);
  if (version >= OfVersion::k13) stats.flags = flags;
  if (version >= OfVersion::k14) stats.importance = importance;
  ReadCounts(in, stats);
  return ReadMatchAndActions(in, DecodeMatch(in, version), version, stats);
}

void Write11(const OfFlowStats& stats, OfVersion version, WireWriter& out) {
  out.U16(0);
  out.U8(stats.table);
  out.U8(0);
  WriteTimes(stats, out);
  out.U16(version >= OfVersion::k13 ? stats.flags & 0x1f : 0);
  out.U16(version >= OfVersion::k14 ? stats.importance : 0);
  out.U16(0);
  WriteCounts(stats, out);
  EncodeMatch(stats.match, version, out);
}

// -- 1.5 -------------------------------------------------------------------------------------------------------------

OfStatus Read15(WireReader& in, OfFlowStats& stats) {
  in.Skip(4);
  stats.table = in.U8();
  in.Skip(1);
  stats.priority = in.U16();
  stats.idle_timeout = in.U16();
  stats.hard_timeout = in.U16();
  stats.flags = in.U16();
  stats.importance = in.U16();
  stats.cookie = in.U64();
  OfResult<OfMatch> match = DecodeMatch(in, OfVersion::k15);
  if (!match.ok()) return match.failure();
  OfResult<OxsStats> oxs = ReadOxsStats(in);
  if (!oxs.ok()) return oxs.failure();
  stats.duration = oxs->duration;
  stats.idle_age = oxs->idle_age;
  stats.packets = oxs->packets;
  stats.bytes = oxs->bytes;
  return ReadMatchAndActions(in, std::move(match), OfVersion::k15, stats);
}

void Write15(const OfFlowStats& stats, WireWriter& out) {
  out.Zeros(4);
  out.U8(stats.table);
  out.U8(0);
  out.U16(stats.priority);
  out.U16(stats.idle_timeout);
  out.U16(stats.hard_timeout);
  out.U16(stats.flags & 0x1f);
  out.U16(stats.importance);
  out.U64(stats.cookie);
  EncodeMatch(stats.match, OfVersion::k15, out);
  OxsStats oxs;
  oxs.duration = stats.duration;
  oxs.idle_age = stats.idle_age;
  oxs.packets = stats.packets;
  oxs.bytes = stats.bytes;
  WriteOxsStats(oxs, out);
}

}  // namespace

OfResult<FlowStatsRequest> ReadFlowStatsRequest(WireReader& in, const Form& form) {
  return ReadRequest(in, form, false);
}
OfResult<FlowStatsRequest> ReadAggregateRequest(WireReader& in, const Form& form) {
  return ReadRequest(in, form, true);
}

void WriteFlowStatsRequest(const FlowStatsRequest& request, const Form& form, WireWriter& out) {
  if (form.extension) {
    out.U16(request.out_port);
    size_t length_at = out.size();
    out.U16(0);
    out.U8(request.table);
    out.Zeros(3);
    CookieMatch cookie{request.cookie, request.cookie_mask};
    out.SetU16(length_at, WriteNxmMatch(request.match, &cookie, form.version, out));
  } else if (form.version == OfVersion::k10) {
    EncodeMatch10(request.match, out);
    out.U8(request.table);
    out.U8(0);
    out.U16(request.out_port);
  } else {
    out.U8(request.table);
    out.Zeros(3);
    out.U32(PortToWire(request.out_port));
    out.U32(request.out_group);
    out.U32(0);
    out.U64(request.cookie);
    out.U64(request.cookie_mask);
    EncodeMatch(request.match, form.version, out);
  }
}

OfResult<OfFlowStats> ReadFlowStats(WireReader& in, const Form& form) {
  bool is_10 = form.version == OfVersion::k10 && !form.extension;
  OfResult<WireReader> entry = TakeEntry(in, is_10 ? 88 : form.version == OfVersion::k15 ? 40 : 48, "flow statistics");
  if (!entry.ok()) return entry.failure();
  OfFlowStats stats;
  OfStatus status = form.extension                   ? ReadNxm(*entry, form.version, stats)
                    : is_10                          ? Read10(*entry, stats)
                    : form.version == OfVersion::k15 ? Read15(*entry, stats)
                                                     : Read11(*entry, form.version, stats);
  if (status) return *status;
  return stats;
}

void WriteFlowStats(const OfFlowStats& stats, const Form& form, WireWriter& out) {
  size_t start = out.size();
  if (form.extension) {
    WriteNxm(stats, form.version, out);
  } else if (form.version == OfVersion::k10) {
    Write10(stats, out);
  } else if (form.version == OfVersion::k15) {
    Write15(stats, out);
  } else {
    Write11(stats, form.version, out);
  }
  EncodeInstructions(stats.actions, form.version, out);
  SetLength(out, start);
}

OfResult<OfAggregateReply> ReadAggregate(WireReader& in, const Form& form) {
  OfAggregateReply reply;
  if (form.version == OfVersion::k15) {
    OfResult<OxsStats> oxs = ReadOxsStats(in);
    if (!oxs.ok()) return oxs.failure();
    reply.aggregate = {oxs->packets, oxs->bytes, oxs->flows};
    return reply;
  }
  reply.aggregate.packets = in.U64();
  reply.aggregate.bytes = in.U64();
  reply.aggregate.flows = in.U32();
  in.Skip(4);
  return reply;
}

void WriteAggregate(const OfAggregateReply& reply, const Form& form, WireWriter& out) {
  if (form.version == OfVersion::k15) {
    OxsStats oxs;
    oxs.has_duration = false;
    oxs.packets = reply.aggregate.packets;
    oxs.bytes = reply.aggregate.bytes;
    oxs.flows = reply.aggregate.flows;
    oxs.has_flows = true;
    WriteOxsStats(oxs, out);
    return;
  }
  out.U64(reply.aggregate.packets);
  out.U64(reply.aggregate.bytes);
  out.U32(reply.aggregate.flows);
  out.U32(0);
}

}  // namespace sluice::messages
