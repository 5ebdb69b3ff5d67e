// Ingress policing of one port: what comes in faster than its rates is dropped (ovs-vswitchd.conf.db(5),
// Interface:ingress_policing_*). Bits and packets have a token bucket each, full at first; both count wire frames.
//
// A super-packet passes or is dropped whole, by whether its first segment finds tokens; for the rest of it the bucket
// goes into debt. So the rate holds over time as it would for single frames, and a burst is longer by one super-packet
// at most. To cut it instead would cost a copy of every segment that passes, and TCP would lose the tail of each burst;
// and with a bucket smaller than a super-packet nothing would ever pass.
//
// The buckets are shared by the threads that poll the port's queues: a compare and swap per packet.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

struct PolicingRates {
  static constexpr uint64_t kDefaultBurstKb = 8000;
  static constexpr uint64_t kDefaultBurstKpkts = 16;

  uint64_t rate_kbps = 0;    // kilobits a second; 0: no limit
  uint64_t burst_kb = 0;     // kilobits; 0: the default
  uint64_t rate_kpkts = 0;   // thousands of frames a second; 0: no limit
  uint64_t burst_kpkts = 0;  // thousands of frames; 0: the default

  bool any() const { return rate_kbps != 0 || rate_kpkts != 0; }
  bool operator==(const PolicingRates&) const = default;
};

// A token bucket, kept as the time at which it will be full again.
class TokenBucket {
 public:
  // `per_second` tokens a second, `burst` tokens at most. per_second 0: everything passes.
  TokenBucket(uint64_t per_second, uint64_t burst) : per_second_(per_second), span_(per_second > 0 ? Time(burst) : 0) {}

  // Whether there are `first` tokens at `now` (monotonic nanoseconds). If so takes `all` of them, into debt if need be.
  bool Take(uint64_t first, uint64_t all, uint64_t now) {
    if (per_second_ == 0) return true;
    uint64_t full = full_at_.load(std::memory_order_relaxed);
    uint64_t from;
    do {
      from = full > now ? full : now;
      if (from + Time(first) > now + span_) return false;
    } while (!full_at_.compare_exchange_weak(full, from + Time(all), std::memory_order_relaxed));
    return true;
  }
  // Gives back what Take() took.
  void Return(uint64_t tokens) {
    if (per_second_ != 0) full_at_.fetch_sub(Time(tokens), std::memory_order_relaxed);
  }

 private:
  // Nanoseconds in which so many tokens come.
  uint64_t Time(uint64_t tokens) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(tokens) * 1'000'000'000 / per_second_);
  }

  const uint64_t per_second_;
  const uint64_t span_;  // nanoseconds to fill it
  std::atomic<uint64_t> full_at_{0};
};

class Policer {
 public:
  explicit Policer(const PolicingRates& rates);

  // Whether a packet of `frames` wire frames and `bytes` wire bytes (Ethernet headers included) may pass at `now`
  // (monotonic nanoseconds). PMD threads.
  bool Admit(uint32_t frames, uint64_t bytes, uint64_t now) {
    if (!packets_.Take(1, frames, now)) return false;
    if (bits_.Take(bytes / frames * 8, bytes * 8, now)) return true;
    packets_.Return(frames);
    return false;
  }

 private:
  TokenBucket bits_;
  TokenBucket packets_;
};

}  // namespace sluice
