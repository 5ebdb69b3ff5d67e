#include "datapath/datapath.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "datapath/parallel.h"
#include "lib/base/log.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

LogModule log_module("dpif_netdev");

std::string ThreadName(int core) { return fmt::format("pmd-c{:02}", core); }

// A thread that wanders between processors reorders: what it sent before waits in the old one's backlog, what it sends
// next is in the new one's. So without a mask, too, it stays where it is, on the first processor that we may use.
std::vector<int> CoreList(const std::optional<CpuSet>& cores) {
  if (cores) return {cores->begin(), cores->end()};
  return {*CpuSet::Allowed().begin()};
}

void AddToConservation(Conservation& sum, const Port& port) {
  PortStats stats = port.UserSpaceStats();
  sum.received += stats.rx.frames + stats.rx_device_drops;
  sum.copies += stats.copies;
  sum.sent += stats.tx.frames;
  sum.consumed += stats.consumed;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    sum.drops.frames[i] += stats.rx_drops.frames[i] + stats.tx_drops.frames[i];
  }
}

}  // namespace

absl::Status CheckPmdCores(const std::optional<CpuSet>& cores) {
  if (!cores) return absl::OkStatus();
  CpuSet allowed = CpuSet::Allowed();
  for (int core : *cores) {
    if (!allowed.Contains(core)) {
      return InvalidArgument("pmd-cpu-mask {}: processor {} is not there or not online, expected processors of {}",
                             cores->ToMask(), core, allowed.ToList());
    }
  }
  return absl::OkStatus();
}

// Threads
// -----------------------------------------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Datapath>> Datapath::Create(std::string name, const DatapathConfig& config) {
  std::unique_ptr<Datapath> datapath(new Datapath(std::move(name), config));
  SLUICE_RETURN_IF_ERROR(datapath->SetPmdCores(config.pmd_cores));
  return datapath;
}

Datapath::~Datapath() {
  std::vector<Port*> leaving;
  for (auto& [number, port] : ports_) leaving.push_back(port.get());
  TakeDown(leaving);
  pmds_.clear();
}

absl::StatusOr<Datapath::Pmd> Datapath::StartThread(size_t slot, int core) {
  PmdThread::Options options{.slot = slot,
                             .core = core,
                             .name = ThreadName(core),
                             .small_buffers = config_.small_buffers,
                             .large_buffers = config_.large_buffers};
  flows_.SetThreadSlots(slot + 1);
  auto thread = PmdThread::Start(options, flows_, *upcalls_);
  if (!thread.ok()) return InvalidArgument("datapath {}: {}", name_, Message(thread.status()));
  Pmd pmd;
  pmd.thread = *std::move(thread);
  pmd.thread->Call([&, offers = kernel_forwarding_.OffersOf(slot)] { pmd.thread->set_offers(offers); });
  for (auto& [number, port] : ports_) {
    if (absl::Status status = port->OpenSlot(slot); !status.ok()) {
      for (auto& [opened, open_port] : ports_) open_port->CloseSlot(slot);
      return status;
    }
  }
  pmd.thread->Call([&] {
    for (auto& [number, port] : ports_) pmd.thread->SetPort(number, &port->slot(slot));
  });
  return pmd;
}

// The thread polls nothing any more.
void Datapath::StopThread(Pmd& pmd) {
  pmd.thread->Call([&] {
    for (auto& [number, port] : ports_) pmd.thread->SetPort(number, nullptr);
  });
  for (auto& [number, port] : ports_) port->CloseSlot(pmd.thread->slot());
  pmd.thread.reset();
}

size_t Datapath::FreeSlot(const std::vector<Pmd>& starting) const {
  auto taken_in = [](const std::vector<Pmd>& pmds, size_t slot) {
    return std::any_of(pmds.begin(), pmds.end(), [slot](const Pmd& pmd) { return pmd.thread->slot() == slot; });
  };
  size_t slot = 0;
  while (taken_in(pmds_, slot) || taken_in(starting, slot)) ++slot;
  return slot;
}

