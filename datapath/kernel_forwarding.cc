#include "datapath/kernel_forwarding.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "datapath/kernel_key.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

LogModule log_module("kernel_forwarding");

// While offers come the worker looks every kPollMs; after kQuietPolls without any it sleeps until the next.
constexpr int kPollMs = 2;
constexpr int kQuietPolls = 500;
constexpr int kSecondMs = 1000;
// A slot whose receive queue is never found empty is opened after this time.
constexpr uint64_t kOpenAfterMs = 100;
// What was withdrawn is tidied up this often at most: it costs a grace period of the kernel.
constexpr uint64_t kTidyMs = 100;
// How many entries are looked at with the table's mutex held.
constexpr size_t kChunk = 1024;

uint64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace

// Waker
// ---------------------------------------------------------------------------------------------------------------------

Waker::Waker() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
Waker::~Waker() { close(event_fd_); }

void Waker::Signal() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(event_fd_, &one, sizeof one);
}

void Waker::Sleep(int timeout_ms, bool deep) {
  if (deep) asleep_.store(true, std::memory_order_release);
  pollfd event{.fd = event_fd_, .events = POLLIN, .revents = 0};
  poll(&event, 1, timeout_ms);
  asleep_.store(false, std::memory_order_relaxed);
  uint64_t value;
  [[maybe_unused]] ssize_t got = read(event_fd_, &value, sizeof value);
}

// KernelShare
// ---------------------------------------------------------------------------------------------------------------

// What the kernel forwards of one flow: its slots, and the counts of those that are no more.
class KernelForwarding::KernelShare final : public OffloadedFlow {
 public:
  explicit KernelShare(KernelForwarding& owner) : owner_(owner) {}

  void Withdraw(bool gone) override {
    std::vector<uint32_t> slots;
    {
      std::lock_guard lock(mutex_);
      slots = slots_;
    }
    for (uint32_t slot : slots) owner_.Withdraw(slot, owner_.withdrawn_);
    if (!gone) return;
    for (uint32_t slot : slots) {
      Retire(slot);
      owner_.entries_[slot].share = nullptr;
    }
  }

  void AddStats(FlowStats& sum) const override {
    std::lock_guard lock(mutex_);
    Add(sum, retired_);
    for (uint32_t slot : slots_) Add(sum, owner_.flows_->Read(slot));
  }

  void AddSlot(uint32_t slot) {
    std::lock_guard lock(mutex_);
    slots_.push_back(slot);
  }
  // The slot counts no more for this flow; what it has counted stays.
  void Retire(uint32_t slot) {
    std::lock_guard lock(mutex_);
    KernelFlows::FlowCounters last = owner_.flows_->Read(slot);
    retired_.packets += last.packets;
    retired_.frames += last.frames;
    retired_.bytes += last.bytes;
    retired_.last_used_ms = std::max(retired_.last_used_ms, last.last_used_ms);
    retired_.tcp_flags |= last.tcp_flags;
    std::erase(slots_, slot);
  }

 private:
  static void Add(FlowStats& sum, const KernelFlows::FlowCounters& counters) {
    sum.packets += counters.packets;
    sum.wire_frames += counters.frames;
    sum.bytes += counters.bytes;
    if (counters.last_used_ms > sum.last_used_ms) sum.last_used_ms.Add(counters.last_used_ms - sum.last_used_ms);
    sum.tcp_flags.Add(counters.tcp_flags & ~sum.tcp_flags.Get());
  }

  KernelForwarding& owner_;  // not touched any more once the flow is gone
  mutable std::mutex mutex_;
  std::vector<uint32_t> slots_;
  KernelFlows::FlowCounters retired_;
};

// Main thread
// ---------------------------------------------------------------------------------------------------------------

KernelForwarding::~KernelForwarding() {
  if (worker_.joinable()) {
    stop_.store(true, std::memory_order_release);
    waker_.Wake();
    worker_.join();
  }
  // Flows may outlive us.
  std::lock_guard lock(table_.mutex());
  for (uint32_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].state == Entry::State::kFree) continue;
    if (entries_[slot].share != nullptr) entries_[slot].share->Retire(slot);
  }
}

