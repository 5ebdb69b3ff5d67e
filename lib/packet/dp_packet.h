// DpPacket: one buffer of a frame, with the metadata that forwarding reads.
//
// A frame is a first DpPacket and, where its payload is large, a chain of further ones (next()). The first buffer holds
// all headers, linear, behind headroom for any tunnel push. Only the segmenter, the coalescer, checksums, trunc and
// transmit look beyond the first buffer. Frame-wide facts (length(), offload, metadata) live in the first buffer only.
//
// The object sits at a fixed place relative to its buffer, made by a PacketPool (heap slab; later AF_XDP umem frame and
// DPDK mbuf private area), and goes back to that pool. Ownership is DpPacketPtr: 8 bytes, move-only, frees the chain.
//
// Threading: a packet has one owner at a time; it may be freed by any thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>

#include "lib/packet/offload.h"

namespace sluice {

class DpPacket;

// Where packets come from. One owner thread allocates; any thread frees.
class PacketPool {
 public:
  virtual ~PacketPool() = default;
  // Takes back one buffer (not the chain behind it). Any thread.
  virtual void Free(DpPacket* buffer) = 0;
};

// Offset of a header that the packet does not have.
constexpr uint16_t kNoOffset = 0xffff;

class alignas(64) DpPacket {
 public:
  // `buffer` points to `capacity` bytes that live as long as this object; both belong to `pool`.
  DpPacket(PacketPool* pool, uint8_t* buffer, uint32_t capacity) : pool_(pool), buffer_(buffer), capacity_(capacity) {}
  DpPacket(const DpPacket&) = delete;
  DpPacket& operator=(const DpPacket&) = delete;

  // Makes this a new, empty, unchained buffer whose data will start `headroom` bytes into it. Metadata is cleared.
  void Reset(uint32_t headroom) {
    assert(headroom <= capacity_);
    data_ = buffer_ + headroom;
    next_ = nullptr;
    length_ = 0;
    head_length_ = 0;
    offload = Offload{};
    l3_offset = l4_offset = payload_offset = kNoOffset;
    buffer_count_ = 1;
    coalesced = false;
    in_port = 0;
    recirc_id = 0;
    dp_hash = 0;
    flow_hash = 0;
    skb_mark = 0;
    skb_priority = 0;
  }

  // The bytes in this buffer.
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  uint32_t head_length() const { return head_length_; }
  uint32_t headroom() const { return static_cast<uint32_t>(data_ - buffer_); }
  uint32_t tailroom() const { return capacity_ - headroom() - head_length_; }

  // The whole frame, Ethernet header included, over all buffers. Valid in the first buffer.
  uint32_t length() const { return length_; }
  uint32_t buffer_count() const { return buffer_count_; }
  DpPacket* next() { return next_; }
  const DpPacket* next() const { return next_; }
  bool IsLinear() const { return next_ == nullptr; }
  PacketPool* pool() const { return pool_; }

  // Sets how many bytes of this buffer are data, from data() on. Of a first buffer, the frame's length follows.
  void SetHeadLength(uint32_t bytes) {
    assert(bytes <= capacity_ - headroom());
    length_ += bytes - head_length_;
    head_length_ = bytes;
  }

  // Adds `bytes` at the front of the first buffer (returns the new data()) or takes them off. Offsets of layers and
  // csum_start move along; a layer that is cut off loses its offset.
  uint8_t* PushFront(uint32_t bytes) {
    assert(bytes <= headroom());
    data_ -= bytes;
    head_length_ += bytes;
    length_ += bytes;
    ShiftOffsets(static_cast<int32_t>(bytes));
    return data_;
  }
  uint8_t* PullFront(uint32_t bytes) {
    assert(bytes <= head_length_);
    data_ += bytes;
    head_length_ -= bytes;
    length_ -= bytes;
    ShiftOffsets(-static_cast<int32_t>(bytes));
    return data_;
  }

  // The same for a buffer that is about to be chained behind another: its own offsets mean nothing any more.
  void SkipFront(uint32_t bytes) {
    assert(bytes <= head_length_);
    data_ += bytes;
    head_length_ -= bytes;
    length_ -= bytes;
  }

