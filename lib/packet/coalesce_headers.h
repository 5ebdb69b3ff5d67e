// The headers of a TCP segment as the coalescer reads and compares them, word by word. Internal to coalesce.cc.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "lib/base/hash.h"
#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"

namespace sluice::coalesce_internal {

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
consteval Word Except(std::initializer_list<int> bytes, uint8_t bits = 0xff) {
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

inline Kind ReadShape(const DpPacket& packet, Shape& shape) {
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
    if (frame[l3] >> 4 != 6) return Kind::kOther;  // no IP at all
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

inline uint32_t HashFlow(const uint8_t* frame, const Shape& shape) {
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
  uint32_t i = shape.l4 + sizeof(TcpHeader);
  for (; i + 8 <= shape.header_length; i += 8) difference |= Load<uint64_t>(a + i) ^ Load<uint64_t>(b + i);
  if (i < shape.header_length) difference |= Load<uint32_t>(a + i) ^ Load<uint32_t>(b + i);
  return difference;
}

// FoldSum(sum) == 0xffff for a sum that is not zero, in one multiplication: folding keeps the remainder by 0xffff.
inline bool IsZeroSum(Sum sum) { return sum % 0xffff == 0; }

// True if the IPv4 header checksum is right, and the one that computing it anew would give: 0xffff (RFC 1624's other
// zero) never is.
inline bool HasRightIpv4Checksum(const uint8_t* ip) {
  Sum sum = Sum{Load<uint32_t>(ip)} + Load<uint32_t>(ip + 4) + Load<uint32_t>(ip + 8) + Load<uint32_t>(ip + 12) +
            Load<uint32_t>(ip + 16);
  return IsZeroSum(sum) && Load<uint16_t>(ip + 10) != 0xffff;
}

// The pseudo-header without the length.
inline Sum AddressSum(const uint8_t* frame, const Shape& shape) {
  Sum sum = Be16(kIpProtoTcp).Raw();
  for (uint32_t i = shape.l3 + (shape.ipv4 ? 12u : 8u); i < shape.l4; i += 4) sum += Load<uint32_t>(frame + i);
  return sum;
}

inline Sum PseudoHeaderSum(Sum address_sum, uint32_t tcp_length) {
  return address_sum + Be16(static_cast<uint16_t>(tcp_length)).Raw();
}

// True if segmenting would write this packet's own checksum again. A packet that is not of the shape's TCP header or
// whose checksum nobody vouches for takes no part.
inline bool HasReproducibleChecksum(const DpPacket& packet, const Shape& shape, Sum address_sum) {
  uint16_t field = Load<uint16_t>(packet.data() + shape.l4 + kTcpChecksumOffset);
  if (packet.offload.l4 == ChecksumState::kGood) return field != 0xffff;
  return packet.offload.l4 == ChecksumState::kPartial && packet.offload.csum_start == shape.l4 &&
         packet.offload.csum_offset == kTcpChecksumOffset && field != 0 &&
         IsZeroSum(PseudoHeaderSum(address_sum, packet.head_length() - shape.l4) + (0xffffu - field));
}

// True if the IP header's length is the frame's: no padding behind it, nothing missing.
inline bool LengthIsExact(const DpPacket& packet, const Shape& shape) {
  const uint8_t* ip = packet.data() + shape.l3;
  if (shape.ipv4) return Load<Be16>(ip + 2).Get() == packet.head_length() - shape.l3;
  return Load<Be16>(ip + 4).Get() == packet.head_length() - shape.l4;
}

}  // namespace sluice::coalesce_internal
