#include "lib/packet/coalesce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <initializer_list>

#include "lib/base/hash.h"
#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"

namespace sluice {
namespace {

constexpr uint16_t kTcpChecksumOffset = 16;
constexpr uint32_t kIpv4Length = sizeof(Ipv4Header);  // packets with options take no part
constexpr uint32_t kIpv6Length = sizeof(Ipv6Header);  // nor those with extension headers
// Flags that the template of a super-packet cannot hold: they mean one segment, not all of them.
constexpr uint8_t kLastOnly = kTcpFin | kTcpPsh;
constexpr uint8_t kNeverMerged = kTcpSyn | kTcpRst | kTcpUrg;

template <typename Word>
Word Load(const uint8_t* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// All ones, except for the given bytes (as they stand in memory), of which the bits in `bits` are zero.
template <typename Word>
constexpr Word Except(std::initializer_list<int> bytes, uint8_t bits = 0xff) {
  std::array<uint8_t, sizeof(Word)> mask{};
  mask.fill(0xff);
  for (int byte : bytes) mask[byte] = static_cast<uint8_t>(~bits);
  return std::bit_cast<Word>(mask);
}

// Where the headers of a TCP segment are. l3 is 14, 18 or 22.
struct Shape {
  uint16_t l3 = 0;
  uint16_t l4 = 0;
  uint16_t header_length = 0;
  bool ipv4 = false;
};

enum class Kind : uint8_t {
  kOther,   // No TCP: concerns no super-packet.
  kOpaque,  // May belong to any TCP flow (a fragment, IP options, a truncated header).
  kTcp,
};

Kind ReadShape(const DpPacket& packet, Shape& shape) {
  const uint8_t* frame = packet.data();
  const uint32_t size = packet.head_length();
  uint32_t l3 = sizeof(EthernetHeader);
  if (size < l3) return Kind::kOther;
  uint16_t type = Load<Be16>(frame + 12).Get();
  for (int tags = 0; tags < 2 && (type == kEthTypeVlan || type == kEthTypeQinq); ++tags) {
    l3 += sizeof(VlanHeader);
    if (size < l3) return Kind::kOther;
    type = Load<Be16>(frame + l3 - 2).Get();
  }
  shape.l3 = static_cast<uint16_t>(l3);
  shape.ipv4 = type == kEthTypeIpv4;
  if (shape.ipv4) {
    if (size < l3 + kIpv4Length) return Kind::kOpaque;
    const auto* ip = HeaderAt<Ipv4Header>(packet, l3);
    if (ip->protocol != kIpProtoTcp) return Kind::kOther;
    if (ip->version_ihl != 0x45 || (ip->fragment.Get() & (kIpv4MoreFragments | kIpv4OffsetMask)) != 0) {
      return Kind::kOpaque;
    }
    shape.l4 = static_cast<uint16_t>(l3 + kIpv4Length);
  } else if (type == kEthTypeIpv6) {
    if (size < l3 + kIpv6Length) return Kind::kOpaque;
    switch (HeaderAt<Ipv6Header>(packet, l3)->next_header) {
      case kIpProtoTcp:
        break;
      case kIpProtoUdp:
      case kIpProtoIcmpv6:
      case kIpProtoSctp:
      case kIpv6NoNext:
        return Kind::kOther;
      default:
        return Kind::kOpaque;
    }
    shape.l4 = static_cast<uint16_t>(l3 + kIpv6Length);
  } else {
    return Kind::kOther;
  }
  if (size < shape.l4 + sizeof(TcpHeader)) return Kind::kOpaque;
  shape.header_length = static_cast<uint16_t>(shape.l4 + HeaderAt<TcpHeader>(packet, shape.l4)->HeaderLength());
  return Kind::kTcp;
}

uint32_t HashFlow(const uint8_t* frame, const Shape& shape) {
  uint64_t hash = HashAdd(shape.l3, Load<uint32_t>(frame + shape.l4));
  const uint8_t* addresses = frame + shape.l3 + (shape.ipv4 ? 12 : 8);
  const uint8_t* end = frame + shape.l4;
  for (; addresses < end; addresses += 8) hash = HashAdd(hash, Load<uint64_t>(addresses));
  return HashFinish(hash);
}

// Zero if both frames, of one shape, have the same Ethernet header and tags. Overlapping loads cover 14, 18 and 22
// bytes.
inline uint64_t EthernetDifference(const uint8_t* a, const uint8_t* b, uint32_t l3) {
  return (Load<uint64_t>(a) ^ Load<uint64_t>(b)) | (Load<uint64_t>(a + 6) ^ Load<uint64_t>(b + 6)) |
         (Load<uint64_t>(a + l3 - 8) ^ Load<uint64_t>(b + l3 - 8));
}

inline uint64_t Ipv6AddressDifference(const uint8_t* a3, const uint8_t* b3) {
  uint64_t difference = 0;
  for (uint32_t i = 8; i < kIpv6Length; i += 8) difference |= Load<uint64_t>(a3 + i) ^ Load<uint64_t>(b3 + i);
  return difference;
}

// Zero if the headers are equal but for what the segmenter writes anew in each segment (lengths, IPv4 ID, checksums,
// sequence number) and the flags that belong to one segment. Then both have the same shape.
inline uint64_t HeaderDifference(const uint8_t* a, const uint8_t* b, const Shape& shape) {
  uint64_t difference = EthernetDifference(a, b, shape.l3);
  const uint8_t* a3 = a + shape.l3;
  const uint8_t* b3 = b + shape.l3;
  const uint8_t* a4 = a + shape.l4;
  const uint8_t* b4 = b + shape.l4;
  if (shape.ipv4) {
    difference |= (Load<uint64_t>(a3) ^ Load<uint64_t>(b3)) & Except<uint64_t>({2, 3, 4, 5});    // length, ID
    difference |= (Load<uint64_t>(a3 + 8) ^ Load<uint64_t>(b3 + 8)) & Except<uint64_t>({2, 3});  // checksum
    difference |= Load<uint64_t>(a3 + 16) ^ Load<uint64_t>(b3 + 16);                             // destination, ports
  } else {
    difference |= (Load<uint64_t>(a3) ^ Load<uint64_t>(b3)) & Except<uint64_t>({4, 5});  // payload length
    difference |= Ipv6AddressDifference(a3, b3) | (Load<uint32_t>(a4) ^ Load<uint32_t>(b4));
  }
  difference |= (Load<uint64_t>(a4 + 8) ^ Load<uint64_t>(b4 + 8)) & Except<uint64_t>({5}, kLastOnly | kTcpCwr);
  difference |= (Load<uint32_t>(a4 + 16) ^ Load<uint32_t>(b4 + 16)) & Except<uint32_t>({0, 1});  // checksum
  for (uint32_t i = shape.l4 + sizeof(TcpHeader); i < shape.header_length; i += 4) {
    difference |= Load<uint32_t>(a + i) ^ Load<uint32_t>(b + i);
  }
  return difference;
}

// True if the IPv4 header checksum is right, and the one that computing it anew would give: 0xffff (RFC 1624's other
// zero) never is.
inline bool HasRightIpv4Checksum(const uint8_t* ip) {
  Sum sum = Sum{Load<uint32_t>(ip)} + Load<uint32_t>(ip + 4) + Load<uint32_t>(ip + 8) + Load<uint32_t>(ip + 12) +
            Load<uint32_t>(ip + 16);
  return FoldSum(sum) == 0xffff && Load<uint16_t>(ip + 10) != 0xffff;
}

// The pseudo-header without the length.
Sum AddressSum(const uint8_t* frame, const Shape& shape) {
  Sum sum = Be16(kIpProtoTcp).Raw();
  for (uint32_t i = shape.l3 + (shape.ipv4 ? 12u : 8u); i < shape.l4; i += 4) sum += Load<uint32_t>(frame + i);
  return sum;
}

uint16_t PartialChecksum(Sum address_sum, uint32_t tcp_length) {
  return FoldSum(address_sum + Be16(static_cast<uint16_t>(tcp_length)).Raw());
}

// True if segmenting would write this packet's own checksum again. A packet that is not of the shape's TCP header or
// whose checksum nobody vouches for takes no part.
inline bool HasReproducibleChecksum(const DpPacket& packet, const Shape& shape, Sum address_sum) {
  uint16_t field = Load<uint16_t>(packet.data() + shape.l4 + kTcpChecksumOffset);
  if (packet.offload.l4 == ChecksumState::kGood) return field != 0xffff;
  return packet.offload.l4 == ChecksumState::kPartial && packet.offload.csum_start == shape.l4 &&
         packet.offload.csum_offset == kTcpChecksumOffset &&
         field == PartialChecksum(address_sum, packet.head_length() - shape.l4);
}

// True if the IP header's length is the frame's: no padding behind it, nothing missing.
inline bool LengthIsExact(const DpPacket& packet, const Shape& shape) {
  const uint8_t* ip = packet.data() + shape.l3;
  if (shape.ipv4) return Load<Be16>(ip + 2).Get() == packet.head_length() - shape.l3;
  return Load<Be16>(ip + 4).Get() == packet.head_length() - shape.l4;
}

// Whether further segments may be appended to this packet.
bool CanStart(const DpPacket& packet, const Shape& shape, Sum address_sum) {
  const Offload& offload = packet.offload;
  if (!packet.IsLinear() || offload.IsSuper() || offload.inner_l4 != ChecksumState::kUnknown) return false;
  const auto* tcp = HeaderAt<TcpHeader>(packet, shape.l4);
  if ((tcp->flags & kTcpAck) == 0 || (tcp->flags & (kNeverMerged | kLastOnly)) != 0) return false;
  if (tcp->HeaderLength() < sizeof(TcpHeader) || packet.head_length() <= shape.header_length) return false;
  return LengthIsExact(packet, shape) && (!shape.ipv4 || HasRightIpv4Checksum(packet.data() + shape.l3)) &&
         HasReproducibleChecksum(packet, shape, address_sum);
}

// A flow of this burst, and the super-packet that is open for it.
class Flow {
 public:
  // False: the flow's next segment starts a new super-packet.
  bool open() const { return open_; }
  uint32_t hash() const { return hash_; }

  void Start(DpPacket* packet, const Shape& shape, uint32_t hash, Sum address_sum) {
    const uint8_t* frame = packet->data();
    head_ = last_ = packet;
    shape_ = shape;
    hash_ = hash;
    address_sum_ = address_sum;
    segment_size_ = packet->head_length() - shape.header_length;
    length_ = packet->head_length() - shape.l3;
    next_sequence_ = Load<Be32>(frame + shape.l4 + 4).Get() + segment_size_;
    next_id_ = static_cast<uint16_t>(Load<Be16>(frame + shape.l3 + 4).Get() + 1);
    segments_ = 1;
    last_flags_ = 0;
    open_ = true;
  }

  bool IsFlowOf(const uint8_t* frame, const Shape& shape) const {
    if (shape.l3 != shape_.l3 || shape.l4 != shape_.l4) return false;
    const uint8_t* own = head_->data();
    uint64_t difference =
        EthernetDifference(frame, own, shape.l3) | (Load<uint32_t>(frame + shape.l4) ^ Load<uint32_t>(own + shape.l4));
    difference |= shape.ipv4 ? Load<uint64_t>(frame + shape.l3 + 12) ^ Load<uint64_t>(own + shape.l3 + 12)
                             : Ipv6AddressDifference(frame + shape.l3, own + shape.l3);
    return difference == 0;
  }

  // The rules, in full: a packet is the next segment of the open super-packet if it
  //   1. is one linear frame with the same kind of checksum,
  //   2. has the same headers,
  //   3. continues the sequence,
  //   4. is no longer than the first,
  //   5. keeps the result within the limits,
  //   6. has nothing behind its payload and a header that segmentation writes again, bit for bit.
  bool Continues(const DpPacket& packet, const CoalesceLimits& limits) const {
    const uint8_t* frame = packet.data();
    const uint32_t payload = packet.head_length() - shape_.header_length;  // wraps when it is shorter: fails rule 4
    if (!packet.IsLinear() || payload - 1 >= segment_size_ || length_ + payload > limits.max_length ||
        segments_ >= limits.max_segments) {
      return false;
    }
    const Offload& offload = packet.offload;
    if (offload.l4 != head_->offload.l4 || offload.inner_l4 != ChecksumState::kUnknown || offload.IsSuper())
      return false;
    if (HeaderDifference(frame, head_->data(), shape_) != 0) return false;
    if (Load<Be32>(frame + shape_.l4 + 4).Get() != next_sequence_) return false;
    if ((frame[shape_.l4 + 13] & kTcpCwr) != 0) return false;
    const uint8_t* ip = frame + shape_.l3;
    if (shape_.ipv4 && (Load<Be16>(ip + 4).Get() != next_id_ || !HasRightIpv4Checksum(ip))) return false;
    return LengthIsExact(packet, shape_) && HasReproducibleChecksum(packet, shape_, address_sum_);
  }

  void Append(DpPacket* packet) {
    const uint8_t flags = packet->data()[shape_.l4 + 13] & kLastOnly;
    const uint32_t payload = packet->head_length() - shape_.header_length;
    packet->PullFront(shape_.header_length);
    head_->AppendChain(last_, packet);
    last_ = packet;
    length_ += payload;
    next_sequence_ += payload;
    ++next_id_;
    ++segments_;
    last_flags_ = flags;
  }
  bool ended() const { return last_flags_ != 0 || last_->head_length() < segment_size_; }

  // Closes the super-packet and, if it is one, writes its headers. Returns its segments, 0 if nothing was coalesced.
  uint32_t Finish() {
    if (!open_) return 0;
    open_ = false;
    if (segments_ == 1) return 0;
    WriteHeaders();
    Offload& offload = head_->offload;
    offload.ecn = (HeaderAt<TcpHeader>(*head_, shape_.l4)->flags & kTcpCwr) != 0;
    offload.l4 = ChecksumState::kPartial;
    offload.segmentation = shape_.ipv4 ? Segmentation::kTcp4 : Segmentation::kTcp6;
    offload.segment_size = static_cast<uint16_t>(segment_size_);
    offload.csum_start = shape_.l4;
    offload.csum_offset = kTcpChecksumOffset;
    head_->coalesced = true;
    return segments_;
  }

 private:
  void WriteHeaders() {
    if (shape_.ipv4) {
      auto* ip = HeaderAt<Ipv4Header>(*head_, shape_.l3);
      Be16 length(static_cast<uint16_t>(length_));
      // RFC 1624: only the length changed, and the checksum was right.
      ip->checksum = FinishChecksum(Sum{(~ip->checksum).Raw()} + (~ip->total_length).Raw() + length.Raw());
      ip->total_length = length;
    } else {
      HeaderAt<Ipv6Header>(*head_, shape_.l3)->payload_length = Be16(static_cast<uint16_t>(length_ - kIpv6Length));
    }
    auto* tcp = HeaderAt<TcpHeader>(*head_, shape_.l4);
    tcp->flags |= last_flags_;
    tcp->checksum = Be16::FromRaw(PartialChecksum(address_sum_, length_ - (shape_.l4 - shape_.l3)));
  }

  DpPacket* head_;
  DpPacket* last_;
  Sum address_sum_;
  uint32_t hash_;
  uint32_t segment_size_;  // payload bytes of the first segment
  uint32_t length_;        // bytes of layer 3 so far
  uint32_t next_sequence_;
  uint16_t next_id_;
  uint16_t segments_;
  Shape shape_;
  uint8_t last_flags_;  // kLastOnly flags of the last segment
  bool open_;
};

// The flows of one burst, found by an open-addressed table. On the stack, touched as far as it is used.
class FlowTable {
 public:
  FlowTable() { slots_.fill(kEmpty); }

  // The flow of `frame`, or nullptr.
  Flow* Find(const uint8_t* frame, const Shape& shape, uint32_t hash) {
    for (uint32_t slot = hash % kSlots; slots_[slot] != kEmpty; slot = (slot + 1) % kSlots) {
      Flow& flow = flows_[slots_[slot]];
      if (flow.hash() == hash && flow.IsFlowOf(frame, shape)) return &flow;
    }
    return nullptr;
  }
  // A new one, to be started with this hash. At most one per packet of the burst, so that there is always room.
  Flow* Insert(uint32_t hash) {
    uint32_t slot = hash % kSlots;
    while (slots_[slot] != kEmpty) slot = (slot + 1) % kSlots;
    slots_[slot] = static_cast<uint8_t>(size_);
    return &flows_[size_++];
  }

  Flow* begin() { return flows_; }
  Flow* end() { return flows_ + size_; }

 private:
  static constexpr uint8_t kEmpty = 0xff;
  static constexpr uint32_t kSlots = 2 * RxBurst::kCapacity;
  static_assert(RxBurst::kCapacity <= kEmpty);

  std::array<uint8_t, kSlots> slots_;
  uint32_t size_ = 0;
  Flow flows_[RxBurst::kCapacity];
};

class Coalescer {
 public:
  Coalescer(RxBurst& burst, const CoalesceLimits& limits) : burst_(burst), limits_(limits) {
    // What the IP length fields can say.
    limits_.max_length = std::min<uint32_t>(limits_.max_length, 65535);
  }

  void Run(CoalesceCounters& counters) {
    for (size_t i = 0; i < burst_.size(); ++i) {
      if (i + 2 < burst_.size()) __builtin_prefetch(burst_[i + 2]->data());
      // The usual burst is of one flow: no parsing, no hashing.
      if (current_ == nullptr || !current_->open() || !TryAppend(*current_, i)) PlaceByFlow(i);
    }
    for (Flow& flow : flows_) Finish(flow);
    if (segments_ == 0) return;
    burst_.Compact();
    counters.super_packets += super_packets_;
    counters.segments += segments_;
  }

 private:
  bool TryAppend(Flow& flow, size_t i) {
    if (!flow.Continues(*burst_[i], limits_)) return false;
    flow.Append(burst_.Take(i).release());
    if (flow.ended()) Finish(flow);
    return true;
  }

  void PlaceByFlow(size_t i) {
    DpPacket* packet = burst_[i];
    Shape shape;
    Kind kind = ReadShape(*packet, shape);
    if (kind == Kind::kOther) return;
    if (kind == Kind::kOpaque) {
      // Whichever flow it is of, what comes behind it must not overtake it.
      for (Flow& flow : flows_) Finish(flow);
      return;
    }
    packet->l3_offset = shape.l3;
    packet->l4_offset = shape.l4;
    packet->payload_offset = shape.header_length;
    uint32_t hash = HashFlow(packet->data(), shape);
    Flow* flow = flows_.Find(packet->data(), shape, hash);
    if (flow != nullptr && flow->open()) {
      if (flow != current_ && TryAppend(*flow, i)) {
        current_ = flow;
        return;
      }
      Finish(*flow);
    }
    Sum address_sum = AddressSum(packet->data(), shape);
    if (!CanStart(*packet, shape, address_sum)) return;
    if (flow == nullptr) flow = flows_.Insert(hash);
    flow->Start(packet, shape, hash, address_sum);
    current_ = flow;
  }

  void Finish(Flow& flow) {
    uint32_t segments = flow.Finish();
    segments_ += segments;
    super_packets_ += segments > 0;
  }

  RxBurst& burst_;
  CoalesceLimits limits_;
  Flow* current_ = nullptr;  // the flow of the packet before
  uint32_t super_packets_ = 0;
  uint32_t segments_ = 0;
  FlowTable flows_;
};

}  // namespace

void CoalesceBurst(RxBurst& burst, const CoalesceLimits& limits, CoalesceCounters& counters) {
  if (burst.size() < 2) return;
  Coalescer(burst, limits).Run(counters);
}

}  // namespace sluice
