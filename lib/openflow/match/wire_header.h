// The header that a field has on the wire of a version. Internal to this folder.
#pragma once

#include <cstdint>

#include "lib/openflow/field.h"
#include "lib/openflow/wire.h"

namespace sluice {

constexpr uint32_t kOxmMaskBit = 0x100;
constexpr uint16_t kExperimenterClass = 0xffff;
// The ONF's forms of what OpenFlow 1.5 has in the basic class.
constexpr uint32_t kOnfExperimenter = 0x4f4e4600;
constexpr uint32_t kOnfTcpFlags = 0xffff0000 | 42 << 9 | 6;
constexpr uint32_t kOnfActsetOutput = 0xffff0000 | 43 << 9 | 8;

struct WireHeader {
  uint32_t header = 0;        // without the mask bit; its length counts the experimenter's 4 bytes
  uint32_t experimenter = 0;  // 0: none
};

// The NXM form before `version` has an OXM one, or where there is no other.
WireHeader HeaderOf(const FieldInfo& field, OfVersion version);
void WriteHeader(WireHeader header, WireWriter& out);
// With the value, and the mask unless it is nullptr or exact.
void WriteEntry(const FieldInfo& field, WireHeader header, const FieldValue& value, const FieldValue* mask,
                WireWriter& out);

// What precedes an entry's payload. `length` is that of the payload, without an experimenter.
struct ReadHeader32 {
  uint32_t header = 0;
  uint32_t experimenter = 0;
  size_t length = 0;
  bool masked = false;
};
// False: the header ends before its end, or its length has no room for the experimenter.
bool ReadWireHeader(WireReader& in, ReadHeader32& out);

}  // namespace sluice
