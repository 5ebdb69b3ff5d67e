#include "datapath/pmd_thread.h"

#include <pthread.h>

#include "lib/base/cpu_set.h"
#include "lib/base/cycle_clock.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

LogModule log_module("dpif_netdev");

// How deep a queue is read that feeds the coalescer; others are read one batch at a time.
constexpr size_t kCoalescingBurst = RxBurst::kCapacity;

}  // namespace

absl::StatusOr<std::unique_ptr<PmdThread>> PmdThread::Start(const Options& options, FlowTable& table,
                                                            UpcallHandler& upcalls) {
  auto pools = PacketPools::Create(options.small_buffers, options.large_buffers);
  if (!pools.ok()) return pools.status();
  auto poller = Poller::Create();
  if (!poller.ok()) return poller.status();
  std::unique_ptr<PmdThread> pmd(new PmdThread(options, table, upcalls, *std::move(pools), *std::move(poller)));
  pmd->thread_ = std::thread([raw = pmd.get()] { raw->Run(); });
  pmd->started_.wait(false, std::memory_order_acquire);
  if (!pmd->start_status_.ok()) return pmd->start_status_;
  return pmd;
}

PmdThread::PmdThread(const Options& options, FlowTable& table, UpcallHandler& upcalls, PacketPools pools,
                     std::unique_ptr<Poller> poller)
    : options_(options),
      pools_(std::move(pools)),
      poller_(std::move(poller)),
      pipeline_(table, options.slot, pools_, upcalls) {}

PmdThread::~PmdThread() {
  if (!stopping_) Call([this] { stopping_ = true; });
  thread_.join();
}

void PmdThread::Run() {
  pthread_setname_np(pthread_self(), options_.name.c_str());
  LogSetThreadName(options_.name);
  pools_.BindToThisThread();
  start_status_ = CpuSet({options_.core}).BindThisThread();
  bool run = start_status_.ok();
  stopping_ = !run;
  started_.store(true, std::memory_order_release);
  started_.notify_one();
  if (run) {
    RcuThread rcu;
    SLUICE_LOG(log_module, kDbg, "PMD thread started");
    Loop();
  }
  pools_.Unbind();
}

void PmdThread::StartCall(const std::function<void()>& function) {
  call_.store(&function, std::memory_order_release);
  poller_->Wake();
}

void PmdThread::FinishCall() {
  RcuOffline offline;
  const std::function<void()>* running = call_.load(std::memory_order_acquire);
  if (running != nullptr) call_.wait(running, std::memory_order_acquire);
}

void PmdThread::RunCall() {
  const std::function<void()>* function = call_.load(std::memory_order_acquire);
  if (function == nullptr) return;
  (*function)();
  call_.store(nullptr, std::memory_order_release);
  call_.notify_one();
}

void PmdThread::AddRxq(PolledRxq* queue) {
  queue->rxq->Attach(pools_);
  poller_->Add(queue);
}

void PmdThread::RemoveRxq(PolledRxq* queue) {
  poller_->Remove(queue);
  queue->rxq->Detach();
}

void PmdThread::Loop() {
  now_ = CycleNow();
  const uint64_t look_interval = NanosecondsToCycles(Poller::kLookInterval.count());
  uint64_t last_look = now_;
  while (!stopping_) {
    RcuQuiescent();
    if (call_.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
      RunCall();
      continue;
    }
    ++counters_.turns;
    if (PollActive()) {
      ++counters_.busy_turns;
      if (now_ - last_look < look_interval || poller_->all_active()) continue;
      poller_->Wait(false);
    } else if (poller_->may_sleep()) {
      Sleep();
    }
    last_look = now_;
  }
}

bool PmdThread::PollActive() {
  bool any = false;
  pipeline_.BeginTurn();
  for (size_t i = 0; i < poller_->active_count();) {
    if (Visit(poller_->active(i))) {
      poller_->KeepActive(i);
      any = true;
    } else if (poller_->Rest(i)) {
      continue;
    }
    ++i;
  }
  return any;
}

bool PmdThread::Visit(PolledRxq& queue) {
  PmdPort& port = *queue.port;
  bool coalesce = port.rx_gro() && port.tso();
  if (offers_ != nullptr) offers_->BeforeReceive(&queue);
  bool more = queue.rxq->Receive(burst_, coalesce ? kCoalescingBurst : PacketBatch::kCapacity);
  if (burst_.empty()) {
    if (offers_ != nullptr && !more) offers_->OnEmpty();
    uint64_t now = CycleNow();
    counters_.idle_cycles += now - now_;
    now_ = now;
    return more;
  }
  counters_.packets += burst_.size();
  ++counters_.bursts;
  pipeline_.Process(burst_, port, coalesce);
  uint64_t now = CycleNow();
  counters_.busy_cycles += now - now_;
  queue.busy_cycles += now - now_;
  now_ = now;
  return true;
}

void PmdThread::Sleep() {
  uint64_t start = CycleNow();
  counters_.idle_cycles += start - now_;
  {
    RcuOffline offline;
    poller_->Wait(true);
  }
  now_ = CycleNow();
  counters_.sleep_cycles += now_ - start;
  ++counters_.sleeps;
}

}  // namespace sluice