absl::Status Datapath::SetPmdCores(const std::optional<CpuSet>& cores) {
  SLUICE_RETURN_IF_ERROR(CheckPmdCores(cores));
  std::vector<int> wanted = CoreList(cores);
  std::vector<Pmd> starting;
  for (int core : wanted) {
    if (std::any_of(pmds_.begin(), pmds_.end(), [&](const Pmd& pmd) { return pmd.thread->core() == core; })) continue;
    auto pmd = StartThread(FreeSlot(starting), core);
    if (!pmd.ok()) {
      for (Pmd& started : starting) StopThread(started);
      return pmd.status();
    }
    starting.push_back(*std::move(pmd));
  }
  config_.pmd_cores = cores;

  std::vector<Pmd> leaving;
  for (Pmd& pmd : pmds_) {
    bool stays = std::find(wanted.begin(), wanted.end(), pmd.thread->core()) != wanted.end();
    (stays ? starting : leaving).push_back(std::move(pmd));
  }
  pmds_ = std::move(starting);
  std::sort(pmds_.begin(), pmds_.end(), [](const Pmd& a, const Pmd& b) { return a.thread->core() < b.thread->core(); });
  Assign();
  for (Pmd& pmd : leaving) StopThread(pmd);
  return absl::OkStatus();
}

void Datapath::StopPolling(const std::vector<PortRxq*>& queues) {
  std::map<PmdThread*, std::vector<PortRxq*>> by_thread;
  for (PortRxq* queue : queues) {
    if (queue->thread != nullptr) by_thread[queue->thread].push_back(queue);
  }
  for (auto& [thread, polled] : by_thread) {
    thread->Call([&, t = thread] {
      for (PortRxq* queue : polled) t->RemoveRxq(&queue->polled);
    });
    for (PortRxq* queue : polled) queue->thread = nullptr;
  }
}

size_t Datapath::Assign() {
  std::vector<PortRxq*> queues;
  std::vector<Port*> owners;
  std::vector<RxqLoad> loads;
  for (auto& [number, port] : ports_) {
    for (auto& rxq : port->rxqs()) {
      queues.push_back(rxq.get());
      owners.push_back(port.get());
      loads.push_back({.port = port->name(),
                       .queue = rxq->polled.queue,
                       .cycles = rxq->history.Recent(rxq->polled.busy_cycles),
                       .core = rxq->pinned_core});
    }
  }
  std::vector<int> cores;
  for (const Pmd& pmd : pmds_) cores.push_back(pmd.thread->core());
  RxqPlan plan = ScheduleRxqs(loads, cores, config_.assignment, config_.isolate);
  for (const std::string& warning : plan.warnings) SLUICE_LOG(log_module, kWarn, "{}: {}", name_, warning);
  isolated_ = plan.isolated;

  // A queue that moves is let go by the old thread before the new one takes it; what arrives meanwhile waits in it.
  std::vector<PortRxq*> moving;
  std::map<PmdThread*, std::vector<PortRxq*>> arriving;
  for (size_t i = 0; i < queues.size(); ++i) {
    PmdThread* thread = pmds_[plan.thread_of[i]].thread.get();
    if (queues[i]->thread == thread) continue;
    moving.push_back(queues[i]);
    arriving[thread].push_back(queues[i]);
  }
  StopPolling(moving);
  for (size_t i = 0; i < queues.size(); ++i) {
    if (queues[i]->thread != nullptr) continue;  // its thread is using it
    queues[i]->polled.port = &owners[i]->slot(pmds_[plan.thread_of[i]].thread->slot());
  }
  for (auto& [thread, taken] : arriving) {
    thread->Call([&, t = thread] {
      for (PortRxq* queue : taken) t->AddRxq(&queue->polled);
    });
    for (PortRxq* queue : taken) queue->thread = thread;
  }
  return moving.size();
}

