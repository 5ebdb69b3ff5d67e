// NXT_PACKET_IN2 and NXT_RESUME: a packet-in as properties, so that all parts may be missing.
#include "lib/openflow/messages/match_bytes.h"
#include "lib/openflow/messages/packets.h"

namespace sluice::messages {
namespace {

enum PropertyType : uint16_t {
  kPacket = 0,
  kFullLength = 1,
  kBufferId = 2,
  kTable = 3,
  kCookie = 4,
  kReason = 5,
  kMetadata = 6,
  kUserdata = 7,
  kContinuation = 8,
};

std::string ToString(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

OfStatus ReadReason(uint8_t reason, OfPacketIn& packet_in) {
  if (reason > static_cast<uint8_t>(OfPacketIn::Reason::kPacketOut)) {
    return Fail(OfError::kNxBrcBadReason, "packet-in with reason {}", reason);
  }
  packet_in.reason = static_cast<OfPacketIn::Reason>(reason);
  return std::nullopt;
}

OfStatus ReadMetadata(Bytes entries, OfPacketIn& packet_in) {
  OfResult<OfMatch> metadata = DecodeEntries(entries, true, nullptr);
  if (!metadata.ok()) return metadata.failure();
  packet_in.metadata = *metadata;
  return std::nullopt;
}

OfStatus ReadProperty(Property& property, OfPacketIn& packet_in) {
  WireReader& in = property.contents;
  switch (property.type) {
    case kPacket:
      packet_in.packet = ToString(in.Rest());
      break;
    case kFullLength:
      packet_in.total_length = in.U32();
      break;
    case kBufferId:
      packet_in.buffer_id = in.U32();
      break;
    case kTable:
      packet_in.table = in.U8();
      break;
    case kCookie:
      in.Skip(4);
      packet_in.cookie = in.U64();
      break;
    case kReason:
      if (OfStatus status = ReadReason(in.U8(), packet_in)) return status;
      break;
    case kMetadata:
      return ReadMetadata(in.Rest(), packet_in);
    case kUserdata: {
      Bytes data = in.Rest();
      packet_in.userdata.assign(data.begin(), data.end());
      break;
    }
    case kContinuation:
      in.Skip(4);
      packet_in.continuation = ToString(in.Rest());
      break;
    default:
      return UnknownProperty(property, false, "NXT_PACKET_IN2");
  }
  if (!in.ok() || !in.AtEnd()) {
    return Fail(OfError::kBpcBadLen, "property {} of NXT_PACKET_IN2 has a wrong length", property.type);
  }
  return std::nullopt;
}

void WriteBytes(uint16_t type, Bytes bytes, WireWriter& out) {
  size_t start = BeginProperty(type, out);
  out.Raw(bytes);
  EndProperty(start, out);
}
void WriteU32(uint16_t type, uint32_t value, WireWriter& out) {
  size_t start = BeginProperty(type, out);
  out.U32(value);
  EndProperty(start, out);
}
void WriteU8(uint16_t type, uint8_t value, WireWriter& out) {
  size_t start = BeginProperty(type, out);
  out.U8(value);
  EndProperty(start, out);
}

}  // namespace

OfResult<OfPacketIn> ReadPacketIn2(WireReader& in, const Form&) {
  OfPacketIn packet_in;
  bool has_packet = false;
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
    has_packet = has_packet || property->type == kPacket;
    if (OfStatus status = ReadProperty(*property, packet_in)) return *status;
  }
  if (!has_packet) return Fail(OfError::kBrcBadLen, "NXT_PACKET_IN2 without a packet");
  if (packet_in.total_length == 0) packet_in.total_length = static_cast<uint32_t>(packet_in.packet.size());
  if (packet_in.total_length < packet_in.packet.size()) {
    return Fail(OfError::kBrcBadLen, "NXT_PACKET_IN2 says that its packet had {} bytes, and has {}",
                packet_in.total_length, packet_in.packet.size());
  }
  return packet_in;
}

void WritePacketIn2(const OfPacketIn& packet_in, const Form& form, WireWriter& out) {
  WriteBytes(kPacket, PacketThatFits(packet_in), out);
  if (TotalLength(packet_in) != PacketThatFits(packet_in).size()) WriteU32(kFullLength, TotalLength(packet_in), out);
  if (packet_in.buffer_id != kNoBuffer) WriteU32(kBufferId, packet_in.buffer_id, out);
  WriteU8(kTable, packet_in.table, out);
  if (packet_in.cookie != UINT64_MAX) {
    size_t start = BeginProperty(kCookie, out);
    out.U32(0);
    out.U64(packet_in.cookie);
    EndProperty(start, out);
  }
  WriteU8(kReason, ReasonToWire(packet_in.reason, form.version), out);
  size_t metadata = BeginProperty(kMetadata, out);
  EncodeEntries(packet_in.metadata, MatchForm::kOxm, form.version, out);
  EndProperty(metadata, out);
  if (!packet_in.userdata.empty()) WriteBytes(kUserdata, packet_in.userdata, out);
  if (!packet_in.continuation.empty()) {
    size_t start = BeginProperty(kContinuation, out);
    out.U32(0);
    out.Raw(AsBytes(packet_in.continuation));
    EndProperty(start, out);
  }
}

}  // namespace sluice::messages
