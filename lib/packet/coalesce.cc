#include "lib/packet/coalesce.h"

#include <algorithm>
#include <array>

#include "lib/packet/coalesce_headers.h"

namespace sluice {
namespace {

using namespace coalesce_internal;  // NOLINT(google-build-using-namespace): this file's own other half

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
  // The flow that came behind this one last time: a guess at the one that comes next.
  Flow* followed_by() const { return followed_by_; }
  void set_followed_by(Flow* flow) { followed_by_ = flow; }

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
    if (Load<Be32>(frame + shape_.l4 + 4).Get() != next_sequence_) return false;
    const Offload& offload = packet.offload;
    if (offload.l4 != head_->offload.l4 || offload.inner_l4 != ChecksumState::kUnknown || offload.IsSuper())
      return false;
    if (HeaderDifference(frame, head_->data(), shape_) != 0) return false;
    if ((frame[shape_.l4 + 13] & kTcpCwr) != 0) return false;
    const uint8_t* ip = frame + shape_.l3;
    if (shape_.ipv4 && (Load<Be16>(ip + 4).Get() != next_id_ || !HasRightIpv4Checksum(ip))) return false;
    return LengthIsExact(packet, shape_) && HasReproducibleChecksum(packet, shape_, address_sum_);
  }

  void Append(DpPacket* packet) {
    const uint8_t flags = packet->data()[shape_.l4 + 13] & kLastOnly;
    const uint32_t payload = packet->head_length() - shape_.header_length;
    packet->SkipFront(shape_.header_length);
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
    tcp->checksum = Be16::FromRaw(FoldSum(PseudoHeaderSum(address_sum_, length_ - (shape_.l4 - shape_.l3))));
  }

  DpPacket* head_;
  DpPacket* last_;
  Flow* followed_by_;
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
      if (i + 8 < burst_.size()) __builtin_prefetch(burst_[i + 8], 1);
      if (i + 4 < burst_.size()) {
        __builtin_prefetch(burst_[i + 4]->data());
        __builtin_prefetch(burst_[i + 4]->data() + 64);
      }
      if (!PlaceAsPredicted(i)) PlaceByFlow(i);
    }
    for (Flow& flow : flows_) Finish(flow);
    if (segments_ == 0) return;
    burst_.Compact();
    counters.super_packets += super_packets_;
    counters.segments += segments_;
  }

 private:
  bool TryAppend(Flow& flow, size_t i) {
    if (!flow.open() || !flow.Continues(*burst_[i], limits_)) return false;
    flow.Append(burst_.Take(i).release());
    if (flow.ended()) Finish(flow);
    return true;
  }

  // The usual burst is of one flow, or of a few that take turns: no parsing, no hashing.
  bool PlaceAsPredicted(size_t i) {
    if (current_ == nullptr) return false;
    if (TryAppend(*current_, i)) return true;
    Flow* next = current_->followed_by();
    if (next == nullptr || !TryAppend(*next, i)) return false;
    current_ = next;
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
        SwitchTo(flow);
        return;
      }
      Finish(*flow);
    }
    Sum address_sum = AddressSum(packet->data(), shape);
    if (!CanStart(*packet, shape, address_sum)) return;
    if (flow == nullptr) {
      flow = flows_.Insert(hash);
      flow->set_followed_by(nullptr);
    }
    flow->Start(packet, shape, hash, address_sum);
    SwitchTo(flow);
  }

  void SwitchTo(Flow* flow) {
    if (current_ != nullptr && current_ != flow) current_->set_followed_by(flow);
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
