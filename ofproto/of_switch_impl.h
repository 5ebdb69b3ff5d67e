// OfSwitchImpl: OfSwitch over the parts of the switch: a bridge as its OpenFlow connections see it. Main thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ofproto/connections/of_switch.h"
#include "ofproto/switch_impl.h"

namespace sluice {

class OfSwitchImpl final : public OfSwitch {
 public:
  // The bridge exists as long as this. `on_ports_change`: a port was modified by OpenFlow.
  OfSwitchImpl(Switch::Impl& the_switch, const Bridge& bridge, std::function<void()> on_ports_change);

  std::string bridge() const override { return name_; }
  uint64_t datapath_id() const override { return self().status().datapath_id; }
  OfDesc description() const override;
  OfPipeline& pipeline() override { return *pipeline_; }
  OfNames names() const override;
  void PipelineChanged() override { switch_.MacsChanged(); }
  std::vector<OfPortDesc> ports() const override;
  OfStatus ModifyPort(const OfPortMod& mod) override;
  std::vector<OfPortStats> port_stats(OfPort port) const override;
  void SyncStatistics() override { switch_.SyncStatistics(); }
  OfStatus ExecutePacketOut(const OfPacketOut& out) override;
  OfStatus Resume(const OfPacketIn& packet) override;
  void ResetFlows() override { self().ResetFlows(); }

  // Notes when ports came, for the duration in their statistics.
  void FollowPorts();

 private:
  Bridge& self() const { return switch_.bridges.at(name_); }
  // Those of the bridge that work, by number.
  std::vector<const Interface*> Interfaces() const;
  OfPortDesc Describe(const Interface& interface) const;
  OfPortStats StatsOf(const Interface& interface) const;

  Switch::Impl& switch_;
  const std::string name_;
  const std::shared_ptr<OfPipeline> pipeline_;
  const std::function<void()> on_ports_change_;
  std::map<std::string, OfClock::time_point, std::less<>> since_;
};

}  // namespace sluice
