// Port descriptions, port status, port mods: OpenFlow 1.0.1, 5.2.1; 1.3.5, 7.2.1 and 7.3.4.3; 1.4.1, 7.2.1 and 7.3.4.4.
#include "lib/openflow/messages/ports.h"

#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kEthernetProperty = 0;
constexpr size_t kNameSize = 16;
constexpr uint32_t kConfig10 = 0x7f;
constexpr uint32_t kConfig11 = 0x65;  // port_down, no_recv, no_fwd, no_packet_in
constexpr uint32_t kState10 = 1;
constexpr uint32_t kState11 = 7;

// Rates have the same bits in all versions up to 10 Gb; media and negotiation are bits 7-11 in 1.0, 11-15 later.
constexpr uint32_t kRates10 = 0x7f;
constexpr uint32_t kFeatures11 = 0xffff;
uint32_t FeaturesFrom10(uint32_t features) { return (features & kRates10) | (features & 0xf80) << 4; }
uint32_t FeaturesTo10(uint32_t features) { return (features & kRates10) | (features >> 4 & 0xf80); }

uint32_t ConfigMask(OfVersion version) { return version == OfVersion::k10 ? kConfig10 : kConfig11; }

// 1.0 has no speeds: the fastest rate among the features.
uint32_t SpeedKbps(uint32_t features) {
  constexpr std::pair<uint32_t, uint32_t> kSpeeds[] = {
      {0x200, 1'000'000'000}, {0x100, 100'000'000}, {0x80, 40'000'000}, {0x40, 10'000'000},
      {0x30, 1'000'000},      {0x0c, 100'000},      {0x03, 10'000},
  };
  for (auto [bits, speed] : kSpeeds) {
    if ((features & bits) != 0) return speed;
  }
  return 0;
}

OfResult<OfPortDesc> Read10(WireReader& in) {
  OfPortDesc port;
  port.port = in.U16();
  in.Copy(port.mac);
  port.name = in.FixedText(kNameSize);
  port.config = in.U32() & kConfig10;
  port.state = in.U32() & kState10;
  port.current = FeaturesFrom10(in.U32());
  port.advertised = FeaturesFrom10(in.U32());
  port.supported = FeaturesFrom10(in.U32());
  port.peer = FeaturesFrom10(in.U32());
  port.current_speed_kbps = SpeedKbps(port.current);
  port.max_speed_kbps = SpeedKbps(port.supported);
  return port;
}

void Write10(const OfPortDesc& port, WireWriter& out) {
  out.U16(port.port);
  out.Copy(port.mac);
  out.FixedText(port.name, kNameSize);
  out.U32(port.config & kConfig10);
  out.U32(port.state & kState10);
  for (uint32_t features : {port.current, port.advertised, port.supported, port.peer}) {
    out.U32(FeaturesTo10(features));
  }
}

// Four sets of features and two speeds, as 1.1's structure and 1.4's property have them.
void ReadEthernet(WireReader& in, OfPortDesc& port) {
  for (uint32_t* features : {&port.current, &port.advertised, &port.supported, &port.peer}) {
    *features = in.U32() & kFeatures11;
  }
  port.current_speed_kbps = in.U32();
  port.max_speed_kbps = in.U32();
}
void WriteEthernet(const OfPortDesc& port, WireWriter& out) {
  for (uint32_t features : {port.current, port.advertised, port.supported, port.peer}) out.U32(features);
  out.U32(port.current_speed_kbps);
  out.U32(port.max_speed_kbps);
}

void ReadMiddle(WireReader& in, OfPortDesc& port) {
  in.Copy(port.mac);
  in.Skip(2);
  port.name = in.FixedText(kNameSize);
  port.config = in.U32() & kConfig11;
  port.state = in.U32() & kState11;
}
void WriteMiddle(const OfPortDesc& port, WireWriter& out) {
  out.Copy(port.mac);
  out.Zeros(2);
  out.FixedText(port.name, kNameSize);
  out.U32(port.config & kConfig11);
  out.U32(port.state & kState11);
}

OfResult<OfPortDesc> Read11(WireReader& in, OfVersion version) {
  OfPortDesc port;
  OfResult<OfPort> number = ReadPort(in, version);
  in.Skip(4);
  ReadMiddle(in, port);
  ReadEthernet(in, port);
  if (!number.ok()) return number.failure();
  port.port = *number;
  return port;
}

OfResult<OfPortDesc> Read14(WireReader& in, OfVersion version) {
  WireReader peek = in;
  peek.Skip(4);
  size_t length = peek.U16();
  if (!peek.ok() || length < 40 || length > in.left()) {
    return Fail(OfError::kBrcBadLen, "port of {} bytes, where {} are left", length, in.left());
  }
  WireReader entry(in.Take(length));
  OfPortDesc port;
  OfResult<OfPort> number = ReadPort(entry, version);
  if (!number.ok()) return number.failure();
  port.port = *number;
  entry.Skip(4);
  ReadMiddle(entry, port);
  while (!entry.AtEnd()) {
    OfResult<Property> property = TakeProperty(entry);
    if (!property.ok()) return property.failure();
    if (property->type != kEthernetProperty) continue;  // optical and experimenters' say nothing that we show
    property->contents.Skip(4);
    ReadEthernet(property->contents, port);
    if (!property->contents.ok() || !property->contents.AtEnd()) {
      return Fail(OfError::kBpcBadLen, "Ethernet property of a port does not have 32 bytes");
    }
  }
  return port;
}

void Write14(const OfPortDesc& port, WireWriter& out) {
  size_t start = out.size();
  out.U32(PortToWire(port.port));
  out.Zeros(4);
  WriteMiddle(port, out);
  size_t property = BeginProperty(kEthernetProperty, out);
  out.Zeros(4);
  WriteEthernet(port, out);
  EndProperty(property, out);
  SetLength(out, start, 4);
}

// -- Status
// ------------------------------------------------------------------------------------------------------------

OfResult<OfPortStatus> ReadPortStatus(WireReader& in, const Form& form) {
  OfPortStatus status;
  uint8_t reason = in.U8();
  if (reason > 2) return Fail(OfError::kNxBrcBadReason, "port status with reason {}", reason);
  status.reason = static_cast<OfPortStatus::Reason>(reason);
  in.Skip(7);
  OfResult<OfPortDesc> port = ReadPortDesc(in, form);
  if (!port.ok()) return port.failure();
  status.port = *std::move(port);
  return status;
}

void WritePortStatus(const OfPortStatus& status, const Form& form, WireWriter& out) {
  out.U8(static_cast<uint8_t>(status.reason));
  out.Zeros(7);
  WritePortDesc(status.port, form, out);
}

// -- Mod
// ---------------------------------------------------------------------------------------------------------------

OfStatus ReadModProperties(WireReader& in, OfPortMod& mod) {
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
    if (property->type != kEthernetProperty) return UnknownProperty(*property, false, "port mod");
    mod.advertise = property->contents.U32() & kFeatures11;
    if (!property->contents.ok() || !property->contents.AtEnd()) {
      return Fail(OfError::kBpcBadLen, "Ethernet property of a port mod does not have 8 bytes");
    }
  }
  return std::nullopt;
}

