#include "netdev/system/system_netdev.h"

#include <sys/epoll.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>

#include "lib/base/log.h"
#include "lib/base/status.h"
#include "netdev/system/system_txq.h"

namespace sluice {
namespace {

LogModule log_module("netdev_system");

// Packet sockets know UDP super-packets (VIRTIO_NET_HDR_GSO_UDP_L4) since Linux 6.2. There is no way to ask without
// sending one.
bool KernelHasUso() {
  utsname system{};
  int major = 0;
  int minor = 0;
  if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 2);
}

// Tells network namespaces apart. 0 where the kernel (before Linux 5.14) does not say.
uint64_t NetnsOf(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

std::string Flag(bool value) { return value ? "true" : "false"; }

}  // namespace

absl::StatusOr<std::unique_ptr<Netdev>> OpenSystemNetdev(const std::string& name, const NetdevOptions& options) {
  auto parsed = SystemOptions::Parse(name, options);
  if (!parsed.ok()) return parsed.status();
  auto query = LinkQuery::Open();
  if (!query.ok()) return query.status();
  auto hook = KernelHook::Load();
  if (!hook.ok()) return hook.status();
  auto netdev = std::make_unique<SystemNetdev>(name, *parsed, *std::move(query), *std::move(hook));
  SLUICE_RETURN_IF_ERROR(netdev->Start());
  return netdev;
}

SystemNetdev::SystemNetdev(std::string name, SystemOptions options, LinkQuery query, KernelHook hook)
    : name_(std::move(name)),
      options_(options),
      query_(std::move(query)),
      hook_(std::move(hook)),
      kernel_has_uso_(KernelHasUso()) {
  rx_gro_.store(options_.port.rx_gro, std::memory_order_relaxed);
}

SystemNetdev::~SystemNetdev() {
  SetKernelForwarding(false);
  ApplyDeviceGro(false);
}

absl::Status SystemNetdev::Start() {
  auto facts = query_.Read(name_);
  if (!facts.ok()) return facts.status();
  SLUICE_RETURN_IF_ERROR(MakeRxqs(options_.port.n_rxq));
  return Bind(*facts);
}

PacketSocketOptions SystemNetdev::SocketOptions() const {
  return {.receive_buffer = options_.rx_socket_buffer, .send_buffer = options_.tx_socket_buffer};
}

absl::Status SystemNetdev::MakeRxqs(size_t count) {
  std::vector<std::unique_ptr<SystemRxq>> rxqs;
  for (size_t i = 0; i < count; ++i) {
    auto socket = OpenReceiveSocket(SocketOptions());
    if (!socket.ok()) return socket.status();
    FileDescriptor epoll;
    if (count > 1) {
      epoll = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
      if (!epoll) return ErrnoStatus(errno, fmt::format("{}: epoll for receive queue {}", name_, i));
    }
    rxqs.push_back(std::make_unique<SystemRxq>(PacketSocketCalls::Kernel(), *std::move(socket), std::move(epoll)));
  }
  CollectKernelDrops();
  rxqs_ = std::move(rxqs);
  rxqs_fresh_ = true;
  return absl::OkStatus();
}

absl::Status SystemNetdev::SetOptions(const NetdevOptions& options) {
  auto parsed = SystemOptions::Parse(name_, options);
  if (!parsed.ok()) return parsed.status();
  SystemOptions old = std::exchange(options_, *parsed);
  if (options_.port.n_rxq != old.port.n_rxq) {
    if (absl::Status made = MakeRxqs(options_.port.n_rxq); !made.ok()) {
      options_ = old;
      return made;
    }
    if (state_.present) {
      if (absl::Status bound = BindRxqs(state_.ifindex); !bound.ok()) Unbind(Message(bound));
    }
  }
  rx_gro_.store(options_.port.rx_gro, std::memory_order_relaxed);
  ApplyDeviceGro(options_.port.rx_gro && tso_enabled_);
  for (auto& rxq : rxqs_) ResizeReceiveBuffer(rxq->socket(), options_.rx_socket_buffer);
  for (auto& socket : LiveTxSockets()) ResizeSendBuffer(socket->get(), options_.tx_socket_buffer);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<FileDescriptor>> SystemNetdev::LiveTxSockets() {
  std::vector<std::shared_ptr<FileDescriptor>> live;
  std::erase_if(tx_sockets_, [&live](const std::weak_ptr<FileDescriptor>& weak) {
    std::shared_ptr<FileDescriptor> socket = weak.lock();
    if (socket == nullptr) return true;
    live.push_back(std::move(socket));
    return false;
  });
  return live;
}

absl::StatusOr<std::unique_ptr<NetdevTxq>> SystemNetdev::OpenTxq() {
  auto socket = OpenSendSocket(SocketOptions());
  if (!socket.ok()) return socket.status();
  auto shared = std::make_shared<FileDescriptor>(*std::move(socket));
  if (state_.present) SLUICE_RETURN_IF_ERROR(BindSendSocket(shared->get(), name_, state_.ifindex));
  tx_sockets_.push_back(shared);
  return std::make_unique<SystemTxq>(PacketSocketCalls::Kernel(), std::move(shared), tx_shared_);
}

// All or nothing: on an error the port is as if the device were not there.
absl::Status SystemNetdev::Bind(const LinkFacts& facts) {
  absl::Status status = absl::OkStatus();
  if (!facts.ethernet) {
    status = InvalidArgument("{}: not an Ethernet device: expected one", name_);
  } else {
    // The hook first, so that the host does not answer what the port also receives.
    status = hook_.Attach(name_, facts.ifindex);
  }
  if (status.ok()) status = BindRxqs(facts.ifindex);
  for (auto& socket : LiveTxSockets()) {
    if (status.ok()) status = BindSendSocket(socket->get(), name_, facts.ifindex);
  }
  state_.ifindex = facts.ifindex;
  if (!status.ok()) {
    Unbind(Message(status));
    return status;
  }
  state_.present = true;
  state_.error.clear();
  TakeFacts(facts);
  ApplyDeviceGro(options_.port.rx_gro && tso_enabled_);
  return status;
}

absl::Status SystemNetdev::BindRxqs(uint32_t ifindex) {
  if (rxqs_.size() == 1) {
    SLUICE_RETURN_IF_ERROR(BindReceiveSocket(rxqs_[0]->socket(), name_, ifindex));
  } else {
    SLUICE_RETURN_IF_ERROR(BindFanoutRxqs(ifindex));
  }
  if (kernel_port_ == nullptr) return absl::OkStatus();
  for (auto& rxq : rxqs_) SLUICE_RETURN_IF_ERROR(AttachReceiveFilter(rxq->socket(), kernel_port_->filter()));
  return absl::OkStatus();
}

absl::Status SystemNetdev::BindFanoutRxqs(uint32_t ifindex) {
  if (!std::exchange(rxqs_fresh_, false)) SLUICE_RETURN_IF_ERROR(RenewFanoutSockets());
  std::optional<uint16_t> group;
  for (auto& rxq : rxqs_) {
    SLUICE_RETURN_IF_ERROR(BindReceiveSocket(rxq->socket(), name_, ifindex));
    auto joined = JoinFanout(rxq->socket(), name_, group);
    if (!joined.ok()) return joined.status();
    group = *joined;
  }
  return absl::OkStatus();
}

// A socket in a fan-out group cannot be bound again: new ones take the place of the old.
absl::Status SystemNetdev::RenewFanoutSockets() {
  CollectKernelDrops();
  for (auto& rxq : rxqs_) {
    auto socket = OpenReceiveSocket(SocketOptions());
    if (!socket.ok()) return socket.status();
    SLUICE_RETURN_IF_ERROR(rxq->ReplaceSocket(*std::move(socket)));
  }
  return absl::OkStatus();
}

void SystemNetdev::Unbind(std::string reason) {
  tx_shared_.present.store(false, std::memory_order_relaxed);
  // First the decisions, then the program that obeys them.
  if (kernel_port_ != nullptr) kernel_port_->Close();
  hook_.Detach();
  for (auto& rxq : rxqs_) UnbindReceiveSocket(rxq->socket(), state_.ifindex);
  if (state_.present) ++state_.link_resets;
  state_.present = state_.admin_up = state_.carrier = false;
  state_.ifindex = 0;
  state_.error = std::move(reason);
}

void SystemNetdev::TakeFacts(const LinkFacts& facts) {
  if (state_.carrier != facts.carrier) ++state_.link_resets;
  state_.admin_up = facts.admin_up;
  state_.carrier = facts.carrier;
  state_.mtu = facts.mtu;
  state_.mac = facts.mac;
  StoreCaps();
  tx_shared_.present.store(true, std::memory_order_relaxed);
  ApplyKernelGate();
}

// The kernel segments and sums in software what the device cannot, so nothing depends on the device's features.
void SystemNetdev::StoreCaps() {
  EgressCaps caps{.mtu = state_.mtu, .max_buffers = SystemTxShared::kMaxBuffers, .partial_checksum = true};
  if (tso_enabled_) {
    caps.segmentations = SegmentationBit(Segmentation::kTcp4) | SegmentationBit(Segmentation::kTcp6);
    if (kernel_has_uso_) {
      caps.segmentations |= SegmentationBit(Segmentation::kUdp4) | SegmentationBit(Segmentation::kUdp6);
    }
    caps.segmentation_ecn = true;
    caps.max_super_length = SystemTxShared::kMaxSuperLength;
  }
  tx_shared_.caps.Store(caps);
}

void SystemNetdev::SetTsoEnabled(bool enabled) {
  tso_enabled_ = enabled;
  ApplyKernelGate();
  StoreCaps();
  ApplyDeviceGro(options_.port.rx_gro && tso_enabled_);
}

// Kernel forwarding
// ---------------------------------------------------------------------------------------------------------------

absl::Status SystemNetdev::JoinKernelFlows(const absl::StatusOr<KernelFlows*>& flows) {
  auto port = MakeKernelPort(flows);
  if (!port.ok()) {
    no_kernel_port_ = Message(port.status());
    return port.status();
  }
  kernel_port_ = *std::move(port);
  ApplyKernelGate();
  return absl::OkStatus();
}

// The hook first: a packet that a filter refuses must find the program that forwards it.
absl::StatusOr<std::unique_ptr<KernelPort>> SystemNetdev::MakeKernelPort(const absl::StatusOr<KernelFlows*>& flows) {
  if (!flows.ok()) return flows.status();
  auto port = (*flows)->AddPort(hook_.verdict_map(), NetnsOf(rxqs_[0]->socket()));
  if (!port.ok()) return port.status();
  auto program = (*port)->ForwardProgram();
  if (!program.ok()) return program.status();
  SLUICE_RETURN_IF_ERROR(hook_.UseProgram(*std::move(program)));
  if (!state_.present) return port;
  for (auto& rxq : rxqs_) SLUICE_RETURN_IF_ERROR(AttachReceiveFilter(rxq->socket(), (*port)->filter()));
  return port;
}

void SystemNetdev::SetKernelForwarding(bool allowed) {
  kernel_forwarding_ = allowed;
  ApplyKernelGate();
}

// Without TSO no super-packet may pass as it is, and no packet leaves a device that is down.
void SystemNetdev::ApplyKernelGate() {
  if (kernel_port_ == nullptr) return;
  if (kernel_forwarding_ && tso_enabled_ && state_.present && state_.admin_up) {
    kernel_port_->Open(state_.ifindex, state_.mtu);
  } else {
    kernel_port_->Close();
  }
}

std::string SystemNetdev::KernelForwardingText() const {
  if (kernel_port_ == nullptr) return fmt::format("off: {}", no_kernel_port_);
  if (kernel_port_->is_open()) return "on";
  if (!kernel_forwarding_) return "off: not allowed for this port";
  return tso_enabled_ ? "off: the device is down" : "off: userspace-tso-enable is false";
}

// A device that refuses is no error: the port coalesces what its queues read all the same.
void SystemNetdev::ApplyDeviceGro(bool wanted) {
  if (!state_.present || wanted == device_gro_switched_on_) return;
  if (wanted) {
    auto enabled = query_.ReadGro(name_);
    if (!enabled.ok() || *enabled) return;  // not ours to switch off later
  }
  if (absl::Status written = query_.WriteGro(name_, wanted); !written.ok()) {
    SLUICE_LOG(log_module, kInfo, "{}", Message(written));
    return;
  }
  device_gro_switched_on_ = wanted;
}

void SystemNetdev::OnLinkChange() {
  auto facts = query_.Read(name_);
  if (!facts.ok()) {
    if (state_.present) SLUICE_LOG(log_module, kWarn, "{}", Message(facts.status()));
    Unbind(Message(facts.status()));
    device_gro_switched_on_ = false;
    return;
  }
  if (state_.present && facts->ifindex == state_.ifindex) {
    TakeFacts(*facts);
    return;
  }
  if (state_.present) Unbind("");
  device_gro_switched_on_ = false;  // another device
  if (absl::Status bound = Bind(*facts); bound.ok()) {
    SLUICE_LOG(log_module, kInfo, "{}: bound to interface {}", name_, facts->ifindex);
  } else {
    SLUICE_LOG(log_module, kWarn, "{}", Message(bound));
  }
}

// The kernel counts from zero again after each reading.
void SystemNetdev::CollectKernelDrops() const {
  for (const auto& rxq : rxqs_) kernel_drops_ += TakeKernelDrops(rxq->socket());
}

std::map<std::string, std::string> SystemNetdev::status() const {
  CollectKernelDrops();
  EgressCaps caps = tx_shared_.caps.Load();
  DriverInfo driver = query_.ReadDriver(name_);
  auto cuts = [&caps](Segmentation segmentation) {
    return Flag((caps.segmentations & SegmentationBit(segmentation)) != 0);
  };
  return {{"driver_name", driver.name},
          {"driver_version", driver.version},
          {"firmware_version", driver.firmware_version},
          {"kernel_hook", std::string(hook_.attachment_name())},
          {"kernel_forwarding", KernelForwardingText()},
          {"device_gro", Flag(query_.ReadGro(name_).value_or(false))},
          {"rx_socket_buffer", std::to_string(ReceiveBufferOf(rxqs_[0]->socket()))},
          {"rx_kernel_drops", std::to_string(kernel_drops_)},
          {"tx_tcp_csum_offload", Flag(caps.partial_checksum)},
          {"tx_udp_csum_offload", Flag(caps.partial_checksum)},
          {"tx_sctp_csum_offload", Flag(caps.sctp_checksum)},
          {"tx_tcp_seg_offload", cuts(Segmentation::kTcp4)},
          {"tx_udp_seg_offload", cuts(Segmentation::kUdp4)}};
}

}  // namespace sluice
