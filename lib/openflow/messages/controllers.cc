// Roles and asynchronous configuration: OpenFlow 1.3.5, 7.3.9 and 7.3.10; 1.4.1, 7.3.10 and 7.4.4; NXT_ROLE_*,
// NXT_SET_ASYNC_CONFIG, NXT_SET_ASYNC_CONFIG2.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

// -- Roles
// -------------------------------------------------------------------------------------------------------------

OfResult<OfRole> ReadRole(WireReader& in, const Form& form) {
  uint32_t role = in.U32();
  // Nicira's roles have no "no change".
  if (form.extension) ++role;
  if (role > static_cast<uint32_t>(OfRole::kSecondary) || (form.extension && role == 0)) {
    return Fail(OfError::kRrfcBadRole, "role {} is not known", role);
  }
  return static_cast<OfRole>(role);
}
void WriteRole(OfRole role, const Form& form, WireWriter& out) {
  if (form.extension) {
    out.U32(role == OfRole::kNoChange ? 0 : static_cast<uint32_t>(role) - 1);
  } else {
    out.U32(static_cast<uint32_t>(role));
    out.U32(0);
  }
}

OfResult<OfRoleRequest> ReadRoleRequest(WireReader& in, const Form& form) {
  OfResult<OfRole> role = ReadRole(in, form);
  if (!role.ok()) return role.failure();
  OfRoleRequest request{*role};
  if (form.extension) return request;
  in.Skip(4);
  uint64_t generation = in.U64();
  request.have_generation = request.role == OfRole::kPrimary || request.role == OfRole::kSecondary;
  request.generation_id = generation;
  return request;
}
void WriteRoleRequest(const OfRoleRequest& request, const Form& form, WireWriter& out) {
  WriteRole(request.role, form, out);
  if (!form.extension) out.U64(request.generation_id);
}

OfResult<OfRoleReply> ReadRoleReply(WireReader& in, const Form& form) {
  OfResult<OfRole> role = ReadRole(in, form);
  if (!role.ok()) return role.failure();
  OfRoleReply reply{*role, UINT64_MAX};
  if (form.extension) return reply;
  in.Skip(4);
  reply.generation_id = in.U64();
  return reply;
}
void WriteRoleReply(const OfRoleReply& reply, const Form& form, WireWriter& out) {
  WriteRole(reply.role, form, out);
  if (!form.extension) out.U64(reply.generation_id);
}

OfResult<OfRoleStatus> ReadRoleStatus(WireReader& in, const Form&) {
  OfRoleStatus status;
  uint32_t role = in.U32();
  status.reason = in.U8();
  in.Skip(3);
  status.generation_id = in.U64();
  if (role > static_cast<uint32_t>(OfRole::kSecondary)) {
    return Fail(OfError::kRrfcBadRole, "role status with role {}", role);
  }
  if (status.reason > 2) return Fail(OfError::kNxBrcBadReason, "role status with reason {}", status.reason);
  status.role = static_cast<OfRole>(role);
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
  }
  return status;
}
void WriteRoleStatus(const OfRoleStatus& status, const Form&, WireWriter& out) {
  out.U32(static_cast<uint32_t>(status.role));
  out.U8(status.reason);
  out.Zeros(3);
  out.U64(status.generation_id);
}

// -- Asynchronous configuration
// ------------------------------------------------------------------------------------------

constexpr size_t kFixedTypes = 3;  // packet-in, port status, flow removed: what 1.3 and Nicira's first message have

void ReadFixedMasks(WireReader& in, OfAsyncConfig& config) {
  for (size_t type = 0; type < kFixedTypes; ++type) {
    for (size_t secondary = 0; secondary < 2; ++secondary) config.masks[secondary][type] = in.U32();
  }
}
void WriteFixedMasks(const OfAsyncConfig& config, WireWriter& out) {
  for (size_t type = 0; type < kFixedTypes; ++type) {
    for (size_t secondary = 0; secondary < 2; ++secondary) out.U32(config.masks[secondary][type]);
  }
}

// A property's type is twice the message's, with the low bit set for equal and primary. Bits of reasons that the
// version does not have are an error, unless `loose`.
uint32_t KnownReasons(size_t type, OfVersion version) {
  constexpr uint32_t kReasons[OfAsyncConfig::kCount] = {0x3f, 0x07, 0x3f, 0x07, 0x18, 0x03};
  if (type == OfAsyncConfig::kPacketIn && version < OfVersion::k14) return 0x07;
  return kReasons[type];
}

OfStatus ReadMaskProperty(Property& property, OfVersion version, bool loose, OfSetAsync& async) {
  if (property.type >= 2 * OfAsyncConfig::kCount) {
    if (loose) return std::nullopt;
    return Fail(OfError::kAcfcUnsupported, "asynchronous configuration has no property {}", property.type);
  }
  uint32_t mask = property.contents.U32();
  if (!property.contents.ok() || !property.contents.AtEnd()) {
    return Fail(OfError::kBpcBadLen, "property {} of an asynchronous configuration does not have 8 bytes",
                property.type);
  }
  size_t type = property.type / 2;
  size_t secondary = property.type % 2 == 0 ? 1 : 0;
  if ((mask & ~KnownReasons(type, version)) != 0) {
    if (!loose) return Fail(OfError::kAcfcInvalid, "mask {:#x} has reasons that are not known", mask);
    mask &= KnownReasons(type, version);
  }
  async.config.masks[secondary][type] = mask;
  async.given[secondary][type] = true;
  return std::nullopt;
}

OfResult<OfSetAsync> ReadMaskProperties(WireReader& in, OfVersion version, bool loose) {
  OfSetAsync async;
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in, 0xfffe);
    if (!property.ok()) return property.failure();
    if (OfStatus status = ReadMaskProperty(*property, version, loose, async)) return *status;
  }
  return async;
}