size_t Datapath::Rebalance() { return Assign(); }

void Datapath::SetAssignment(RxqAssignment assignment, bool isolate) {
  config_.assignment = assignment;
  config_.isolate = isolate;
  Assign();
}

void Datapath::SetTso(bool enabled) {
  config_.tso = enabled;
  for (auto& [number, port] : ports_) port->ApplyTso(enabled);
  if (!enabled) kernel_forwarding_.Settle();
}

void Datapath::SetKernelForwarding(bool enabled) {
  config_.kernel_forwarding = enabled;
  for (auto& [number, port] : ports_) port->ApplyKernelForwarding(enabled);
  if (!enabled) kernel_forwarding_.Settle();
}

void Datapath::ClearPmdStats() {
  for (Pmd& pmd : pmds_) {
    pmd.cleared = pmd.thread->counters();
    pmd.pipeline_cleared = pmd.thread->pipeline_counters();
  }
}

void Datapath::Tick() {
  elapsed_.Sample(CycleNow() - created_);
  for (Pmd& pmd : pmds_) {
    const PmdThread::Counters& counters = pmd.thread->counters();
    pmd.idle.Sample(counters.idle_cycles);
    pmd.thread->Call([&] { pmd.thread->RefreshDescriptors(); });
  }
  for (auto& [number, port] : ports_) {
    for (auto& rxq : port->rxqs()) rxq->history.Sample(rxq->polled.busy_cycles);
  }
  flows_.Optimize();
}

void Datapath::PollLinks() {
  for (auto& [number, port] : ports_) {
    if (port->netdev().needs_link_polling()) port->netdev().OnLinkChange();
  }
}

void Datapath::SetUpcallHandler(UpcallHandler* handler) {
  upcalls_ = handler != nullptr ? handler : &drop_handler_;
  for (Pmd& pmd : pmds_) {
    pmd.thread->Call([&] { pmd.thread->set_upcalls(*upcalls_); });
  }
}

void Datapath::WhilePaused(const std::function<void()>& function) {
  std::atomic<size_t> waiting{0};
  std::atomic<bool> go_on{false};
  const std::function<void()> pause = [&] {
    waiting.fetch_add(1, std::memory_order_acq_rel);
    waiting.notify_one();
    go_on.wait(false, std::memory_order_acquire);
  };
  for (Pmd& pmd : pmds_) pmd.thread->StartCall(pause);
  for (size_t seen = 0; seen < pmds_.size(); seen = waiting.load(std::memory_order_acquire)) {
    waiting.wait(seen, std::memory_order_acquire);
  }
  function();
  go_on.store(true, std::memory_order_release);
  go_on.notify_all();
  for (Pmd& pmd : pmds_) pmd.thread->FinishCall();
}

Datapath::Lookups Datapath::CountLookups() const {
  Lookups lookups;
  for (const Pmd& pmd : pmds_) {
    const Pipeline::Counters& counters = pmd.thread->pipeline_counters();
    lookups.hit += counters.cache_hits + counters.table_hits;
    lookups.missed += counters.misses;
  }
  return lookups;
}

Conservation Datapath::GetConservation() {
  Conservation sum = gone_;
  // The kernel does not pause: what it forwarded is read once for both sides.
  const sluice_lane kernel = kernel_forwarding_.Totals();
  sum.received += kernel.frames + kernel.over_mtu + kernel.no_device;
  sum.sent += kernel.frames;
  sum.drops.Add(DropReason::kTxOverMtu, kernel.over_mtu);
  sum.drops.Add(DropReason::kTxPortDown, kernel.no_device);
  WhilePaused([&] {
    for (const auto& [number, port] : ports_) AddToConservation(sum, *port);
  });
  return sum;
}

// Ports
// -------------------------------------------------------------------------------------------------------------------

Port* Datapath::FindPort(uint32_t number) const {
  auto it = ports_.find(number);
  return it == ports_.end() ? nullptr : it->second.get();
}

