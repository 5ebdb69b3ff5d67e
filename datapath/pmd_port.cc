#include "datapath/pmd_port.h"

namespace sluice {

void PmdPort::Flush(PacketPools& pools) {
  if (pending_.empty()) return;
  PrepareForEgress(pending_, txq_->caps(), pools, *this, counters.egress_drops);
}

void PmdPort::Emit(PacketBatch& frames) {
  for (DpPacket* frame : frames) {
    counters.tx_histogram.Add(frame->offload.IsSuper() ? WireFrames(*frame) : 1);
  }
  txq_->Send(frames);
}

}  // namespace sluice
