// Receiving from a tap: one read per frame, straight into the buffers that the frame is sent from.
//
// One pair of buffers is posted: [VnetHeader | small | large]. A frame that fits the small buffer leaves the large one
// posted; a larger one takes both, chained. Holds up to two buffers while attached. When a pool is empty frames are
// read and discarded (kRxPoolEmpty), so that fresh ones are there when buffers come home.
#pragma once

#include <array>
#include <memory>

#include "netdev/netdev.h"
#include "netdev/tap/tap_device.h"
#include "netdev/vnet_header.h"

namespace sluice {

class TapRxq final : public NetdevRxq {
 public:
  // Received in one call at most, about: more would leave the cache before it is sent.
  static constexpr uint64_t kBurstBytes = 1 << 20;

  TapRxq(TapCalls& calls, std::shared_ptr<TapQueue> queue) : calls_(calls), queue_(std::move(queue)) {}

  void Attach(PacketPools& pools) override { pools_ = &pools; }
  void Detach() override;
  bool Receive(RxBurst& burst, size_t max) override;
  int wait_fd() const override { return queue_->wait_fd(); }

  TapQueue& queue() { return *queue_; }
  const std::shared_ptr<TapQueue>& shared_queue() const { return queue_; }

 private:
  enum class Outcome { kPacket, kDropped, kEmpty };

  bool Post();
  Outcome ReadOne(DpPacketPtr& packet);
  bool TakeFrame(uint32_t bytes, DropReason& reason);
  Outcome SettleFailure(int error, int generation);
  Outcome DiscardOne();

  TapCalls& calls_;
  const std::shared_ptr<TapQueue> queue_;
  PacketPools* pools_ = nullptr;
  VnetHeader header_{};
  DpPacketPtr small_;
  DpPacketPtr large_;
  std::array<iovec, 3> parts_{};
};

}  // namespace sluice
