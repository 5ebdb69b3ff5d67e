// Sending through a packet socket with virtio-net headers: one sendmmsg for a batch, frames gathered from their
// buffers.
//
// The kernel copies the bytes within the call, so buffers are free when Send() returns.
#pragma once

#include <array>
#include <memory>

#include "netdev/caps_cell.h"
#include "netdev/netdev.h"
#include "netdev/system/packet_socket.h"
#include "netdev/vnet_header.h"

namespace sluice {

// What the main thread tells all transmit queues of one device.
struct alignas(64) SystemTxShared {
  // The longest frame that the kernel takes from a packet socket: 65,535 bytes behind the headers of IPv6 (or the IP
  // length of IPv4), Ethernet and two VLAN tags.
  static constexpr uint32_t kMaxSuperLength = 65535 + 40 + 14 + 8;
  // Buffers of one frame. A coalesced super-packet has one per segment: 45 of 1448 bytes fill 64 KiB.
  static constexpr uint16_t kMaxBuffers = 64;

  CapsCell caps;
  std::atomic<bool> present{false};  // there is a device to send to
};

class SystemTxq final : public NetdevTxq {
 public:
  // `socket` is from OpenSendSocket and shared with the netdev, which binds it. `shared` is the netdev's and outlives
  // this.
  SystemTxq(PacketSocketCalls& calls, std::shared_ptr<FileDescriptor> socket, const SystemTxShared& shared)
      : calls_(calls), socket_(std::move(socket)), shared_(shared) {}

  EgressCaps caps() const override { return shared_.caps.Load(); }

  // When the socket is full the rest of the batch is dropped (kTxFull); when the device is down or gone likewise
  // (kTxPortDown). A frame that the kernel refuses for its own sake (kTxRefused) does not stop those behind it.
  void Send(PacketBatch& frames) override;

 private:
  static constexpr size_t kMaxMessages = PacketBatch::kCapacity;

  size_t Gather(PacketBatch& frames);
  size_t SettleFailure(PacketBatch& frames, size_t index, int error);
  void CountSent(PacketBatch& frames, size_t from, size_t to);
  void CountDropped(PacketBatch& frames, size_t from, size_t to, DropReason reason);

  PacketSocketCalls& calls_;
  const std::shared_ptr<FileDescriptor> socket_;
  const SystemTxShared& shared_;
  std::array<VnetHeader, kMaxMessages> headers_;
  std::array<mmsghdr, kMaxMessages> messages_{};
  std::array<iovec, kMaxMessages*(SystemTxShared::kMaxBuffers + 1)> parts_;
};

}  // namespace sluice
