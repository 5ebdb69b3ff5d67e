#include <cstring>

#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"
#include "tests/benchmarks/segment_benchmark.h"

namespace sluice {

std::vector<uint8_t> SuperFrame(uint32_t segments) {
  std::vector<uint8_t> frame(kHeaderLength + segments * kSegmentSize);
  for (size_t i = kHeaderLength; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i * 151 + i / 256);
  auto* ethernet = reinterpret_cast<EthernetHeader*>(frame.data());
  ethernet->destination = {2, 0, 0, 0, 0, 1};
  ethernet->source = {2, 0, 0, 0, 0, 2};
  ethernet->type = Be16(kEthTypeIpv4);
  auto* ip = reinterpret_cast<Ipv4Header*>(frame.data() + kL3Offset);
  const auto l3_bytes = static_cast<uint16_t>(frame.size() - kL3Offset);
  *ip = {.version_ihl = 0x45, .total_length = Be16(l3_bytes), .fragment = Be16(kIpv4DontFragment), .ttl = 64};
  ip->protocol = kIpProtoTcp;
  ip->source = Be32(0x0a000001);
  ip->destination = Be32(0x0a000002);
  ip->checksum = FinishChecksum(SumBytes(frame.data() + kL3Offset, sizeof *ip));
  auto* tcp = reinterpret_cast<TcpHeader*>(frame.data() + kL4Offset);
  *tcp = {.source = Be16(40000), .destination = Be16(5201), .data_offset = 0x80, .flags = kTcpAck | kTcpPsh};
  tcp->window = Be16(512);
  const Sum pseudo = PseudoHeaderSum4(ip->source, ip->destination, kIpProtoTcp, l3_bytes - 20u);
  tcp->checksum = Be16::FromRaw(FoldSum(pseudo));
  const uint8_t time_stamps[12] = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};
  std::memcpy(frame.data() + kL4Offset + sizeof *tcp, time_stamps, sizeof time_stamps);
  return frame;
}

}  // namespace sluice
