// A packet as it is handed to controllers.
#pragma once

#include <memory>

#include "lib/packet/dp_packet.h"
#include "ofproto/xlate/packet_in.h"

namespace sluice {

// Copies the packet, which is no super-packet, up to what the record's controllers want of it: all of it where
// translation is to go on with it.
PacketInEvent MakePacketInEvent(std::shared_ptr<const PacketInRecord> record, const DpPacket& packet);

}  // namespace sluice
