#include "ofproto/datapath_meters.h"

#include "lib/base/log.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

LogModule log_module("ofproto");

DpMeterConfig ToDatapath(const MeterConfig& config) {
  DpMeterConfig result{.in_packets = (config.flags & kMeterPktps) != 0, .bands = {}};
  for (const MeterBand& band : config.bands) {
    result.bands.push_back({.type = band.type == MeterBand::Type::kDrop ? DpMeterConfig::Band::Type::kDrop
                                                                        : DpMeterConfig::Band::Type::kDscpRemark,
                            .rate = band.rate,
                            .burst = (config.flags & kMeterBurst) != 0 ? band.burst : 0,
                            .precedence = band.precedence});
  }
  return result;
}

}  // namespace

absl::StatusOr<uint32_t> MetersInDatapath::AddMeter(const MeterConfig& config) {
  if (datapath_ == nullptr) return FailedPrecondition("meter {}: there is no datapath yet to keep it", config.meter);
  return datapath_->meters().Add(ToDatapath(config));
}

void MetersInDatapath::ModifyMeter(uint32_t number, const MeterConfig& config) {
  if (datapath_ == nullptr) return;
  if (absl::Status modified = datapath_->meters().Modify(number, ToDatapath(config)); !modified.ok()) {
    SLUICE_LOG(log_module, kWarn, "meter {}: {}", config.meter, Message(modified));
  }
}

void MetersInDatapath::RemoveMeter(uint32_t number) {
  if (datapath_ == nullptr) return;
  if (absl::Status removed = datapath_->meters().Remove(number); !removed.ok()) {
    SLUICE_LOG(log_module, kWarn, "{}", Message(removed));
  }
}

MeterStats MetersInDatapath::ReadMeter(uint32_t number) const {
  const DpMeter* meter = datapath_ != nullptr ? datapath_->meters().Find(number) : nullptr;
  if (meter == nullptr) return {};
  const DpMeterStats counted = meter->Stats();
  MeterStats stats;
  stats.packets_in = counted.in.frames;
  stats.bytes_in = counted.in.bytes;
  for (const DpMeterStats::Count& band : counted.bands) stats.bands.push_back({band.frames, band.bytes});
  return stats;
}

}  // namespace sluice