  // Appends `tail` (a whole chain, first buffer included) behind `last`, the last buffer of this frame. Takes
  // ownership.
  void AppendChain(DpPacket* last, DpPacket* tail) {
    assert(last->next_ == nullptr);
    last->next_ = tail;
    length_ += tail->length_;
    buffer_count_ = static_cast<uint16_t>(buffer_count_ + tail->buffer_count_);
  }
  // Cuts the chain behind this first buffer off and returns it (nullptr if linear). The returned buffers stay linked,
  // belong to the caller, and only their own data() and head_length() are meaningful.
  DpPacket* DetachChain() {
    DpPacket* tail = next_;
    next_ = nullptr;
    length_ = head_length_;
    buffer_count_ = 1;
    return tail;
  }
  // Shortens the frame to `bytes`, at least one byte of every buffer that stays; frees the buffers beyond.
  void Truncate(uint32_t bytes);

  // Takes over what belongs to the frame, not to its bytes: offload state, layer offsets, port, marks and hashes.
  void CopyMetadataFrom(const DpPacket& other) {
    offload = other.offload;
    l3_offset = other.l3_offset;
    l4_offset = other.l4_offset;
    payload_offset = other.payload_offset;
    in_port = other.in_port;
    recirc_id = other.recirc_id;
    flow_hash = other.flow_hash;
    dp_hash = other.dp_hash;
    skb_mark = other.skb_mark;
    skb_priority = other.skb_priority;
  }

  // Copies `bytes` from `offset` of the frame to `out`, over buffer borders. The range must lie inside the frame.
  void CopyOut(uint32_t offset, uint32_t bytes, uint8_t* out) const;

  // Intrusive links for pools and batches: next_ is free for use while the buffer is in a pool.
  DpPacket* pool_link() const { return next_; }
  void set_pool_link(DpPacket* link) { next_ = link; }

 private:
  void ShiftOffsets(int32_t by) {
    Shift(l3_offset, by);
    Shift(l4_offset, by);
    Shift(payload_offset, by);
    offload.csum_start = static_cast<uint16_t>(offload.csum_start + by);
  }
  static void Shift(uint16_t& offset, int32_t by) {
    if (offset != kNoOffset) {
      int32_t moved = offset + by;
      offset = moved < 0 ? kNoOffset : static_cast<uint16_t>(moved);
    }
  }

  // First cache line: all that forwarding reads. --------------------------------------------------------------------
  uint8_t* data_ = nullptr;
  DpPacket* next_ = nullptr;
  uint32_t length_ = 0;
  uint32_t head_length_ = 0;

 public:
  Offload offload;                 // 10 bytes
  uint16_t l3_offset = kNoOffset;  // from data(); set by ParsePacket, kNoOffset where the header is absent
  uint16_t l4_offset = kNoOffset;
  uint16_t payload_offset = kNoOffset;  // first byte behind the transport header
  uint32_t in_port = 0;                 // datapath port number
  uint32_t recirc_id = 0;
  uint32_t flow_hash = 0;  // hash of the flow key, 0 if not computed

 private:
  uint16_t buffer_count_ = 1;

 public:
  bool coalesced = false;  // made by the coalescer: every buffer of the chain starts at a segment border

  // Second cache line: rarely read. -----------------------------------------------------------------------------------
  alignas(64) uint32_t dp_hash = 0;  // result of the hash() action
  uint32_t skb_mark = 0;
  uint32_t skb_priority = 0;

 private:
  PacketPool* const pool_;
  uint8_t* const buffer_;
  const uint32_t capacity_;
};
static_assert(sizeof(DpPacket) == 128);

// Frees every buffer of the chain that starts at `packet` to its own pool.
void FreePacketChain(DpPacket* packet);

struct PacketDeleter {
  void operator()(DpPacket* packet) const { FreePacketChain(packet); }
};
using DpPacketPtr = std::unique_ptr<DpPacket, PacketDeleter>;
static_assert(sizeof(DpPacketPtr) == 8);

}  // namespace sluice
