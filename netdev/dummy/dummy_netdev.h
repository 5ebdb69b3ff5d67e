// A port in memory, for tests and for trying a configuration out: frames are injected and what is sent is collected.
// Every capability and every state that a real device may report can be set.
//
// The datapath sees an ordinary Netdev. Everything below "The far side" may be called from any thread at any time; a
// mutex guards it, so this port is not for measuring speed.
//
// Options: n_rxq, rx-gro (default false), and capture files: rxq_pcap (received), tx_pcap (sent), pcap (both).
#pragma once

#include <absl/types/span.h>

#include <deque>
#include <mutex>
#include <optional>

#include "netdev/caps_cell.h"
#include "netdev/dummy/pcap_writer.h"
#include "netdev/netdev.h"
#include "netdev/vnet_header.h"

namespace sluice {

// Besides those of every port.
inline constexpr std::string_view kDummyOptions[] = {"pcap", "rxq_pcap", "tx_pcap"};

class DummyRxq;

class DummyNetdev final : public Netdev {
 public:
  // A frame as it left: all of its bytes, and what was left for the device to do.
  struct SentFrame {
    std::vector<uint8_t> bytes;
    Offload offload;
    uint16_t buffers = 0;
  };

  static absl::StatusOr<std::unique_ptr<DummyNetdev>> Open(const std::string& name, const NetdevOptions& options);
  ~DummyNetdev() override;

  const std::string& name() const override { return name_; }
  std::string_view type() const override { return "dummy"; }
  absl::Status SetOptions(const NetdevOptions& options) override;
  NetdevOptions GetOptions() const override { return options_; }
  size_t rxq_count() const override { return rxqs_.size(); }
  NetdevRxq& rxq(size_t index) override;
  absl::StatusOr<std::unique_ptr<NetdevTxq>> OpenTxq() override;
  NetdevState state() const override;
  std::map<std::string, std::string> status() const override;
  absl::Status SetMtu(uint32_t mtu) override;
  absl::Status SetMac(const std::array<uint8_t, 6>& mac) override;
  void SetTsoEnabled(bool enabled) override;
  void OnLinkChange() override {}  // the state is what SetState() says

  // The far side. --------------------------------------------------------------------------------------------------

  // Lets a frame arrive on receive queue `queue` (modulo their number), with this offload state, taken as it is...
  void Inject(absl::Span<const uint8_t> bytes, const Offload& offload, size_t queue = 0);
  // ... with a virtio-net header, decoded and validated when it is received...
  void Inject(absl::Span<const uint8_t> bytes, const VnetHeader& header, size_t queue = 0);
  // ... or as an ordinary frame with the checksum state of SetReceiveChecksum().
  void Inject(absl::Span<const uint8_t> bytes, size_t queue = 0);
  // An ordinary frame in hexadecimal, white space allowed. The error says what is wrong with the text.
  absl::Status Receive(std::string_view hex, size_t queue = 0);
  void SetReceiveChecksum(ChecksumState state);

  // What was sent since the last call, oldest first.
  std::vector<SentFrame> TakeSent();
  size_t sent_count() const;  // and not yet taken

  void SetCaps(const EgressCaps& caps);  // as with TSO enabled
  void SetState(const NetdevState& state);
  // From now on at most `frames` packets are sent and all others find the queue full; nullopt: no limit.
  void SetSendBudget(std::optional<size_t> frames);
  // While true, sent packets are kept, as by a device that still reads them. Complete() looks at their bytes, collects
  // them as sent and frees them.
  void HoldCompletions(bool hold);
  size_t Complete();

 private:
  friend class DummyRxq;
  friend class DummyTxq;

  struct Arrival {
    std::vector<uint8_t> bytes;
    Offload offload;
    std::optional<VnetHeader> header;
  };

  explicit DummyNetdev(std::string name);
  void Enqueue(Arrival arrival, size_t queue);
  void UpdateCaps();
  void Collect(const DpPacket& packet);
  void Transmit(PacketBatch& frames, QueueCounters& counters);

  const std::string name_;
  NetdevOptions options_;
  std::vector<std::unique_ptr<DummyRxq>> rxqs_;
  CapsCell caps_;

  mutable std::mutex mutex_;  // guards all below, and the queues' arrivals
  EgressCaps full_caps_;
  bool tso_enabled_ = true;
  NetdevState state_;
  ChecksumState receive_checksum_ = ChecksumState::kUnknown;
  std::optional<size_t> budget_;
  bool hold_ = false;
  std::vector<DpPacketPtr> held_;
  std::vector<SentFrame> sent_;
  std::map<std::string, std::shared_ptr<PcapWriter>> captures_;  // by option
};

absl::StatusOr<std::unique_ptr<Netdev>> OpenDummyNetdev(const std::string& name, const NetdevOptions& options);

// The open dummy port of this name, or nullptr. Main thread; valid until the port is closed.
DummyNetdev* FindDummy(std::string_view name);

}  // namespace sluice
