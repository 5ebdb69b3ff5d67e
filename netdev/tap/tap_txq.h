// Sending into a tap: one write per frame, gathered from its buffers. The kernel copies within the call.
#pragma once

#include <array>
#include <memory>

#include "netdev/caps_cell.h"
#include "netdev/netdev.h"
#include "netdev/tap/tap_device.h"
#include "netdev/vnet_header.h"

namespace sluice {

class TapTxq final : public NetdevTxq {
 public:
  // Buffers of one frame. A coalesced super-packet has one per segment: 45 of 1448 bytes fill 64 KiB.
  static constexpr uint16_t kMaxBuffers = 64;

  // Sends by `own` while the device has that queue, then by `first`, which it always has. The queue that a flow is sent
  // by is the one by which the kernel answers it. `caps` is the netdev's and outlives this.
  TapTxq(TapCalls& calls, std::shared_ptr<TapQueue> own, std::shared_ptr<TapQueue> first, const CapsCell& caps)
      : calls_(calls), queue_(std::move(own)), first_(std::move(first)), caps_(caps) {}

  EgressCaps caps() const override { return caps_.Load(); }

  // When the device is full (kTxFull), down or gone (kTxPortDown) the rest of the batch is dropped. A frame that the
  // kernel refuses for its own sake (kTxRefused) does not stop those behind it.
  void Send(PacketBatch& frames) override;

 private:
  ssize_t Write(const DpPacket& frame);
  size_t SettleFailure(const PacketBatch& frames, size_t index, int error);

  TapCalls& calls_;
  std::shared_ptr<TapQueue> queue_;
  const std::shared_ptr<TapQueue> first_;
  const CapsCell& caps_;
  VnetHeader header_{};
  std::array<iovec, kMaxBuffers + 1> parts_{};
};

}  // namespace sluice
