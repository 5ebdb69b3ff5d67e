#include "datapath/meter.h"

namespace sluice {
namespace {

constexpr uint64_t kBitsPerKilobit = 1000;

}  // namespace

DpMeter::Band::Band(const BandConfig& band_config, uint64_t unit)
    : config(band_config), bucket(config.rate * unit, (config.burst != 0 ? config.burst : config.rate) * unit) {}

DpMeter::DpMeter(const DpMeterConfig& config) : in_packets_(config.in_packets) {
  for (const BandConfig& band : config.bands) bands_.emplace_back(band, in_packets_ ? 1 : kBitsPerKilobit);
}

DpMeterStats DpMeter::Stats() const {
  DpMeterStats stats{.in = in_.Get(), .bands = {}};
  for (const Band& band : bands_) stats.bands.push_back(band.count.Get());
  return stats;
}

}  // namespace sluice
