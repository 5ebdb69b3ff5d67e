#include "lib/packet/dp_packet.h"

#include <algorithm>

namespace sluice {

void FreePacketChain(DpPacket* packet) {
  while (packet != nullptr) {
    DpPacket* next = packet->next();
    packet->pool()->Free(packet);
    packet = next;
  }
}

void DpPacket::Truncate(uint32_t bytes) {
  if (bytes >= length_) return;
  uint32_t left = bytes;
  DpPacket* buffer = this;
  uint16_t buffers = 1;
  while (left > buffer->head_length_) {
    left -= buffer->head_length_;
    buffer = buffer->next_;
    ++buffers;
  }
  buffer->head_length_ = left;
  FreePacketChain(buffer->next_);
  buffer->next_ = nullptr;
  length_ = bytes;
  buffer_count_ = buffers;
}

void DpPacket::CopyOut(uint32_t offset, uint32_t bytes, uint8_t* out) const {
  const DpPacket* buffer = this;
  while (offset >= buffer->head_length_ && buffer->next_ != nullptr) {
    offset -= buffer->head_length_;
    buffer = buffer->next_;
  }
  while (bytes > 0) {
    uint32_t part = std::min(bytes, buffer->head_length_ - offset);
    std::memcpy(out, buffer->data_ + offset, part);
    out += part;
    bytes -= part;
    offset = 0;
    buffer = buffer->next_;
  }
}

}  // namespace sluice
