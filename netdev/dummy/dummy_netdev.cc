#include "netdev/dummy/dummy_netdev.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "lib/base/status.h"
#include "netdev/port_options.h"
#include "netdev/queue_count.h"

namespace sluice {
namespace {

// As a kernel port with everything on.
EgressCaps DefaultCaps() {
  return {.mtu = 1500,
          .max_super_length = 65535 + 18,
          .max_buffers = 64,
          .segmentations = SegmentationBit(Segmentation::kTcp4) | SegmentationBit(Segmentation::kTcp6) |
                           SegmentationBit(Segmentation::kUdp4) | SegmentationBit(Segmentation::kUdp6),
          .segmentation_ecn = true,
          .partial_checksum = true};
}

struct OpenDummies {
  std::mutex mutex;
  std::map<std::string, DummyNetdev*, std::less<>> by_name;
};
OpenDummies& Dummies() {
  static OpenDummies dummies;
  return dummies;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::StatusOr<std::vector<uint8_t>> ParseHex(std::string_view hex) {
  std::vector<uint8_t> bytes;
  int high = -1;
  for (char c : hex) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    int digit = HexDigit(c);
    if (digit < 0) return InvalidArgument("'{}' is not a hexadecimal digit", c);
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0) return InvalidArgument("odd number of hexadecimal digits: expected two for each byte");
  if (bytes.size() < sizeof(EthernetHeader)) {
    return InvalidArgument("frame of {} bytes: expected at least {}, an Ethernet header", bytes.size(),
                           sizeof(EthernetHeader));
  }
  return bytes;
}

}  // namespace

class DummyRxq final : public NetdevRxq {
 public:
  explicit DummyRxq(DummyNetdev& netdev) : netdev_(netdev), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~DummyRxq() override { close(event_); }

  void Attach(PacketPools& pools) override { pools_ = &pools; }
  void Detach() override { pools_ = nullptr; }
  int wait_fd() const override { return event_; }

  bool Receive(RxBurst& burst, size_t max) override {
    std::lock_guard lock(netdev_.mutex_);
    max = std::min(max, RxBurst::kCapacity - burst.size());
    for (; max > 0 && !arrivals_.empty(); --max) {
      Deliver(arrivals_.front(), burst);
      arrivals_.pop_front();
    }
    if (!arrivals_.empty()) return true;
    uint64_t count;
    [[maybe_unused]] ssize_t got = read(event_, &count, sizeof count);  // EAGAIN: it was quiet already
    return false;
  }

  // The owner's mutex is held.
  void Enqueue(DummyNetdev::Arrival arrival) {
    arrivals_.push_back(std::move(arrival));
    uint64_t one = 1;
    [[maybe_unused]] ssize_t put = write(event_, &one, sizeof one);  // fails only when it is readable anyway
  }

 private:
  void Deliver(const DummyNetdev::Arrival& arrival, RxBurst& burst) {
    DropReason reason{};
    DpPacketPtr packet = Fill(arrival.bytes, reason);
    if (packet != nullptr && arrival.header.has_value()) {
      if (!DecodeVnetHeader(*arrival.header, *packet, reason)) packet.reset();
    } else if (packet != nullptr) {
      packet->offload = arrival.offload;
    }
    if (packet == nullptr) {
      counters_.drops.Add(reason);
      return;
    }
    CountPacket(counters_, *packet);
    burst.Add(std::move(packet));
  }

  DpPacketPtr Fill(const std::vector<uint8_t>& bytes, DropReason& reason) {
    reason = bytes.size() < sizeof(EthernetHeader) ? DropReason::kRxRunt : DropReason::kRxTruncated;
    if (bytes.size() < sizeof(EthernetHeader)) return nullptr;
    if (bytes.size() > PacketPools::kSmallDataSize + PacketPools::kLargeDataSize) return nullptr;
    reason = DropReason::kRxPoolEmpty;
    DpPacketPtr packet = pools_->small->Allocate();
    if (packet == nullptr) return nullptr;
    auto head = static_cast<uint32_t>(std::min<size_t>(bytes.size(), PacketPools::kSmallDataSize));
    auto rest = static_cast<uint32_t>(bytes.size() - head);
    std::memcpy(packet->data(), bytes.data(), head);
    packet->SetHeadLength(head);
    if (rest == 0) return packet;
    DpPacketPtr tail = pools_->large->Allocate();
    if (tail == nullptr) return nullptr;
    std::memcpy(tail->data(), bytes.data() + head, rest);
    tail->SetHeadLength(rest);
    packet->AppendChain(packet.get(), tail.release());
    return packet;
  }

