#include "lib/packet/uncoalesce.h"

#include <cstring>

#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint8_t kLastOnly = kTcpFin | kTcpPsh;

// Every buffer one segment, and the headers of one fitting in front of it.
bool BuffersAreSegments(const DpPacket& packet) {
  const uint32_t header_length = packet.payload_offset;
  const uint32_t segment_size = packet.offload.segment_size;
  if (packet.head_length() != header_length + segment_size) return false;
  for (const DpPacket* buffer = packet.next(); buffer != nullptr; buffer = buffer->next()) {
    if (buffer->headroom() < header_length || buffer->head_length() == 0) return false;
    const bool fits =
        buffer->next() == nullptr ? buffer->head_length() <= segment_size : buffer->head_length() == segment_size;
    if (!fits) return false;
  }
  return true;
}

Sum SumWords(const uint8_t* bytes, uint32_t size) {
  Sum sum = 0;
  for (uint32_t i = 0; i < size; i += 4) {
    uint32_t word;
    std::memcpy(&word, bytes + i, sizeof word);
    sum += word;
  }
  return sum;
}

}  // namespace

bool Uncoalescer::CanTake(const DpPacket& packet) {
  if (!packet.coalesced || !IsTcp(packet.offload.segmentation) || packet.offload.l4 != ChecksumState::kPartial ||
      packet.offload.inner_l4 != ChecksumState::kUnknown) {
    return false;
  }
  const uint32_t l3 = packet.l3_offset;
  const uint32_t l4 = packet.l4_offset;
  if (packet.payload_offset == kNoOffset || packet.payload_offset > kMaxHeaderLength || l3 >= l4 ||
      l4 + sizeof(TcpHeader) > packet.payload_offset || packet.payload_offset > packet.head_length()) {
    return false;
  }
  if (packet.offload.segmentation == Segmentation::kTcp4) {
    const auto* ip = HeaderAt<Ipv4Header>(packet, l3);
    if (l4 != l3 + sizeof(Ipv4Header) || ip->version_ihl != 0x45 || ip->protocol != kIpProtoTcp ||
        ip->total_length.Get() != packet.length() - l3) {
      return false;
    }
  } else {
    const auto* ip = HeaderAt<Ipv6Header>(packet, l3);
    if (l4 != l3 + sizeof(Ipv6Header) || ip->next_header != kIpProtoTcp ||
        ip->payload_length.Get() != packet.length() - l4) {
      return false;
    }
  }
  return BuffersAreSegments(packet);
}

Uncoalescer::Uncoalescer(DpPacketPtr super, SegmentChecksum checksum)
    : rest_(super.release()),
      l3_(rest_->l3_offset),
      l4_(rest_->l4_offset),
      header_length_(rest_->payload_offset),
      ipv4_(rest_->offload.segmentation == Segmentation::kTcp4),
      checksum_(checksum),
      in_port_(rest_->in_port),
      flow_hash_(rest_->flow_hash),
      dp_hash_(rest_->dp_hash),
      skb_mark_(rest_->skb_mark),
      skb_priority_(rest_->skb_priority) {
  std::memcpy(template_.data(), rest_->data(), header_length_);
  uint8_t* l3 = template_.data() + l3_;
  if (ipv4_) {
    auto* ip = reinterpret_cast<Ipv4Header*>(l3);
    id_ = ip->id.Get();
    ip->total_length = ip->id = ip->checksum = Be16();
    ip_sum_ = SumWords(l3, sizeof(Ipv4Header));
    pseudo_sum_ = SumWords(l3 + 12, 8);
  } else {
    pseudo_sum_ = SumWords(l3 + 8, 32);
  }
  pseudo_sum_ += Be16(kIpProtoTcp).Raw();
  auto* tcp = reinterpret_cast<TcpHeader*>(template_.data() + l4_);
  sequence_ = tcp->sequence.Get();
  last_flags_ = tcp->flags & kLastOnly;
  tcp->flags = static_cast<uint8_t>(tcp->flags & ~kLastOnly);
}

DpPacketPtr Uncoalescer::Next() {
  DpPacketPtr frame(rest_);
  rest_ = frame->DetachChain();
  if (!first_) frame->PushFront(header_length_);
  WriteHeaders(frame->data(), frame->head_length() - header_length_);
  first_ = false;

  frame->coalesced = false;
  frame->l3_offset = static_cast<uint16_t>(l3_);
  frame->l4_offset = static_cast<uint16_t>(l4_);
  frame->payload_offset = static_cast<uint16_t>(header_length_);
  frame->in_port = in_port_;
  frame->flow_hash = flow_hash_;
  frame->dp_hash = dp_hash_;
  frame->skb_mark = skb_mark_;
  frame->skb_priority = skb_priority_;
  frame->offload = Offload{.l4 = ChecksumState::kPartial,
                           .csum_start = static_cast<uint16_t>(l4_),
                           .csum_offset = offsetof(TcpHeader, checksum)};
  if (checksum_ == SegmentChecksum::kCompute) FinishChecksumOf(*frame);
  return frame;
}

void Uncoalescer::WriteHeaders(uint8_t* frame, uint32_t payload_bytes) {
  std::memcpy(frame, template_.data(), header_length_);
  const uint32_t tcp_length = header_length_ - l4_ + payload_bytes;
  if (ipv4_) {
    auto* ip = reinterpret_cast<Ipv4Header*>(frame + l3_);
    ip->total_length = Be16(static_cast<uint16_t>(tcp_length + sizeof(Ipv4Header)));
    ip->id = Be16(id_++);
    ip->checksum = FinishChecksum(ip_sum_ + ip->total_length.Raw() + ip->id.Raw());
  } else {
    reinterpret_cast<Ipv6Header*>(frame + l3_)->payload_length = Be16(static_cast<uint16_t>(tcp_length));
  }
  auto* tcp = reinterpret_cast<TcpHeader*>(frame + l4_);
  tcp->sequence = Be32(sequence_);
  sequence_ += payload_bytes;
  if (!first_) tcp->flags = static_cast<uint8_t>(tcp->flags & ~kTcpCwr);
  if (rest_ == nullptr) tcp->flags |= last_flags_;
  tcp->checksum = Be16::FromRaw(FoldSum(pseudo_sum_ + Be16(static_cast<uint16_t>(tcp_length)).Raw()));
}

void Uncoalescer::FinishChecksumOf(DpPacket& frame) const {
  // The field holds the pseudo-header sum, so that the sum over everything includes it.
  Sum sum = SumBytes(frame.data() + l4_, frame.head_length() - l4_);
  HeaderAt<TcpHeader>(frame, l4_)->checksum = FinishChecksum(sum);
  frame.offload.l4 = ChecksumState::kGood;
}

}  // namespace sluice
