// Netdev: the contract of a port's device, whatever its kind. Registered providers make them by type name.
//
// A Netdev is set up and asked by the main thread. Its receive and transmit queues are used by PMD threads: each
// receive queue by one thread at a time (handed over by the datapath with Attach/Detach), each transmit queue by the
// one thread that it was opened for. Queue calls are the fast path: no allocation, lock, exception, logging or Status.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/packet/drop_reason.h"
#include "lib/packet/egress.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

class KernelFlows;
class KernelPort;

// Counters of one queue: written by its thread, summed by readers. Frames are wire frames: a super-packet counts its
// segments there, and one in super_packets.
struct QueueCounters {
  Counter frames;
  Counter packets;  // what the queue handed over or sent: a super-packet is one
  Counter super_packets;
  Counter bytes;  // wire bytes
  Counter system_calls;
  DropCounters drops;
};

class NetdevRxq {
 public:
  virtual ~NetdevRxq() = default;

  // Takes buffers from `pools` from now on (of the calling thread, which polls from here on) / gives all posted buffers
  // back. Receive() is only called in between.
  virtual void Attach(PacketPools& pools) = 0;
  virtual void Detach() = 0;

  // Appends up to `max` packets to `burst`, in order, offload state read and validated, in_port not set. Never blocks.
  // What cannot be handed over is counted in counters().drops. Returns false when the queue is now known to be empty
  // ("empty" and "full" are different answers), true when there may be more.
  virtual bool Receive(RxBurst& burst, size_t max) = 0;

  // Becomes readable when a packet arrives, for epoll; -1 if the queue can only be polled.
  virtual int wait_fd() const = 0;

  QueueCounters& counters() { return counters_; }

 protected:
  alignas(64) QueueCounters counters_;
};

class NetdevTxq {
 public:
  virtual ~NetdevTxq() = default;

  // What this queue can do now. A snapshot to read at each batch boundary: one relaxed load behind it, no lock.
  virtual EgressCaps caps() const = 0;

  // Sends prepared frames (they satisfy caps() as it was at the start of the batch). Takes all out of `frames`: sends,
  // or counts in counters().drops and frees. Never blocks, never waits for more.
  virtual void Send(PacketBatch& frames) = 0;

  QueueCounters& counters() { return counters_; }

 protected:
  alignas(64) QueueCounters counters_;
};

using NetdevOptions = std::map<std::string, std::string>;

struct NetdevState {
  bool present = false;  // the device exists and the port is bound to it
  bool admin_up = false;
  bool carrier = false;
  uint32_t mtu = 0;  // bytes of layer 3
  std::array<uint8_t, 6> mac{};
  uint32_t ifindex = 0;  // 0: none
  uint64_t link_resets = 0;
  std::string error;  // why not present: for the error column; empty if fine
};

class Netdev {
 public:
  virtual ~Netdev() = default;

  virtual const std::string& name() const = 0;
  virtual std::string_view type() const = 0;

  // Changes options while running. All or nothing: the error names the option, its value and what would be accepted.
  virtual absl::Status SetOptions(const NetdevOptions& options) = 0;
  virtual NetdevOptions GetOptions() const = 0;

  // Number of receive queues; they exist for the Netdev's lifetime unless SetOptions(n_rxq) changed them (the datapath
  // detaches all before such a change and asks again).
  virtual size_t rxq_count() const = 0;
  virtual NetdevRxq& rxq(size_t index) = 0;

  // A transmit queue for one thread's use. Owned by the caller, who destroys it before the Netdev.
  virtual absl::StatusOr<std::unique_ptr<NetdevTxq>> OpenTxq() = 0;

  virtual NetdevState state() const = 0;
  // Pairs for the status column and the capability table (driver_name, checksum, tso, ...).
  virtual std::map<std::string, std::string> status() const = 0;

  // Changes the device itself, as "ip link set" does; state() has it afterwards. mtu: bytes of layer 3.
  virtual absl::Status SetMtu(uint32_t mtu);
  virtual absl::Status SetMac(const std::array<uint8_t, 6>& mac);

  // userspace-tso-enable for this port. False: offer no segmentation to the peer where it can be told (TUNSETOFFLOAD)
  // and none in caps(). Live; takes effect at a batch boundary.
  virtual void SetTsoEnabled(bool enabled) = 0;
  bool rx_gro() const { return rx_gro_.load(std::memory_order_relaxed); }

  // Forwarding inside the kernel (KernelFlows).
  //
  // JoinKernelFlows() takes part in the datapath's, which outlive this, before the queues are used; `flows` may be the
  // reason why there are none. It fails where the kernel or our rights do not allow it; the port works all the same,
  // and its status says why.
  virtual bool can_join_kernel_flows() const { return false; }
  virtual absl::Status JoinKernelFlows(const absl::StatusOr<KernelFlows*>& flows);
  // Its part in them; nullptr if it has none.
  virtual const KernelPort* kernel_port() const { return nullptr; }
  // Whether packets of this port may be forwarded by the kernel, unseen by the datapath. While it is true the netdev
  // opens and closes its gate as the device and the TSO switch allow; when this returns after false, it is closed.
  virtual void SetKernelForwarding(bool) {}

  // Re-reads the device's facts: called by the link monitor (main thread) for its name or ifindex. Handles MTU,
  // carrier, features, deletion and re-creation under the same name.
  virtual void OnLinkChange() = 0;
  // True while the link monitor cannot see all changes of the device (it is in another network namespace, or waits for
  // its name): then OnLinkChange() is to be called about once a second.
  virtual bool needs_link_polling() const { return false; }

 protected:
  std::atomic<bool> rx_gro_{false};
};

// Providers. Types: "system" ("" is the same), "tap", "internal", "dummy".
absl::StatusOr<std::unique_ptr<Netdev>> OpenNetdev(const std::string& name, std::string_view type,
                                                   const NetdevOptions& options);
std::vector<std::string> NetdevTypes();

}  // namespace sluice
