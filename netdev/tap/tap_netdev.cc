#include "netdev/tap/tap_netdev.h"

#include "lib/base/log.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

LogModule log_module("netdev_tap");

// The longest frame that the kernel takes: 65,535 bytes behind the headers of IPv6 (or the IP length of IPv4), Ethernet
// and two VLAN tags.
constexpr uint32_t kMaxSuperLength = 65535 + 40 + 14 + 8;

std::string Flag(bool value) { return value ? "true" : "false"; }

}  // namespace

absl::StatusOr<std::unique_ptr<Netdev>> OpenTapNetdev(const std::string& name, const NetdevOptions& options) {
  return TapNetdev::Open(name, TapNetdev::Kind::kTap, options);
}

absl::StatusOr<std::unique_ptr<Netdev>> OpenInternalNetdev(const std::string& name, const NetdevOptions& options) {
  return TapNetdev::Open(name, TapNetdev::Kind::kInternal, options);
}

absl::StatusOr<std::unique_ptr<Netdev>> TapNetdev::Open(const std::string& name, Kind kind,
                                                        const NetdevOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckPortName(name));
  auto inspector = TapInspector::Open();
  if (!inspector.ok()) return inspector.status();
  std::unique_ptr<TapNetdev> netdev(new TapNetdev(name, kind, *std::move(inspector)));
  SLUICE_RETURN_IF_ERROR(netdev->SetOptions(options));
  netdev->PrepareDevice();
  netdev->Refresh();
  return netdev;
}

absl::Status TapNetdev::SetOptions(const NetdevOptions& options) {
  auto parsed = ParsePortOptions(name_, options, {.n_rxq = 1, .rx_gro = true});
  if (!parsed.ok()) return parsed.status();
  if (rxqs_.empty()) SLUICE_RETURN_IF_ERROR(AttachFirst(parsed->n_rxq));
  SLUICE_RETURN_IF_ERROR(ResizeQueues(parsed->n_rxq));
  rx_gro_.store(parsed->rx_gro, std::memory_order_relaxed);
  options_ = options;
  return absl::OkStatus();
}

// What we make can have several queues; what exists may have been made for one.
absl::Status TapNetdev::AttachFirst(size_t n_rxq) {
  auto file = ClaimTap(name_, /*multi_queue=*/true);
  multi_queue_ = file.ok();
  if (!file.ok() && n_rxq == 1 && absl::IsFailedPrecondition(file.status())) {
    auto single = ClaimTap(name_, /*multi_queue=*/false);
    if (single.ok()) file = std::move(single);
  }
  if (!file.ok()) return file.status();
  return AddQueue(*std::move(file));
}

absl::Status TapNetdev::AddQueue(FileDescriptor file) {
  auto queue = TapQueue::Create(std::move(file));
  if (!queue.ok()) return queue.status();
  rxqs_.push_back(std::make_unique<TapRxq>(TapCalls::Kernel(), *std::move(queue)));
  return absl::OkStatus();
}

