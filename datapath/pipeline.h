// Pipeline: the way of packets through one PMD thread, from what a receive queue gave to the transmit queues.
//
//   1. ingress: policing; in_port; what is larger than the port's MTU is let through (a super-packet, with TSO), segmented (a
//      super-packet, without) or dropped; coalescing
//   2. per batch of 32: parse, hash, flow cache, flow table, upcall
//   3. packets of one flow together: statistics, actions
//   4. outputs gathered per port and sent, once per port, before Process() returns
//
// Recirculated packets go through 2 and 3 again, nested, up to kMaxRecirculations times. Order within a flow is kept.
// Everything here belongs to one thread; there is no allocation and no lock but in an upcall.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/execute.h"
#include "datapath/flow_cache.h"
#include "datapath/flow_offers.h"
#include "datapath/flow_table.h"
#include "datapath/pmd_port.h"
#include "datapath/upcall.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

class Pipeline final : private ActionSink, private EgressSink {
 public:
  static constexpr size_t kMaxRecirculations = 7;
  // A flow is offered to the kernel after so many packets, and again after as many more that the kernel did not take.
  // TCP connections that are over soon are not worth it.
  static constexpr uint32_t kOfferInterval = 4;
  static constexpr uint32_t kTcpOfferInterval = 8;

  // All outlive the pipeline. `slot` is the thread's in flow statistics.
  Pipeline(FlowTable& table, size_t slot, PacketPools& pools, UpcallHandler& upcalls);

  void set_upcalls(UpcallHandler& upcalls) { upcalls_ = &upcalls; }
  void SetPort(uint32_t number, PmdPort* port);
  // Where flows go that are hit often; nullptr: nowhere.
  void set_offers(FlowOffers* offers) { offers_ = offers; }

  // Call after RcuQuiescent() and before Process().
  void BeginTurn() { generation_ = table_.generation(); }
  // Forwards everything in `burst`, which is empty afterwards. `coalesce` makes super-packets of MTU-sized frames
  // first.
  void Process(RxBurst& burst, PmdPort& ingress, bool coalesce);

  // Written by the thread, read by any. Lookups are counted in packets; a super-packet is one.
  struct Counters {
    Counter cache_hits;
    Counter table_hits;
    Counter misses;  // upcalls
    Counter upcall_cycles;
    Counter recirculations;
    Counter batches;  // of packets of one flow
  };
  const Counters& counters() const { return counters_; }

 private:
  // Packets of one batch that hit the same flow.
  struct Group {
    DpFlow* flow = nullptr;
    uint64_t frames = 0;
    uint64_t bytes = 0;
    uint16_t tcp_flags = 0;
    PacketBatch packets;
  };
  // What one level of recirculation works with.
  struct Level {
    std::array<FlowKey, PacketBatch::kCapacity> keys;
    std::array<uint32_t, PacketBatch::kCapacity> hashes;
    std::array<Group, PacketBatch::kCapacity> groups;
    size_t group_count = 0;
  };

  // Stage 1, out of line for what must not enter as it is.
  void Police(RxBurst& burst, Policer& policer);
  void DropOversized(RxBurst& burst, uint32_t mtu);
  void SegmentBurst(RxBurst& burst, uint32_t mtu);
  void SegmentChunk(uint32_t mtu);
  void Emit(PacketBatch& frames) override { ProcessBatch(frames); }  // what SegmentChunk() made

  // Stages 2 and 3. Empties `batch`.
  void ProcessBatch(PacketBatch& batch);
  void ParseBatch(PacketBatch& batch, Level& level);
  DpFlow* Classify(const FlowKey& key, uint32_t hash);
  void OfferFlow(const FlowKey& key, const DpFlow& flow, uint32_t hits);
  void AddToGroup(Level& level, DpFlow* flow, const FlowKey& key, DpPacketPtr packet);
  void ExecuteGroup(Group& group);
  // A packet that no flow matches. Gives the flow that was installed for it, or nullptr and has dealt with the packet.
  DpFlow* Miss(const FlowKey& key, uint32_t hash, DpPacketPtr& packet);
  void FlushOutputs();

  // ActionSink.
  void Output(uint32_t port, PacketBatch& packets) override;
  void Recirculate(PacketBatch& packets) override;
  void Userspace(DpPacketPtr packet, const UserspaceAction& action) override;
  void Drop(DpPacketPtr packet, DropReason reason) override;
  void OnCopy(const DpPacket& original, uint32_t frames, bool made) override;

  FlowTable& table_;
  const size_t slot_;
  PacketPools& pools_;
  UpcallHandler* upcalls_;
  FlowOffers* offers_ = nullptr;
  FlowCache cache_;
  uint64_t generation_ = 0;
  uint64_t now_ms_ = 0;           // monotonic, of this Process()
  PmdPort* ingress_ = nullptr;    // of this Process(): every packet in the pipeline came in there
  std::vector<PmdPort*> ports_;   // by number; nullptr: no such port
  std::vector<PmdPort*> listed_;  // have pending frames; room for all
  std::unique_ptr<std::array<Level, kMaxRecirculations + 1>> levels_;
  size_t depth_ = 0;
  PacketBatch chunk_;  // of a burst
  Counters counters_;
};

}  // namespace sluice
