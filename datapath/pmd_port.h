// PmdPort: what one PMD thread keeps of one port. Its transmit queue, the frames waiting for it, and its counters.
//
// Made and destroyed by the main thread, used by one PMD thread in between. The counters outlive the thread: they stay
// with the port's thread slot, and the slot's next thread counts on. Readers sum the slots of a port.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "datapath/policing.h"
#include "datapath/segment_histogram.h"
#include "lib/base/rcu.h"
#include "lib/packet/coalesce.h"
#include "lib/packet/drop_reason.h"
#include "lib/packet/egress.h"
#include "lib/packet/packet_batch.h"
#include "netdev/kernel_flows/kernel_flows.h"
#include "netdev/netdev.h"

namespace sluice {

// What the main thread may change while PMD threads forward; read at batch boundaries.
struct PortSettings {
  std::atomic<bool> tso{true};  // userspace-tso-enable as it holds for this port
  RcuPtr<Policer> policer;      // nullptr: no ingress policing
};

class PmdPort final : public EgressSink {
 public:
  PmdPort(uint32_t number, const Netdev& netdev, const PortSettings& settings)
      : number_(number), netdev_(netdev), settings_(settings) {}

  uint32_t number() const { return number_; }
  bool tso() const { return settings_.tso.load(std::memory_order_relaxed); }
  bool rx_gro() const { return netdev_.rx_gro(); }
  // Whether the kernel may forward packets of this port now.
  bool kernel_forwarding() const {
    const KernelPort* port = netdev_.kernel_port();
    return port != nullptr && port->is_open();
  }
  // The MTU of the port, in bytes of layer 3. Needs a transmit queue.
  EgressCaps caps() const { return txq_->caps(); }
  // nullptr: what comes in is not policed. Good until the thread is quiescent.
  Policer* policer() const { return settings_.policer.Load(); }

  // Main thread, while no PMD thread uses this object.
  void set_txq(std::unique_ptr<NetdevTxq> txq) { txq_ = std::move(txq); }
  NetdevTxq* txq() const { return txq_.get(); }

  // PMD thread
  // --------------------------------------------------------------------------------------------------------- Queues
  // frames for Flush(); flushes first when there is no room. Takes ownership; order is kept.
  void Enqueue(DpPacketPtr packet, PacketPools& pools) {
    if (pending_.full()) Flush(pools);
    pending_.Add(std::move(packet));
  }
  bool has_pending() const { return !pending_.empty(); }
  // Makes of the queued packets what the port can send, and sends it.
  void Flush(PacketPools& pools);
  // For Flush() only: what PrepareForEgress made.
  void Emit(PacketBatch& frames) override;

  // Whether this port is in its thread's list of ports with pending frames.
  bool listed = false;

  // Written by the PMD thread, read by any. All in wire frames.
  struct Counters {
    DropCounters ingress_drops;  // of packets that came in here: receive and datapath reasons
    DropCounters egress_drops;   // of packets that were to leave here, before the queue
    Counter copies;              // made of packets that came in here, by output to several ports and the like
    Counter consumed;            // came in here and were taken by an upcall handler for good
    CoalesceCounters coalesced;  // on receive
    SegmentHistogram rx_histogram;
    SegmentHistogram tx_histogram;  // of what was handed to the transmit queue
  };
  Counters counters;

 private:
  const uint32_t number_;
  const Netdev& netdev_;
  const PortSettings& settings_;
  std::unique_ptr<NetdevTxq> txq_;
  PacketBatch pending_;
};

}  // namespace sluice