Port* Datapath::FindPort(std::string_view name) const {
  for (const auto& [number, port] : ports_) {
    if (port->name() == name) return port.get();
  }
  return nullptr;
}

PortNames Datapath::MakePortNames() const {
  return {.to_number = [this](std::string_view name) -> absl::StatusOr<uint32_t> {
            if (const Port* port = FindPort(name)) return port->number();
            return NotFound("datapath {} has no port {}", name_, name);
          },
          .to_name =
              [this](uint32_t number) {
                const Port* port = FindPort(number);
                return port != nullptr ? port->name() : std::to_string(number);
              }};
}

absl::StatusOr<uint32_t> Datapath::PickNumber(const std::string& port_name, std::optional<uint32_t> wanted) const {
  if (wanted) {
    if (*wanted > kMaxPorts) {
      return InvalidArgument("port {}: number {} is too large, expected 0 to {}", port_name, *wanted, kMaxPorts);
    }
    if (Port* port = FindPort(*wanted)) {
      return AlreadyExists("port {}: number {} belongs to port {}", port_name, *wanted, port->name());
    }
    return *wanted;
  }
  // Round the circle of numbers, so that a number just given back is not soon taken for its old port.
  for (uint32_t step = 0; step < kMaxPorts; ++step) {
    uint32_t number = (next_number_ - 1 + step) % kMaxPorts + 1;
    if (FindPort(number) == nullptr) return number;
  }
  return ResourceExhausted("port {}: datapath {} has {} ports already", port_name, name_, kMaxPorts);
}

absl::Status Datapath::OpenSlots(Port& port) {
  for (const Pmd& pmd : pmds_) SLUICE_RETURN_IF_ERROR(port.OpenSlot(pmd.thread->slot()));
  return absl::OkStatus();
}

absl::StatusOr<Port*> Datapath::MakePort(const PortRequest& request, PortConfig config,
                                         std::unique_ptr<Netdev> netdev) {
  auto number = PickNumber(request.name, request.number);
  if (!number.ok()) return number.status();
  auto port = std::make_unique<Port>(*number, std::move(netdev), request.options, std::move(config));
  port->ApplyTso(config_.tso);
  SLUICE_RETURN_IF_ERROR(OpenSlots(*port));
  kernel_forwarding_.AddPort(*number, port->netdev());
  port->ApplyKernelForwarding(config_.kernel_forwarding);
  if (config_.link_monitor != nullptr) {
    port->set_watch(config_.link_monitor->WatchName(request.name, [this, raw = port.get()] { OnLinkChange(*raw); }));
  }
  if (!request.number) next_number_ = *number % kMaxPorts + 1;
  return (ports_[*number] = std::move(port)).get();
}

struct Datapath::Opening {
  NetdevOptions device_options;
  PortConfig config;
  absl::StatusOr<std::unique_ptr<Netdev>> netdev = nullptr;
};

// The kernel takes its time for each device: all at once.
std::vector<Datapath::Opening> Datapath::OpenDevices(absl::Span<const PortRequest> requests) const {
  std::vector<Opening> openings(requests.size());
  std::set<std::string_view> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    const PortRequest& request = requests[i];
    openings[i].device_options = request.options;
    absl::Status status = TakePortConfig(request.name, openings[i].device_options, openings[i].config);
    if (FindPort(request.name) != nullptr || !names.insert(request.name).second) {
      status = AlreadyExists("port {} is in datapath {} already", request.name, name_);
    }
    if (status.ok() && request.number) status = PickNumber(request.name, request.number).status();
    if (!status.ok()) openings[i].netdev = status;
  }
  ParallelFor(requests.size(), [&](size_t i) {
    if (openings[i].netdev.ok()) {
      openings[i].netdev = OpenNetdev(requests[i].name, requests[i].type, openings[i].device_options);
    }
  });
  return openings;
}

