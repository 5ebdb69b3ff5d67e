#include "datapath/actions/meter_packets.h"

#include <algorithm>
#include <ctime>

#include "datapath/actions/set_fields.h"
#include "lib/packet/egress.h"
#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr uint8_t kDscpMask = 0xfc;
constexpr uint8_t kMaxDropPrecedence = 3;

// AFxy is 8x + 2y with a class x of 1 to 4 and a drop precedence y of 1 to 3. Other code points have none.
bool IsAssuredForwarding(uint8_t dscp) {
  const uint8_t forwarding_class = dscp >> 3;
  return (dscp & 1) == 0 && (dscp & 6) != 0 && forwarding_class >= 1 && forwarding_class <= 4;
}

uint8_t RaisedDscp(uint8_t dscp, uint8_t by) {
  const int raised = std::min<int>((dscp >> 1 & 3) + by, kMaxDropPrecedence);
  return static_cast<uint8_t>((dscp & ~6) | raised << 1);
}

void Remark(DpPacket& packet, uint8_t by) {
  FlowKey key;
  ParsePacket(packet, key);
  const uint16_t type = key.eth_type.Get();
  if (packet.l3_offset == kNoOffset || (type != kEthTypeIpv4 && type != kEthTypeIpv6)) return;
  const auto dscp = static_cast<uint8_t>(key.ip_tos >> 2);
  if (!IsAssuredForwarding(dscp)) return;
  SetAction set{type == kEthTypeIpv4 ? SetAction::Header::kIpv4 : SetAction::Header::kIpv6};
  set.mask.ip_tos = kDscpMask;
  set.value.ip_tos = static_cast<uint8_t>(RaisedDscp(dscp, by) << 2);
  ApplySet(packet, set);
}

}  // namespace

uint64_t MeterNow() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool MeterPacket(DpPacket& packet, DpMeter& meter, uint64_t now) {
  const bool is_super = packet.offload.IsSuper();
  const uint32_t frames = is_super ? std::max(1u, WireFrames(packet)) : 1;
  const DpMeter::BandConfig* band = meter.Measure(frames, is_super ? WireBytes(packet) : packet.length(), now);
  if (band == nullptr) return true;
  if (band->type == DpMeterConfig::Band::Type::kDrop) return false;
  Remark(packet, band->precedence);
  return true;
}

}  // namespace sluice
