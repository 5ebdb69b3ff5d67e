// Snoopers: who connects to BRIDGE.snoop gets a copy of every message between the bridge and its controllers. Loop
// thread.
#pragma once

#include <list>
#include <memory>
#include <string_view>

#include "ofproto/connections/channel.h"

namespace sluice {

class Snoopers {
 public:
  explicit Snoopers(EventLoop& loop);
  ~Snoopers();
  Snoopers(const Snoopers&) = delete;
  Snoopers& operator=(const Snoopers&) = delete;

  bool empty() const { return snoopers_.empty(); }
  size_t size() const { return snoopers_.size(); }
  // `versions`: what may be agreed on: that of the controller's connection, if there is one.
  void Add(std::unique_ptr<Stream> stream, OfVersions versions);
  // Those who have agreed on the message's version get it, unless they do not keep up.
  void Copy(std::string_view message);
  void Clear();
  void Tick(OfChannel::Clock::time_point now);

 private:
  static constexpr size_t kMaxBacklog = 1 << 20;  // unsent bytes: more is not copied
  static constexpr size_t kMaxSnoopers = 32;

  class Snooper;

  EventLoop& loop_;
  std::list<std::unique_ptr<Snooper>> snoopers_;
};

}  // namespace sluice
