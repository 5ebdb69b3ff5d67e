// Which asynchronous messages a connection gets (OpenFlow 1.5.1, 6.1.1 and 7.3.10), as Open vSwitch has it: a mask of
// reasons per kind of message, one set for equal and primary controllers and one for secondary ones.
#pragma once

#include "lib/openflow/message.h"

namespace sluice {

// What a connection begins with. Packet-ins for packets whose TTL has run out must be asked for in every version.
OfAsyncConfig DefaultAsyncConfig(OfVersion version);
// Puts what was given over what was there.
void ApplyAsync(const OfSetAsync& set, OfAsyncConfig& config);
// As get-async shows it: without the reasons that are in here only.
OfAsyncConfig PublicAsync(OfAsyncConfig config);

// How a version names the reason of a packet-in.
OfPacketIn::Reason PublicReason(OfPacketIn::Reason reason, OfVersion version);

// Up to 1.2 packets that match nothing go to the controller; from 1.3 on only those that a table-miss flow sends.
bool WantsImplicitMisses(OfVersion version);

}  // namespace sluice
