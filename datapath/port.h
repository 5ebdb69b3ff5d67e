// Port: a device in a datapath, as the main thread sees it, with what PMD threads use of it.
//
// Everything here belongs to the main thread, but for the atomics of PortSettings and the PmdPort and PolledRxq objects
// while a PMD thread has them.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datapath/pmd_port.h"
#include "datapath/poller.h"
#include "netdev/link_monitor.h"
#include "netdev/netdev.h"

namespace sluice {

class PmdThread;

// Sums over queues and threads. Frames are wire frames.
struct PortStats {
  struct Direction {
    uint64_t frames = 0;
    uint64_t packets = 0;  // a super-packet is one
    uint64_t super_packets = 0;
    uint64_t bytes = 0;  // wire bytes
    uint64_t system_calls = 0;
  };
  Direction rx;                  // handed over by the device
  Direction tx;                  // sent
  DropCounters rx_drops;         // of what came in here, the datapath's reasons included
  DropCounters tx_drops;         // of what was to leave here
  uint64_t rx_device_drops = 0;  // the part of rx_drops that never reached the datapath
  uint64_t copies = 0;
  uint64_t consumed = 0;
  uint64_t coalesced_packets = 0;
  uint64_t coalesced_segments = 0;
  SegmentHistogram rx_histogram;
  SegmentHistogram tx_histogram;
};

uint64_t TotalDrops(const DropCounters& drops);

// How busy something was lately: cycles over the last minute, in samples of five seconds.
class LoadHistory {
 public:
  static constexpr size_t kSamples = 12;
  void Sample(uint64_t counter) {
    samples_.push_back(counter - last_);
    last_ = counter;
    if (samples_.size() > kSamples) samples_.pop_front();
  }
  // Over the samples and what came since the last one.
  uint64_t Recent(uint64_t counter) const;

 private:
  std::deque<uint64_t> samples_;
  uint64_t last_ = 0;
};

// A receive queue and who polls it.
struct PortRxq {
  PolledRxq polled;
  PmdThread* thread = nullptr;
  std::optional<int> pinned_core;
  LoadHistory history;
};

// Options of a port that are the datapath's, not the device's.
struct PortConfig {
  std::optional<bool> tso;                         // userspace-tso-enable; nullopt: as the switch
  std::vector<std::pair<uint32_t, int>> affinity;  // pmd-rxq-affinity: queue, core
};
// Takes them out of `options`, or says what is wrong and with which port.
absl::Status TakePortConfig(const std::string& port_name, NetdevOptions& options, PortConfig& config);

class Port {
 public:
  // `options` as the user gave them, all.
  Port(uint32_t number, std::unique_ptr<Netdev> netdev, NetdevOptions options, PortConfig config);
  ~Port();

  uint32_t number() const { return number_; }
  const std::string& name() const { return netdev_->name(); }
  Netdev& netdev() const { return *netdev_; }
  const NetdevOptions& options() const { return options_; }
  const PortConfig& config() const { return config_; }
  bool tso() const { return settings_.tso.load(std::memory_order_relaxed); }

  // Makes userspace-tso-enable hold: the port's own if it has one, else the switch's.
  void ApplyTso(bool switch_tso);
  // Whether the kernel may forward packets of this port unseen: `allowed` for this port (nothing must see all of them)
  // and, `switch_allows`, for all. When this returns nothing is forwarded that must not be.
  void SetKernelForwarding(bool allowed);
  void ApplyKernelForwarding(bool switch_allows);

  // Drops what comes in faster than `rates`; from now on, buckets full.
  void SetPolicing(const PolicingRates& rates);
  const PolicingRates& policing() const { return policing_; }

  // Opens the transmit queue of thread slot `slot`; closes it, keeping its counts. No thread uses it meanwhile.
  absl::Status OpenSlot(size_t slot);
  void CloseSlot(size_t slot);
  PmdPort& slot(size_t slot) { return *slots_[slot]; }

  std::vector<std::unique_ptr<PortRxq>>& rxqs() { return rxqs_; }
  const std::vector<std::unique_ptr<PortRxq>>& rxqs() const { return rxqs_; }

  // Applies options (all of them, as the user gave them) while no thread polls a queue of the port. All or nothing.
  absl::Status SetOptions(const NetdevOptions& options);
  // Whether SetOptions(options) needs the queues not to be polled.
  bool ChangesQueues(const NetdevOptions& options) const;

  // With, or without, what the kernel forwarded for the port.
  PortStats Stats() const;
  PortStats UserSpaceStats() const;

  // Kept while the port lives.
  void set_watch(LinkMonitor::Watch watch) { watch_ = std::move(watch); }

 private:
  void MakeRxqs();
  void ApplyAffinity();
  void AddRxqCounters(PortStats& stats) const;

  const uint32_t number_;
  NetdevOptions options_;
  PortConfig config_;
  PortSettings settings_;
  bool kernel_allowed_ = true;
  bool switch_allows_kernel_ = false;
  std::unique_ptr<Netdev> netdev_;  // outlives the queues below
  std::vector<std::unique_ptr<PmdPort>> slots_;
  std::vector<std::unique_ptr<PortRxq>> rxqs_;
  PortStats gone_;  // counts of queues that are no more
  PolicingRates policing_;
  LinkMonitor::Watch watch_;
};

}  // namespace sluice
