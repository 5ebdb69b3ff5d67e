// KernelFlows: what one datapath lets the kernel forward, between ports on kernel interfaces. The mechanism; which
// flows are worth it is the datapath's to say (KernelForwarding).
//
// A flow here is one exact key (sluice_flow_key). It has a slot, which says where its packets go and counts them, and
// an entry in a hash from key to slot. A packet is forwarded when its key is in the hash, its slot is open, and the
// gates of both ports are open. Slots and gates are memory shared with the kernel: closing one holds for the next
// packet that a processor looks at; one that it is just forwarding may still leave, within microseconds.
//
// Counters of ports are kept per pair of ports (lane), once for both sides, so that what came in and what went out are
// equal at any time, and independently of flows that come and go.
//
// Everything dies with the process: nothing is pinned.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "netdev/kernel_flows/bpf_programs.h"

namespace sluice {

class KernelPort;

class KernelFlows {
 public:
  static constexpr uint32_t kMaxFlows = SLUICE_MAX_KERNEL_FLOWS;

  // Creates the maps: 4 MiB, and what flows take.
  static absl::StatusOr<std::unique_ptr<KernelFlows>> Create();
  // All ports are gone before.
  ~KernelFlows();
  KernelFlows(const KernelFlows&) = delete;
  KernelFlows& operator=(const KernelFlows&) = delete;

  // Ports
  // ---------------------------------------------------------------------------------------------------------------
  // Loads a port's programs, its gate closed. `verdict_map` is its KernelHook's, `netns` names the network namespace of
  // its device. Main thread.
  absl::StatusOr<std::unique_ptr<KernelPort>> AddPort(int verdict_map, uint64_t netns);

  // What the kernel forwarded from and to a port; any thread. Takes a system call per pair of ports.
  struct PortCounters {
    sluice_lane rx{};
    sluice_lane tx{};
  };
  PortCounters CountersOf(uint32_t port);
  // Of all ports that there were, each packet once.
  sluice_lane Totals();

  // Slots. One thread makes and frees them: the installer.
  // Insert() makes a flow from `ingress` to `egress` (indexes of ports), not open yet. Returns its slot;
  // kResourceExhausted if there is no room.
  absl::StatusOr<uint32_t> Insert(const sluice_flow_key& key, uint32_t ingress, uint32_t egress);
  // The first half of taking a flow away: its key is not found any more. The second, after WaitForBpfPrograms(): its
  // slot, whose counters are final then, may be used again.
  void EraseKey(const sluice_flow_key& key) { EraseFlowKey(maps_, key); }
  void FreeSlot(uint32_t slot);
  size_t slots_used() const { return next_slot_ - free_slots_.size(); }
  // Indexes of ports that are gone may be used again: all flows of those have been freed, after the ports went. Call
  // TakeGonePorts() before that, and FreePorts() after WaitForBpfPrograms().
  std::vector<uint32_t> TakeGonePorts();
  void FreePorts(const std::vector<uint32_t>& ports);

  // Any thread. A slot waits until user space has sent on all packets of the flow that it got meanwhile, so that none
  // is overtaken: it opens by itself when SetDone() has said so many as Passed(), which counts them when they are in
  // the queue that they were received by. Open() opens it whatever is under way; neither does anything to a closed
  // slot.
  //
  uint32_t Passed(uint32_t slot) const;
  void SetDone(uint32_t slot, uint32_t passed);
  bool IsDone(uint32_t slot) const;
  void Open(uint32_t slot);
  void Close(uint32_t slot);
  bool IsWaiting(uint32_t slot) const;  // has not forwarded anything yet

  struct FlowCounters {
    uint64_t packets = 0;  // a super-packet is one
    uint64_t frames = 0;
    uint64_t bytes = 0;         // wire bytes
    uint64_t last_used_ms = 0;  // CLOCK_MONOTONIC; 0: never
    uint16_t tcp_flags = 0;
  };
  FlowCounters Read(uint32_t slot) const;

 private:
  friend class KernelPort;
  using Pair = std::pair<uint32_t, uint32_t>;  // ingress, egress

  KernelFlows() = default;
  absl::StatusOr<uint32_t> LaneOf(Pair pair);
  void RemovePort(uint32_t port);

  BpfMaps maps_;
  sluice_flow_slot* slots_ = nullptr;  // shared with the kernel
  sluice_port_gate* gates_ = nullptr;

  // The installer's.
  std::vector<uint32_t> free_slots_;
  uint32_t next_slot_ = 0;

  std::mutex mutex_;  // guards what follows
  uint32_t next_port_ = 0;
  std::vector<uint32_t> free_ports_;
  std::vector<uint32_t> gone_ports_;
  uint32_t next_lane_ = 0;
  std::map<Pair, uint32_t> lanes_;
  absl::flat_hash_map<uint32_t, PortCounters> retired_;  // of lanes that are no more, by port that is still there
  sluice_lane retired_total_{};
};

// A port's part: its gate and its programs. Main thread, but for is_open().
class KernelPort {
 public:
  ~KernelPort();
  KernelPort(const KernelPort&) = delete;
  KernelPort& operator=(const KernelPort&) = delete;

  uint32_t index() const { return index_; }
  uint64_t netns() const { return netns_; }
  int filter() const { return programs_.filter.get(); }
  // For the hook to keep.
  absl::StatusOr<FileDescriptor> ForwardProgram() const;

  // From now on flows from and to this port may be forwarded by the kernel, and its device takes frames of up to `mtu`
  // bytes of layer 3.
  void Open(uint32_t ifindex, uint32_t mtu);
  void Close();
  bool is_open() const;

  KernelFlows::PortCounters counters() const { return flows_.CountersOf(index_); }

 private:
  friend class KernelFlows;
  KernelPort(KernelFlows& flows, uint32_t index, uint64_t netns, BpfPrograms programs)
      : flows_(flows), index_(index), netns_(netns), programs_(std::move(programs)) {}

  KernelFlows& flows_;
  const uint32_t index_;
  const uint64_t netns_;
  BpfPrograms programs_;
};

}  // namespace sluice
