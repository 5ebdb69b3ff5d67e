// Flow monitors: NXST_FLOW_MONITOR with its pause and resume; ONF extension 187 for 1.3; OpenFlow 1.4.1, 7.3.5.17.
#include "lib/openflow/messages/match_bytes.h"
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

using Event = OfFlowUpdate::Event;

// -- Requests
// ----------------------------------------------------------------------------------------------------------

constexpr uint16_t kFlagsNx = 0x3f;
constexpr uint16_t kFlags14 = 0x7f;

OfStatus CheckFlags(const OfFlowMonitorRequest& request, uint16_t known) {
  if ((request.flags & ~known) == 0) return std::nullopt;
  return Fail(known == kFlagsNx ? OfError::kNxBrcMustBeZero : OfError::kMofcBadFlags, "flow monitor with flags {:#x}",
              request.flags);
}

OfResult<OfFlowMonitorRequest> ReadRequestNx(WireReader& in, const Form&) {
  OfFlowMonitorRequest request;
  request.id = in.U32();
  request.flags = in.U16();
  request.out_port = in.U16();
  size_t match_length = in.U16();
  request.table = in.U8();
  Bytes zeros = in.Take(5);
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "flow monitor request is too short");
  bool are_zero = std::all_of(zeros.begin(), zeros.end(), [](uint8_t byte) { return byte == 0; });
  if (!are_zero) return Fail(OfError::kNxBrcMustBeZero, "flow monitor request whose padding is not zero");
  if (OfStatus status = CheckFlags(request, kFlagsNx)) return *status;
  OfResult<OfMatch> match = ReadNxmMatch(in, match_length, false, nullptr);
  if (!match.ok()) return match.failure();
  request.match = *match;
  return request;
}

void WriteRequestNx(const OfFlowMonitorRequest& request, const Form& form, WireWriter& out) {
  out.U32(request.id);
  out.U16(request.flags & kFlagsNx);
  out.U16(request.out_port);
  size_t length_at = out.size();
  out.U16(0);
  out.U8(request.table);
  out.Zeros(5);
  out.SetU16(length_at, WriteNxmMatch(request.match, nullptr, form.version, out));
}

// ONF's: like Nicira's with a port of 32 bits, and a match of OXM entries.
OfResult<OfFlowMonitorRequest> ReadRequestOnf(WireReader& in, const Form& form) {
  OfFlowMonitorRequest request;
  request.id = in.U32();
  request.flags = in.U16();
  size_t match_length = in.U16();
  OfResult<OfPort> out_port = ReadPort(in, form.version, OfError::kBacBadOutPort);
  request.table = in.U8();
  in.Skip(3);
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "flow monitor request is too short");
  if (!out_port.ok()) return out_port.failure();
  request.out_port = *out_port;
  if (OfStatus status = CheckFlags(request, kFlagsNx)) return *status;
  OfResult<OfMatch> match = ReadNxmMatch(in, match_length, false, nullptr);
  if (!match.ok()) return match.failure();
  request.match = *match;
  return request;
}

void WriteRequestOnf(const OfFlowMonitorRequest& request, const Form& form, WireWriter& out) {
  out.U32(request.id);
  out.U16(request.flags & kFlagsNx);
  size_t length_at = out.size();
  out.U16(0);
  out.U32(PortToWire(request.out_port));
  out.U8(request.table);
  out.Zeros(3);
  size_t start = out.size();
  EncodeEntries(request.match, MatchForm::kOxm, form.version, out);
  out.SetU16(length_at, static_cast<uint16_t>(out.size() - start));
  out.PadFrom(start, 8);
}

OfResult<OfFlowMonitorRequest> ReadRequest14(WireReader& in, const Form& form) {
  OfFlowMonitorRequest request;
  request.id = in.U32();
  OfResult<OfPort> out_port = ReadPort(in, form.version, OfError::kMofcBadOut);
  request.out_group = in.U32();
  request.flags = in.U16();
  request.table = in.U8();
  request.command = in.U8();
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "flow monitor request is too short");
  if (!out_port.ok()) return out_port.failure();
  request.out_port = *out_port;
  if (request.command > 2) return Fail(OfError::kMofcBadCommand, "flow monitor request {}", request.command);
  if (OfStatus status = CheckFlags(request, kFlags14)) return *status;
  OfResult<OfMatch> match = DecodeMatch(in, form.version);
  if (!match.ok()) return match.failure();
  request.match = *match;
  return request;
}

void WriteRequest14(const OfFlowMonitorRequest& request, const Form& form, WireWriter& out) {
  out.U32(request.id);
  out.U32(PortToWire(request.out_port));
  out.U32(request.out_group);
  out.U16(request.flags & kFlags14);
  out.U8(request.table);
  out.U8(request.command);
  EncodeMatch(request.match, form.version, out);
}

OfResult<OfFlowMonitorCancel> ReadCancel(WireReader& in, const Form&) { return OfFlowMonitorCancel{in.U32()}; }
void WriteCancel(const OfFlowMonitorCancel& cancel, const Form&, WireWriter& out) { out.U32(cancel.id); }

