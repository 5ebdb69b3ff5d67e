// Receiving from a packet socket with virtio-net headers, in batches, into buffers that are sent on without a copy.
//
// Each slot posts a header and a pair of buffers: [VnetHeader | small | large]. A frame that fits the small buffer
// leaves the large one posted; a larger one takes both, chained. Slots are filled just before the call that receives,
// because then the buffers that the last burst was sent from are home again and still in cache.
//
// How many messages one call asks for follows the last burst: about kBurstBytes of frames of that size, so that
// super-packets stay within the processor's cache and small frames come in large batches. Its bound starts low and
// doubles when a call gave so many, so that a queue with little traffic keeps few buffers posted.
//
// A queue holds up to RxBurst::kCapacity buffers of each pool while attached. With less it receives less per call, and
// with none it reads and discards (kRxPoolEmpty), so that fresh packets are there when buffers come home.
#pragma once

#include <linux/if_packet.h>

#include <array>
#include <atomic>

#include "netdev/netdev.h"
#include "netdev/system/packet_socket.h"
#include "netdev/vnet_header.h"

namespace sluice {

class SystemRxq final : public NetdevRxq {
 public:
  static constexpr uint32_t kBurstBytes = 1 << 20;
  static constexpr size_t kLeastDepth = 8;  // messages

  // `socket` is from OpenReceiveSocket. `epoll`, if there is one, watches it; then the socket can be replaced, which
  // fan-out needs, as such a socket cannot be bound twice.
  SystemRxq(PacketSocketCalls& calls, FileDescriptor socket, FileDescriptor epoll = {});
  ~SystemRxq() override;

  void Attach(PacketPools& pools) override;
  void Detach() override;
  bool Receive(RxBurst& burst, size_t max) override;
  int wait_fd() const override { return epoll_ ? epoll_.get() : newest_; }

  // Main thread. The socket to bind and to ask; it stays open until it is replaced.
  int socket() const { return newest_; }
  // Main thread, any time. The receiving thread goes over to `next` when it finds the old socket empty, so what is
  // queued there is not lost.
  absl::Status ReplaceSocket(FileDescriptor next);

 private:
  struct alignas(8) Slot {
    VnetHeader vnet;
    DpPacketPtr small;
    DpPacketPtr large;
    std::array<iovec, 3> parts;
    alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
  };
  static constexpr size_t kSlots = RxBurst::kCapacity;

  size_t Post(size_t count);
  bool FillSlot(Slot& slot);
  void TakeSlot(size_t index, RxBurst& burst);
  bool TakeFrame(Slot& slot, const mmsghdr& message, DropReason& reason);
  bool Discard(size_t count);
  bool AdoptPendingSocket();

  PacketSocketCalls& calls_;
  PacketPools* pools_ = nullptr;
  FileDescriptor active_;         // what the receiving thread reads
  size_t depth_ = kLeastDepth;    // messages that the next call asks for
  size_t deepest_ = kLeastDepth;  // and its bound: what the slots have been used for
  std::array<Slot, kSlots> slots_;
  std::array<mmsghdr, kSlots> messages_{};

  FileDescriptor epoll_;
  int newest_;  // active_ or pending_, as main knows it
  std::atomic<int> pending_{-1};
};

}  // namespace sluice