size_t KernelForwarding::KeyHash::operator()(const sluice_flow_key& key) const {
  return HashBytes(&key, sizeof(key), 0);
}

void KernelForwarding::AddPort(uint32_t number, Netdev& netdev) {
  if (!netdev.can_join_kernel_flows()) return;
  if (flows_ == nullptr && flows_status_.ok()) {
    auto flows = KernelFlows::Create();
    if (flows.ok()) {
      flows_ = *std::move(flows);
      worker_ = std::thread([this] { Run(); });
    } else {
      flows_status_ = flows.status();
    }
  }
  absl::Status joined =
      netdev.JoinKernelFlows(flows_ != nullptr ? absl::StatusOr<KernelFlows*>(flows_.get()) : flows_status_);
  if (!joined.ok()) {
    SLUICE_LOG(log_module, kInfo, "{}: the kernel forwards nothing: {}", netdev.name(), Message(joined));
    return;
  }
  std::lock_guard lock(table_.mutex());
  ports_[number] = netdev.kernel_port();
}

void KernelForwarding::RemovePort(uint32_t number) {
  std::lock_guard lock(table_.mutex());
  auto it = ports_.find(number);
  if (it == ports_.end()) return;
  uint32_t index = it->second->index();
  ports_.erase(it);
  for (uint32_t slot = 0; slot < entries_.size(); ++slot) {
    const Entry& entry = entries_[slot];
    if (entry.state != Entry::State::kFree && (entry.ingress == index || entry.egress == index)) {
      Withdraw(slot, withdrawn_);
    }
  }
}

FlowOffers* KernelForwarding::OffersOf(size_t slot) {
  std::lock_guard lock(offers_mutex_);
  std::unique_ptr<FlowOffers>& offers = offers_[slot];
  if (offers == nullptr) offers = std::make_unique<FlowOffers>(waker_);
  return offers.get();
}

KernelForwarding::Report KernelForwarding::GetReport() {
  Report report;
  {
    std::lock_guard lock(offers_mutex_);
    for (const auto& [slot, offers] : offers_) report.lost += offers->lost();
  }
  {
    std::lock_guard lock(table_.mutex());
    report.flows = by_key_.size() - dying_.size();
    report.installed = installed_;
    report.late = late_;
    report.idle = idle_;
    report.withdrawn = withdrawn_;
    report.refused = refused_;
    report.full = full_;
  }
  report.forwarded = Totals();
  return report;
}

// Worker
// --------------------------------------------------------------------------------------------------------------------

void KernelForwarding::Run() {
  pthread_setname_np(pthread_self(), "kernel_flows");
  int quiet = kQuietPolls;
  uint64_t last_second = NowMs();
  uint64_t last_tidy = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    bool deep = quiet >= kQuietPolls;
    waker_.Sleep(deep ? kSecondMs : kPollMs, deep);
    quiet = TakeOffers() ? 0 : std::min(quiet + 1, kQuietPolls);
    OpenLate();
    uint64_t now = NowMs();
    if (now - last_second >= kSecondMs) {
      last_second = now;
      TakeBackIdle();
    }
    if (now - last_tidy >= kTidyMs) {
      last_tidy = now;
      TidyUp();
    }
  }
}

bool KernelForwarding::TakeOffers() {
  std::lock_guard offers_lock(offers_mutex_);
  bool any = false;
  for (auto& [slot, offers] : offers_) {
    for (size_t i = 0; i < kChunk; ++i) {
      FlowOffer* offer = offers->Front();
      if (offer == nullptr) break;
      any = true;
      {
        std::lock_guard lock(table_.mutex());
        Install(*offer, *offers);
      }
      offers->Pop();
    }
  }
  return any;
}

const KernelPort* KernelForwarding::FindPort(uint32_t number) const {
  auto it = ports_.find(number);
  return it != ports_.end() && it->second->is_open() ? it->second : nullptr;
}

