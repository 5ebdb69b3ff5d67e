#include <fmt/format.h>

#include <algorithm>

#include "ofproto/flows/groups.h"
#include "ofproto/flows/id_table.h"

namespace sluice {
namespace {

constexpr uint32_t kMaxMeters = 262144;  // as many as a datapath has
constexpr size_t kMaxBands = 8;
constexpr uint16_t kKnownFlags = kMeterKbps | kMeterPktps | kMeterBurst | kMeterStats;
constexpr uint8_t kMaxPrecedence = 3;  // drop precedences of RFC 2597

// Those of the switch itself, which a controller may set up too.
bool IsVirtual(uint32_t meter) { return meter == kMeterSlowpath || meter == kMeterController; }

OfStatus CheckMeter(const MeterConfig& config) {
  auto failure = [&](OfError error, std::string_view what) {
    return OfFailure{error, fmt::format("meter {}: {}", config.meter, what)};
  };
  if ((config.meter == 0 || config.meter > kMeterMax) && !IsVirtual(config.meter)) {
    return failure(OfError::kMmfcInvalidMeter, fmt::format("the number is to be from 1 to {:#x}", kMeterMax));
  }
  if ((config.flags & ~kKnownFlags) != 0) {
    return failure(OfError::kMmfcBadFlags, fmt::format("flags {:#x} are unknown", config.flags & ~kKnownFlags));
  }
  if ((config.flags & kMeterKbps) != 0 && (config.flags & kMeterPktps) != 0) {
    return failure(OfError::kMmfcBadFlags, "rates are in kbps or in pktps, not in both");
  }
  if (config.bands.size() > kMaxBands) {
    return failure(OfError::kMmfcOutOfBands,
                   fmt::format("{} bands, at most {} are possible", config.bands.size(), kMaxBands));
  }
  for (const MeterBand& band : config.bands) {
    if (band.type != MeterBand::Type::kDrop && band.type != MeterBand::Type::kDscpRemark) {
      return failure(OfError::kMmfcBadBand, "a band of unknown type: drop and dscp_remark are known");
    }
    if (band.rate == 0) return failure(OfError::kMmfcBadRate, "a band's rate is 0");
    if (band.type == MeterBand::Type::kDscpRemark && (band.precedence == 0 || band.precedence > kMaxPrecedence)) {
      return failure(OfError::kMmfcBadBandValue,
                     fmt::format("prec_level {}: it is to be from 1 to {}", band.precedence, kMaxPrecedence));
    }
  }
  return std::nullopt;
}

struct Meter {
  MeterConfig config;
  uint32_t number = 0;  // in the datapath
  OfClock::time_point created;
};

}  // namespace

struct MeterTable::Impl {
  explicit Impl(DatapathMeters& datapath_meters) : datapath(datapath_meters) {}

  OfStatus Add(const MeterConfig& config);
  OfStatus Modify(const MeterConfig& config);
  OfStatus Delete(uint32_t meter, const std::function<void(uint32_t)>& on_removed);
  void Publish() { version.fetch_add(1, std::memory_order_release); }

