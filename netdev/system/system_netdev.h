// The "system" netdev: any Ethernet interface of the kernel (veth, physical, macvlan, tap of another program) over
// packet sockets with virtio-net headers. Of the device's own settings two are changed: promiscuous mode, and, while
// the port coalesces (rx-gro) and TSO is on, the device's GRO, which merges segments before a socket sees them and so
// saves what a packet costs in the kernel; it is switched off again if it was off. Peers that send super-packets are
// not touched by it.
//
// One receive socket per receive queue (PACKET_FANOUT shares the device between several), one send socket per transmit
// queue, and a KernelHook that keeps the host's stack from seeing the port's packets. All follow the device's name:
// when the device goes, the queues fall silent; when one of that name is there again, they are bound to it, and the
// file descriptors that threads wait for stay the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "netdev/kernel_flows/kernel_flows.h"
#include "netdev/kernel_hook.h"
#include "netdev/link_query.h"
#include "netdev/netdev.h"
#include "netdev/system/packet_socket.h"
#include "netdev/system/system_options.h"
#include "netdev/system/system_rxq.h"
#include "netdev/system/system_txq.h"

namespace sluice {

// Fails with kNotFound when there is no such device, kInvalidArgument for a bad option or a device without Ethernet.
absl::StatusOr<std::unique_ptr<Netdev>> OpenSystemNetdev(const std::string& name, const NetdevOptions& options);

class SystemNetdev final : public Netdev {
 public:
  SystemNetdev(std::string name, SystemOptions options, LinkQuery query, KernelHook hook);
  ~SystemNetdev() override;

  // Binds to the device, which must exist.
  absl::Status Start();

  const std::string& name() const override { return name_; }
  std::string_view type() const override { return "system"; }
  absl::Status SetOptions(const NetdevOptions& options) override;
  NetdevOptions GetOptions() const override { return options_.ToMap(); }
  size_t rxq_count() const override { return rxqs_.size(); }
  NetdevRxq& rxq(size_t index) override { return *rxqs_[index]; }
  absl::StatusOr<std::unique_ptr<NetdevTxq>> OpenTxq() override;
  NetdevState state() const override { return state_; }
  // driver_name, driver_version, firmware_version as ovs-vswitchd.conf.db(5) has them; tx_*_offload; and kernel_hook,
  // kernel_forwarding (on, or why not), device_gro, rx_socket_buffer (bytes, per queue), rx_kernel_drops (packets that
  // found the sockets full).
  std::map<std::string, std::string> status() const override;
  void SetTsoEnabled(bool enabled) override;
  bool can_join_kernel_flows() const override { return true; }
  absl::Status JoinKernelFlows(const absl::StatusOr<KernelFlows*>& flows) override;
  const KernelPort* kernel_port() const override { return kernel_port_.get(); }
  void SetKernelForwarding(bool allowed) override;
  void OnLinkChange() override;

 private:
  absl::Status MakeRxqs(size_t count);
  absl::Status Bind(const LinkFacts& facts);
  absl::Status BindRxqs(uint32_t ifindex);
  absl::Status BindFanoutRxqs(uint32_t ifindex);
  absl::Status RenewFanoutSockets();
  void Unbind(std::string reason);
  void TakeFacts(const LinkFacts& facts);
  void StoreCaps();
  void ApplyDeviceGro(bool wanted);
  absl::StatusOr<std::unique_ptr<KernelPort>> MakeKernelPort(const absl::StatusOr<KernelFlows*>& flows);
  void ApplyKernelGate();
  std::string KernelForwardingText() const;
  void CollectKernelDrops() const;
  PacketSocketOptions SocketOptions() const;
  std::vector<std::shared_ptr<FileDescriptor>> LiveTxSockets();

  const std::string name_;
  SystemOptions options_;
  LinkQuery query_;
  KernelHook hook_;
  std::unique_ptr<KernelPort> kernel_port_;  // nullptr: takes no part
  std::string no_kernel_port_ = "the datapath has not asked for it";
  bool kernel_forwarding_ = false;
  const bool kernel_has_uso_;
  bool tso_enabled_ = true;
  bool device_gro_switched_on_ = false;  // by us, so that we switch it off again
  NetdevState state_;
  bool rxqs_fresh_ = false;  // never bound yet: even fan-out sockets can be bound as they are
  std::vector<std::unique_ptr<SystemRxq>> rxqs_;
  std::vector<std::weak_ptr<FileDescriptor>> tx_sockets_;
  mutable uint64_t kernel_drops_ = 0;
  SystemTxShared tx_shared_;
};

}  // namespace sluice