absl::Status TapNetdev::ResizeQueues(size_t count) {
  size_t old = rxqs_.size();
  auto undo = [&](absl::Status status) {
    while (rxqs_.size() > old) rxqs_.pop_back();
    return status;
  };
  if (count > old && !multi_queue_) {
    return FailedPrecondition(
        "port {}: option n_rxq is {}: the device was made for one queue: expected 1, or a device "
        "made with multi_queue",
        name_, count);
  }
  if (count > old && away_) {
    return FailedPrecondition(
        "port {}: option n_rxq is {}: the device is in another network namespace: expected at "
        "most {} until it is back",
        name_, count, old);
  }
  while (rxqs_.size() < count) {
    auto file = AttachTapQueue(name_);
    if (!file.ok()) return undo(file.status());
    if (absl::Status added = AddQueue(*std::move(file)); !added.ok()) return undo(added);
  }
  while (rxqs_.size() > count) {
    // Transmit queues may still hold it; from now on they find that out and use the first.
    rxqs_.back()->queue().DetachFromDevice();
    rxqs_.pop_back();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<NetdevTxq>> TapNetdev::OpenTxq() {
  std::shared_ptr<TapQueue> own = rxqs_[next_txq_++ % rxqs_.size()]->shared_queue();
  return std::make_unique<TapTxq>(TapCalls::Kernel(), std::move(own), rxqs_[0]->shared_queue(), caps_);
}

void TapNetdev::PrepareDevice() {
  int fd = rxqs_[0]->queue().fd();
  persistent_ = IsPersistentTap(fd);
  OfferOffloads();
  if (kind_ != Kind::kTap) return;
  if (absl::Status up = SetLinkUp(TapNameOf(fd)); !up.ok()) SLUICE_LOG(log_module, kWarn, "{}", Message(up));
}

void TapNetdev::OfferOffloads() {
  offloads_ = sluice::OfferOffloads(rxqs_[0]->queue().fd(), tso_enabled_);
  StoreCaps();
}

void TapNetdev::SetTsoEnabled(bool enabled) {
  tso_enabled_ = enabled;
  OfferOffloads();
}

// Writing needs no consent: the kernel segments what the device's user cannot take.
void TapNetdev::StoreCaps() {
  EgressCaps caps{.mtu = state_.mtu, .max_buffers = TapTxq::kMaxBuffers, .partial_checksum = true};
  if (tso_enabled_) {
    caps.max_super_length = kMaxSuperLength;
    caps.segmentations = SegmentationBit(Segmentation::kTcp4) | SegmentationBit(Segmentation::kTcp6);
    if (offloads_.uso)
      caps.segmentations |= SegmentationBit(Segmentation::kUdp4) | SegmentationBit(Segmentation::kUdp6);
    caps.segmentation_ecn = true;
  }
  caps_.Store(caps);
}

bool TapNetdev::IsGone() const { return TapNameOf(rxqs_[0]->queue().fd()).empty(); }

NetdevState TapNetdev::state() const {
  NetdevState state = state_;
  if (state.present && rxqs_[0]->queue().gone()) {
    // The receiving thread knows before the main thread was told.
    state.present = state.admin_up = state.carrier = false;
    state.ifindex = 0;
    state.error = fmt::format("{}: the tap device was deleted", name_);
  }
  return state;
}

// Behind the name there may be another device here.
absl::Status TapNetdev::CheckHome() const {
  if (!away_) return absl::OkStatus();
  return FailedPrecondition("{}: the device is in another network namespace: change it there", name_);
}

absl::Status TapNetdev::SetMtu(uint32_t mtu) {
  SLUICE_RETURN_IF_ERROR(CheckHome());
  return Netdev::SetMtu(mtu);
}

absl::Status TapNetdev::SetMac(const std::array<uint8_t, 6>& mac) {
  SLUICE_RETURN_IF_ERROR(CheckHome());
  return Netdev::SetMac(mac);
}

void TapNetdev::OnLinkChange() {
  if (IsGone()) {
    if (state_.present) {
      SLUICE_LOG(log_module, kWarn, "{}: the tap device was deleted", name_);
      ++state_.link_resets;
    }
    state_.present = state_.admin_up = state_.carrier = away_ = false;
    state_.ifindex = 0;
    if (absl::Status made = Recreate(); !made.ok()) {
      state_.error = Message(made);
      return;
    }
    SLUICE_LOG(log_module, kInfo, "{}: the tap device is there again", name_);
  }
  Refresh();
}

absl::Status TapNetdev::Recreate() {
  // All before the first is replaced, so that what fails changes nothing.
  std::vector<FileDescriptor> files;
  for (size_t i = 0; i < rxqs_.size(); ++i) {
    auto file = i == 0 ? ClaimTap(name_, multi_queue_) : AttachTapQueue(name_);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  for (size_t i = 0; i < rxqs_.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(rxqs_[i]->queue().Replace(std::move(files[i])));
  }
  PrepareDevice();
  return absl::OkStatus();
}

void TapNetdev::Refresh() {
  auto facts = inspector_.Read(rxqs_[0]->queue().fd());
  if (facts.ok()) {
    TakeFacts(*facts);
  } else if (IsGone()) {
    state_.present = state_.admin_up = state_.carrier = false;
    state_.error = Message(facts.status());
  } else {
    // It is there, but cannot be asked (a namespace that is closed to us): what was known last stays.
    state_.present = true;
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 1, "{}", Message(facts.status()));
  }
}

void TapNetdev::TakeFacts(const TapInspector::Facts& facts) {
  if (state_.present && state_.carrier != facts.link.carrier) ++state_.link_resets;
  away_ = facts.away;
  state_.present = true;
  state_.admin_up = facts.link.admin_up;
  state_.carrier = facts.link.carrier;
  state_.mtu = facts.link.mtu;
  state_.mac = facts.link.mac;
  state_.ifindex = away_ ? 0 : facts.link.ifindex;
  state_.error.clear();
  StoreCaps();
}

std::map<std::string, std::string> TapNetdev::status() const {
  EgressCaps caps = caps_.Load();
  DriverInfo driver = away_ ? DriverInfo{.name = "tun"} : inspector_.ReadDriver(name_);
  auto cuts = [&caps](Segmentation segmentation) {
    return Flag((caps.segmentations & SegmentationBit(segmentation)) != 0);
  };
  return {{"driver_name", driver.name},
          {"driver_version", driver.version},
          {"firmware_version", driver.firmware_version},
          {"other_netns", Flag(away_)},
          {"persistent", Flag(persistent_)},
          {"rx_tcp_seg_offload", Flag(offloads_.segmentation)},
          {"rx_udp_seg_offload", Flag(offloads_.segmentation && offloads_.uso)},
          {"tx_tcp_csum_offload", Flag(caps.partial_checksum)},
          {"tx_udp_csum_offload", Flag(caps.partial_checksum)},
          {"tx_sctp_csum_offload", Flag(caps.sctp_checksum)},
          {"tx_tcp_seg_offload", cuts(Segmentation::kTcp4)},
          {"tx_udp_seg_offload", cuts(Segmentation::kUdp4)}};
}

}  // namespace sluice
