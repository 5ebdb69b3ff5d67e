// A bridge of nothing but tables and ports, for tests of connections.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ofproto/connections/of_switch.h"

namespace sluice::testing {

// Meters that are only numbered.
class FakeMeters final : public DatapathMeters {
 public:
  absl::StatusOr<uint32_t> AddMeter(const MeterConfig&) override { return next_++; }
  void ModifyMeter(uint32_t, const MeterConfig&) override {}
  void RemoveMeter(uint32_t) override {}
  MeterStats ReadMeter(uint32_t) const override { return {}; }

 private:
  uint32_t next_ = 1;
};

class FakeSwitch final : public OfSwitch {
 public:
  explicit FakeSwitch(std::string name) : name_(std::move(name)), pipeline_(meters_) {
    port_list = {Port(1, "p1"), Port(2, "p2"), Port(kOfpLocal, name_)};
  }

  static OfPortDesc Port(OfPort number, const std::string& name) {
    return {.port = number, .mac = {2, 0, 0, 0, 0, static_cast<uint8_t>(number)}, .name = name, .state = 4};
  }

  std::string bridge() const override { return name_; }
  uint64_t datapath_id() const override { return 0x23; }
  OfDesc description() const override { return {.manufacturer = "M", .hardware = "H", .software = "S"}; }
  OfPipeline& pipeline() override { return pipeline_; }
  OfNames names() const override { return {}; }
  void PipelineChanged() override { ++pipeline_changes; }
  std::vector<OfPortDesc> ports() const override { return port_list; }
  OfStatus ModifyPort(const OfPortMod& mod) override {
    modified_ports.push_back(mod);
    return std::nullopt;
  }
  std::vector<OfPortStats> port_stats(OfPort port) const override {
    std::vector<OfPortStats> stats;
    for (const OfPortDesc& desc : port_list) {
      if (port == kOfpNone || port == desc.port) stats.push_back({.port = desc.port, .rx_packets = 7});
    }
    return stats;
  }
  void SyncStatistics() override { ++syncs; }
  OfStatus ExecutePacketOut(const OfPacketOut& out) override {
    packet_outs.push_back(out);
    return std::nullopt;
  }
  OfStatus Resume(const OfPacketIn& packet) override {
    resumed.push_back(packet);
    return std::nullopt;
  }
  void ResetFlows() override {
    ++resets;
    pipeline_.tables.Flush();
  }

  // Of all tables, hidden ones too.
  std::vector<RulePtr> Rules() const {
    std::vector<RulePtr> rules = pipeline_.tables.Collect({});
    for (const RulePtr& rule : pipeline_.tables.Collect({}, true)) rules.push_back(rule);
    return rules;
  }

  std::vector<OfPortDesc> port_list;
  std::vector<OfPortMod> modified_ports;
  std::vector<OfPacketOut> packet_outs;
  std::vector<OfPacketIn> resumed;
  int resets = 0;
  int syncs = 0;
  int pipeline_changes = 0;

 private:
  const std::string name_;
  FakeMeters meters_;
  OfPipeline pipeline_;
};

}  // namespace sluice::testing
