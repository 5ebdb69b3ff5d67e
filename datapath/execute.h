// ExecuteActions: runs a flow's actions on the packets that hit it.
//
// Action by action over the whole batch. The last action that lets packets go (output, recirc, userspace, a nested
// list) gets the packets themselves, earlier ones get copies; what comes behind it has no effect and is not run. clone,
// sample and check_pkt_len run their list on a copy: what it changes does not reach the actions behind. An empty list,
// or one that lets nothing go, drops (kActionDrop); drop ends the list (kExplicitDrop).
//
// A super-packet stays one where every segment fares alike: set, VLAN tags, recirc, hash, output. It is segmented
// (gso.h) where segments fare differently or MPLS hides the headers that a segmenter needs: check_pkt_len with segments
// on both sides, trunc below a segment's length, push_mpls, userspace.
//
// Checksums follow their state: a full one (kUnknown, kGood, kBad) is updated incrementally (RFC 1624), so that a wrong
// one stays as wrong; of a postponed one (kPartial) only the pseudo-header sum is. A UDP checksum of zero stays zero.
//
// Threading: a PMD thread, with its own pools. No allocation, no lock, recursion bounded by kMaxActionDepth.
#pragma once

#include <cstdint>

#include "lib/flow/actions.h"
#include "lib/packet/drop_reason.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

// Lists inside lists. Packets that would go deeper are dropped (kActionDepth).
constexpr int kMaxActionDepth = 16;

// Where packets go. Every packet handed to ExecuteActions or copied there ends in exactly one call; counting is the
// sink's affair: received + copied == output + recirculated + to userspace + dropped, in wire frames
// (WireFrames(packet)).
class ActionSink {
 public:
  virtual ~ActionSink() = default;

  // Each takes every packet out of its batch (1 to 32 of them).
  virtual void Output(uint32_t port, PacketBatch& packets) = 0;
  // recirc_id is set, and flow_hash cleared. The sink bounds how often a packet comes round.
  virtual void Recirculate(PacketBatch& packets) = 0;
  // Never a super-packet or a postponed checksum.
  virtual void Userspace(DpPacketPtr packet, const UserspaceAction& action) = 0;
  virtual void Drop(DpPacketPtr packet, DropReason reason) = 0;

  // A copy of `original` was made, or (`made` false) could not be made for lack of buffers: then nothing else is called
  // for this copy, and it counts as one that was dropped (kCloneFailed). `frames` is how many wire frames it stands
  // for.
  virtual void OnCopy(const DpPacket& original, uint32_t frames, bool made) = 0;
};

// Consumes `batch`. Packets have the layer offsets of ParsePacket; those that leave have right ones again.
void ExecuteActions(PacketBatch& batch, const ActionList& actions, PacketPools& pools, ActionSink& sink);

}  // namespace sluice
