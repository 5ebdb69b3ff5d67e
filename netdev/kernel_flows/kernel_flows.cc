#include "netdev/kernel_flows/kernel_flows.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>

#include "lib/base/status.h"

namespace sluice {
namespace {

// sluice_flow_slot::open.
constexpr uint32_t kClosed = SLUICE_SLOT_CLOSED;
constexpr uint32_t kWaiting = SLUICE_SLOT_WAITING;
constexpr uint32_t kOpen = SLUICE_SLOT_OPEN;

constexpr size_t kSlotsBytes = sizeof(sluice_flow_slot) * SLUICE_MAX_KERNEL_FLOWS;
constexpr size_t kGatesBytes = sizeof(sluice_port_gate) * SLUICE_MAX_KERNEL_PORTS;

absl::StatusOr<void*> MapMemory(const FileDescriptor& map, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "kernel flows: mapping the memory shared with the kernel");
  return memory;
}

std::atomic_ref<uint32_t> StateOf(sluice_flow_slot& slot) { return std::atomic_ref<uint32_t>(slot.open); }

template <typename Word>
Word Load(Word& word) {
  return std::atomic_ref<Word>(word).load(std::memory_order_relaxed);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelFlows>> KernelFlows::Create() {
  std::unique_ptr<KernelFlows> flows(new KernelFlows());
  auto maps = CreateBpfMaps();
  if (!maps.ok()) return maps.status();
  flows->maps_ = *std::move(maps);
  auto slots = MapMemory(flows->maps_.slots, kSlotsBytes);
  if (!slots.ok()) return slots.status();
  flows->slots_ = static_cast<sluice_flow_slot*>(*slots);
  auto gates = MapMemory(flows->maps_.ports, kGatesBytes);
  if (!gates.ok()) return gates.status();
  flows->gates_ = static_cast<sluice_port_gate*>(*gates);
  return flows;
}

KernelFlows::~KernelFlows() {
  if (slots_ != nullptr) munmap(slots_, kSlotsBytes);
  if (gates_ != nullptr) munmap(gates_, kGatesBytes);
}

// Ports
// ---------------------------------------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<KernelPort>> KernelFlows::AddPort(int verdict_map, uint64_t netns) {
  std::lock_guard lock(mutex_);
  if (free_ports_.empty() && next_port_ == SLUICE_MAX_KERNEL_PORTS) {
    return ResourceExhausted("kernel flows: {} ports take part already", SLUICE_MAX_KERNEL_PORTS);
  }
  uint32_t index = free_ports_.empty() ? next_port_ : free_ports_.back();
  auto programs = LoadBpfPrograms(maps_, verdict_map, index);
  if (!programs.ok()) return programs.status();
  if (free_ports_.empty()) {
    ++next_port_;
  } else {
    free_ports_.pop_back();
  }
  return std::unique_ptr<KernelPort>(new KernelPort(*this, index, netns, *std::move(programs)));
}

void KernelFlows::RemovePort(uint32_t port) {
  std::lock_guard lock(mutex_);
  gone_ports_.push_back(port);
}

std::vector<uint32_t> KernelFlows::TakeGonePorts() {
  std::lock_guard lock(mutex_);
  return std::exchange(gone_ports_, {});
}

void KernelFlows::FreePorts(const std::vector<uint32_t>& ports) {
  std::lock_guard lock(mutex_);
  auto is_gone = [&ports](uint32_t port) { return std::find(ports.begin(), ports.end(), port) != ports.end(); };
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    auto [ingress, egress] = it->first;
    if (!is_gone(ingress) && !is_gone(egress)) {
      ++it;
      continue;
    }
    sluice_lane last = ReadLane(maps_, it->second);
    EraseLane(maps_, it->second);
    retired_total_ += last;
    retired_[ingress].rx += last;
    retired_[egress].tx += last;
    it = lanes_.erase(it);
  }
  for (uint32_t port : ports) retired_.erase(port);
  free_ports_.insert(free_ports_.end(), ports.begin(), ports.end());
}

absl::StatusOr<uint32_t> KernelFlows::LaneOf(Pair pair) {
  std::lock_guard lock(mutex_);
  if (auto it = lanes_.find(pair); it != lanes_.end()) return it->second;
  uint32_t lane = next_lane_;
  SLUICE_RETURN_IF_ERROR(CreateLane(maps_, lane));
  ++next_lane_;
  lanes_[pair] = lane;
  return lane;
}

