// Queues: OpenFlow 1.0.1, 5.3.4 and 5.3.5; 1.3.5, 7.3.6 and 7.3.5.8; 1.4.1, 7.3.5.7-8.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kMinRate = 1;
constexpr uint16_t kMaxRate = 2;

// -- Descriptions
// ------------------------------------------------------------------------------------------------------

// Up to 1.3 a property has a header of 8 bytes; from 1.4 on it is like all properties, with 4.
OfStatus ReadProperties(WireReader& in, OfVersion version, OfQueueDesc& queue) {
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
    if (version < OfVersion::k14) property->contents.Skip(4);
    int rate = property->contents.U16();
    if (!property->contents.ok()) return Fail(OfError::kBpcBadLen, "queue property {} has no rate", property->type);
    if (property->type == kMinRate) queue.min_rate = rate;
    if (property->type == kMaxRate) queue.max_rate = rate;
  }
  return std::nullopt;
}

void WriteRate(uint16_t type, int rate, OfVersion version, WireWriter& out) {
  if (rate < 0) return;
  size_t start = BeginProperty(type, out);
  if (version < OfVersion::k14) out.Zeros(4);
  out.U16(static_cast<uint16_t>(rate));
  out.Zeros(version < OfVersion::k14 ? 6 : 2);
  EndProperty(start, out);
}

OfResult<OfQueueDesc> ReadDesc(WireReader& in, OfVersion version, OfPort port_of_reply) {
  OfQueueDesc queue;
  queue.port = port_of_reply;
  bool is_14 = version >= OfVersion::k14;
  size_t header = version < OfVersion::k12 ? 8 : 16;
  // Where the length stands: behind the queue, and from 1.2 on the port.
  WireReader peek = in;
  peek.Skip(header == 8 ? 4 : 8);
  size_t length = peek.U16();
  if (!peek.ok() || length < header || length > in.left() || length % 8 != 0) {
    return Fail(OfError::kBrcBadLen, "queue of {} bytes, where {} are left", length, in.left());
  }
  WireReader entry(in.Take(length));
  if (is_14) {
    OfResult<OfPort> port = ReadPort(entry, version);
    if (!port.ok()) return port.failure();
    queue.port = *port;
    queue.queue = entry.U32();
  } else {
    queue.queue = entry.U32();
    if (header == 16) entry.Skip(4);
  }
  entry.Skip(header == 8 ? 4 : 8);
  if (OfStatus status = ReadProperties(entry, version, queue)) return *status;
  return queue;
}

void WriteDesc(const OfQueueDesc& queue, OfVersion version, WireWriter& out) {
  size_t start = out.size();
  if (version >= OfVersion::k14) out.U32(PortToWire(queue.port));
  out.U32(queue.queue);
  if (version == OfVersion::k12 || version == OfVersion::k13) out.U32(PortToWire(queue.port));
  size_t length_at = out.size() - start;
  out.Zeros(version < OfVersion::k12 ? 4 : 8);
  WriteRate(kMinRate, queue.min_rate, version, out);
  if (version >= OfVersion::k12) WriteRate(kMaxRate, queue.max_rate, version, out);
  SetLength(out, start, length_at);
}

OfResult<OfQueueDesc> ReadDescEntry(WireReader& in, const Form& form) { return ReadDesc(in, form.version, kOfpNone); }
void WriteDescEntry(const OfQueueDesc& queue, const Form& form, WireWriter& out) {
  WriteDesc(queue, form.version, out);
}

OfResult<OfQueueGetConfigRequest> ReadGetConfig(WireReader& in, const Form& form) {
  OfResult<OfPort> port = ReadPort(in, form.version, OfError::kQofcBadPort);
  in.Skip(form.version == OfVersion::k10 ? 2 : 4);
  if (!port.ok()) return port.failure();
  return OfQueueGetConfigRequest{*port};
}
void WriteGetConfig(const OfQueueGetConfigRequest& request, const Form& form, WireWriter& out) {
  WritePort(request.port, form.version, out);
  out.Zeros(form.version == OfVersion::k10 ? 2 : 4);
}

OfResult<OfQueueGetConfigReply> ReadConfigReply(WireReader& in, const Form& form) {
  OfQueueGetConfigReply reply;
  OfResult<OfPort> port = ReadPort(in, form.version, OfError::kQofcBadPort);
  in.Skip(form.version == OfVersion::k10 ? 6 : 4);
  if (!port.ok()) return port.failure();
  reply.port = *port;
  while (!in.AtEnd()) {
    OfResult<OfQueueDesc> queue = ReadDesc(in, form.version, reply.port);
    if (!queue.ok()) return queue.failure();
    reply.queues.push_back(*queue);
  }
  return reply;
}
void WriteConfigReply(const OfQueueGetConfigReply& reply, const Form& form, WireWriter& out) {
  WritePort(reply.port, form.version, out);
  out.Zeros(form.version == OfVersion::k10 ? 6 : 4);
  for (const OfQueueDesc& queue : reply.queues) {
    if (out.size() + 64 > kMaxMessage) break;  // the message has no second part
    WriteDesc(queue, form.version, out);
  }
}

