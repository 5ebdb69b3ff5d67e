#include "ofproto/connections/packet_in_limiter.h"

#include <algorithm>

namespace sluice {

using std::chrono::milliseconds;

PacketInLimiter::PacketInLimiter(uint32_t rate, uint32_t burst, Clock::time_point now)
    : rate_(rate),
      burst_(burst != 0 ? burst : std::max<uint32_t>(rate / 4, 1)),
      tokens_(burst_ * kToken),
      filled_(now) {}

void PacketInLimiter::Fill(Clock::time_point now) {
  const auto passed = std::chrono::duration_cast<milliseconds>(now - filled_);
  if (passed.count() <= 0) return;
  filled_ += passed;
  // More than this fills any bucket.
  const uint64_t ms = std::min<uint64_t>(static_cast<uint64_t>(passed.count()), burst_ * kToken);
  tokens_ = std::min(tokens_ + ms * rate_, burst_ * kToken);
}

bool PacketInLimiter::Admit(OfPort port, std::string& message, Clock::time_point now) {
  if (rate_ == 0) {
    ++statistics_.bypassed;
    return true;
  }
  Fill(now);
  if (waiting_ == 0 && tokens_ >= kToken) {
    tokens_ -= kToken;
    ++statistics_.bypassed;
    return true;
  }
  if (waiting_ >= burst_) DropLongest();
  queues_[port].push_back(std::move(message));
  ++waiting_;
  ++statistics_.queued;
  return false;
}

void PacketInLimiter::DropLongest() {
  auto longest = std::max_element(queues_.begin(), queues_.end(),
                                  [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  longest->second.pop_front();
  if (longest->second.empty()) queues_.erase(longest);
  --waiting_;
  ++statistics_.dropped;
}

std::optional<std::string> PacketInLimiter::Take(Clock::time_point now) {
  Fill(now);
  if (waiting_ == 0 || tokens_ < kToken) return std::nullopt;
  tokens_ -= kToken;
  auto turn = queues_.upper_bound(last_port_);
  if (turn == queues_.end()) turn = queues_.begin();
  last_port_ = turn->first;
  std::string message = std::move(turn->second.front());
  turn->second.pop_front();
  if (turn->second.empty()) queues_.erase(turn);
  --waiting_;
  return message;
}

std::optional<PacketInLimiter::Clock::time_point> PacketInLimiter::NextTime() const {
  if (waiting_ == 0) return std::nullopt;
  if (tokens_ >= kToken) return filled_;
  return filled_ + milliseconds((kToken - tokens_ + rate_ - 1) / rate_);
}

}  // namespace sluice
