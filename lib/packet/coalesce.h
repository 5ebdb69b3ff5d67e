// Coalescing on receive (GRO): MTU-sized TCP segments of one flow that arrived in one burst become one super-packet.
//
// By the rules of Linux GRO (net/core/gro.c, net/ipv4/tcp_offload.c): same Ethernet header and VLAN tags, same IP
// addresses, TOS and TTL, no IP options or fragments, consecutive IDs, same TCP ports, ACK number, window and options,
// sequence in order, equal payload sizes (the last may be shorter), flags other than ACK end it (PSH and FIN are kept on
// the last, CWR on the first). Only packets whose checksum is kGood or kPartial take part. Stricter than Linux where
// segmentation would not give the frame back: an ID that stays the same, padding, a wrong IPv4 header checksum.
//
// Reversible byte for byte: segmenting the result gives the original frames back. Payloads are chained, not copied. The
// result is kPartial, kTcp4 or kTcp6, coalesced = true, with segment_size. Never delays: all state ends with the call.
#pragma once

#include <cstdint>

#include "lib/base/counter.h"
#include "lib/packet/packet_batch.h"

namespace sluice {

struct CoalesceLimits {
  uint32_t max_length = 65535;   // bytes of IP total length (IPv4) or frame payload that the result may reach
  uint16_t max_segments = 64;    // frames that one result may hold
};

struct CoalesceCounters {
  Counter super_packets;  // made
  Counter segments;       // frames that went into them
};

// Coalesces in place: afterwards `burst` holds fewer packets, in an order that keeps each flow's order. Packets must carry
// offload state; layer offsets are set for every packet looked at (the later ParsePacket sets them again).
void CoalesceBurst(RxBurst& burst, const CoalesceLimits& limits, CoalesceCounters& counters);

}  // namespace sluice
