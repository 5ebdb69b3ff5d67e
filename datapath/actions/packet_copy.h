// Copies of packets, and the segments of super-packets, in buffers of the calling thread's pools.
#pragma once

#include <cstdint>

#include "lib/packet/dp_packet.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

// An empty linear buffer with headroom and room for `bytes`, or nullptr: the pool is empty or its buffers are smaller.
DpPacketPtr AllocateFor(uint32_t bytes, PacketPools& pools);

// The whole frame with its metadata, linear unless it is larger than the largest buffer, or nullptr when there is none.
// Bytes are copied: buffers have one owner.
DpPacketPtr CopyPacket(const DpPacket& packet, PacketPools& pools);

}  // namespace sluice
