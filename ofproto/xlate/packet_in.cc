#include "ofproto/xlate/packet_in.h"

#include <utility>

namespace sluice {

bool PacketInQueue::Push(PacketInEvent event) {
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    if (events_.size() >= kMaxEvents || bytes_ + event.packet.size() > kMaxBytes) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    if (events_.empty()) wake = wake_;
    bytes_ += event.packet.size();
    events_.push_back(std::move(event));
  }
  if (wake) wake();
  return true;
}

std::deque<PacketInEvent> PacketInQueue::PopAll() {
  std::lock_guard lock(mutex_);
  bytes_ = 0;
  return std::exchange(events_, {});
}

void PacketInQueue::OnFirst(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

}  // namespace sluice
