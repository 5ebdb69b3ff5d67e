#include "ofproto/packet_in_event.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kMaxBytes = 65535;

}  // namespace

PacketInEvent MakePacketInEvent(std::shared_ptr<const PacketInRecord> record, const DpPacket& packet) {
  PacketInEvent event{.record = std::move(record), .packet = {}, .total_length = packet.length()};
  const bool is_whole = !event.record->continuation.empty() || event.record->max_len == kNoMaxLen;
  const size_t wanted = std::min<size_t>({packet.length(), kMaxBytes, is_whole ? kMaxBytes : event.record->max_len});
  event.packet.reserve(wanted);
  for (const DpPacket* part = &packet; part != nullptr && event.packet.size() < wanted; part = part->next()) {
    const size_t size = std::min<size_t>(part->head_length(), wanted - event.packet.size());
    event.packet.append(reinterpret_cast<const char*>(part->data()), size);
  }
  return event;
}

}  // namespace sluice
