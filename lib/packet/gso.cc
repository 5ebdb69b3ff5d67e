#include "lib/packet/gso.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint32_t kMinimumHeader = 16;  // bytes: any network and transport header have more
constexpr uint16_t kTcpChecksumOffset = 16;
constexpr uint16_t kUdpChecksumOffset = 6;

template <typename Field>
void Put(uint8_t* at, Field field) {
  std::memcpy(at, &field, sizeof field);
}

// Copies `size` bytes, at least kMinimumHeader, without the call that memcpy makes of a size it does not know. Pieces
// may overlap; the sizes of Ethernet, IP and TCP together take five of them and no loop.
inline void CopyHeader(uint8_t* to, const uint8_t* from, uint32_t size) {
  std::memcpy(to, from, 16);
  if (size - 48 <= 32) [[likely]] {
    std::memcpy(to + 16, from + 16, 16);
    std::memcpy(to + 32, from + 32, 16);
    std::memcpy(to + size - 32, from + size - 32, 16);
  } else {
    for (uint32_t i = 16; i + 16 < size; i += 16) std::memcpy(to + i, from + i, 16);
  }
  std::memcpy(to + size - 16, from + size - 16, 16);
}

// Takes a field out of a sum that it is part of.
[[gnu::always_inline]] inline uint16_t Complement(Be16 field) { return static_cast<uint16_t>(~field.Raw()); }

template <typename Word>
[[gnu::always_inline]] inline Sum Load(const uint8_t* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The sum of `size` bytes of options, a multiple of 4 and small: not worth a call.
[[gnu::always_inline]] inline Sum SumOptions(const uint8_t* options, uint32_t size) {
  Sum sum = 0;
  for (; size != 0; options += 4, size -= 4) sum += Load<uint32_t>(options);
  return sum;
}

// Follows the extension headers from `at` and true if they lead to `protocol` at `end`. Only those that segmentation
// may repeat in every segment: a fragment header or an authentication header is true of one datagram only.
bool WalkExtensionHeaders(const DpPacket& packet, uint8_t next, uint32_t at, uint32_t end, uint8_t protocol,
                          bool* has_routing) {
  while (at < end) {
    if (next != kIpv6HopByHop && next != kIpv6Routing && next != kIpv6Destination) return false;
    *has_routing |= next == kIpv6Routing;
    const auto* extension = HeaderAt<Ipv6ExtensionHeader>(packet, at);
    next = extension->next_header;
    at += (extension->length + 1u) * 8;
  }
  return at == end && next == protocol;
}

}  // namespace

GsoSegmenter::GsoSegmenter(const DpPacket& super, SegmentChecksum checksum)
    : super_(super), cursor_(&super), checksum_(checksum) {
  ok_ = Prepare();
  if (!ok_) return;
  segment_count_ = SegmentCount(payload_left_, super.offload.segment_size);
  segment_size_ = std::min<uint32_t>(super.offload.segment_size, payload_left_);
  cursor_offset_ = header_length_;
}

[[gnu::always_inline]] inline bool GsoSegmenter::Prepare() {
  const Offload& offload = super_.offload;
  if (!offload.IsSuper() || offload.segment_size == 0) return false;
  is_tcp_ = IsTcp(offload.segmentation);
  is_ipv4_ = offload.segmentation == Segmentation::kTcp4 || offload.segmentation == Segmentation::kUdp4;

  l3_offset_ = super_.l3_offset;
  l4_offset_ = super_.l4_offset;
  header_length_ = super_.payload_offset;
  if (super_.l3_offset == kNoOffset || super_.l4_offset == kNoOffset || super_.payload_offset == kNoOffset)
    return false;
  if (l3_offset_ > l4_offset_ || l4_offset_ > header_length_ || header_length_ > super_.head_length()) return false;

  const uint16_t checksum_offset = is_tcp_ ? kTcpChecksumOffset : kUdpChecksumOffset;
  if (offload.l4 != ChecksumState::kPartial || offload.inner_l4 == ChecksumState::kPartial ||
      offload.csum_start != l4_offset_ || offload.csum_offset != checksum_offset) {
    return false;
  }
  return PrepareTransport() && (is_ipv4_ ? PrepareIpv4() : PrepareIpv6()) && payload_left_ > 0;
}

