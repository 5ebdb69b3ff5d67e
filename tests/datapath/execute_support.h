// What the tests of actions share: frames built byte by byte, checksums computed the slow way, and a sink that
// remembers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/execute.h"
#include "lib/packet/slab_pool.h"

namespace sluice::testing {

using Bytes = std::vector<uint8_t>;

Bytes FromHex(std::string_view hex);  // spaces are ignored
std::string ToHex(const Bytes& bytes);

// The actions of `text`; the test fails if it does not parse.
ActionList Actions(std::string_view text);

// Frames with all checksums right. `l4` is a transport header and payload whose checksum field does not matter.
struct FrameOptions {
  std::vector<uint16_t> vlan_tpids;
  int version = 4;
  uint8_t protocol = 6;
  uint32_t ip_options = 0;    // bytes, IPv4
  bool hop_by_hop = false;    // IPv6
  uint8_t segments_left = 0;  // IPv6: with a routing header if not 0
  bool udp_without_checksum = false;
};
Bytes MakeFrame(const FrameOptions& options, Bytes l4);
// A TCP, UDP, SCTP or ICMP header with `payload` bytes behind it. ICMPv6 of type 135 gets target and option.
Bytes MakeTransport(uint8_t protocol, size_t payload);
const Bytes kArpFrame =
    FromHex("0a00000000010a0000000002 0806 0001 0800 06 04 0001 0a0000000002 0a000002 000000000000 0a000001");

// Where the headers of a frame made by MakeFrame are.
struct Layout {
  size_t l3 = 0;
  size_t l4 = 0;
  int version = 0;  // 0: not IP
  uint8_t protocol = 0;
  bool routed = false;
};
Layout LayoutOf(const Bytes& frame);

// RFC 1071 with pseudo-header over the datagram's transport part as it stands: 0xffff if the checksum in it is right.
uint16_t TransportSum(const Bytes& frame);
// The same of the pseudo-header alone.
uint16_t PseudoSum(const Bytes& frame);
// 0xffff if the IPv4 header's checksum is right.
uint16_t Ipv4HeaderSum(const Bytes& frame);
// The offset of the transport checksum.
size_t ChecksumAt(const Bytes& frame);
// CRC32c bit by bit over the datagram's transport part with a zero in the field, as the field would hold it.
uint32_t SctpCrc(const Bytes& frame);

// A parsed packet with these bytes, `head` of them in the first buffer (0: all).
DpPacketPtr Load(const Bytes& frame, PacketPools& pools, size_t head = 0);
Bytes BytesOf(const DpPacket& packet);

// Remembers what came where, as bytes, and keeps the books.
class RecordingSink final : public ActionSink {
 public:
  struct Event {
    std::string where;  // "output 1", "recirculate 5", "userspace 7", "drop action_drop"
    Bytes bytes;
    Offload offload;
    uint16_t l3_offset, l4_offset, payload_offset;
    uint32_t frames;
    uint32_t dp_hash;
    const DpPacket* packet;  // not to be followed: it may have been freed
  };

  void Output(uint32_t port, PacketBatch& packets) override;
  void Recirculate(PacketBatch& packets) override;
  void Userspace(DpPacketPtr packet, const UserspaceAction& action) override;
  void Drop(DpPacketPtr packet, DropReason reason) override;
  void OnCopy(const DpPacket& original, uint32_t frames, bool made) override;

  // "output 1, output 2, drop action_drop".
  std::string Summary() const;
  // Wire frames that were delivered, dropped or could not be copied, less those that came out of copying.
  uint64_t Balance() const { return delivered_ + failed_copies_ - copies_; }
  uint64_t copies() const { return copies_; }
  uint64_t failed_copies() const { return failed_copies_; }

  // Keeps the packets of outputs and recirculations instead of freeing them.
  bool keep = false;
  std::vector<std::pair<std::string, DpPacketPtr>> kept;
  std::vector<Event> events;

 private:
  void Record(std::string where, DpPacketPtr packet);

  uint64_t delivered_ = 0;
  uint64_t copies_ = 0;
  uint64_t failed_copies_ = 0;
};

}  // namespace sluice::testing
