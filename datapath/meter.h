// DpMeter: one meter of a datapath (OpenFlow 1.3, section 5.7): bands with a rate each. A packet that finds a band's
// rate exceeded is dropped or remarked; of several such bands the one with the highest rate decides.
//
// Every band has a token bucket, full at first, from which each packet takes what it finds there, whatever other bands
// say. Rates and bytes are those of wire frames, Ethernet headers included. A super-packet is measured whole, as by a
// Policer (policing.h): by its first segment, with debt for the rest.
//
// Shared by all threads: a compare and swap per packet and band, and statistics that are added to where packets are.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "datapath/policing.h"

namespace sluice {

struct DpMeterConfig {
  struct Band {
    enum class Type : uint8_t { kDrop, kDscpRemark };
    Type type = Type::kDrop;
    uint64_t rate = 0;       // kilobits or frames a second; 0: the band is never exceeded
    uint64_t burst = 0;      // kilobits or frames; 0: what comes in one second
    uint8_t precedence = 0;  // kDscpRemark: by how much the drop precedence grows
  };
  bool in_packets = false;  // rates are in frames a second
  std::vector<Band> bands;
};

struct DpMeterStats {
  struct Count {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  Count in;
  std::vector<Count> bands;  // what exceeded each band and was treated by it
};

class DpMeter {
 public:
  using BandConfig = DpMeterConfig::Band;

  explicit DpMeter(const DpMeterConfig& config);

  // The band that treats a packet of `frames` wire frames and `bytes` wire bytes at `now` (monotonic nanoseconds), or
  // nullptr: it passes as it is. Any thread.
  const BandConfig* Measure(uint32_t frames, uint64_t bytes, uint64_t now) {
    in_.Add(frames, bytes);
    const uint64_t first = in_packets_ ? 1 : bytes / frames * 8;
    const uint64_t all = in_packets_ ? frames : bytes * 8;
    Band* decides = nullptr;
    for (Band& band : bands_) {
      if (band.bucket.Take(first, all, now)) continue;
      if (decides == nullptr || band.config.rate > decides->config.rate) decides = &band;
    }
    if (decides == nullptr) return nullptr;
    decides->count.Add(frames, bytes);
    return &decides->config;
  }

  DpMeterStats Stats() const;

 private:
  struct SharedCount {
    std::atomic<uint64_t> frames{0}, bytes{0};
    void Add(uint64_t more_frames, uint64_t more_bytes) {
      frames.fetch_add(more_frames, std::memory_order_relaxed);
      bytes.fetch_add(more_bytes, std::memory_order_relaxed);
    }
    DpMeterStats::Count Get() const {
      return {.frames = frames.load(std::memory_order_relaxed), .bytes = bytes.load(std::memory_order_relaxed)};
    }
  };
  struct Band {
    Band(const BandConfig& band_config, uint64_t unit);
    const BandConfig config;
    TokenBucket bucket;
    SharedCount count;
  };

  const bool in_packets_;
  SharedCount in_;
  std::deque<Band> bands_;
};

}  // namespace sluice
