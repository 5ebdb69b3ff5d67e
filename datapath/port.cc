#include "datapath/port.h"

#include <numeric>

#include "datapath/rxq_scheduler.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

void AddDrops(DropCounters& sum, const DropCounters& drops) {
  for (size_t i = 0; i < kDropReasonCount; ++i) sum.frames[i] += drops.frames[i];
}

void AddQueue(PortStats::Direction& sum, const QueueCounters& queue) {
  sum.frames += queue.frames;
  sum.packets += queue.packets;
  sum.super_packets += queue.super_packets;
  sum.bytes += queue.bytes;
  sum.system_calls += queue.system_calls;
}

// sum += before - after, for each count.
void AddDifference(PortStats::Direction& sum, const PortStats::Direction& before, const PortStats::Direction& after) {
  sum.frames += before.frames - after.frames;
  sum.packets += before.packets - after.packets;
  sum.super_packets += before.super_packets - after.super_packets;
  sum.bytes += before.bytes - after.bytes;
  sum.system_calls += before.system_calls - after.system_calls;
}

void AddLane(PortStats::Direction& sum, SegmentHistogram& histogram, const sluice_lane& lane) {
  sum.frames += lane.frames;
  sum.packets += lane.packets;
  sum.super_packets += lane.super_packets;
  sum.bytes += lane.bytes;
  static_assert(SLUICE_HISTOGRAM_SIZE == SegmentHistogram::kMaxExact + 1);
  for (size_t i = 0; i <= SegmentHistogram::kMaxExact; ++i) histogram.packets[i] += lane.histogram[i];
  histogram.larger += lane.larger;
  histogram.segments += lane.frames;
}

// Frames that the kernel dropped came in at one port and were to leave by another.
void AddKernelCounters(PortStats& stats, const KernelFlows::PortCounters& counters) {
  AddLane(stats.rx, stats.rx_histogram, counters.rx);
  stats.rx.frames += counters.rx.over_mtu + counters.rx.no_device;
  AddLane(stats.tx, stats.tx_histogram, counters.tx);
  stats.tx_drops.Add(DropReason::kTxOverMtu, counters.tx.over_mtu);
  stats.tx_drops.Add(DropReason::kTxPortDown, counters.tx.no_device);
}

}  // namespace

uint64_t TotalDrops(const DropCounters& drops) {
  return std::accumulate(drops.frames.begin(), drops.frames.end(), uint64_t{0});
}

uint64_t LoadHistory::Recent(uint64_t counter) const {
  return std::accumulate(samples_.begin(), samples_.end(), counter - last_);
}

absl::Status TakePortConfig(const std::string& port_name, NetdevOptions& options, PortConfig& config) {
  PortConfig taken;
  if (auto tso = options.find("userspace-tso-enable"); tso != options.end()) {
    if (tso->second != "true" && tso->second != "false") {
      return InvalidArgument("port {}: userspace-tso-enable={}: expected true or false", port_name, tso->second);
    }
    taken.tso = tso->second == "true";
    options.erase(tso);
  }
  if (auto affinity = options.find("pmd-rxq-affinity"); affinity != options.end()) {
    auto pins = ParseRxqAffinity(affinity->second);
    if (!pins.ok()) return InvalidArgument("port {}: {}", port_name, Message(pins.status()));
    taken.affinity = *std::move(pins);
    options.erase(affinity);
  }
  config = std::move(taken);
  return absl::OkStatus();
}

Port::Port(uint32_t number, std::unique_ptr<Netdev> netdev, NetdevOptions options, PortConfig config)
    : number_(number), options_(std::move(options)), config_(std::move(config)), netdev_(std::move(netdev)) {
  MakeRxqs();
}

Port::~Port() { delete settings_.policer.Load(); }

void Port::MakeRxqs() {
  rxqs_.clear();
  for (size_t i = 0; i < netdev_->rxq_count(); ++i) {
    auto rxq = std::make_unique<PortRxq>();
    rxq->polled.rxq = &netdev_->rxq(i);
    rxq->polled.queue = static_cast<uint32_t>(i);
    rxqs_.push_back(std::move(rxq));
  }
  ApplyAffinity();
}

void Port::ApplyAffinity() {
  for (auto& rxq : rxqs_) {
    rxq->pinned_core.reset();
    for (const auto& [queue, core] : config_.affinity) {
      if (queue == rxq->polled.queue) rxq->pinned_core = core;
    }
  }
}