// -- Statistics and requests
// -------------------------------------------------------------------------------------------

template <typename Request>
OfResult<Request> ReadRequest(WireReader& in, const Form& form) {
  OfResult<OfPort> port = ReadPort(in, form.version, OfError::kQofcBadPort);
  if (form.version == OfVersion::k10) in.Skip(2);
  Request request;
  request.queue = in.U32();
  if (!port.ok()) return port.failure();
  request.port = *port;
  // OpenFlow 1.0 says all ports by OFPP_ALL.
  if (form.version == OfVersion::k10 && request.port == kOfpAll) request.port = kOfpNone;
  return request;
}
template <typename Request>
void WriteRequest(const Request& request, const Form& form, WireWriter& out) {
  bool all_10 = form.version == OfVersion::k10 && request.port == kOfpNone;
  WritePort(all_10 ? kOfpAll : request.port, form.version, out);
  if (form.version == OfVersion::k10) out.Zeros(2);
  out.U32(request.queue);
}

OfResult<OfQueueStats> ReadStats(WireReader& in, const Form& form) {
  if (form.version >= OfVersion::k14) {
    OfResult<WireReader> entry = TakeEntry(in, 48, "queue statistics");
    if (!entry.ok()) return entry.failure();
    entry->Skip(8);
    Form inner = form;
    inner.version = OfVersion::k13;
    return ReadStats(*entry, inner);
  }
  OfQueueStats stats;
  OfResult<OfPort> port = ReadPort(in, form.version);
  if (form.version == OfVersion::k10) in.Skip(2);
  stats.queue = in.U32();
  stats.tx_bytes = in.U64();
  stats.tx_packets = in.U64();
  stats.tx_errors = in.U64();
  stats.duration = form.version >= OfVersion::k13 ? ReadOptionalDuration(in) : kNoDuration;
  if (!port.ok()) return port.failure();
  stats.port = *port;
  return stats;
}

void WriteStats(const OfQueueStats& stats, const Form& form, WireWriter& out) {
  size_t start = out.size();
  if (form.version >= OfVersion::k14) out.Zeros(8);
  WritePort(stats.port, form.version, out);
  if (form.version == OfVersion::k10) out.Zeros(2);
  out.U32(stats.queue);
  out.U64(stats.tx_bytes);
  out.U64(stats.tx_packets);
  out.U64(stats.tx_errors);
  if (form.version >= OfVersion::k13) WriteOptionalDuration(stats.duration, out);
  if (form.version >= OfVersion::k14) SetLength(out, start);
}

constexpr Codec kGetConfig = Single<ReadGetConfig, WriteGetConfig, FormatQueueGetConfigRequest>();
constexpr Codec kConfigReply = Single<ReadConfigReply, WriteConfigReply, FormatQueueGetConfigReply>();
constexpr Codec kDescRequest =
    Single<ReadRequest<OfQueueDescRequest>, WriteRequest<OfQueueDescRequest>, FormatQueueDescRequest>();
constexpr Codec kDescReply = List<OfQueueDescReply, ReadDescEntry, WriteDescEntry, FormatQueueDescReply>();
constexpr Codec kStatsRequest =
    Single<ReadRequest<OfQueueStatsRequest>, WriteRequest<OfQueueStatsRequest>, FormatQueueStatsRequest>();
constexpr Codec kStatsReply = List<OfQueueStatsReply, ReadStats, WriteStats, FormatQueueStatsReply>();

constexpr Row kRows[] = {
    {"OFPT_QUEUE_GET_CONFIG_REQUEST", Space::kPlain, 20, 1, 1, {4, 0}, kGetConfig},
    {"OFPT_QUEUE_GET_CONFIG_REQUEST", Space::kPlain, 22, 2, 4, {8, 0}, kGetConfig},
    {"OFPT_QUEUE_GET_CONFIG_REPLY", Space::kPlain, 21, 1, 1, {8, 8}, kConfigReply},
    {"OFPT_QUEUE_GET_CONFIG_REPLY", Space::kPlain, 23, 2, 4, {8, 8}, kConfigReply},
    {"OFPST_QUEUE_DESC request", Space::kRequest, 15, 5, 6, {8, 0}, kDescRequest},
    {"OFPST_QUEUE_DESC reply", Space::kReply, 15, 5, 6, {0, 8}, kDescReply},
    {"OFPST_QUEUE request", Space::kRequest, 5, 1, 6, {8, 0}, kStatsRequest},
    {"OFPST_QUEUE reply", Space::kReply, 5, 1, 3, {0, 32}, kStatsReply},
    {"OFPST_QUEUE reply", Space::kReply, 5, 4, 4, {0, 40}, kStatsReply},
    {"OFPST_QUEUE reply", Space::kReply, 5, 5, 6, {0, 8}, kStatsReply},
};

}  // namespace

absl::Span<const Row> QueueRows() { return kRows; }

}  // namespace sluice::messages
