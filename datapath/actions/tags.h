// Pushing and popping of VLAN tags (IEEE 802.1Q) and MPLS labels (RFC 3032) at the front of a packet.
//
// Bytes in front of the tag move, the payload never does. Layer offsets are right afterwards; under an MPLS label there
// are none, as ParsePacket would say.
#pragma once

#include <cstdint>

#include "lib/flow/actions.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

// The offset of the EtherType behind the VLAN tags.
uint32_t TypeOffset(const DpPacket& packet);
// Bytes that VLAN tags take.
uint32_t TagBytes(const DpPacket& packet);
// Whether an MPLS label follows the EtherType at `type_offset`, in the first buffer.
bool HasMpls(const DpPacket& packet, uint32_t type_offset);

// A new outermost tag. False if there is no headroom.
bool PushVlan(DpPacket& packet, const PushVlanAction& action);
// Takes the outermost tag off; a packet without one stays as it is.
void PopVlan(DpPacket& packet);
// A new label on top, behind VLAN tags. The packet is no super-packet and its checksum is not postponed: who would
// complete it could not find its headers. False if there is no headroom.
bool PushMpls(DpPacket& packet, const PushMplsAction& action);
// Takes the top label off; a packet without one stays as it is.
void PopMpls(DpPacket& packet, const PopMplsAction& action);

}  // namespace sluice
