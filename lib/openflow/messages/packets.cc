// Packet-in and packet-out: OpenFlow 1.0.1, 5.3.6 and 5.4.1; 1.1, A.4.1; 1.2, A.4.1; 1.3.5, 7.3.7 and 7.4.1; 1.5.1,
// 7.3.6; NXT_PACKET_IN.
#include "lib/openflow/messages/packets.h"

#include "lib/openflow/messages/match_bytes.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

// -- Packet-in
// ---------------------------------------------------------------------------------------------------------

std::string ToString(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

OfStatus ReadReasonAndTable(WireReader& in, OfPacketIn& packet_in) {
  uint8_t reason = in.U8();
  packet_in.table = in.U8();
  if (reason > static_cast<uint8_t>(OfPacketIn::Reason::kPacketOut)) {
    return Fail(OfError::kNxBrcBadReason, "packet-in with reason {}", reason);
  }
  packet_in.reason = static_cast<OfPacketIn::Reason>(reason);
  return std::nullopt;
}

OfStatus Read10(WireReader& in, OfPacketIn& packet_in) {
  packet_in.total_length = in.U16();
  SetInPort(in.U16(), packet_in.metadata);
  OfStatus status = ReadReasonAndTable(in, packet_in);
  packet_in.table = 0;
  return status;
}

OfStatus Read11(WireReader& in, OfPacketIn& packet_in) {
  OfResult<OfPort> port = ReadPort(in, OfVersion::k11);
  in.Skip(4);  // in_phy_port
  packet_in.total_length = in.U16();
  if (OfStatus status = ReadReasonAndTable(in, packet_in)) return status;
  if (!port.ok()) return port.failure();
  SetInPort(*port, packet_in.metadata);
  return std::nullopt;
}

OfStatus Read12(WireReader& in, OfVersion version, OfPacketIn& packet_in) {
  packet_in.total_length = in.U16();
  if (OfStatus status = ReadReasonAndTable(in, packet_in)) return status;
  if (version >= OfVersion::k13) packet_in.cookie = in.U64();
  OfResult<OfMatch> metadata = ReadOxmLoose(in);
  if (!metadata.ok()) return metadata.failure();
  packet_in.metadata = *metadata;
  in.Skip(2);
  return std::nullopt;
}

OfStatus ReadNxm(WireReader& in, OfPacketIn& packet_in) {
  packet_in.total_length = in.U16();
  if (OfStatus status = ReadReasonAndTable(in, packet_in)) return status;
  packet_in.cookie = in.U64();
  size_t match_length = in.U16();
  in.Skip(6);
  OfResult<OfMatch> metadata = ReadNxmMatch(in, match_length, true, nullptr);
  if (!metadata.ok()) return metadata.failure();
  packet_in.metadata = *metadata;
  in.Skip(2);
  return std::nullopt;
}

OfResult<OfPacketIn> ReadPacketIn(WireReader& in, const Form& form) {
  OfPacketIn packet_in;
  packet_in.buffer_id = in.U32();
  OfStatus status = form.extension                   ? ReadNxm(in, packet_in)
                    : form.version == OfVersion::k10 ? Read10(in, packet_in)
                    : form.version == OfVersion::k11 ? Read11(in, packet_in)
                                                     : Read12(in, form.version, packet_in);
  if (status) return *status;
  packet_in.packet = ToString(in.Rest());
  return packet_in;
}

void WriteReasonAndTable(const OfPacketIn& packet_in, OfVersion version, WireWriter& out) {
  out.U8(ReasonToWire(packet_in.reason, version));
  out.U8(packet_in.table);
}

void WritePacketIn(const OfPacketIn& packet_in, const Form& form, WireWriter& out) {
  out.U32(packet_in.buffer_id);
  auto total_length = static_cast<uint16_t>(std::min<uint32_t>(TotalLength(packet_in), UINT16_MAX));
  if (form.extension) {
    out.U16(total_length);
    WriteReasonAndTable(packet_in, form.version, out);
    out.U64(packet_in.cookie);
    size_t length_at = out.size();
    out.Zeros(8);
    out.SetU16(length_at, WriteNxmMatch(packet_in.metadata, nullptr, form.version, out));
    out.Zeros(2);
  } else if (form.version == OfVersion::k10) {
    out.U16(total_length);
    out.U16(InPortOf(packet_in.metadata));
    out.U8(ReasonToWire(packet_in.reason, form.version));
    out.U8(0);
  } else if (form.version == OfVersion::k11) {
    out.U32(PortToWire(InPortOf(packet_in.metadata)));
    out.U32(PortToWire(InPortOf(packet_in.metadata)));
    out.U16(total_length);
    WriteReasonAndTable(packet_in, form.version, out);
  } else {
    out.U16(total_length);
    WriteReasonAndTable(packet_in, form.version, out);
    if (form.version >= OfVersion::k13) out.U64(packet_in.cookie);
    EncodeMatch(packet_in.metadata, form.version, out);
    out.Zeros(2);
  }
  out.Raw(PacketThatFits(packet_in));
}

bool IsStandard(const OfMessage&, const OfCodecState& state) { return state.packet_in == PacketInFormat::kStandard; }
bool IsNxt(const OfMessage&, const OfCodecState& state) { return state.packet_in == PacketInFormat::kNxt; }
bool IsNxt2(const OfMessage&, const OfCodecState& state) { return state.packet_in == PacketInFormat::kNxt2; }

// -- Resume
// ------------------------------------------------------------------------------------------------------------

OfResult<OfResume> ReadResume(WireReader& in, const Form& form) {
  OfResult<OfPacketIn> packet = ReadPacketIn2(in, form);
  if (!packet.ok()) return packet.failure();
  return OfResume{*std::move(packet)};
}
void WriteResume(const OfResume& resume, const Form& form, WireWriter& out) {
  WritePacketIn2(resume.packet, form, out);
}

// -- Packet-out
// --------------------------------------------------------------------------------------------------------

// Whether the match names nothing but the packet's way (OpenFlow 1.5.1, 7.3.6).
bool IsPipelineOnly(const OfMatch& match) {
  FlowKey packet = match.mask.packet;
  packet.in_port = packet.recirc_id = packet.dp_hash = packet.skb_mark = packet.skb_priority = 0;
  return packet == FlowKey();
}

OfStatus CheckInPort(const OfPacketOut& packet_out) {
  OfPort port = InPortOf(packet_out.metadata);
  bool is_good = port < kOfpMax || port == kOfpLocal || port == kOfpNone || port == kOfpController;
  if (packet_out.metadata.mask.in_port == 0 || !is_good) {
    return Fail(OfError::kBrcBadPort, "packet-out with in_port {:#x}", port);
  }
  return std::nullopt;
}

OfStatus ReadWay(WireReader& in, OfVersion version, size_t& actions_length, OfPacketOut& packet_out) {
  if (version == OfVersion::k15) {
    actions_length = in.U16();
    in.Skip(2);
    OfResult<OfMatch> match = DecodeMatch(in, version);
    if (!match.ok()) return match.failure();
    if (!IsPipelineOnly(*match)) {
      return Fail(OfError::kBrcPipelineFieldsOnly, "packet-out whose match names fields of the packet");
    }
    packet_out.metadata = *match;
    return std::nullopt;
  }
  OfResult<OfPort> port = ReadPort(in, version);
  actions_length = in.U16();
  if (version != OfVersion::k10) in.Skip(6);
  if (!port.ok()) return port.failure();
  SetInPort(*port, packet_out.metadata);
  return std::nullopt;
}

OfResult<OfPacketOut> ReadPacketOut(WireReader& in, const Form& form) {
  OfPacketOut packet_out;
  packet_out.buffer_id = in.U32();
  size_t actions_length = 0;
  if (OfStatus status = ReadWay(in, form.version, actions_length, packet_out)) return *status;
  if (OfStatus status = CheckInPort(packet_out)) return *status;
  if (actions_length > in.left()) {
    return Fail(OfError::kBacBadLen, "actions of {} bytes, where {} are left", actions_length, in.left());
  }
  OfResult<OfActions> actions = DecodeActions(in.Take(actions_length), form.version);
  if (!actions.ok()) return actions.failure();
  packet_out.actions = *std::move(actions);
  Bytes data = in.Rest();
  if (packet_out.buffer_id == kNoBuffer) packet_out.packet = ToString(data);
  return packet_out;
}

void WritePacketOut(const OfPacketOut& packet_out, const Form& form, WireWriter& out) {
  out.U32(packet_out.buffer_id);
  size_t length_at = 0;
  if (form.version == OfVersion::k15) {
    length_at = out.size();
    out.Zeros(4);
    EncodeMatch(packet_out.metadata, form.version, out);
  } else {
    WritePort(InPortOf(packet_out.metadata), form.version, out);
    length_at = out.size();
    out.Zeros(form.version == OfVersion::k10 ? 2 : 8);
  }
  size_t start = out.size();
  EncodeActions(packet_out.actions, form.version, out);
  out.SetU16(length_at, static_cast<uint16_t>(out.size() - start));
  if (packet_out.buffer_id == kNoBuffer) out.Raw(AsBytes(packet_out.packet));
}

constexpr Codec kPacketIn = Single<ReadPacketIn, WritePacketIn, FormatPacketIn>();
constexpr Codec kPacketIn2 = Single<ReadPacketIn2, WritePacketIn2, FormatPacketIn>();
constexpr Codec kResume = Single<ReadResume, WriteResume, FormatResume>();
constexpr Codec kPacketOut = Single<ReadPacketOut, WritePacketOut, FormatPacketOut>();

constexpr Row kRows[] = {
    {"OFPT_PACKET_IN", Space::kPlain, 10, 1, 1, {10, 1}, kPacketIn, 0, IsStandard},
    {"OFPT_PACKET_IN", Space::kPlain, 10, 2, 2, {16, 1}, kPacketIn, 0, IsStandard},
    {"OFPT_PACKET_IN", Space::kPlain, 10, 3, 3, {8, 1}, kPacketIn, 0, IsStandard},
    {"OFPT_PACKET_IN", Space::kPlain, 10, 4, 6, {16, 1}, kPacketIn, 0, IsStandard},
    {"NXT_PACKET_IN", Space::kExperimenter, 17, 1, 6, {24, 1}, kPacketIn, kNiciraVendor, IsNxt},
    {"NXT_PACKET_IN2", Space::kExperimenter, 30, 1, 6, {0, 8}, kPacketIn2, kNiciraVendor, IsNxt2},
    {"NXT_RESUME", Space::kExperimenter, 28, 1, 6, {0, 8}, kResume, kNiciraVendor},
    {"OFPT_PACKET_OUT", Space::kPlain, 13, 1, 1, {8, 1}, kPacketOut},
    {"OFPT_PACKET_OUT", Space::kPlain, 13, 2, 5, {16, 1}, kPacketOut},
    {"OFPT_PACKET_OUT", Space::kPlain, 13, 6, 6, {8, 1}, kPacketOut},
};

}  // namespace