OfResult<OfPortMod> ReadPortMod(WireReader& in, const Form& form) {
  OfPortMod mod;
  OfResult<OfPort> port = ReadPort(in, form.version);
  bool is_10 = form.version == OfVersion::k10;
  if (!is_10) in.Skip(4);
  in.Copy(mod.mac);
  if (!is_10) in.Skip(2);
  mod.config = in.U32() & ConfigMask(form.version);
  mod.mask = in.U32() & ConfigMask(form.version);
  if (!port.ok()) return port.failure();
  mod.port = *port;
  if (form.version >= OfVersion::k14) {
    if (OfStatus status = ReadModProperties(in, mod)) return *status;
  } else {
    uint32_t advertise = in.U32();
    mod.advertise = is_10 ? FeaturesFrom10(advertise) : advertise & kFeatures11;
    in.Skip(4);
  }
  mod.config &= mod.mask;
  return mod;
}

void WritePortMod(const OfPortMod& mod, const Form& form, WireWriter& out) {
  bool is_10 = form.version == OfVersion::k10;
  WritePort(mod.port, form.version, out);
  if (!is_10) out.Zeros(4);
  out.Copy(mod.mac);
  if (!is_10) out.Zeros(2);
  out.U32(mod.config & ConfigMask(form.version));
  out.U32(mod.mask & ConfigMask(form.version));
  if (form.version < OfVersion::k14) {
    out.U32(is_10 ? FeaturesTo10(mod.advertise) : mod.advertise);
    out.Zeros(4);
  } else if (mod.advertise != 0) {
    size_t property = BeginProperty(kEthernetProperty, out);
    out.U32(mod.advertise);
    EndProperty(property, out);
  }
}

