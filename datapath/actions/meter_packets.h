// The meter action on one packet.
#pragma once

#include <cstdint>

#include "datapath/meter.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

// The time that meters go by: monotonic nanoseconds.
uint64_t MeterNow();

// Measures the packet and remarks it if the meter says so; false: it is to be dropped. A remark band raises the drop
// precedence of an assured forwarding DSCP (RFC 2597) up to 3 and leaves every other packet as it is. The packet has
// the offsets of ParsePacket.
bool MeterPacket(DpPacket& packet, DpMeter& meter, uint64_t now);

}  // namespace sluice
