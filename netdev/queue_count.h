// What a queue counts for one packet. Works from the offload state alone (a super-packet's csum_start is its transport
// header), so also before the packet was parsed.
#pragma once

#include <cstdint>

#include "lib/packet/headers.h"
#include "netdev/netdev.h"

namespace sluice {

struct WireShare {
  uint32_t frames = 1;
  uint64_t bytes = 0;  // headers counted once per frame
};

inline WireShare WireShareOf(const DpPacket& packet) {
  const Offload& offload = packet.offload;
  if (!offload.IsSuper()) return {1, packet.length()};
  uint32_t headers = offload.csum_start + (IsTcp(offload.segmentation)
                                               ? HeaderAt<TcpHeader>(packet, offload.csum_start)->HeaderLength()
                                               : static_cast<uint32_t>(sizeof(UdpHeader)));
  uint32_t frames = (packet.length() - headers + offload.segment_size - 1) / offload.segment_size;
  return {frames, packet.length() + uint64_t{frames - 1} * headers};
}

inline void CountPacket(QueueCounters& counters, const DpPacket& packet) {
  WireShare share = WireShareOf(packet);
  counters.frames += share.frames;
  counters.bytes += share.bytes;
  ++counters.packets;
  if (packet.offload.IsSuper()) ++counters.super_packets;
}

inline void CountDrop(QueueCounters& counters, DropReason reason, const DpPacket& packet) {
  counters.drops.Add(reason, WireShareOf(packet).frames);
}

}  // namespace sluice