// -- Description request
// -----------------------------------------------------------------------------------------------

OfResult<OfPortDescRequest> ReadDescRequest(WireReader& in, const Form& form) {
  OfPortDescRequest request;
  if (form.version < OfVersion::k15) return request;
  OfResult<OfPort> port = ReadPort(in, form.version);
  if (!port.ok()) return port.failure();
  request.port = *port;
  in.Skip(4);
  return request;
}
void WriteDescRequest(const OfPortDescRequest& request, const Form& form, WireWriter& out) {
  if (form.version < OfVersion::k15) return;
  out.U32(PortToWire(request.port));
  out.Zeros(4);
}

constexpr Codec kStatus = Single<ReadPortStatus, WritePortStatus, FormatPortStatus>();
constexpr Codec kMod = Single<ReadPortMod, WritePortMod, FormatPortMod>();
constexpr Codec kDescRequest = Single<ReadDescRequest, WriteDescRequest, FormatPortDescRequest>();
constexpr Codec kDescReply = List<OfPortDescReply, ReadPortDesc, WritePortDesc, FormatPortDescReply>();

constexpr Row kRows[] = {
    {"OFPT_PORT_STATUS", Space::kPlain, 12, 1, 1, {56, 0}, kStatus},
    {"OFPT_PORT_STATUS", Space::kPlain, 12, 2, 4, {72, 0}, kStatus},
    {"OFPT_PORT_STATUS", Space::kPlain, 12, 5, 6, {48, 8}, kStatus},
    {"OFPT_PORT_MOD", Space::kPlain, 15, 1, 1, {24, 0}, kMod},
    {"OFPT_PORT_MOD", Space::kPlain, 16, 2, 4, {32, 0}, kMod},
    {"OFPT_PORT_MOD", Space::kPlain, 16, 5, 6, {24, 8}, kMod},
    {"OFPST_PORT_DESC request", Space::kRequest, 13, 1, 5, {}, kDescRequest},
    {"OFPST_PORT_DESC request", Space::kRequest, 13, 6, 6, {8, 0}, kDescRequest},
    {"OFPST_PORT_DESC reply", Space::kReply, 13, 1, 1, {0, 48}, kDescReply},
    {"OFPST_PORT_DESC reply", Space::kReply, 13, 2, 4, {0, 64}, kDescReply},
    {"OFPST_PORT_DESC reply", Space::kReply, 13, 5, 6, {0, 8}, kDescReply},
};

}  // namespace

OfResult<OfPortDesc> ReadPortDesc(WireReader& in, const Form& form) {
  if (form.version == OfVersion::k10) return Read10(in);
  if (form.version < OfVersion::k14) return Read11(in, form.version);
  return Read14(in, form.version);
}

void WritePortDesc(const OfPortDesc& port, const Form& form, WireWriter& out) {
  if (form.version == OfVersion::k10) {
    Write10(port, out);
  } else if (form.version < OfVersion::k14) {
    out.U32(PortToWire(port.port));
    out.Zeros(4);
    WriteMiddle(port, out);
    WriteEthernet(port, out);
  } else {
    Write14(port, out);
  }
}

absl::Span<const Row> PortRows() { return kRows; }

}  // namespace sluice::messages
