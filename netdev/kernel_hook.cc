#include "netdev/kernel_hook.h"

#include <linux/bpf.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lib/base/status.h"

namespace sluice {
namespace {

// linux/bpf.h of Linux 6.6 and later.
constexpr uint32_t kAttachTypeTcxIngress = 46;
constexpr uint32_t kFlagBefore = 1u << 3;  // BPF_F_BEFORE; relative to nothing: before all others

// Debian 12's libbpf does not know TCX, and three calls need no loader.
long Bpf(int command, bpf_attr& attributes) { return syscall(SYS_bpf, command, &attributes, sizeof(attributes)); }

uint64_t Pointer(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// return *verdict; the map's first value is reached by its address, without a lookup.
std::array<bpf_insn, 4> HookProgram(int map_fd) {
  return {{
      {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map_fd},
      {},  // the upper half of the address: offset 0
      {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1},
      {.code = BPF_JMP | BPF_EXIT},
  }};
}

absl::StatusOr<FileDescriptor> CreateVerdictMap() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(uint32_t);
  attributes.value_size = sizeof(uint32_t);
  attributes.max_entries = 1;
  std::strcpy(attributes.map_name, "sluice_verdict");
  FileDescriptor map(static_cast<int>(Bpf(BPF_MAP_CREATE, attributes)));
  if (!map) return ErrnoStatus(errno, "kernel hook: creating its map (needs CAP_BPF)");
  return map;
}

absl::StatusOr<FileDescriptor> LoadProgram(int map_fd) {
  std::array<bpf_insn, 4> instructions = HookProgram(map_fd);
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_SCHED_CLS;
  attributes.insns = Pointer(instructions.data());
  attributes.insn_cnt = instructions.size();
  attributes.license = Pointer("Apache-2.0");
  std::strcpy(attributes.prog_name, "sluice_hook");
  FileDescriptor program(static_cast<int>(Bpf(BPF_PROG_LOAD, attributes)));
  if (!program) return ErrnoStatus(errno, "kernel hook: loading its program (needs CAP_BPF and CAP_NET_ADMIN)");
  return program;
}

absl::StatusOr<FileDescriptor> AttachTcx(int program_fd, const std::string& name, uint32_t ifindex) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<uint32_t>(program_fd);
  attributes.link_create.target_ifindex = ifindex;
  attributes.link_create.attach_type = kAttachTypeTcxIngress;
  attributes.link_create.flags = kFlagBefore;
  FileDescriptor link(static_cast<int>(Bpf(BPF_LINK_CREATE, attributes)));
  if (!link) return ErrnoStatus(errno, fmt::format("{}: attaching the kernel hook (TCX)", name));
  return link;
}

}  // namespace

absl::StatusOr<KernelHook> KernelHook::Load() {
  auto map = CreateVerdictMap();
  if (!map.ok()) return map.status();
  auto program = LoadProgram(map->get());
  if (!program.ok()) return program.status();
  KernelHook hook(*std::move(map), *std::move(program));
  SLUICE_RETURN_IF_ERROR(hook.SetVerdict(Verdict::kDrop));
  return hook;
}

absl::Status KernelHook::Attach(const std::string& name, uint32_t ifindex, std::optional<Attachment> only) {
  Detach();
  device_ = name;
  ifindex_ = ifindex;
  if (only != Attachment::kClsact) {
    auto link = AttachTcx(program_.get(), name, ifindex);
    if (link.ok()) {
      link_ = *std::move(link);
      return absl::OkStatus();
    }
    // Older kernels know neither the attach type (EINVAL) nor, without CONFIG_NET_XGRESS, its use (EOPNOTSUPP).
    if (only == Attachment::kTcx || absl::IsNotFound(link.status())) return link.status();
  }
  auto filter = ClsactFilter::Attach(name, ifindex, program_.get());
  if (!filter.ok()) return filter.status();
  filter_.emplace(*std::move(filter));
  return absl::OkStatus();
}

absl::Status KernelHook::UseProgram(FileDescriptor program) {
  if (link_) {
    bpf_attr attributes{};
    attributes.link_update.link_fd = static_cast<uint32_t>(link_.get());
    attributes.link_update.new_prog_fd = static_cast<uint32_t>(program.get());
    if (Bpf(BPF_LINK_UPDATE, attributes) != 0) {
      return ErrnoStatus(errno, fmt::format("{}: changing the kernel hook's program (TCX)", device_));
    }
    program_ = std::move(program);
    return absl::OkStatus();
  }
  std::swap(program_, program);
  if (!filter_) return absl::OkStatus();
  absl::Status attached = Attach(device_, ifindex_, Attachment::kClsact);
  if (attached.ok()) return attached;
  // The host must not see the port's packets: back to what worked.
  std::swap(program_, program);
  static_cast<void>(Attach(device_, ifindex_, Attachment::kClsact));
  return attached;
}

void KernelHook::Detach() {
  link_.Close();
  filter_.reset();
}

absl::Status KernelHook::SetVerdict(Verdict verdict) {
  uint32_t key = 0;
  auto value = static_cast<uint32_t>(verdict);
  bpf_attr attributes{};
  attributes.map_fd = static_cast<uint32_t>(map_.get());
  attributes.key = Pointer(&key);
  attributes.value = Pointer(&value);
  if (Bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "kernel hook: setting its verdict");
}

KernelHook::Attachment KernelHook::attachment() const {
  if (link_) return Attachment::kTcx;
  return filter_.has_value() ? Attachment::kClsact : Attachment::kNone;
}

std::string_view KernelHook::attachment_name() const {
  constexpr std::string_view kNames[] = {"none", "tcx", "clsact"};
  return kNames[static_cast<size_t>(attachment())];
}

}  // namespace sluice