[[gnu::always_inline]] inline bool GsoSegmenter::PrepareIpv4() {
  if (l4_offset_ - l3_offset_ < sizeof(Ipv4Header)) return false;
  const auto* ip = HeaderAt<Ipv4Header>(super_, l3_offset_);
  const uint32_t headers = header_length_ - l3_offset_;
  const uint32_t total = ip->total_length.Get();
  const uint8_t protocol = is_tcp_ ? kIpProtoTcp : kIpProtoUdp;
  if (ip->version_ihl >> 4 != 4 || ip->HeaderLength() != l4_offset_ - l3_offset_ || ip->protocol != protocol ||
      (ip->fragment.Get() & (kIpv4MoreFragments | kIpv4OffsetMask)) != 0 || total < headers ||
      total > super_.length() - l3_offset_) {
    return false;
  }
  payload_left_ = total - headers;
  ip_id_ = ip->id.Get();
  const uint8_t* bytes = super_.data() + l3_offset_;
  const Sum addresses = Sum{ip->source.Raw()} + ip->destination.Raw();
  ip_sum_ = addresses + Load<uint16_t>(bytes) + ip->fragment.Raw() + Load<uint16_t>(bytes + offsetof(Ipv4Header, ttl)) +
            SumOptions(bytes + sizeof *ip, ip->HeaderLength() - uint32_t{sizeof *ip});
  pseudo_sum_ = addresses + Be16(protocol).Raw();
  return true;
}

bool GsoSegmenter::PrepareIpv6() {
  if (l4_offset_ - l3_offset_ < sizeof(Ipv6Header)) return false;
  const auto* ip = HeaderAt<Ipv6Header>(super_, l3_offset_);
  const uint32_t headers = header_length_ - l3_offset_;
  const uint32_t total = ip->payload_length.Get() + uint32_t{sizeof(Ipv6Header)};
  const uint8_t protocol = is_tcp_ ? kIpProtoTcp : kIpProtoUdp;
  if (super_.data()[l3_offset_] >> 4 != 6 || total < headers || total > super_.length() - l3_offset_) return false;
  bool has_routing = false;
  if (!WalkExtensionHeaders(super_, ip->next_header, l3_offset_ + sizeof(Ipv6Header), l4_offset_, protocol,
                            &has_routing)) {
    return false;
  }
  payload_left_ = total - headers;
  pseudo_sum_ = PseudoHeaderSum6(ip->source.data(), ip->destination.data(), protocol, 0);
  if (has_routing) {
    const Be16 length(static_cast<uint16_t>(l3_offset_ + total - l4_offset_));
    Be16 field;
    std::memcpy(&field, super_.data() + l4_offset_ + super_.offload.csum_offset, sizeof field);
    pseudo_sum_ = Sum{field.Raw()} + Complement(length);
  }
  return true;
}

[[gnu::always_inline]] inline bool GsoSegmenter::PrepareTransport() {
  const uint32_t length = header_length_ - l4_offset_;
  const uint8_t* header = super_.data() + l4_offset_;
  if (is_tcp_) {
    if (length < sizeof(TcpHeader)) return false;
    const auto* tcp = HeaderAt<TcpHeader>(super_, l4_offset_);
    if (tcp->HeaderLength() != length) return false;
    tcp_sequence_ = tcp->sequence.Get();
    tcp_flags_ = tcp->flags;
    const Sum data_offset = header[offsetof(TcpHeader, data_offset)];  // first byte of its word
    transport_sum_ = Load<uint32_t>(header) + tcp->acknowledgment.Raw() + data_offset + tcp->window.Raw() +
                     tcp->urgent.Raw() + SumOptions(header + sizeof *tcp, length - uint32_t{sizeof *tcp});
  } else {
    if (length != sizeof(UdpHeader)) return false;
    transport_sum_ = Load<uint32_t>(header);
  }
  return true;
}

