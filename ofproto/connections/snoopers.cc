#include "ofproto/connections/snoopers.h"

namespace sluice {

class Snoopers::Snooper : private OfChannel::User {
 public:
  Snooper(EventLoop& loop, std::unique_ptr<Stream> stream, OfVersions versions)
      : channel_(loop, std::move(stream), {.versions = versions}, *this) {}

  OfChannel& channel() { return channel_; }
  bool is_closed() const { return closed_; }

 private:
  void OnOpen() override {}
  void OnMessage(std::string message) override {
    const OfHeader header = ReadHeader(AsBytes(message));
    if (header.type != kEchoRequest) return;
    message[1] = static_cast<char>(kEchoReply);
    channel_.Send(std::move(message));
  }
  void OnClosed(const absl::Status&) override { closed_ = true; }

  static constexpr uint8_t kEchoRequest = 2;
  static constexpr uint8_t kEchoReply = 3;

  bool closed_ = false;
  OfChannel channel_;
};

Snoopers::Snoopers(EventLoop& loop) : loop_(loop) {}
Snoopers::~Snoopers() = default;

void Snoopers::Add(std::unique_ptr<Stream> stream, OfVersions versions) {
  if (snoopers_.size() >= kMaxSnoopers) return;
  snoopers_.push_back(std::make_unique<Snooper>(loop_, std::move(stream), versions));
}

void Snoopers::Copy(std::string_view message) {
  for (const auto& snooper : snoopers_) {
    OfChannel& channel = snooper->channel();
    const bool same = channel.is_open() && static_cast<char>(channel.version()) == message[0];
    if (same && channel.unsent_bytes() < kMaxBacklog) channel.Send(std::string(message));
  }
}

void Snoopers::Clear() { snoopers_.clear(); }

void Snoopers::Tick(OfChannel::Clock::time_point now) {
  for (const auto& snooper : snoopers_) snooper->channel().Tick(now);
  snoopers_.remove_if([](const auto& snooper) { return snooper->is_closed(); });
}

}  // namespace sluice
