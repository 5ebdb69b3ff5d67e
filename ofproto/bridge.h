// Bridge: what of one bridge outlives its configurations: MAC table, mirror counters, addresses. Main thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ofproto/config.h"
#include "ofproto/port_manager.h"
#include "ofproto/switch.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

class Bridge {
 public:
  explicit Bridge(const BridgeConfig& config);

  // Follows `config`: limits and static entries of the MAC table; forgets what was learned behind ports that are no
  // more or have other VLANs. `next_bundle_id` counts over all bridges.
  void Apply(const BridgeConfig& config, uint64_t& next_bundle_id);
  // Chooses the bridge's address: other_config:hwaddr, else the lowest of its system ports, else one of its own.
  void ChooseMac(const PortManager& ports);

  const BridgeConfig& config() const { return config_; }
  const std::string& name() const { return config_.name; }
  MacTable::Clock::time_point made() const { return made_; }
  const BridgeStatus& status() const { return status_; }
  const std::shared_ptr<MacTable>& macs() const { return macs_; }
  // 0: there is no such port.
  uint64_t BundleId(std::string_view port) const;
  const std::string* BundleName(uint64_t id) const;
  const std::shared_ptr<MirrorCounters>& CountersOf(const std::string& mirror) { return mirror_counters_[mirror]; }
  const std::map<std::string, std::shared_ptr<MirrorCounters>, std::less<>>& mirror_counters() const {
    return mirror_counters_;
  }

 private:
  void ApplyPorts(const BridgeConfig& config, uint64_t& next_bundle_id);
  void ApplyStaticMacs(const BridgeConfig& config);

  const MacTable::Clock::time_point made_ = MacTable::Clock::now();
  BridgeConfig config_;
  std::shared_ptr<MacTable> macs_;
  std::map<std::string, uint64_t, std::less<>> bundle_ids_;
  std::map<std::string, std::shared_ptr<MirrorCounters>, std::less<>> mirror_counters_;
  const MacAddress own_mac_;  // while no port lends one
  BridgeStatus status_;
};

}  // namespace sluice
