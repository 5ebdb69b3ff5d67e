#include "tests/lib/packet/super_packet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice::testing {
namespace {

using Bytes = std::vector<uint8_t>;

void Put8(Bytes& out, uint32_t value) { out.push_back(static_cast<uint8_t>(value)); }
void Put16(Bytes& out, uint32_t value) {
  Put8(out, value >> 8);
  Put8(out, value);
}
void Put32(Bytes& out, uint32_t value) {
  Put16(out, value >> 16);
  Put16(out, value);
}
void PutRandom(Bytes& out, size_t count, std::mt19937& random) {
  while (count-- > 0) Put8(out, random());
}
void Set16(Bytes& bytes, size_t at, uint32_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

bool IsIpv4(const SuperOptions& options) {
  return options.type == Segmentation::kTcp4 || options.type == Segmentation::kUdp4;
}

void PutIpv4(const SuperOptions& options, uint32_t l4_bytes, Bytes& out, std::mt19937& random) {
  const size_t start = out.size();
  const uint32_t header_bytes = 20 + options.ip_option_bytes;
  Put8(out, 0x40 | header_bytes / 4);
  Put8(out, random());
  Put16(out, header_bytes + l4_bytes);
  Put16(out, options.ip_id);
  Put16(out, options.dont_fragment ? 0x4000 : 0);
  Put8(out, 1 + random() % 255);
  Put8(out, IsTcp(options.type) ? 6 : 17);
  Put16(out, 0);
  Put32(out, 0x0a000000 | (random() & 0xffff));
  Put32(out, 0x0a010000 | (random() & 0xffff));
  for (uint32_t i = 0; i < options.ip_option_bytes; ++i) Put8(out, i + 1 == options.ip_option_bytes ? 0 : 1);
  Set16(out, start + 10, 0xffff & ~NaiveSum(&out[start], header_bytes));
}

Bytes Ipv6Extensions(const SuperOptions& options, std::mt19937& random) {
  Bytes out;
  for (size_t i = 0; i < options.ipv6_extensions.size(); ++i) {
    const bool last = i + 1 == options.ipv6_extensions.size();
    const uint32_t next = last ? (IsTcp(options.type) ? 6 : 17) : options.ipv6_extensions[i + 1];
    const uint32_t units = random() % 3;
    Put8(out, next);
    Put8(out, units);
    if (options.ipv6_extensions[i] == 43) {
      // A type for experiments (RFC 4727), no segments left.
      Put16(out, 253 << 8);
      PutRandom(out, 4 + units * 8, random);
    } else {
      Put8(out, 1);  // PadN over the rest
      Put8(out, 4 + units * 8);
      out.insert(out.end(), 4 + units * 8, 0);
    }
  }
  return out;
}

void PutIpv6(const SuperOptions& options, uint32_t l4_bytes, Bytes& out, std::mt19937& random) {
  const Bytes extensions = Ipv6Extensions(options, random);
  Put32(out, 0x60000000 | (random() & 0x0fffffff));
  Put16(out, static_cast<uint32_t>(extensions.size()) + l4_bytes);
  Put8(out, !options.ipv6_extensions.empty() ? options.ipv6_extensions[0] : IsTcp(options.type) ? 6 : 17);
  Put8(out, 1 + random() % 255);
  for (int address = 0; address < 2; ++address) {
    Put16(out, 0xfd00);
    PutRandom(out, 14, random);
  }
  out.insert(out.end(), extensions.begin(), extensions.end());
}

void PutTransport(const SuperOptions& options, Bytes& out, std::mt19937& random) {
  PutRandom(out, 4, random);
  if (IsUdp(options.type)) {
    Put16(out, 8 + options.payload_bytes);
    Put16(out, 0);
    return;
  }
  Put32(out, options.sequence);
  Put32(out, random());
  Put8(out, (20 + options.tcp_option_bytes) / 4 << 4);
  Put8(out, options.tcp_flags);
  Put16(out, random());
  Put16(out, 0);
  Put16(out, options.tcp_flags & 0x20 ? random() : 0);
  // The usual time stamps where they fit; otherwise no-ops.
  Bytes tcp_options(options.tcp_option_bytes, 1);
  if (options.tcp_option_bytes >= 12) {
    tcp_options[2] = 8;
    tcp_options[3] = 10;
    for (size_t i = 4; i < 12; ++i) tcp_options[i] = static_cast<uint8_t>(random());
  }
  out.insert(out.end(), tcp_options.begin(), tcp_options.end());
}

uint16_t PseudoSum(const Bytes& frame, uint32_t l3, bool ipv4, bool tcp, uint32_t l4_bytes) {
  Bytes pseudo(frame.begin() + l3 + (ipv4 ? 12 : 8), frame.begin() + l3 + (ipv4 ? 20 : 40));
  Put32(pseudo, l4_bytes);
  Put32(pseudo, tcp ? 6 : 17);
  return NaiveSum(pseudo.data(), pseudo.size());
}

uint32_t ChecksumOffset(Segmentation type) { return IsTcp(type) ? 16 : 6; }

// The headers that segment `index` must have, checksum of the transport header left zero.
Bytes ExpectedHeaders(const SuperPacket& super, uint32_t index, uint32_t payload_bytes) {
  const bool last = index + 1 == super.SegmentCount();
  Bytes header(super.frame.begin(), super.frame.begin() + super.payload_offset);
  const uint32_t l4_bytes = super.payload_offset - super.l4_offset + payload_bytes;
  if (IsIpv4(super.options)) {
    const uint32_t ip_bytes = super.l4_offset - super.l3_offset;
    Set16(header, super.l3_offset + 2, ip_bytes + l4_bytes);
    Set16(header, super.l3_offset + 4, super.options.ip_id + index);
    Set16(header, super.l3_offset + 10, 0);
    Set16(header, super.l3_offset + 10, 0xffff & ~NaiveSum(&header[super.l3_offset], ip_bytes));
  } else {
    Set16(header, super.l3_offset + 4, super.l4_offset - super.l3_offset - 40 + l4_bytes);
  }
  if (IsTcp(super.options.type)) {
    const uint32_t sequence = super.options.sequence + index * super.options.segment_size;
    Set16(header, super.l4_offset + 4, sequence >> 16);
    Set16(header, super.l4_offset + 6, sequence);
    uint32_t flags = super.options.tcp_flags;
    if (index > 0) flags &= ~0x80u;
    if (!last) flags &= ~0x09u;
    header[super.l4_offset + 13] = static_cast<uint8_t>(flags);
  } else {
    Set16(header, super.l4_offset + 4, l4_bytes);
  }
  Set16(header, super.l4_offset + ChecksumOffset(super.options.type), 0);
  return header;
}

std::string CompareSegment(const SuperPacket& super, uint32_t index, const Bytes& segment, bool partial) {
  const uint32_t start = super.payload_offset + index * super.options.segment_size;
  const auto size = std::min<uint32_t>(super.options.segment_size, static_cast<uint32_t>(super.frame.size()) - start);
  if (segment.size() != super.payload_offset + size) {
    return fmt::format("{} bytes instead of {}", segment.size(), super.payload_offset + size);
  }
  if (std::memcmp(&segment[super.payload_offset], &super.frame[start], size) != 0) return "payload differs";

  Bytes expected = ExpectedHeaders(super, index, size);
  const uint32_t field = super.l4_offset + ChecksumOffset(super.options.type);
  const bool tcp = IsTcp(super.options.type);
  const uint32_t l4_bytes = super.payload_offset - super.l4_offset + size;
  uint32_t checksum = PseudoSum(segment, super.l3_offset, IsIpv4(super.options), tcp, l4_bytes);
  if (!partial) {
    Bytes transport(expected.begin() + super.l4_offset, expected.end());
    transport.insert(transport.end(), segment.begin() + super.payload_offset, segment.end());
    checksum = 0xffff & ~NaiveSum(transport.data(), transport.size(), checksum);
    if (!tcp && checksum == 0) checksum = 0xffff;
  }
  Set16(expected, field, checksum);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (segment[i] != expected[i]) return fmt::format("byte {} is {:#x}, not {:#x}", i, segment[i], expected[i]);
  }
  return "";
}

}  // namespace

