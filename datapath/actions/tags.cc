#include "datapath/actions/tags.h"

#include <cstring>

#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr uint32_t kAddresses = 2 * sizeof(MacAddress);
constexpr uint32_t kTag = 4;  // bytes of a VLAN tag, and of an MPLS label stack entry
constexpr uint32_t kMaxTags = 2;

bool IsVlan(Be16 type) { return type == Be16(kEthTypeVlan) || type == Be16(kEthTypeQinq); }

// Opens four bytes behind the first `before` ones.
bool OpenGap(DpPacket& packet, uint32_t before) {
  if (packet.headroom() < kTag) return false;
  uint8_t* data = packet.PushFront(kTag);
  std::memmove(data, data + kTag, before);
  return true;
}

void CloseGap(DpPacket& packet, uint32_t before) {
  std::memmove(packet.data() + kTag, packet.data(), before);
  packet.PullFront(kTag);
}

}  // namespace

uint32_t TypeOffset(const DpPacket& packet) {
  uint32_t offset = kAddresses;
  for (uint32_t tag = 0; tag < kMaxTags; ++tag) {
    if (!IsVlan(*HeaderAt<Be16>(packet, offset)) || packet.head_length() < offset + kTag + sizeof(Be16)) break;
    offset += kTag;
  }
  return offset;
}

uint32_t TagBytes(const DpPacket& packet) { return TypeOffset(packet) - kAddresses; }

bool HasMpls(const DpPacket& packet, uint32_t type_offset) {
  Be16 type = *HeaderAt<Be16>(packet, type_offset);
  bool is_mpls = type == Be16(kEthTypeMpls) || type == Be16(kEthTypeMplsMulticast);
  return is_mpls && packet.head_length() >= type_offset + sizeof(Be16) + kTag;
}

bool PushVlan(DpPacket& packet, const PushVlanAction& action) {
  if (!OpenGap(packet, kAddresses)) return false;
  *HeaderAt<Be16>(packet, kAddresses) = action.tpid;
  *HeaderAt<Be16>(packet, kAddresses + sizeof(Be16)) = action.tci & ~Be16(kVlanPresent);
  return true;
}

void PopVlan(DpPacket& packet) {
  if (TypeOffset(packet) == kAddresses) return;
  CloseGap(packet, kAddresses);
  // A third tag may have hidden the layers.
  if (packet.l3_offset == kNoOffset) ParseLayers(packet);
}

bool PushMpls(DpPacket& packet, const PushMplsAction& action) {
  uint32_t type_offset = TypeOffset(packet);
  if (!OpenGap(packet, type_offset + sizeof(Be16))) return false;
  *HeaderAt<Be16>(packet, type_offset) = action.eth_type;
  *HeaderAt<Be32>(packet, type_offset + sizeof(Be16)) = action.lse;
  packet.l3_offset = packet.l4_offset = packet.payload_offset = kNoOffset;
  return true;
}

void PopMpls(DpPacket& packet, const PopMplsAction& action) {
  uint32_t type_offset = TypeOffset(packet);
  if (!HasMpls(packet, type_offset)) return;
  CloseGap(packet, type_offset + sizeof(Be16));
  *HeaderAt<Be16>(packet, type_offset) = action.eth_type;
  ParseLayers(packet);
}

}  // namespace sluice