void WriteMaskProperty(size_t secondary, size_t type, const OfAsyncConfig& config, OfVersion version, WireWriter& out) {
  size_t start = BeginProperty(static_cast<uint16_t>(type * 2 + (secondary == 0 ? 1 : 0)), out);
  out.U32(config.masks[secondary][type] & KnownReasons(type, version));
  EndProperty(start, out);
}

OfResult<OfSetAsync> ReadSetFixed(WireReader& in, const Form&) {
  OfSetAsync async;
  ReadFixedMasks(in, async.config);
  for (auto& given : async.given) std::fill_n(given.begin(), kFixedTypes, true);
  return async;
}
void WriteSetFixed(const OfSetAsync& async, const Form&, WireWriter& out) { WriteFixedMasks(async.config, out); }

OfResult<OfSetAsync> ReadSetProperties(WireReader& in, const Form& form) {
  return ReadMaskProperties(in, form.version, false);
}
void WriteSetProperties(const OfSetAsync& async, const Form& form, WireWriter& out) {
  for (size_t type = 0; type < OfAsyncConfig::kCount; ++type) {
    for (size_t secondary : {1, 0}) {
      if (async.given[secondary][type]) WriteMaskProperty(secondary, type, async.config, form.version, out);
    }
  }
}

// The fixed form says all of the first three types and nothing else; a configuration that names none at all means that.
bool FitsFixed(const OfMessage& message, const OfCodecState&) {
  size_t low = 0, high = 0;
  for (const auto& given : std::get<OfSetAsync>(message.body).given) {
    for (size_t type = 0; type < given.size(); ++type) (type < kFixedTypes ? low : high) += given[type] ? 1 : 0;
  }
  return high == 0 && (low == 0 || low == 2 * kFixedTypes);
}

OfResult<OfGetAsyncReply> ReadGetFixed(WireReader& in, const Form&) {
  OfGetAsyncReply reply;
  ReadFixedMasks(in, reply.config);
  return reply;
}
void WriteGetFixed(const OfGetAsyncReply& reply, const Form&, WireWriter& out) { WriteFixedMasks(reply.config, out); }

OfResult<OfGetAsyncReply> ReadGetProperties(WireReader& in, const Form& form) {
  OfResult<OfSetAsync> async = ReadMaskProperties(in, form.version, true);
  if (!async.ok()) return async.failure();
  return OfGetAsyncReply{async->config};
}
void WriteGetProperties(const OfGetAsyncReply& reply, const Form& form, WireWriter& out) {
  for (size_t type = 0; type < OfAsyncConfig::kCount; ++type) {
    for (size_t secondary : {1, 0}) WriteMaskProperty(secondary, type, reply.config, form.version, out);
  }
}

constexpr Codec kRoleRequest = Single<ReadRoleRequest, WriteRoleRequest, FormatRoleRequest>();
constexpr Codec kRoleReply = Single<ReadRoleReply, WriteRoleReply, FormatRoleReply>();
constexpr Codec kRoleStatus = Single<ReadRoleStatus, WriteRoleStatus, FormatRoleStatus>();
constexpr Codec kSetFixed = Single<ReadSetFixed, WriteSetFixed, FormatSetAsync>();
constexpr Codec kSetProperties = Single<ReadSetProperties, WriteSetProperties, FormatSetAsync>();
constexpr Codec kGetFixed = Single<ReadGetFixed, WriteGetFixed, FormatGetAsync>();
constexpr Codec kGetProperties = Single<ReadGetProperties, WriteGetProperties, FormatGetAsync>();

constexpr Row kRows[] = {
    {"OFPT_ROLE_REQUEST", Space::kPlain, 24, 3, 6, {16, 0}, kRoleRequest},
    {"NXT_ROLE_REQUEST", Space::kExperimenter, 10, 1, 6, {4, 0}, kRoleRequest, kNiciraVendor},
    {"OFPT_ROLE_REPLY", Space::kPlain, 25, 3, 6, {16, 0}, kRoleReply},
    {"NXT_ROLE_REPLY", Space::kExperimenter, 11, 1, 6, {4, 0}, kRoleReply, kNiciraVendor},
    {"OFPT_ROLE_STATUS", Space::kPlain, 30, 5, 6, {16, 8}, kRoleStatus},
    {"ONFT_ROLE_STATUS", Space::kExperimenter, 1911, 4, 4, {16, 8}, kRoleStatus, kOnfVendor},
    {"OFPT_SET_ASYNC", Space::kPlain, 28, 4, 4, {24, 0}, kSetFixed, 0, FitsFixed},
    {"OFPT_SET_ASYNC", Space::kPlain, 28, 5, 6, {0, 8}, kSetProperties},
    {"NXT_SET_ASYNC_CONFIG", Space::kExperimenter, 19, 1, 6, {24, 0}, kSetFixed, kNiciraVendor, FitsFixed},
    {"NXT_SET_ASYNC_CONFIG2", Space::kExperimenter, 27, 1, 4, {0, 8}, kSetProperties, kNiciraVendor},
    {"OFPT_GET_ASYNC_REQUEST", Space::kPlain, 26, 4, 6, {}, Empty<OfGetAsyncRequest>()},
    {"OFPT_GET_ASYNC_REPLY", Space::kPlain, 27, 4, 4, {24, 0}, kGetFixed},
    {"OFPT_GET_ASYNC_REPLY", Space::kPlain, 27, 5, 6, {0, 8}, kGetProperties},
};

}  // namespace

absl::Span<const Row> ControllerRows() { return kRows; }

}  // namespace sluice::messages
