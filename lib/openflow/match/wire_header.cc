#include "lib/openflow/match/wire_header.h"

namespace sluice {

WireHeader HeaderOf(const FieldInfo& field, OfVersion version) {
  if (field.id == FieldId::kTcpFlags && version >= OfVersion::k13 && version < OfVersion::k15) {
    return {kOnfTcpFlags, kOnfExperimenter};
  }
  if (field.id == FieldId::kActsetOutput && version < OfVersion::k15) return {kOnfActsetOutput, kOnfExperimenter};
  bool has_oxm = !field.oxm_name.empty();
  bool has_nxm = !field.nxm_name.empty();
  if (has_oxm && (!has_nxm || version >= field.oxm_since)) return {field.oxm_header, 0};
  return {field.nxm_header, field.experimenter};
}

void WriteHeader(WireHeader header, WireWriter& out) {
  out.U32(header.header);
  if (header.experimenter != 0) out.U32(header.experimenter);
}

void WriteEntry(const FieldInfo& field, WireHeader header, const FieldValue& value, const FieldValue* mask,
                WireWriter& out) {
  bool masked = mask != nullptr && *mask != ExactMask(field);
  if (masked) header.header = (header.header | kOxmMaskBit) + field.n_bytes;
  WriteHeader(header, out);
  out.Raw(Bytes(value.bytes.data(), field.n_bytes));
  if (masked) out.Raw(Bytes(mask->bytes.data(), field.n_bytes));
}

bool ReadWireHeader(WireReader& in, ReadHeader32& out) {
  out.header = in.U32();
  out.length = out.header & 0xff;
  out.masked = (out.header & kOxmMaskBit) != 0;
  if (out.header >> 16 == kExperimenterClass) {
    if (out.length < 4) return false;
    out.experimenter = in.U32();
    out.length -= 4;
  }
  return in.ok();
}

}  // namespace sluice
