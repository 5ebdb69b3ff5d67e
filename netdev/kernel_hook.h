// KernelHook: the small program that a port runs at the tc ingress of its kernel interface, behind the packet sockets.
//
// Packet sockets see a packet before tc ingress does, so what the program decides is about the host's own stack only.
// It obeys a verdict in a map: kDrop keeps the port's packets from the host (no ARP, ND or ICMP answers, no
// forwarding), kPass lets the host see them too. A program that forwards single flows may take its place, which obeys
// the same verdict for the rest (KernelFlows).
//
// Attached as a TCX bpf_link where the kernel has it (Linux 6.6): that ends with this object, or with the process
// however it dies, and runs before other TCX programs and clsact filters of the device. Elsewhere as a clsact filter
// with a fixed place and name: it goes with this object, and one left by a killed process is replaced when the device
// is hooked again.
//
// The network namespace is the calling thread's, both to attach and to detach. Main thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "netdev/clsact.h"
#include "netdev/file_descriptor.h"

namespace sluice {

class KernelHook {
 public:
  enum class Verdict : uint32_t { kPass = 0, kDrop = 2 };  // TC_ACT_OK, TC_ACT_SHOT
  enum class Attachment : uint8_t { kNone, kTcx, kClsact };

  // Loads the program and its map, with verdict kDrop; attached to nothing yet. Needs CAP_BPF (or CAP_SYS_ADMIN) and
  // CAP_NET_ADMIN.
  static absl::StatusOr<KernelHook> Load();
  KernelHook(KernelHook&&) = default;
  KernelHook& operator=(KernelHook&&) = delete;

  // Attaches to the device (away from the one before). `only` forces one kind, for tests.
  absl::Status Attach(const std::string& name, uint32_t ifindex, std::optional<Attachment> only = std::nullopt);
  // Also right when the device has gone.
  void Detach();

  absl::Status SetVerdict(Verdict verdict);
  int verdict_map() const { return map_.get(); }
  // Runs `program` from now on, without a packet in between that no program saw (clsact: there may be some).
  absl::Status UseProgram(FileDescriptor program);

  Attachment attachment() const;
  std::string_view attachment_name() const;  // "tcx", "clsact", "none"

 private:
  KernelHook(FileDescriptor map, FileDescriptor program) : map_(std::move(map)), program_(std::move(program)) {}

  FileDescriptor map_;
  FileDescriptor program_;
  std::string device_;  // attached to, and its index
  uint32_t ifindex_ = 0;
  FileDescriptor link_;                 // TCX
  std::optional<ClsactFilter> filter_;  // clsact
};

}  // namespace sluice
