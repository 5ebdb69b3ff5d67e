// set(...) and its masked form: changes fields of one header of a packet and keeps every checksum as right as it was.
//
//   IPv4 header                    updated (RFC 1624)
//   TCP, UDP, ICMP, ICMPv6, full   updated; a UDP checksum of zero stays, one that becomes zero is written as 0xffff
//   the same, postponed            the pseudo-header's sum follows the addresses; other fields are not in it yet
//   SCTP (CRC32c)                  changed by what the change makes of a right one; postponed: left alone
//
// In a fragment that is not the first, setting a transport field changes nothing: the header is elsewhere.
#pragma once

#include "lib/flow/actions.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

// False, and the packet is as it was, if it does not have the header. The packet has the offsets of ParsePacket.
bool ApplySet(DpPacket& packet, const SetAction& action);

}  // namespace sluice