void Port::ApplyTso(bool switch_tso) {
  bool tso = config_.tso.value_or(switch_tso);
  settings_.tso.store(tso, std::memory_order_relaxed);
  netdev_->SetTsoEnabled(tso);
}

void Port::SetKernelForwarding(bool allowed) {
  kernel_allowed_ = allowed;
  netdev_->SetKernelForwarding(kernel_allowed_ && switch_allows_kernel_);
}

void Port::ApplyKernelForwarding(bool switch_allows) {
  switch_allows_kernel_ = switch_allows;
  SetKernelForwarding(kernel_allowed_);
}

absl::Status Port::OpenSlot(size_t slot) {
  auto txq = netdev_->OpenTxq();
  if (!txq.ok()) return txq.status();
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  if (slots_[slot] == nullptr) slots_[slot] = std::make_unique<PmdPort>(number_, *netdev_, settings_);
  slots_[slot]->set_txq(*std::move(txq));
  return absl::OkStatus();
}

void Port::CloseSlot(size_t slot) {
  if (slot >= slots_.size() || slots_[slot] == nullptr || slots_[slot]->txq() == nullptr) return;
  AddQueue(gone_.tx, slots_[slot]->txq()->counters());
  AddDrops(gone_.tx_drops, slots_[slot]->txq()->counters().drops);
  slots_[slot]->set_txq(nullptr);
}

bool Port::ChangesQueues(const NetdevOptions& options) const {
  auto old_count = options_.find("n_rxq");
  auto new_count = options.find("n_rxq");
  std::string old_text = old_count == options_.end() ? "" : old_count->second;
  return (new_count == options.end() ? "" : new_count->second) != old_text;
}

absl::Status Port::SetOptions(const NetdevOptions& options) {
  NetdevOptions device_options = options;
  PortConfig config;
  SLUICE_RETURN_IF_ERROR(TakePortConfig(name(), device_options, config));
  bool changes_queues = ChangesQueues(options);
  PortStats before;
  AddRxqCounters(before);
  if (changes_queues) rxqs_.clear();
  absl::Status status = netdev_->SetOptions(device_options);
  if (changes_queues) {
    // Whether the device made new queues or kept old ones, what is not counted there any more is kept here.
    MakeRxqs();
    PortStats after;
    AddRxqCounters(after);
    AddDifference(gone_.rx, before.rx, after.rx);
    for (size_t i = 0; i < kDropReasonCount; ++i) {
      gone_.rx_drops.frames[i] += before.rx_drops.frames[i] - after.rx_drops.frames[i];
    }
    gone_.rx_device_drops += before.rx_device_drops - after.rx_device_drops;
  }
  if (!status.ok()) return status;
  options_ = options;
  config_ = std::move(config);
  ApplyAffinity();
  return absl::OkStatus();
}

void Port::SetPolicing(const PolicingRates& rates) {
  policing_ = rates;
  settings_.policer.Replace(rates.any() ? std::make_unique<Policer>(rates) : nullptr);
  SetKernelForwarding(!rates.any());  // what the kernel forwards is not seen here
}

void Port::AddRxqCounters(PortStats& stats) const {
  for (const auto& rxq : rxqs_) {
    const QueueCounters& counters = rxq->polled.rxq->counters();
    AddQueue(stats.rx, counters);
    AddDrops(stats.rx_drops, counters.drops);
    stats.rx_device_drops += TotalDrops(counters.drops);
  }
}

PortStats Port::Stats() const {
  PortStats stats = UserSpaceStats();
  if (const KernelPort* port = netdev_->kernel_port()) AddKernelCounters(stats, port->counters());
  return stats;
}

PortStats Port::UserSpaceStats() const {
  PortStats stats = gone_;
  AddRxqCounters(stats);
  for (const auto& slot : slots_) {
    if (slot == nullptr) continue;
    const PmdPort::Counters& counters = slot->counters;
    AddDrops(stats.rx_drops, counters.ingress_drops);
    AddDrops(stats.tx_drops, counters.egress_drops);
    stats.copies += counters.copies;
    stats.consumed += counters.consumed;
    stats.coalesced_packets += counters.coalesced.super_packets;
    stats.coalesced_segments += counters.coalesced.segments;
    stats.rx_histogram += counters.rx_histogram;
    stats.tx_histogram += counters.tx_histogram;
    if (slot->txq() == nullptr) continue;
    AddQueue(stats.tx, slot->txq()->counters());
    AddDrops(stats.tx_drops, slot->txq()->counters().drops);
  }
  return stats;
}

}  // namespace sluice