// -- Updates
// -----------------------------------------------------------------------------------------------------------

// Nicira's events have neither kInitial nor kPaused, and begin with kAdded.
OfResult<Event> EventFromNx(uint16_t event) {
  constexpr Event kEvents[] = {Event::kAdded, Event::kRemoved, Event::kModified, Event::kAbbrev};
  if (event >= std::size(kEvents)) return Fail(OfError::kNxBrcFmBadEvent, "flow update with event {}", event);
  return kEvents[event];
}
uint16_t EventToNx(Event event) {
  switch (event) {
    case Event::kRemoved:
      return 1;
    case Event::kModified:
      return 2;
    case Event::kAbbrev:
      return 3;
    default:
      return 0;
  }
}

OfStatus ReadActions(WireReader& entry, OfVersion version, OfFlowUpdate& update) {
  if (!entry.ok()) return Fail(OfError::kBrcBadLen, "flow update is too short");
  OfResult<OfActions> actions = DecodeInstructions(entry.Rest(), version);
  if (!actions.ok()) return actions.failure();
  update.actions = *std::move(actions);
  return std::nullopt;
}

OfStatus ReadFullNx(WireReader& entry, const Form& form, OfFlowUpdate& update) {
  update.reason = static_cast<FlowRemoved::Reason>(entry.U16());
  update.priority = entry.U16();
  update.idle_timeout = entry.U16();
  update.hard_timeout = entry.U16();
  size_t match_length = entry.U16();
  update.table = entry.U8();
  entry.Skip(1);
  update.cookie = entry.U64();
  OfResult<OfMatch> match = ReadNxmMatch(entry, match_length, false, nullptr);
  if (!match.ok()) return match.failure();
  update.match = *match;
  return ReadActions(entry, form.version, update);
}

OfResult<OfFlowUpdate> ReadUpdateNx(WireReader& in, const Form& form) {
  OfResult<WireReader> entry = TakeEntry(in, 8, "flow update");
  if (!entry.ok()) return entry.failure();
  entry->Skip(2);
  OfResult<Event> event = EventFromNx(entry->U16());
  if (!event.ok()) return event.failure();
  OfFlowUpdate update;
  update.event = *event;
  if (update.event == Event::kAbbrev) {
    update.xid = entry->U32();
    if (!entry->AtEnd()) return Fail(OfError::kBrcBadLen, "abbreviated flow update is not 8 bytes long");
  } else if (OfStatus status = ReadFullNx(*entry, form, update)) {
    return *status;
  }
  return update;
}

void WriteUpdateNx(const OfFlowUpdate& update, const Form& form, WireWriter& out) {
  if (update.event == Event::kPaused || update.event == Event::kResumed) return;  // messages of their own
  size_t start = out.size();
  out.U16(0);
  out.U16(EventToNx(update.event));
  if (update.event == Event::kAbbrev) {
    out.U32(update.xid);
  } else {
    out.U16(update.event == Event::kRemoved ? static_cast<uint16_t>(update.reason) : 0);
    out.U16(update.priority);
    out.U16(update.idle_timeout);
    out.U16(update.hard_timeout);
    size_t length_at = out.size();
    out.U16(0);
    out.U8(update.table);
    out.U8(0);
    out.U64(update.cookie);
    uint16_t length = 0;
    if (form.version == OfVersion::k13) {
      size_t match = out.size();
      EncodeEntries(update.match, MatchForm::kOxm, form.version, out);
      length = static_cast<uint16_t>(out.size() - match);
      out.PadFrom(match, 8);
    } else {
      length = WriteNxmMatch(update.match, nullptr, form.version, out);
    }
    out.SetU16(length_at, length);
    EncodeInstructions(update.actions, form.version, out);
  }
  SetLength(out, start);
}

OfStatus ReadFull14(WireReader& entry, const Form& form, OfFlowUpdate& update) {
  update.table = entry.U8();
  update.reason = static_cast<FlowRemoved::Reason>(entry.U8());
  update.idle_timeout = entry.U16();
  update.hard_timeout = entry.U16();
  update.priority = entry.U16();
  entry.Skip(4);
  update.cookie = entry.U64();
  OfResult<OfMatch> match = DecodeMatch(entry, form.version);
  if (!match.ok()) return match.failure();
  update.match = *match;
  return ReadActions(entry, form.version, update);
}

OfResult<OfFlowUpdate> ReadUpdate14(WireReader& in, const Form& form) {
  OfResult<WireReader> entry = TakeEntry(in, 8, "flow update");
  if (!entry.ok()) return entry.failure();
  entry->Skip(2);
  uint16_t event = entry->U16();
  if (event > static_cast<uint16_t>(Event::kResumed)) {
    return Fail(OfError::kNxBrcFmBadEvent, "flow update with event {}", event);
  }
  OfFlowUpdate update;
  update.event = static_cast<Event>(event);
  if (update.event < Event::kAbbrev) {
    if (OfStatus status = ReadFull14(*entry, form, update)) return *status;
    return update;
  }
  uint32_t xid = entry->U32();
  if (update.event == Event::kAbbrev) update.xid = xid;
  if (!entry->AtEnd()) return Fail(OfError::kBrcBadLen, "short flow update is not 8 bytes long");
  return update;
}

