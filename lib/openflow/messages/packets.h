// Packet-in, packet-out, resume: the functions behind their rows.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

// NXT_PACKET_IN2 and NXT_RESUME: a list of properties.
OfResult<OfPacketIn> ReadPacketIn2(WireReader& in, const Form& form);
void WritePacketIn2(const OfPacketIn& packet_in, const Form& form, WireWriter& out);

// How `version` says a reason that it does not have.
uint8_t ReasonToWire(OfPacketIn::Reason reason, OfVersion version);
// The beginning of the packet that fits into a message beside everything else.
Bytes PacketThatFits(const OfPacketIn& packet_in);
uint32_t TotalLength(const OfPacketIn& packet_in);

}  // namespace sluice::messages