uint32_t GsoSegmenter::next_length() const { return header_length_ + std::min(segment_size_, payload_left_); }

[[gnu::always_inline]] inline void GsoSegmenter::Write(uint8_t* out, uint32_t payload_bytes) {
  CopyHeader(out, super_.data(), header_length_);
  WriteNetwork(out, payload_bytes);
  WriteTransport(out, payload_bytes, CopyPayload(out + header_length_, payload_bytes));
  payload_left_ -= payload_bytes;
  ++next_index_;
}

void GsoSegmenter::WriteNext(uint8_t* out) { Write(out, std::min(segment_size_, payload_left_)); }

void GsoSegmenter::EmitNext(DpPacket& out) {
  const uint32_t payload_bytes = std::min(segment_size_, payload_left_);
  out.SetHeadLength(header_length_ + payload_bytes);
  Write(out.data(), payload_bytes);
  Describe(out);
}

void GsoSegmenter::SkipFirst() {
  assert(next_index_ == 0 && super_.head_length() >= longest_length());
  // Summed now, so that the payload is read from front to end.
  kept_sum_ = SumInPlace(super_.data() + header_length_, segment_size_);
  cursor_offset_ += segment_size_;
  payload_left_ -= segment_size_;
  ++next_index_;
}

void GsoSegmenter::EmitFirstInPlace(DpPacket& super) {
  assert(&super == &super_ && done() && super.IsLinear());
  next_index_ = 0;
  super.SetHeadLength(longest_length());
  WriteNetwork(super.data(), segment_size_);
  WriteTransport(super.data(), segment_size_, kept_sum_);
  Describe(super);
  next_index_ = segment_count_;
}

void GsoSegmenter::EmitLastInPlace(DpPacket& buffer) {
  assert(next_index_ + 1 == segment_count_ && buffer.IsLinear());
  const uint32_t payload_bytes = payload_left_;
  uint32_t elsewhere = 0;  // bytes of the payload that lie in buffers before this one
  if (cursor_ == &buffer) {
    buffer.SkipFront(cursor_offset_);
  } else {
    for (const DpPacket* other = cursor_; other != &buffer; other = other->next()) elsewhere += other->head_length();
    elsewhere -= cursor_offset_;
  }
  const uint32_t here = payload_bytes - elsewhere;
  buffer.SetHeadLength(here);
  uint8_t* frame = buffer.PushFront(header_length_ + elsewhere);
  uint8_t* payload = frame + header_length_;
  Sum sum = elsewhere == 0 ? 0 : CopyPayload(payload, elsewhere);
  const Sum sum_here = SumInPlace(payload + elsewhere, here);
  sum += elsewhere & 1 ? SwapSum(sum_here) : sum_here;

  CopyHeader(frame, super_.data(), header_length_);
  WriteNetwork(frame, payload_bytes);
  WriteTransport(frame, payload_bytes, sum);
  Describe(buffer);
  payload_left_ = 0;
  ++next_index_;
}

// Sets what is known of a frame beside its bytes.
[[gnu::always_inline]] inline void GsoSegmenter::Describe(DpPacket& out) const {
  out.offload = Offload{};
  if (checksum_ == SegmentChecksum::kCompute) {
    out.offload.l4 = ChecksumState::kGood;
  } else {
    out.offload.l4 = ChecksumState::kPartial;
    out.offload.csum_start = static_cast<uint16_t>(l4_offset_);
    out.offload.csum_offset = is_tcp_ ? kTcpChecksumOffset : kUdpChecksumOffset;
  }
  out.coalesced = false;
  out.l3_offset = super_.l3_offset;
  out.l4_offset = super_.l4_offset;
  out.payload_offset = super_.payload_offset;
  out.in_port = super_.in_port;
  out.recirc_id = super_.recirc_id;
  out.flow_hash = super_.flow_hash;
  out.dp_hash = super_.dp_hash;
  out.skb_mark = super_.skb_mark;
  out.skb_priority = super_.skb_priority;
}