void WriteUpdate14(const OfFlowUpdate& update, const Form& form, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U16(static_cast<uint16_t>(update.event));
  if (update.event >= Event::kAbbrev) {
    out.U32(update.event == Event::kAbbrev ? update.xid : 0);
  } else {
    out.U8(update.table);
    out.U8(update.event == Event::kRemoved ? static_cast<uint8_t>(update.reason) : 0);
    out.U16(update.idle_timeout);
    out.U16(update.hard_timeout);
    out.U16(update.priority);
    out.Zeros(4);
    out.U64(update.cookie);
    EncodeMatch(update.match, form.version, out);
    EncodeInstructions(update.actions, form.version, out);
  }
  SetLength(out, start);
}

// -- Paused and resumed, before 1.4
// ------------------------------------------------------------------------------------

template <Event kEvent>
OfResult<OfFlowMonitorReply> ReadNote(WireReader&, const Form&) {
  OfFlowMonitorReply reply;
  reply.entries.emplace_back().event = kEvent;
  return reply;
}
void WriteNothing(const OfFlowMonitorReply&, const Form&, WireWriter&) {}
void FormatNothing(const OfFlowMonitorReply&, const Text&, std::string&) {}

template <Event kEvent>
bool FitsNote(const OfMessage& message, const OfCodecState&) {
  const auto& entries = std::get<OfFlowMonitorReply>(message.body).entries;
  return entries.size() == 1 && entries[0].event == kEvent;
}

constexpr Codec kPaused = Single<ReadNote<Event::kPaused>, WriteNothing, FormatNothing>();
constexpr Codec kResumed = Single<ReadNote<Event::kResumed>, WriteNothing, FormatNothing>();
constexpr auto kFitsPaused = FitsNote<Event::kPaused>;
constexpr auto kFitsResumed = FitsNote<Event::kResumed>;
constexpr Codec kCancel = Single<ReadCancel, WriteCancel, FormatFlowMonitorCancel>();
using Request = OfReply<OfFlowMonitorRequest>;
constexpr Codec kRequestNx = List<Request, ReadRequestNx, WriteRequestNx, FormatFlowMonitorRequest>();
constexpr Codec kRequestOnf = List<Request, ReadRequestOnf, WriteRequestOnf, FormatFlowMonitorRequest>();
constexpr Codec kRequest14 = List<Request, ReadRequest14, WriteRequest14, FormatFlowMonitorRequest>();
constexpr Codec kReplyNx = List<OfFlowMonitorReply, ReadUpdateNx, WriteUpdateNx, FormatFlowMonitorReply>();
constexpr Codec kReply14 = List<OfFlowMonitorReply, ReadUpdate14, WriteUpdate14, FormatFlowMonitorReply>();

constexpr Row kRows[] = {
    {"NXT_FLOW_MONITOR_CANCEL", Space::kExperimenter, 21, 1, 3, {4, 0}, kCancel, kNiciraVendor},
    {"ONFT_FLOW_MONITOR_CANCEL", Space::kExperimenter, 1870, 4, 4, {4, 0}, kCancel, kOnfVendor},
    {"NXT_FLOW_MONITOR_PAUSED", Space::kExperimenter, 22, 1, 3, {}, kPaused, kNiciraVendor, kFitsPaused},
    {"ONFT_FLOW_MONITOR_PAUSED", Space::kExperimenter, 1871, 4, 4, {}, kPaused, kOnfVendor, kFitsPaused},
    {"NXT_FLOW_MONITOR_RESUMED", Space::kExperimenter, 23, 1, 3, {}, kResumed, kNiciraVendor, kFitsResumed},
    {"ONFT_FLOW_MONITOR_RESUMED", Space::kExperimenter, 1872, 4, 4, {}, kResumed, kOnfVendor, kFitsResumed},
    {"NXST_FLOW_MONITOR request", Space::kExperimenterReq, 2, 1, 3, {0, 8}, kRequestNx, kNiciraVendor},
    {"ONFST_FLOW_MONITOR request", Space::kExperimenterReq, 1870, 4, 4, {0, 8}, kRequestOnf, kOnfVendor},
    {"OFPST_FLOW_MONITOR request", Space::kRequest, 16, 5, 6, {0, 8}, kRequest14},
    {"NXST_FLOW_MONITOR reply", Space::kExperimenterReply, 2, 1, 3, {0, 8}, kReplyNx, kNiciraVendor},
    {"ONFST_FLOW_MONITOR reply", Space::kExperimenterReply, 1870, 4, 4, {0, 8}, kReplyNx, kOnfVendor},
    {"OFPST_FLOW_MONITOR reply", Space::kReply, 16, 5, 6, {0, 8}, kReply14},
};

}  // namespace

absl::Span<const Row> MonitorRows() { return kRows; }

}  // namespace sluice::messages
