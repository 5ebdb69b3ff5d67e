// Features, configuration and description of the switch: OpenFlow 1.0.1, 5.3.1-5.3.2 and 5.3.5; 1.3.5, 7.3.1, 7.3.2 and
// 7.3.5.1.
#include "lib/openflow/messages/ports.h"
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

// -- Features
// ----------------------------------------------------------------------------------------------------------

constexpr uint32_t kStp10 = 1 << 3;
constexpr uint32_t kCommon = 0x67;
uint32_t KnownCapabilities(OfVersion version) {
  switch (version) {
    case OfVersion::k10:
      return 0xe7;
    case OfVersion::k11:
      return 0xef;
    case OfVersion::k12:
    case OfVersion::k13:
      return kCommon | 0x108;
    default:
      return kCommon | 0x708;
  }
}

OfResult<OfFeaturesReply> ReadFeatures(WireReader& in, const Form& form) {
  OfFeaturesReply features;
  features.datapath_id = in.U64();
  features.n_buffers = in.U32();
  features.n_tables = in.U8();
  uint8_t auxiliary = in.U8();
  if (form.version >= OfVersion::k13) features.auxiliary_id = auxiliary;
  in.Skip(2);
  uint32_t capabilities = in.U32();
  uint32_t actions = in.U32();
  features.capabilities = capabilities & KnownCapabilities(form.version);
  if (form.version == OfVersion::k10) {
    features.actions = actions;
    if ((capabilities & kStp10) != 0) features.capabilities |= kCapabilityStp;
  }
  while (!in.AtEnd()) {
    OfResult<OfPortDesc> port = ReadPortDesc(in, form);
    if (!port.ok()) return port.failure();
    features.ports.push_back(*std::move(port));
  }
  return features;
}

void WriteFeatures(const OfFeaturesReply& features, const Form& form, WireWriter& out) {
  out.U64(features.datapath_id);
  out.U32(features.n_buffers);
  out.U8(features.n_tables);
  out.U8(form.version >= OfVersion::k13 ? features.auxiliary_id : 0);
  out.Zeros(2);
  uint32_t capabilities = features.capabilities & KnownCapabilities(form.version);
  if (form.version == OfVersion::k10 && (features.capabilities & kCapabilityStp) != 0) capabilities |= kStp10;
  out.U32(capabilities);
  out.U32(form.version == OfVersion::k10 ? features.actions : 0);
  if (form.version >= OfVersion::k13) return;
  for (const OfPortDesc& port : features.ports) {
    size_t port_size = form.version == OfVersion::k10 ? 48 : 64;
    if (kOfHeaderSize + out.size() + port_size > kMaxMessage) break;  // the message has no second part
    WritePortDesc(port, form, out);
  }
}

// -- Configuration
// -----------------------------------------------------------------------------------------------------

OfResult<OfSwitchConfig> ReadConfig(WireReader& in, const Form&) {
  OfSwitchConfig config;
  config.flags = in.U16();
  config.miss_send_len = in.U16();
  return config;
}
void WriteConfig(const OfSwitchConfig& config, const Form&, WireWriter& out) {
  out.U16(config.flags);
  out.U16(config.miss_send_len);
}

// Of a request to set: flags that the version does not have are an error (OFPSCFC_BAD_FLAGS).
OfResult<OfSwitchConfig> ReadSetConfig(WireReader& in, const Form& form) {
  OfResult<OfSwitchConfig> config = ReadConfig(in, form);
  uint16_t known = form.version < OfVersion::k13 ? 7 : 3;
  if ((config->flags & ~known) != 0) {
    return Fail(OfError::kScfcBadFlags, "switch configuration with flags {:#x}", config->flags);
  }
  return config;
}

OfResult<OfConfigReply> ReadConfigReply(WireReader& in, const Form& form) {
  return OfConfigReply{*ReadConfig(in, form)};
}
void WriteConfigReply(const OfConfigReply& reply, const Form& form, WireWriter& out) {
  WriteConfig(reply.config, form, out);
}

// -- Description
// -------------------------------------------------------------------------------------------------------

constexpr size_t kDescSize = 256;
constexpr size_t kSerialSize = 32;

OfResult<OfDescReply> ReadDesc(WireReader& in, const Form&) {
  OfDescReply reply;
  reply.desc.manufacturer = in.FixedText(kDescSize);
  reply.desc.hardware = in.FixedText(kDescSize);
  reply.desc.software = in.FixedText(kDescSize);
  reply.desc.serial = in.FixedText(kSerialSize);
  reply.desc.datapath = in.FixedText(kDescSize);
  return reply;
}
void WriteDesc(const OfDescReply& reply, const Form&, WireWriter& out) {
  out.FixedText(reply.desc.manufacturer, kDescSize);
  out.FixedText(reply.desc.hardware, kDescSize);
  out.FixedText(reply.desc.software, kDescSize);
  out.FixedText(reply.desc.serial, kSerialSize);
  out.FixedText(reply.desc.datapath, kDescSize);
}

constexpr Codec kFeatures = Single<ReadFeatures, WriteFeatures, FormatFeatures>();
constexpr Codec kConfigReply = Single<ReadConfigReply, WriteConfigReply, FormatConfigReply>();
constexpr Codec kSetConfig = Single<ReadSetConfig, WriteConfig, FormatConfig>();
constexpr Codec kDesc = Single<ReadDesc, WriteDesc, FormatDesc>();

constexpr Row kRows[] = {
    {"OFPT_FEATURES_REQUEST", Space::kPlain, 5, 1, 6, {}, Empty<OfFeaturesRequest>()},
    {"OFPT_FEATURES_REPLY", Space::kPlain, 6, 1, 1, {24, 48}, kFeatures},
    {"OFPT_FEATURES_REPLY", Space::kPlain, 6, 2, 3, {24, 64}, kFeatures},
    {"OFPT_FEATURES_REPLY", Space::kPlain, 6, 4, 6, {24, 0}, kFeatures},
    {"OFPT_GET_CONFIG_REQUEST", Space::kPlain, 7, 1, 6, {}, Empty<OfGetConfigRequest>()},
    {"OFPT_GET_CONFIG_REPLY", Space::kPlain, 8, 1, 6, {4, 0}, kConfigReply},
    {"OFPT_SET_CONFIG", Space::kPlain, 9, 1, 6, {4, 0}, kSetConfig},
    {"OFPST_DESC request", Space::kRequest, 0, 1, 6, {}, Empty<OfDescRequest>()},
    {"OFPST_DESC reply", Space::kReply, 0, 1, 6, {1056, 0}, kDesc},
};

}  // namespace

absl::Span<const Row> SwitchRows() { return kRows; }

}  // namespace sluice::messages