uint16_t NaiveSum(const uint8_t* bytes, size_t size, uint32_t seed) {
  uint64_t sum = seed;
  for (size_t i = 0; i < size; ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

uint32_t SuperPacket::SegmentCount() const {
  return (options.payload_bytes + options.segment_size - 1) / options.segment_size;
}

SuperPacket MakeSuper(const SuperOptions& options, std::mt19937& random) {
  SuperPacket super;
  super.options = options;
  Bytes& frame = super.frame;
  frame = {0x02, 0x51, 0, 0, 0, 1, 0x02, 0x51, 0, 0, 0, 2};
  for (uint16_t tpid : options.vlan_tpids) {
    Put16(frame, tpid);
    Put16(frame, random());
  }
  Put16(frame, IsIpv4(options) ? 0x0800 : 0x86dd);
  super.l3_offset = static_cast<uint32_t>(frame.size());

  const uint32_t header_bytes = IsTcp(options.type) ? 20 + options.tcp_option_bytes : 8;
  const uint32_t l4_bytes = header_bytes + options.payload_bytes;
  if (IsIpv4(options)) {
    PutIpv4(options, l4_bytes, frame, random);
  } else {
    PutIpv6(options, l4_bytes, frame, random);
  }
  super.l4_offset = static_cast<uint32_t>(frame.size());
  PutTransport(options, frame, random);
  super.payload_offset = static_cast<uint32_t>(frame.size());
  PutRandom(frame, options.payload_bytes, random);

  super.offload.l4 = ChecksumState::kPartial;
  super.offload.segmentation = options.type;
  super.offload.segment_size = options.segment_size;
  super.offload.ecn = IsTcp(options.type) && (options.tcp_flags & 0x80) != 0;
  super.offload.csum_start = static_cast<uint16_t>(super.l4_offset);
  super.offload.csum_offset = static_cast<uint16_t>(ChecksumOffset(options.type));
  Set16(frame, super.l4_offset + super.offload.csum_offset,
        PseudoSum(frame, super.l3_offset, IsIpv4(options), IsTcp(options.type), l4_bytes));
  return super;
}

SuperOptions RandomSuperOptions(std::mt19937& random) {
  const auto below = [&random](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  SuperOptions options;
  options.type = static_cast<Segmentation>(1 + below(4));
  if (below(3) == 0) options.vlan_tpids.push_back(below(2) == 0 ? 0x8100 : 0x88a8);
  if (!options.vlan_tpids.empty() && below(2) == 0) options.vlan_tpids.push_back(0x8100);
  uint32_t headers = 20;
  if (!IsIpv4(options)) {
    // In the order of RFC 8200, each at most once.
    for (uint8_t extension : {0, 60, 43}) {
      if (below(5) == 0) options.ipv6_extensions.push_back(extension);
    }
    headers = static_cast<uint32_t>(options.ipv6_extensions.size()) * 24;
  } else if (below(4) == 0) {
    headers += options.ip_option_bytes = 4 * (1 + below(10));
  }
  if (IsTcp(options.type)) {
    options.tcp_option_bytes = 4 * below(11);
    options.tcp_flags = static_cast<uint8_t>(random());
    if (below(2) == 0) options.tcp_flags |= 0x10;
  }
  headers += IsTcp(options.type) ? 20 + options.tcp_option_bytes : 8;
  options.ip_id = static_cast<uint16_t>(below(3) == 0 ? 0 : below(3) == 0 ? 0xffff - below(4) : random());
  options.dont_fragment = below(2) == 0;
  options.sequence = below(3) == 0 ? 0xffffffff - below(5000) : static_cast<uint32_t>(random());

  const uint32_t limit = 65535 - headers;
  switch (below(10)) {
    case 0:
      options.segment_size = static_cast<uint16_t>(1 + below(1460));
      break;
    case 1:
      options.segment_size = static_cast<uint16_t>(8 + below(100));
      break;
    case 2:
      options.segment_size = static_cast<uint16_t>(1460 + below(8000));
      break;
    default:
      options.segment_size = static_cast<uint16_t>(1380 + below(81));
      break;
  }
  const uint32_t most = std::min<uint32_t>(limit, options.segment_size * (below(20) == 0 ? 64u : 6u));
  options.payload_bytes = 1 + below(most);
  if (below(5) == 0) {  // an exact multiple
    options.payload_bytes += options.segment_size - 1;
    options.payload_bytes -= options.payload_bytes % options.segment_size;
    options.payload_bytes = std::min(options.payload_bytes, limit);
  }
  return options;
}

DpPacketPtr LoadSuper(const SuperPacket& super, PacketPools& pools, uint32_t first_bytes, uint32_t other_bytes) {
  DpPacketPtr packet = first_bytes <= pools.small->data_size() ? pools.small->Allocate() : pools.large->Allocate();
  DpPacket* last = packet.get();
  size_t at = std::min<size_t>(first_bytes, super.frame.size());
  packet->SetHeadLength(static_cast<uint32_t>(at));
  std::memcpy(packet->data(), super.frame.data(), at);
  while (at < super.frame.size()) {
    const bool large = other_bytes == 0 || other_bytes > pools.small->data_size();
    DpPacketPtr next = large ? pools.large->Allocate() : pools.small->Allocate();
    size_t size = std::min<size_t>(super.frame.size() - at, pools.large->data_size());
    if (other_bytes != 0) size = std::min<size_t>(size, other_bytes);
    next->SetHeadLength(static_cast<uint32_t>(size));
    std::memcpy(next->data(), &super.frame[at], size);
    at += size;
    DpPacket* raw = next.get();
    packet->AppendChain(last, next.release());
    last = raw;
  }
  packet->offload = super.offload;
  packet->l3_offset = static_cast<uint16_t>(super.l3_offset);
  packet->l4_offset = static_cast<uint16_t>(super.l4_offset);
  packet->payload_offset = static_cast<uint16_t>(super.payload_offset);
  return packet;
}

std::string CompareWithSuper(const SuperPacket& super, const std::vector<std::vector<uint8_t>>& segments,
                             bool partial) {
  if (segments.size() != super.SegmentCount()) {
    return fmt::format("{} segments instead of {}", segments.size(), super.SegmentCount());
  }
  for (uint32_t i = 0; i < segments.size(); ++i) {
    std::string difference = CompareSegment(super, i, segments[i], partial);
    if (!difference.empty()) return fmt::format("segment {} of {}: {}", i, segments.size(), difference);
  }
  return "";
}

}  // namespace sluice::testing
