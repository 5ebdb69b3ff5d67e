#include "tests/datapath/execute_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/status.h"
#include "lib/flow/flow_text.h"
#include "lib/packet/egress.h"
#include "lib/packet/parse.h"

namespace sluice::testing {
namespace {

void Append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
uint16_t Get16(const Bytes& bytes, size_t at) { return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]); }
void Set16(Bytes& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

uint16_t Fold(const Bytes& bytes, uint64_t sum = 0) {
  for (size_t i = 0; i < bytes.size(); i += 2) sum += bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

Bytes Part(const Bytes& bytes, size_t from, size_t to) {
  return Bytes(bytes.begin() + static_cast<ptrdiff_t>(from), bytes.begin() + static_cast<ptrdiff_t>(to));
}

size_t DatagramEnd(const Bytes& frame, const Layout& layout) {
  return layout.version == 4 ? layout.l3 + Get16(frame, layout.l3 + 2) : layout.l3 + 40 + Get16(frame, layout.l3 + 4);
}

Bytes PseudoHeader(const Bytes& frame) {
  Layout layout = LayoutOf(frame);
  size_t length = DatagramEnd(frame, layout) - layout.l4;
  Bytes pseudo;
  if (layout.version == 4) {
    if (layout.protocol == 1) return {};
    pseudo = Part(frame, layout.l3 + 12, layout.l3 + 20);
  } else {
    pseudo = Part(frame, layout.l3 + 8, layout.l3 + 40);
    // With a routing header, the last destination is its first address.
    if (layout.routed) std::copy_n(&frame[layout.l4 - 16], 16, &pseudo[16]);
  }
  Append(pseudo, {0, layout.protocol, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)});
  return pseudo;
}

}  // namespace

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  std::string digits;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string ToHex(const Bytes& bytes) {
  std::string hex;
  for (uint8_t byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

ActionList Actions(std::string_view text) {
  absl::StatusOr<ActionList> actions = ParseActions(text, PortNames{});
  EXPECT_TRUE(actions.ok()) << Message(actions.status());
  return actions.ok() ? *actions : ActionList{};
}

Bytes MakeTransport(uint8_t protocol, size_t payload) {
  Bytes l4;
  switch (protocol) {
    case 1:
      l4 = FromHex("0800 0000 0001 0002");
      break;
    case 6:
      l4 = FromHex("0050 c350 00000001 00000002 7018 ffff 0000 0000 0101080a 00000000");
      break;
    case 17:
      l4 = FromHex("0035 1234 0000 0000");
      break;
    case 58:
      l4 = FromHex("8700 0000 00000000 fe800000000000000000000000000009 0101 020000000001 0201 020000000002");
      break;
    case 132:
      l4 = FromHex("1000 2000 00000007 00000000");
      break;
  }
  for (size_t i = 0; i < payload; ++i) l4.push_back(static_cast<uint8_t>(i * 7 + 1));
  if (protocol == 17) Set16(l4, 4, l4.size());
  return l4;
}

Bytes MakeFrame(const FrameOptions& options, Bytes l4) {
  Bytes frame = FromHex("0a0000000001 0a0000000002");
  for (uint16_t tpid : options.vlan_tpids) Append(frame, {uint8_t(tpid >> 8), uint8_t(tpid), 0x20, 0x05});
  if (options.version == 4) {
    Append(frame, {0x08, 0x00});
    size_t header = 20 + options.ip_options;
    Bytes ip = FromHex("4500 0000 1234 4000 40 00 0000 0a000002 0a000001");
    ip.resize(header, 1);
    ip[0] = static_cast<uint8_t>(0x40 | header / 4);
    ip[9] = options.protocol;
    Set16(ip, 2, header + l4.size());
    Set16(ip, 10, static_cast<uint16_t>(~Fold(ip)));
    Append(frame, ip);
  } else {
    Append(frame, {0x86, 0xdd});
    Bytes extensions;
    uint8_t next = options.protocol;
    if (options.segments_left > 0) {
      extensions = {next, 2, 4, options.segments_left, 0, 0, 0, 0};
      Append(extensions, FromHex("20010db80000000000000000000000ff"));
      next = 43;
    }
    if (options.hop_by_hop) {
      extensions.insert(extensions.begin(), {next, 0, 1, 4, 0, 0, 0, 0});
      next = 0;
    }
    Bytes ip = FromHex("60012345 0000 00 40 20010db8000000000000000000000002 20010db8000000000000000000000001");
    ip[6] = next;
    Set16(ip, 4, extensions.size() + l4.size());
    Append(frame, ip);
    Append(frame, extensions);
  }
  Append(frame, l4);
  if (options.protocol == 132) {
    uint32_t crc = SctpCrc(frame);
    for (size_t i = 0; i < 4; ++i) frame[ChecksumAt(frame) + i] = static_cast<uint8_t>(crc >> (8 * i));
  } else if (!options.udp_without_checksum) {
    Set16(frame, ChecksumAt(frame), 0);
    auto checksum = static_cast<uint16_t>(~TransportSum(frame));
    Set16(frame, ChecksumAt(frame), options.protocol == 17 && checksum == 0 ? 0xffff : checksum);
  }
  return frame;
}

Layout LayoutOf(const Bytes& frame) {
  Layout layout;
  size_t at = 12;
  while (Get16(frame, at) == 0x8100 || Get16(frame, at) == 0x88a8) at += 4;
  layout.l3 = at + 2;
  if (Get16(frame, at) == 0x0800) {
    layout.version = 4;
    layout.l4 = layout.l3 + (frame[layout.l3] & 15u) * 4;
    layout.protocol = frame[layout.l3 + 9];
  } else if (Get16(frame, at) == 0x86dd) {
    layout.version = 6;
    layout.l4 = layout.l3 + 40;
    layout.protocol = frame[layout.l3 + 6];
    while (layout.protocol == 0 || layout.protocol == 43 || layout.protocol == 60) {
      layout.routed |= layout.protocol == 43 && frame[layout.l4 + 3] != 0;
      layout.protocol = frame[layout.l4];
      layout.l4 += (frame[layout.l4 + 1] + 1u) * 8;
    }
  }
  return layout;
}

uint16_t PseudoSum(const Bytes& frame) { return Fold(PseudoHeader(frame)); }

uint16_t TransportSum(const Bytes& frame) {
  Layout layout = LayoutOf(frame);
  return Fold(Part(frame, layout.l4, DatagramEnd(frame, layout)), PseudoSum(frame));
}

uint16_t Ipv4HeaderSum(const Bytes& frame) {
  Layout layout = LayoutOf(frame);
  return Fold(Part(frame, layout.l3, layout.l4));
}

size_t ChecksumAt(const Bytes& frame) {
  Layout layout = LayoutOf(frame);
  size_t offset = layout.protocol == 6 ? 16 : layout.protocol == 17 ? 6 : layout.protocol == 132 ? 8 : 2;
  return layout.l4 + offset;
}

uint32_t SctpCrc(const Bytes& frame) {
  Layout layout = LayoutOf(frame);
  Bytes sctp = Part(frame, layout.l4, DatagramEnd(frame, layout));
  std::fill_n(sctp.begin() + 8, 4, uint8_t{0});
  uint32_t crc = 0xffffffff;
  for (uint8_t byte : sctp) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

DpPacketPtr Load(const Bytes& frame, PacketPools& pools, size_t head) {
  if (head == 0) head = frame.size();
  DpPacketPtr packet = pools.small->Allocate();
  EXPECT_NE(packet, nullptr);
  packet->SetHeadLength(static_cast<uint32_t>(head));
  std::copy_n(frame.begin(), head, packet->data());
  if (head < frame.size()) {
    DpPacketPtr rest = pools.large->Allocate();
    EXPECT_NE(rest, nullptr);
    rest->SetHeadLength(static_cast<uint32_t>(frame.size() - head));
    std::copy(frame.begin() + static_cast<ptrdiff_t>(head), frame.end(), rest->data());
    packet->AppendChain(packet.get(), rest.release());
  }
  ParseLayers(*packet);
  return packet;
}

Bytes BytesOf(const DpPacket& packet) {
  Bytes bytes(packet.length());
  packet.CopyOut(0, packet.length(), bytes.data());
  return bytes;
}

void RecordingSink::Record(std::string where, DpPacketPtr packet) {
  uint32_t frames = WireFrames(*packet);
  delivered_ += frames;
  events.push_back({where, BytesOf(*packet), packet->offload, packet->l3_offset, packet->l4_offset,
                    packet->payload_offset, frames, packet->dp_hash, packet.get()});
  if (keep) kept.emplace_back(std::move(where), std::move(packet));
}

void RecordingSink::Output(uint32_t port, PacketBatch& packets) {
  EXPECT_FALSE(packets.empty());
  for (size_t i = 0; i < packets.size(); ++i) Record(fmt::format("output {}", port), packets.Take(i));
  packets.Clear();
}

void RecordingSink::Recirculate(PacketBatch& packets) {
  EXPECT_FALSE(packets.empty());
  for (size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i]->flow_hash, 0u);
    std::string where = fmt::format("recirculate {}", packets[i]->recirc_id);
    Record(std::move(where), packets.Take(i));
  }
  packets.Clear();
}

void RecordingSink::Userspace(DpPacketPtr packet, const UserspaceAction& action) {
  EXPECT_FALSE(packet->offload.IsSuper());
  EXPECT_FALSE(packet->offload.IsPartial());
  Record(fmt::format("userspace {}", action.pid), std::move(packet));
}

void RecordingSink::Drop(DpPacketPtr packet, DropReason reason) {
  Record(fmt::format("drop {}", DropReasonName(reason)), std::move(packet));
}

void RecordingSink::OnCopy(const DpPacket& /*original*/, uint32_t frames, bool made) {
  copies_ += frames;
  if (!made) failed_copies_ += frames;
}

std::string RecordingSink::Summary() const {
  std::string text;
  for (const Event& event : events) text += (text.empty() ? "" : ", ") + event.where;
  return text;
}

}  // namespace sluice::testing