  DummyNetdev& netdev_;
  const int event_;
  PacketPools* pools_ = nullptr;
  std::deque<DummyNetdev::Arrival> arrivals_;
};

class DummyTxq final : public NetdevTxq {
 public:
  explicit DummyTxq(DummyNetdev& netdev) : netdev_(netdev) {}
  EgressCaps caps() const override { return netdev_.caps_.Load(); }
  void Send(PacketBatch& frames) override { netdev_.Transmit(frames, counters_); }

 private:
  DummyNetdev& netdev_;
};

DummyNetdev::DummyNetdev(std::string name) : name_(std::move(name)), full_caps_(DefaultCaps()) {
  static std::atomic<uint8_t> number{0};
  state_ = {.present = true, .admin_up = true, .carrier = true, .mtu = full_caps_.mtu};
  state_.mac = {0xaa, 0x55, 0xaa, 0x55, 0x00, ++number};
  UpdateCaps();
}

absl::StatusOr<std::unique_ptr<DummyNetdev>> DummyNetdev::Open(const std::string& name, const NetdevOptions& options) {
  std::unique_ptr<DummyNetdev> netdev(new DummyNetdev(name));
  SLUICE_RETURN_IF_ERROR(netdev->SetOptions(options));
  std::lock_guard lock(Dummies().mutex);
  if (!Dummies().by_name.try_emplace(name, netdev.get()).second) {
    return AlreadyExists("port {}: a dummy port of this name is open already", name);
  }
  return netdev;
}

DummyNetdev::~DummyNetdev() {
  std::lock_guard lock(Dummies().mutex);
  auto found = Dummies().by_name.find(name_);
  if (found != Dummies().by_name.end() && found->second == this) Dummies().by_name.erase(found);
}

absl::Status DummyNetdev::SetOptions(const NetdevOptions& options) {
  auto parsed = ParsePortOptions(name_, options, {}, kDummyOptions);
  if (!parsed.ok()) return parsed.status();
  std::map<std::string, std::shared_ptr<PcapWriter>> captures;
  for (std::string_view option : kDummyOptions) {
    auto wanted = options.find(std::string(option));
    if (wanted == options.end()) continue;
    auto old = options_.find(wanted->first);
    if (old != options_.end() && old->second == wanted->second) {
      captures[wanted->first] = captures_[wanted->first];  // goes on; not emptied
      continue;
    }
    auto writer = PcapWriter::Create(wanted->second);
    if (!writer.ok()) return InvalidArgument("port {}: option {}: {}", name_, option, Message(writer.status()));
    captures[wanted->first] = *std::move(writer);
  }

  std::lock_guard lock(mutex_);
  captures_ = std::move(captures);
  options_ = options;
  rx_gro_.store(parsed->rx_gro, std::memory_order_relaxed);
  rxqs_.resize(std::min(rxqs_.size(), parsed->n_rxq));
  while (rxqs_.size() < parsed->n_rxq) rxqs_.push_back(std::make_unique<DummyRxq>(*this));
  return absl::OkStatus();
}

NetdevRxq& DummyNetdev::rxq(size_t index) { return *rxqs_[index]; }

absl::StatusOr<std::unique_ptr<NetdevTxq>> DummyNetdev::OpenTxq() { return std::make_unique<DummyTxq>(*this); }

NetdevState DummyNetdev::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

std::map<std::string, std::string> DummyNetdev::status() const { return {{"driver_name", "dummy"}}; }

absl::Status DummyNetdev::SetMtu(uint32_t mtu) {
  NetdevState changed = state();
  changed.mtu = mtu;
  SetState(changed);
  return absl::OkStatus();
}

absl::Status DummyNetdev::SetMac(const std::array<uint8_t, 6>& mac) {
  NetdevState changed = state();
  changed.mac = mac;
  SetState(changed);
  return absl::OkStatus();
}

void DummyNetdev::SetTsoEnabled(bool enabled) {
  std::lock_guard lock(mutex_);
  tso_enabled_ = enabled;
  UpdateCaps();
}

void DummyNetdev::SetCaps(const EgressCaps& caps) {
  std::lock_guard lock(mutex_);
  full_caps_ = caps;
  state_.mtu = caps.mtu;
  UpdateCaps();
}

void DummyNetdev::SetState(const NetdevState& state) {
  std::lock_guard lock(mutex_);
  state_ = state;
  full_caps_.mtu = state.mtu;
  UpdateCaps();
}

void DummyNetdev::UpdateCaps() {
  EgressCaps caps = full_caps_;
  if (!tso_enabled_) {
    caps.segmentations = 0;
    caps.max_super_length = 0;
    caps.segmentation_ecn = false;
  }
  caps_.Store(caps);
}

void DummyNetdev::Inject(absl::Span<const uint8_t> bytes, const Offload& offload, size_t queue) {
  Enqueue({.bytes = {bytes.begin(), bytes.end()}, .offload = offload}, queue);
}

void DummyNetdev::Inject(absl::Span<const uint8_t> bytes, const VnetHeader& header, size_t queue) {
  Enqueue({.bytes = {bytes.begin(), bytes.end()}, .header = header}, queue);
}

void DummyNetdev::Inject(absl::Span<const uint8_t> bytes, size_t queue) {
  Offload offload;
  {
    std::lock_guard lock(mutex_);
    offload.l4 = receive_checksum_;
  }
  Inject(bytes, offload, queue);
}

absl::Status DummyNetdev::Receive(std::string_view hex, size_t queue) {
  auto bytes = ParseHex(hex);
  if (!bytes.ok()) return InvalidArgument("port {}: {}", name_, Message(bytes.status()));
  Inject(*bytes, queue);
  return absl::OkStatus();
}

void DummyNetdev::SetReceiveChecksum(ChecksumState state) {
  std::lock_guard lock(mutex_);
  receive_checksum_ = state;
}

void DummyNetdev::Enqueue(Arrival arrival, size_t queue) {
  std::lock_guard lock(mutex_);
  for (const char* option : {"pcap", "rxq_pcap"}) {
    if (auto capture = captures_.find(option); capture != captures_.end()) capture->second->Write(arrival.bytes);
  }
  rxqs_[queue % rxqs_.size()]->Enqueue(std::move(arrival));
}

std::vector<DummyNetdev::SentFrame> DummyNetdev::TakeSent() {
  std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

size_t DummyNetdev::sent_count() const {
  std::lock_guard lock(mutex_);
  return sent_.size();
}

void DummyNetdev::SetSendBudget(std::optional<size_t> frames) {
  std::lock_guard lock(mutex_);
  budget_ = frames;
}

void DummyNetdev::HoldCompletions(bool hold) {
  std::lock_guard lock(mutex_);
  hold_ = hold;
}

size_t DummyNetdev::Complete() {
  std::lock_guard lock(mutex_);
  for (const DpPacketPtr& packet : held_) Collect(*packet);
  size_t completed = held_.size();
  held_.clear();
  return completed;
}

// The mutex is held.
void DummyNetdev::Collect(const DpPacket& packet) {
  SentFrame frame = {std::vector<uint8_t>(packet.length()), packet.offload,
                     static_cast<uint16_t>(packet.buffer_count())};
  packet.CopyOut(0, packet.length(), frame.bytes.data());
  for (const char* option : {"pcap", "tx_pcap"}) {
    if (auto capture = captures_.find(option); capture != captures_.end()) capture->second->Write(frame.bytes);
  }
  sent_.push_back(std::move(frame));
}

void DummyNetdev::Transmit(PacketBatch& frames, QueueCounters& counters) {
  std::lock_guard lock(mutex_);
  bool up = state_.present && state_.admin_up && state_.carrier;
  for (size_t i = 0; i < frames.size(); ++i) {
    DpPacketPtr packet = frames.Take(i);
    if (!up) {
      CountDrop(counters, DropReason::kTxPortDown, *packet);
      continue;
    }
    if (budget_ == size_t{0}) {
      CountDrop(counters, DropReason::kTxFull, *packet);
      continue;
    }
    if (budget_.has_value()) --*budget_;
    CountPacket(counters, *packet);
    if (hold_) {
      held_.push_back(std::move(packet));
    } else {
      Collect(*packet);
    }
  }
  frames.Clear();
}

absl::StatusOr<std::unique_ptr<Netdev>> OpenDummyNetdev(const std::string& name, const NetdevOptions& options) {
  return DummyNetdev::Open(name, options);
}

DummyNetdev* FindDummy(std::string_view name) {
  std::lock_guard lock(Dummies().mutex);
  auto found = Dummies().by_name.find(name);
  return found == Dummies().by_name.end() ? nullptr : found->second;
}

}  // namespace sluice