KernelFlows::PortCounters KernelFlows::CountersOf(uint32_t port) {
  std::lock_guard lock(mutex_);
  PortCounters counters;
  if (auto it = retired_.find(port); it != retired_.end()) counters = it->second;
  for (const auto& [pair, lane] : lanes_) {
    if (pair.first != port && pair.second != port) continue;
    sluice_lane values = ReadLane(maps_, lane);
    if (pair.first == port) counters.rx += values;
    if (pair.second == port) counters.tx += values;
  }
  return counters;
}

sluice_lane KernelFlows::Totals() {
  std::lock_guard lock(mutex_);
  sluice_lane sum = retired_total_;
  for (const auto& [pair, lane] : lanes_) sum += ReadLane(maps_, lane);
  return sum;
}

KernelPort::~KernelPort() {
  Close();
  flows_.RemovePort(index_);
}

absl::StatusOr<FileDescriptor> KernelPort::ForwardProgram() const {
  FileDescriptor copy(dup(programs_.forward.get()));
  if (!copy) return ErrnoStatus(errno, "kernel flows: the program");
  return copy;
}

void KernelPort::Open(uint32_t ifindex, uint32_t mtu) {
  std::atomic_ref(flows_.gates_[index_]).store(SLUICE_PORT_GATE(ifindex, mtu), std::memory_order_seq_cst);
}

void KernelPort::Close() { std::atomic_ref(flows_.gates_[index_]).store(0, std::memory_order_seq_cst); }

bool KernelPort::is_open() const { return Load(flows_.gates_[index_]) != 0; }

// Slots
// ---------------------------------------------------------------------------------------------------------------

absl::StatusOr<uint32_t> KernelFlows::Insert(const sluice_flow_key& key, uint32_t ingress, uint32_t egress) {
  if (free_slots_.empty() && next_slot_ == kMaxFlows) {
    return ResourceExhausted("kernel flows: all {} places are taken", kMaxFlows);
  }
  auto lane = LaneOf({ingress, egress});
  if (!lane.ok()) return lane.status();
  uint32_t index = free_slots_.empty() ? next_slot_ : free_slots_.back();
  sluice_flow_slot& slot = slots_[index];
  slot.egress = egress;
  slot.lane = *lane;
  slot.tcp_flags = 0;
  slot.passed = 0;
  slot.done = SLUICE_NOTHING_DONE;
  slot.packets = slot.frames = slot.bytes = slot.last_used_ns = 0;
  StateOf(slot).store(kWaiting, std::memory_order_release);
  if (int error = InsertFlowKey(maps_, key, index); error != 0) {
    StateOf(slot).store(kClosed, std::memory_order_relaxed);
    return ErrnoStatus(error, "kernel flows: inserting a key");
  }
  if (free_slots_.empty()) {
    ++next_slot_;
  } else {
    free_slots_.pop_back();
  }
  return index;
}

void KernelFlows::FreeSlot(uint32_t slot) { free_slots_.push_back(slot); }

void KernelFlows::Open(uint32_t slot) {
  uint32_t expected = kWaiting;
  StateOf(slots_[slot]).compare_exchange_strong(expected, kOpen, std::memory_order_acq_rel);
}

void KernelFlows::Close(uint32_t slot) { StateOf(slots_[slot]).store(kClosed, std::memory_order_seq_cst); }

bool KernelFlows::IsWaiting(uint32_t slot) const {
  return StateOf(slots_[slot]).load(std::memory_order_relaxed) == kWaiting && Load(slots_[slot].packets) == 0;
}

uint32_t KernelFlows::Passed(uint32_t slot) const {
  return std::atomic_ref(slots_[slot].passed).load(std::memory_order_acquire);
}

bool KernelFlows::IsDone(uint32_t slot) const { return Passed(slot) == Load(slots_[slot].done); }

void KernelFlows::SetDone(uint32_t slot, uint32_t passed) {
  std::atomic_ref(slots_[slot].done).store(passed, std::memory_order_release);
}

KernelFlows::FlowCounters KernelFlows::Read(uint32_t index) const {
  sluice_flow_slot& slot = slots_[index];
  return {.packets = Load(slot.packets),
          .frames = Load(slot.frames),
          .bytes = Load(slot.bytes),
          .last_used_ms = Load(slot.last_used_ns) / 1'000'000,
          .tcp_flags = static_cast<uint16_t>(Load(slot.tcp_flags))};
}

}  // namespace sluice
