// The "tap" and "internal" netdevs: a tap device of the kernel, whose far side is the kernel's stack (tap(4) as created
// by this process) or whoever it was handed to.
//
// "tap" is brought up when it is opened. "internal" is one that the host uses as its own interface: its user brings it
// up, gives it addresses and may move it into another network namespace, where the port follows its MTU and state. A
// tap that exists already (ip tuntap add) is used as it is and left behind; one that is made here goes with the port,
// or with the process. When the device is deleted the port is down, and makes it anew as soon as its name is free.
//
// Threading as in netdev.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "netdev/caps_cell.h"
#include "netdev/netdev.h"
#include "netdev/port_options.h"
#include "netdev/tap/tap_device.h"
#include "netdev/tap/tap_rxq.h"
#include "netdev/tap/tap_txq.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<Netdev>> OpenTapNetdev(const std::string& name, const NetdevOptions& options);
absl::StatusOr<std::unique_ptr<Netdev>> OpenInternalNetdev(const std::string& name, const NetdevOptions& options);

class TapNetdev final : public Netdev {
 public:
  enum class Kind { kTap, kInternal };

  static absl::StatusOr<std::unique_ptr<Netdev>> Open(const std::string& name, Kind kind, const NetdevOptions& options);

  const std::string& name() const override { return name_; }
  std::string_view type() const override { return kind_ == Kind::kTap ? "tap" : "internal"; }
  absl::Status SetOptions(const NetdevOptions& options) override;
  NetdevOptions GetOptions() const override { return options_; }
  size_t rxq_count() const override { return rxqs_.size(); }
  NetdevRxq& rxq(size_t index) override { return *rxqs_[index]; }
  absl::StatusOr<std::unique_ptr<NetdevTxq>> OpenTxq() override;
  NetdevState state() const override;
  // driver_name, driver_version, firmware_version as ovs-vswitchd.conf.db(5) has them; tx_*_offload; rx_tcp_seg_offload
  // and rx_udp_seg_offload (offered to the device's user); and persistent, other_netns.
  std::map<std::string, std::string> status() const override;
  absl::Status SetMtu(uint32_t mtu) override;
  absl::Status SetMac(const std::array<uint8_t, 6>& mac) override;
  void SetTsoEnabled(bool enabled) override;
  // Also makes a deleted device anew.
  void OnLinkChange() override;
  bool needs_link_polling() const override { return away_ || !state().present; }

 private:
  TapNetdev(std::string name, Kind kind, TapInspector inspector)
      : name_(std::move(name)), kind_(kind), inspector_(std::move(inspector)) {}

  absl::Status AttachFirst(size_t n_rxq);
  absl::Status ResizeQueues(size_t count);
  absl::Status AddQueue(FileDescriptor file);
  bool IsGone() const;
  // An error while the device cannot be changed by its name.
  absl::Status CheckHome() const;
  absl::Status Recreate();
  void PrepareDevice();
  void OfferOffloads();
  void Refresh();
  void TakeFacts(const TapInspector::Facts& facts);
  void StoreCaps();

  const std::string name_;
  const Kind kind_;
  const TapInspector inspector_;
  NetdevOptions options_;
  bool multi_queue_ = true;
  bool persistent_ = false;
  bool away_ = false;
  bool tso_enabled_ = true;
  TapOffloads offloads_;
  NetdevState state_;
  CapsCell caps_;
  std::vector<std::unique_ptr<TapRxq>> rxqs_;
  size_t next_txq_ = 0;
};

}  // namespace sluice