std::vector<absl::StatusOr<uint32_t>> Datapath::AddPorts(absl::Span<const PortRequest> requests) {
  std::vector<Opening> openings = OpenDevices(requests);
  std::vector<absl::StatusOr<uint32_t>> answers;
  std::vector<Port*> made;
  for (size_t i = 0; i < requests.size(); ++i) {
    Opening& opening = openings[i];
    if (!opening.netdev.ok()) {
      answers.emplace_back(opening.netdev.status());
      continue;
    }
    auto port = MakePort(requests[i], std::move(opening.config), *std::move(opening.netdev));
    if (!port.ok()) {
      answers.emplace_back(port.status());
      continue;
    }
    answers.emplace_back((*port)->number());
    made.push_back(*port);
  }
  if (made.empty()) return answers;
  for (Pmd& pmd : pmds_) {
    pmd.thread->Call([&] {
      for (Port* port : made) pmd.thread->SetPort(port->number(), &port->slot(pmd.thread->slot()));
    });
  }
  Assign();
  return answers;
}

absl::StatusOr<uint32_t> Datapath::AddPort(const std::string& name, std::string_view type, const NetdevOptions& options,
                                           std::optional<uint32_t> number) {
  PortRequest request{.name = name, .type = std::string(type), .options = options, .number = number};
  return std::move(AddPorts({&request, 1})[0]);
}

void Datapath::Withdraw(absl::Span<Port* const> ports) {
  std::vector<PortRxq*> queues;
  for (Port* port : ports) {
    port->SetKernelForwarding(false);
    kernel_forwarding_.RemovePort(port->number());
    for (auto& rxq : port->rxqs()) queues.push_back(rxq.get());
  }
  kernel_forwarding_.Settle();
  StopPolling(queues);
  for (Pmd& pmd : pmds_) {
    pmd.thread->Call([&] {
      for (Port* port : ports) pmd.thread->SetPort(port->number(), nullptr);
    });
  }
  for (Port* port : ports) AddToConservation(gone_, *port);
}

void Datapath::TakeDown(absl::Span<Port* const> ports) {
  Withdraw(ports);
  std::vector<std::unique_ptr<Port>> closing;
  for (Port* port : ports) {
    port->set_watch({});  // the monitor knows only this thread
    closing.push_back(std::move(ports_.extract(port->number()).mapped()));
  }
  Assign();
  ParallelFor(closing.size(), [&closing](size_t i) { closing[i].reset(); });
}

void Datapath::RemovePorts(absl::Span<const uint32_t> numbers) {
  std::set<Port*> leaving;
  for (uint32_t number : numbers) {
    if (Port* port = FindPort(number)) leaving.insert(port);
  }
  if (!leaving.empty()) TakeDown(std::vector<Port*>(leaving.begin(), leaving.end()));
}

absl::Status Datapath::RemovePort(uint32_t number) {
  if (FindPort(number) == nullptr) return NotFound("datapath {} has no port {}", name_, number);
  RemovePorts({&number, 1});
  return absl::OkStatus();
}

absl::Status Datapath::SetPortOptions(uint32_t number, const NetdevOptions& options) {
  Port* port = FindPort(number);
  if (port == nullptr) return NotFound("datapath {} has no port {}", name_, number);
  if (port->ChangesQueues(options)) {
    std::vector<PortRxq*> queues;
    for (auto& rxq : port->rxqs()) queues.push_back(rxq.get());
    StopPolling(queues);
  }
  absl::Status status = port->SetOptions(options);
  bool had_tso = port->tso();
  port->ApplyTso(config_.tso);
  if (had_tso && !port->tso()) kernel_forwarding_.Settle();
  Assign();
  return status;
}

void Datapath::OnLinkChange(Port& port) {
  port.netdev().OnLinkChange();
  // A device that came back may have come with other descriptors.
  for (auto& rxq : port.rxqs()) {
    if (rxq->thread == nullptr) continue;
    rxq->thread->Call([&] { rxq->thread->RefreshDescriptor(&rxq->polled); });
  }
}

}  // namespace sluice
