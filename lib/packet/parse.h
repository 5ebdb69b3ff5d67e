// ParsePacket: one pass over the headers of a frame, giving layer offsets and the flow key.
//
// Ethernet II and 802.3 with LLC/SNAP, up to two VLAN tags (0x8100, 0x88a8), ARP, IPv4 with options, IPv6 with extension
// headers (hop-by-hop, routing, destination, fragment, AH, mobility), fragments, TCP, UDP, SCTP, ICMP, ICMPv6 with ND
// (target and link-layer options), MPLS label stacks.
//
// Reads the first buffer only. A malformed or truncated header gives the key of the valid part before it and sets the
// offsets of nothing else: l4_offset is set only when the whole fixed transport header is in the frame and its lengths are
// consistent, payload_offset with it. Bytes behind the IP total length (Ethernet padding) are not payload. A super-packet
// whose layers are not found (behind three VLAN tags) has a payload_offset all the same: by its csum_start.
#pragma once

#include <cstdint>

#include "lib/flow/flow_key.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

// Fills `key` completely (fields that are absent become zero), with the packet's metadata (in_port, recirc_id, ...) in it,
// and sets packet.l3_offset, l4_offset, payload_offset. Does not change a byte of the frame.
void ParsePacket(DpPacket& packet, FlowKey& key);

// Sets only the layer offsets, for packets whose key is not needed. Returns the EtherType behind VLAN tags (host order) and
// the transport protocol (0 if there is no transport header).
struct Layers {
  uint16_t eth_type = 0;
  uint8_t ip_proto = 0;
};
Layers ParseLayers(DpPacket& packet);

// A hash over addresses, protocol and ports (L4 5-tuple) of `key`, never 0. Equal for all packets of a flow; the
// exact-match cache and the hash() action use it.
uint32_t FlowHash(const FlowKey& key, uint32_t basis = 0);
// The same value for both directions of a connection.
uint32_t SymmetricFlowHash(const FlowKey& key, uint32_t basis = 0);

}  // namespace sluice