void KernelForwarding::Install(const FlowOffer& offer, FlowOffers& offers) {
  DpFlow* flow = table_.FindLocked(offer.ufid);
  std::optional<uint32_t> output;
  if (flow != nullptr && flow->Matches(offer.key) && KernelKeyDecides(flow->mask(), offer.key)) {
    output = OnlyOutput(flow->actions());
  }
  const KernelPort* ingress = FindPort(offer.key.in_port);
  const KernelPort* egress = output ? FindPort(*output) : nullptr;
  if (ingress == nullptr || egress == nullptr || ingress == egress || ingress->netns() != egress->netns()) {
    ++refused_;
    return;
  }
  auto key = MakeKernelKey(offer.key, ingress->index());
  if (!key) {
    ++refused_;
    return;
  }
  if (by_key_.contains(*key)) return;  // offered again before the first one took effect
  auto slot = flows_->Insert(*key, ingress->index(), egress->index());
  if (!slot.ok()) {
    ++full_;
    return;
  }
  auto* share = static_cast<KernelShare*>(flow->offloaded());
  if (share == nullptr) {
    auto made = std::make_unique<KernelShare>(*this);
    share = made.get();
    flow->set_offloaded(std::move(made));
  }
  share->AddSlot(*slot);
  if (entries_.size() <= *slot) entries_.resize(*slot + 1);
  entries_[*slot] = {.state = Entry::State::kWaiting,
                     .ingress = ingress->index(),
                     .egress = egress->index(),
                     .since_ms = NowMs(),
                     .share = share,
                     .key = *key};
  by_key_[*key] = *slot;
  waiting_.push_back(*slot);
  ++installed_;
  offers.Answer(*flows_, *slot, offer.queue);
}

void KernelForwarding::OpenLate() {
  std::lock_guard lock(table_.mutex());
  uint64_t now = NowMs();
  std::erase_if(waiting_, [&](uint32_t slot) {
    Entry& entry = entries_[slot];
    if (entry.state != Entry::State::kWaiting) return true;
    if (flows_->IsWaiting(slot)) {
      if (now - entry.since_ms < kOpenAfterMs) return false;
      if (flows_->Passed(slot) > 0 && !flows_->IsDone(slot)) ++late_;
    }
    flows_->Open(slot);
    entry.state = Entry::State::kLive;
    return true;
  });
}

void KernelForwarding::Withdraw(uint32_t slot, Counter& reason) {
  Entry& entry = entries_[slot];
  if (entry.state == Entry::State::kFree || entry.state == Entry::State::kDying) return;
  flows_->Close(slot);
  entry.state = Entry::State::kDying;
  dying_.push_back(slot);
  ++reason;
}

void KernelForwarding::TakeBackIdle() {
  uint64_t now = NowMs();
  constexpr uint64_t kTimeoutMs = std::chrono::milliseconds(kIdleTimeout).count();
  for (size_t begin = 0;; begin += kChunk) {
    std::lock_guard lock(table_.mutex());
    size_t end = std::min(begin + kChunk, entries_.size());
    for (size_t slot = begin; slot < end; ++slot) {
      const Entry& entry = entries_[slot];
      if (entry.state != Entry::State::kLive) continue;
      uint64_t last_used = flows_->Read(static_cast<uint32_t>(slot)).last_used_ms;
      if (now - std::min(now, std::max(last_used, entry.since_ms)) < kTimeoutMs) continue;
      Withdraw(static_cast<uint32_t>(slot), idle_);
    }
    if (end == entries_.size()) return;
  }
}

// What was withdrawn is forgotten by the kernel; after a grace period its counts are final and its place is free.
void KernelForwarding::TidyUp() {
  std::vector<uint32_t> dying;
  std::vector<uint32_t> gone_ports = flows_->TakeGonePorts();
  {
    std::lock_guard lock(table_.mutex());
    dying = dying_;
    for (uint32_t slot : dying) flows_->EraseKey(entries_[slot].key);
  }
  if (dying.empty() && gone_ports.empty()) return;
  WaitForBpfPrograms();
  std::lock_guard lock(table_.mutex());
  for (uint32_t slot : dying) {
    Entry& entry = entries_[slot];
    if (entry.share != nullptr) entry.share->Retire(slot);
    by_key_.erase(entry.key);
    entry = Entry{};
    flows_->FreeSlot(slot);
  }
  dying_.erase(dying_.begin(), dying_.begin() + static_cast<ptrdiff_t>(dying.size()));
  flows_->FreePorts(gone_ports);
}

}  // namespace sluice
