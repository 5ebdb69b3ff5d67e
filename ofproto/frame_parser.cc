#include "ofproto/frame_parser.h"

#include <cstring>

#include "lib/base/status.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr size_t kEthernetHeader = 14;

}  // namespace

absl::StatusOr<FlowKey> FrameParser::Parse(std::string_view frame) {
  if (frame.size() < kEthernetHeader || frame.size() > kMaxFrame) {
    return InvalidArgument("a frame of {} bytes: expected {} to {}", frame.size(), kEthernetHeader, kMaxFrame);
  }
  if (pool_ == nullptr) {
    auto pool = SlabPool::Create({.count = 1, .data_size = kMaxFrame + 1, .headroom = 0});
    if (!pool.ok()) return pool.status();
    pool_ = *std::move(pool);
  }
  DpPacketPtr packet = pool_->Allocate();
  if (packet == nullptr) return ResourceExhausted("no buffer for a frame");
  packet->SetHeadLength(static_cast<uint32_t>(frame.size()));
  std::memcpy(packet->data(), frame.data(), frame.size());
  FlowKey key;
  ParsePacket(*packet, key);
  return key;
}

}  // namespace sluice