// The payload's sum, or 0 where nobody asks for it.
inline Sum GsoSegmenter::SumInPlace(const uint8_t* payload, uint32_t bytes) const {
  return checksum_ == SegmentChecksum::kCompute ? SumBytes(payload, bytes) : 0;
}

// Corrects the copied network header.
[[gnu::always_inline]] inline void GsoSegmenter::WriteNetwork(uint8_t* out, uint32_t payload_bytes) const {
  uint8_t* ip = out + l3_offset_;
  const uint32_t l3_bytes = header_length_ - l3_offset_ + payload_bytes;
  if (is_ipv4_) {
    // Two neighbouring fields in one store.
    const Be32 length_and_id(l3_bytes << 16 | static_cast<uint16_t>(ip_id_ + next_index_));
    Put(ip + offsetof(Ipv4Header, total_length), length_and_id);
    Put(ip + offsetof(Ipv4Header, checksum), FinishChecksum(ip_sum_ + length_and_id.Raw()));
  } else {
    Put(ip + offsetof(Ipv6Header, payload_length), Be16(static_cast<uint16_t>(l3_bytes - sizeof(Ipv6Header))));
  }
}

// Corrects the copied transport header. Nothing is read back from it: the sums hold what the template says.
[[gnu::always_inline]] inline void GsoSegmenter::WriteTransport(uint8_t* out, uint32_t payload_bytes,
                                                                Sum payload_sum) const {
  uint8_t* header = out + l4_offset_;
  const Be16 length(static_cast<uint16_t>(header_length_ - l4_offset_ + payload_bytes));
  const Sum pseudo = pseudo_sum_ + length.Raw();
  Sum sum = pseudo + transport_sum_ + payload_sum;
  if (is_tcp_) {
    uint8_t flags = tcp_flags_;
    if (next_index_ != 0) flags &= static_cast<uint8_t>(~kTcpCwr);
    if (next_index_ + 1 != segment_count_) flags &= static_cast<uint8_t>(~(kTcpFin | kTcpPsh));
    const Be32 sequence(tcp_sequence_ + next_index_ * segment_size_);
    Put(header + offsetof(TcpHeader, sequence), sequence);
    header[offsetof(TcpHeader, flags)] = flags;
    sum += Sum{sequence.Raw()} + (uint32_t{flags} << 8);  // second byte of its word
  } else {
    Put(header + offsetof(UdpHeader, length), length);
    sum += length.Raw();
  }

  Be16 field = Be16::FromRaw(FoldSum(pseudo));
  if (checksum_ == SegmentChecksum::kCompute) {
    field = FinishChecksum(sum);
    // In UDP a zero says that there is no checksum; its other form says the same sum.
    if (!is_tcp_ && field.Raw() == 0) field = Be16(0xffff);
  }
  Put(header + (is_tcp_ ? kTcpChecksumOffset : kUdpChecksumOffset), field);
}

// Returns the payload's sum, also where nobody asks for it: of such sizes the summing engine copies faster than memcpy.
[[gnu::always_inline]] inline Sum GsoSegmenter::CopyPayload(uint8_t* out, uint32_t bytes) {
  if (cursor_->head_length() - cursor_offset_ < bytes) return CopyChainedPayload(out, bytes);
  const uint8_t* from = cursor_->data() + cursor_offset_;
  cursor_offset_ += bytes;
  return CopyAndSum(out, from, bytes);
}

Sum GsoSegmenter::CopyChainedPayload(uint8_t* out, uint32_t bytes) {
  Sum sum = 0;
  for (uint32_t done = 0; done < bytes;) {
    while (cursor_offset_ == cursor_->head_length()) {
      cursor_ = cursor_->next();
      cursor_offset_ = 0;
    }
    const uint32_t part = std::min(bytes - done, cursor_->head_length() - cursor_offset_);
    const uint8_t* from = cursor_->data() + cursor_offset_;
    const Sum part_sum = CopyAndSum(out + done, from, part);
    sum += done & 1 ? SwapSum(part_sum) : part_sum;
    cursor_offset_ += part;
    done += part;
  }
  return sum;
}

}  // namespace sluice
