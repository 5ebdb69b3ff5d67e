// A batch: up to N owned packets, in order, on the stack.
//
// PacketBatch (32) is what one trip through the datapath handles. RxBurst (128) is what a receive queue may fill when
// it feeds the coalescer. A batch owns what is in it: what is still there when it dies is freed.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>

#include "lib/packet/dp_packet.h"

namespace sluice {

template <size_t kMaximum>
class BasicPacketBatch {
 public:
  static constexpr size_t kCapacity = kMaximum;

  BasicPacketBatch() = default;
  ~BasicPacketBatch() { FreeAll(); }
  BasicPacketBatch(const BasicPacketBatch&) = delete;
  BasicPacketBatch& operator=(const BasicPacketBatch&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kMaximum; }
  DpPacket* operator[](size_t i) const { return packets_[i]; }
  DpPacket** begin() { return packets_.data(); }
  DpPacket** end() { return packets_.data() + size_; }

  void Add(DpPacketPtr packet) {
    assert(!full());
    packets_[size_++] = packet.release();
  }
  // Takes the packet at `i` out; its place holds nullptr until Compact() or Clear().
  DpPacketPtr Take(size_t i) {
    DpPacket* packet = packets_[i];
    packets_[i] = nullptr;
    return DpPacketPtr(packet);
  }
  // Closes the gaps that Take() left, keeping the order.
  void Compact() {
    size_t kept = 0;
    for (size_t i = 0; i < size_; ++i) {
      if (packets_[i] != nullptr) packets_[kept++] = packets_[i];
    }
    size_ = kept;
  }
  // Forgets all packets without freeing them: their ownership has gone elsewhere.
  void Clear() { size_ = 0; }
  void FreeAll() {
    for (size_t i = 0; i < size_; ++i) {
      if (packets_[i] != nullptr) FreePacketChain(packets_[i]);
    }
    size_ = 0;
  }

 private:
  size_t size_ = 0;
  std::array<DpPacket*, kMaximum> packets_;  // beyond size_: indeterminate
};

using PacketBatch = BasicPacketBatch<32>;
using RxBurst = BasicPacketBatch<128>;

}  // namespace sluice
