// PacketInLimiter: how many packet-ins a second a controller gets (Controller:controller_rate_limit and
// controller_burst_limit). A token bucket; what comes when it is empty waits, by ingress port, so that one busy port
// does not silence the others: ports take turns, and when too many wait, the oldest of the longest queue goes.
//
// No clock of its own. Loop thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "lib/openflow/ofp.h"

namespace sluice {

class PacketInLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Statistics {
    uint64_t bypassed = 0;  // sent at once
    uint64_t queued = 0;    // had to wait
    uint64_t dropped = 0;
  };

  // `rate`: a second, 0: no limit. `burst`: tokens at most, and how many may wait; 0: a quarter of the rate.
  PacketInLimiter(uint32_t rate, uint32_t burst, Clock::time_point now);

  // Whether `message` may be sent now; if not, it waits or is dropped.
  bool Admit(OfPort port, std::string& message, Clock::time_point now);
  // The next that may be sent now.
  std::optional<std::string> Take(Clock::time_point now);
  // When Take() will give something; nullopt: nothing waits.
  std::optional<Clock::time_point> NextTime() const;

  size_t backlog() const { return waiting_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  // A thousandth of a token a millisecond and packet a second: whole numbers.
  static constexpr uint64_t kToken = 1000;

  void Fill(Clock::time_point now);
  void DropLongest();

  const uint64_t rate_;
  const uint64_t burst_;
  uint64_t tokens_;  // in 1/kToken
  Clock::time_point filled_;
  std::map<OfPort, std::deque<std::string>> queues_;  // none is empty
  OfPort last_port_ = 0;                              // whose turn it was
  size_t waiting_ = 0;
  Statistics statistics_;
};

}  // namespace sluice