uint8_t ReasonToWire(OfPacketIn::Reason reason, OfVersion version) {
  using Reason = OfPacketIn::Reason;
  switch (reason) {
    case Reason::kImplicitMiss:
      return static_cast<uint8_t>(Reason::kNoMatch);
    case Reason::kExplicitMiss:
      return static_cast<uint8_t>(version < OfVersion::k13 ? Reason::kAction : Reason::kNoMatch);
    case Reason::kActionSet:
    case Reason::kGroup:
    case Reason::kPacketOut:
      return static_cast<uint8_t>(version < OfVersion::k14 ? Reason::kAction : reason);
    default:
      return static_cast<uint8_t>(reason);
  }
}

Bytes PacketThatFits(const OfPacketIn& packet_in) {
  constexpr size_t kOthers = 1024;  // headers, and metadata of all fields
  size_t others = kOthers + packet_in.userdata.size() + packet_in.continuation.size();
  size_t room = kMaxMessage - std::min(others, kMaxMessage);
  return AsBytes(std::string_view(packet_in.packet).substr(0, room));
}

uint32_t TotalLength(const OfPacketIn& packet_in) {
  return std::max(packet_in.total_length, static_cast<uint32_t>(packet_in.packet.size()));
}

absl::Span<const Row> PacketRows() { return kRows; }

}  // namespace sluice::messages