  DatapathMeters& datapath;
  IdTable<const Meter> meters;
  std::atomic<uint64_t> version{0};
};

OfStatus MeterTable::Impl::Add(const MeterConfig& config) {
  if (meters.Find(config.meter) != nullptr) {
    return OfFailure{OfError::kMmfcMeterExists,
                     fmt::format("meter {} exists already: modify it, or delete it first", config.meter)};
  }
  if (OfStatus failure = CheckMeter(config)) return failure;
  if (meters.size() >= kMaxMeters) {
    return OfFailure{OfError::kMmfcOutOfMeters,
                     fmt::format("meter {}: there are {} already, and no more are possible", config.meter, kMaxMeters)};
  }
  absl::StatusOr<uint32_t> number = datapath.AddMeter(config);
  if (!number.ok()) {
    return OfFailure{OfError::kMmfcOutOfMeters,
                     fmt::format("meter {}: {}", config.meter, std::string(number.status().message()))};
  }
  meters.Set(config.meter, std::make_shared<Meter>(Meter{config, *number, OfClock::now()}));
  Publish();
  return std::nullopt;
}

OfStatus MeterTable::Impl::Modify(const MeterConfig& config) {
  const auto old = meters.Find(config.meter);
  if (old == nullptr) {
    return OfFailure{OfError::kMmfcUnknownMeter, fmt::format("there is no meter {}: add it first", config.meter)};
  }
  if (OfStatus failure = CheckMeter(config)) return failure;
  datapath.ModifyMeter(old->number, config);
  meters.Set(config.meter, std::make_shared<Meter>(Meter{config, old->number, old->created}));
  Publish();
  return std::nullopt;
}

// Flows go first: no packet is to meet a meter that is gone.
OfStatus MeterTable::Impl::Delete(uint32_t meter, const std::function<void(uint32_t)>& on_removed) {
  std::vector<std::shared_ptr<const Meter>> gone;
  if (meter == kMeterAll) {
    gone = meters.All();
  } else if (auto one = meters.Find(meter)) {
    gone.push_back(one);
  }
  for (const auto& one : gone) {
    on_removed(one->config.meter);
    meters.Set(one->config.meter, nullptr);
  }
  if (!gone.empty()) Publish();
  for (const auto& one : gone) datapath.RemoveMeter(one->number);
  return std::nullopt;
}

MeterTable::MeterTable(DatapathMeters& datapath) : impl_(std::make_unique<Impl>(datapath)) {}

// The datapath lives on, perhaps with other bridges.
MeterTable::~MeterTable() {
  for (const auto& meter : impl_->meters.All()) impl_->datapath.RemoveMeter(meter->number);
}

std::optional<uint32_t> MeterTable::DatapathNumber(uint32_t meter) const {
  const auto found = impl_->meters.Find(meter);
  return found == nullptr ? std::nullopt : std::optional(found->number);
}

uint64_t MeterTable::version() const { return impl_->version.load(std::memory_order_acquire); }

OfStatus MeterTable::Apply(const MeterMod& mod, const std::function<void(uint32_t)>& on_removed) {
  switch (mod.command) {
    case MeterCommand::kAdd:
      return impl_->Add(mod.config);
    case MeterCommand::kModify:
      return impl_->Modify(mod.config);
    case MeterCommand::kDelete:
      return impl_->Delete(mod.config.meter, on_removed);
  }
  return OfFailure{OfError::kMmfcBadCommand,
                   fmt::format("meter mod command {} is unknown", static_cast<unsigned>(mod.command))};
}

std::vector<MeterConfig> MeterTable::Describe(uint32_t id) const {
  std::vector<MeterConfig> configs;
  for (const auto& meter : impl_->meters.All()) {
    if (id == kMeterAll || id == meter->config.meter) configs.push_back(meter->config);
  }
  return configs;
}

std::vector<MeterStats> MeterTable::Statistics(uint32_t id, OfClock::time_point now,
                                               const std::function<uint32_t(uint32_t)>& count_flows) const {
  std::vector<MeterStats> all;
  for (const auto& meter : impl_->meters.All()) {
    if (id != kMeterAll && id != meter->config.meter) continue;
    MeterStats& stats = all.emplace_back(impl_->datapath.ReadMeter(meter->number));
    stats.meter = meter->config.meter;
    stats.flow_count = count_flows(meter->config.meter);
    stats.duration = std::max(now - meter->created, OfClock::duration(0));
  }
  return all;
}

MeterFeatures MeterTable::features() const {
  MeterFeatures features;
  features.max_meters = kMaxMeters;
  features.band_types =
      1u << static_cast<unsigned>(MeterBand::Type::kDrop) | 1u << static_cast<unsigned>(MeterBand::Type::kDscpRemark);
  features.capabilities = kKnownFlags;
  features.max_bands = kMaxBands;
  return features;
}

}  // namespace sluice
