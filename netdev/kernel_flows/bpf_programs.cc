#include "netdev/kernel_flows/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/log.h"
#include "lib/base/status.h"

// forward.bpf.c, compiled: the build names the object file.
asm(R"(
    .section .rodata
    .balign 8
    .global sluice_forward_object
    .global sluice_forward_object_end
sluice_forward_object:
    .incbin ")" SLUICE_FORWARD_OBJECT R"("
sluice_forward_object_end:
    .previous
)");
extern "C" const char sluice_forward_object[];
extern "C" const char sluice_forward_object_end[];

namespace sluice {
namespace {

LogModule log_module("kernel_flows");

constexpr const char* kNeeds = "needs CAP_BPF, CAP_NET_ADMIN and Linux 5.12";

struct ObjectCloser {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using ObjectPtr = std::unique_ptr<bpf_object, ObjectCloser>;

// The verifier's objections are long: to the log at debug level, line by line.
int LogLibbpf(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  std::string_view line(text);
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  SLUICE_LOG(log_module, kDbg, "{}", line);
  return 0;
}

absl::StatusOr<FileDescriptor> CreateMap(bpf_map_type type, const char* name, uint32_t key_size, uint32_t value_size,
                                         uint32_t entries, uint32_t flags) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
  FileDescriptor map(bpf_map_create(type, name, key_size, value_size, entries, &options));
  if (!map) return ErrnoStatus(errno, fmt::format("kernel flows: creating the map {} ({})", name, kNeeds));
  return map;
}

// Per-CPU values come one after the other, each rounded up to 8 bytes, which these are.
static_assert(sizeof(sluice_lane) % 8 == 0);
std::vector<sluice_lane> LanesOfProcessors() {
  int processors = libbpf_num_possible_cpus();
  return std::vector<sluice_lane>(processors > 0 ? static_cast<size_t>(processors) : 1);
}

absl::StatusOr<FileDescriptor> TakeProgram(const ObjectPtr& object, const char* name) {
  const bpf_program* program = bpf_object__find_program_by_name(object.get(), name);
  // Closing the object closes its descriptors.
  FileDescriptor copy(program == nullptr ? -1 : dup(bpf_program__fd(program)));
  if (!copy) return ErrnoStatus(errno, fmt::format("kernel flows: the program {}", name));
  return copy;
}

absl::Status UseMap(const ObjectPtr& object, const char* name, int fd) {
  bpf_map* map = bpf_object__find_map_by_name(object.get(), name);
  int error = map == nullptr ? -ENOENT : bpf_map__reuse_fd(map, fd);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(-error, fmt::format("kernel flows: using the map {}", name));
}

// The first variable of the read-only data, which is frozen when the object is loaded.
absl::Status SetThisPort(const ObjectPtr& object, uint32_t port) {
  bpf_map* map = bpf_object__find_map_by_name(object.get(), ".rodata");
  int error = map == nullptr ? -ENOENT : bpf_map__set_initial_value(map, &port, sizeof(port));
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(-error, "kernel flows: telling the programs their port");
}

}  // namespace

absl::StatusOr<BpfMaps> CreateBpfMaps() {
  static std::once_flag once;
  std::call_once(once, [] { libbpf_set_print(LogLibbpf); });
  BpfMaps maps;
  struct {
    FileDescriptor& map;
    bpf_map_type type;
    const char* name;
    size_t key_size;
    size_t value_size;
    uint32_t entries;
    uint32_t flags;
  } const wanted[] = {
      {maps.flows, BPF_MAP_TYPE_HASH, "sluice_flows", sizeof(sluice_flow_key), sizeof(uint32_t),
       SLUICE_MAX_KERNEL_FLOWS, BPF_F_NO_PREALLOC},
      {maps.slots, BPF_MAP_TYPE_ARRAY, "sluice_slots", sizeof(uint32_t), sizeof(sluice_flow_slot),
       SLUICE_MAX_KERNEL_FLOWS, BPF_F_MMAPABLE},
      {maps.ports, BPF_MAP_TYPE_ARRAY, "sluice_ports", sizeof(uint32_t), sizeof(sluice_port_gate),
       SLUICE_MAX_KERNEL_PORTS, BPF_F_MMAPABLE},
      {maps.lanes, BPF_MAP_TYPE_PERCPU_HASH, "sluice_lanes", sizeof(uint32_t), sizeof(sluice_lane),
       SLUICE_MAX_KERNEL_LANES, BPF_F_NO_PREALLOC},
      {maps.decision, BPF_MAP_TYPE_PERCPU_ARRAY, "sluice_decision", sizeof(uint32_t), sizeof(sluice_decision), 1, 0},
  };
  for (const auto& w : wanted) {
    auto map = CreateMap(w.type, w.name, static_cast<uint32_t>(w.key_size), static_cast<uint32_t>(w.value_size),
                         w.entries, w.flags);
    if (!map.ok()) return map.status();
    w.map = *std::move(map);
  }
  return maps;
}

absl::StatusOr<BpfPrograms> LoadBpfPrograms(const BpfMaps& maps, int verdict_map, uint32_t port) {
  size_t size = static_cast<size_t>(sluice_forward_object_end - sluice_forward_object);
  ObjectPtr object(bpf_object__open_mem(sluice_forward_object, size, nullptr));
  if (object == nullptr) return ErrnoStatus(errno, "kernel flows: reading the programs");
  SLUICE_RETURN_IF_ERROR(UseMap(object, "flows", maps.flows.get()));
  SLUICE_RETURN_IF_ERROR(UseMap(object, "slots", maps.slots.get()));
  SLUICE_RETURN_IF_ERROR(UseMap(object, "ports", maps.ports.get()));
  SLUICE_RETURN_IF_ERROR(UseMap(object, "lanes", maps.lanes.get()));
  SLUICE_RETURN_IF_ERROR(UseMap(object, "decision", maps.decision.get()));
  SLUICE_RETURN_IF_ERROR(UseMap(object, "verdict", verdict_map));
  SLUICE_RETURN_IF_ERROR(SetThisPort(object, port));
  if (int error = bpf_object__load(object.get()); error != 0) {
    return ErrnoStatus(-error, fmt::format("kernel flows: loading the programs ({})", kNeeds));
  }
  BpfPrograms programs;
  auto filter = TakeProgram(object, "sluice_filter");
  if (!filter.ok()) return filter.status();
  programs.filter = *std::move(filter);
  auto forward = TakeProgram(object, "sluice_forward");
  if (!forward.ok()) return forward.status();
  programs.forward = *std::move(forward);
  return programs;
}

int InsertFlowKey(const BpfMaps& maps, const sluice_flow_key& key, uint32_t slot) {
  return bpf_map_update_elem(maps.flows.get(), &key, &slot, BPF_NOEXIST) == 0 ? 0 : errno;
}

int EraseFlowKey(const BpfMaps& maps, const sluice_flow_key& key) {
  return bpf_map_delete_elem(maps.flows.get(), &key) == 0 ? 0 : errno;
}

absl::Status CreateLane(const BpfMaps& maps, uint32_t lane) {
  std::vector<sluice_lane> zero = LanesOfProcessors();
  if (bpf_map_update_elem(maps.lanes.get(), &lane, zero.data(), BPF_NOEXIST) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "kernel flows: counters for another pair of ports");
}

sluice_lane ReadLane(const BpfMaps& maps, uint32_t lane) {
  std::vector<sluice_lane> values = LanesOfProcessors();
  sluice_lane sum{};
  if (bpf_map_lookup_elem(maps.lanes.get(), &lane, values.data()) != 0) return sum;
  for (const sluice_lane& value : values) sum += value;
  return sum;
}

void EraseLane(const BpfMaps& maps, uint32_t lane) { bpf_map_delete_elem(maps.lanes.get(), &lane); }

sluice_lane& operator+=(sluice_lane& sum, const sluice_lane& lane) {
  sum.packets += lane.packets;
  sum.frames += lane.frames;
  sum.super_packets += lane.super_packets;
  sum.bytes += lane.bytes;
  sum.over_mtu += lane.over_mtu;
  sum.no_device += lane.no_device;
  sum.larger += lane.larger;
  for (size_t i = 0; i < SLUICE_HISTOGRAM_SIZE; ++i) sum.histogram[i] += lane.histogram[i];
  return sum;
}

// The global membarrier is a grace period of the kernel's RCU, under which programs run. Where it is refused (adaptive
// ticks), two seconds are as good as any: programs do not sleep.
void WaitForBpfPrograms() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return;
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

}  // namespace sluice
