// Meters (OpenFlow 1.3+): plain data, their bytes and their text.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/openflow/error.h"
#include "lib/openflow/wire.h"

namespace sluice {

enum MeterFlags : uint16_t { kMeterKbps = 1, kMeterPktps = 2, kMeterBurst = 4, kMeterStats = 8 };
enum class MeterCommand : uint16_t { kAdd = 0, kModify = 1, kDelete = 2 };

struct MeterBand {
  enum class Type : uint16_t { kDrop = 1, kDscpRemark = 2 };
  Type type = Type::kDrop;
  uint32_t rate = 0;       // kilobits or packets a second
  uint32_t burst = 0;      // kilobits or packets; 0: not given
  uint8_t precedence = 0;  // kDscpRemark
  friend bool operator==(const MeterBand&, const MeterBand&) = default;
};
struct MeterConfig {
  uint32_t meter = 0;
  uint16_t flags = 0;
  std::vector<MeterBand> bands;
  friend bool operator==(const MeterConfig&, const MeterConfig&) = default;
};
struct MeterMod {
  MeterCommand command = MeterCommand::kAdd;
  MeterConfig config;
};
struct MeterStats {
  uint32_t meter = 0;
  uint32_t flow_count = 0;
  uint64_t packets_in = 0;
  uint64_t bytes_in = 0;
  std::chrono::nanoseconds duration{0};
  struct Band {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  std::vector<Band> bands;
};
struct MeterFeatures {
  uint32_t max_meters = 0;
  uint32_t band_types = 0;    // bit per MeterBand::Type
  uint32_t capabilities = 0;  // MeterFlags
  uint8_t max_bands = 0;
  uint8_t max_color = 0;
  uint32_t features = 0;  // 1.5
};

void EncodeMeterMod(const MeterMod& mod, OfVersion version, WireWriter& out);
OfResult<MeterMod> DecodeMeterMod(Bytes body, OfVersion version);

// "meter=1 kbps burst stats bands=type=drop rate=10 burst_size=5" as add-meter takes it.
absl::StatusOr<MeterMod> ParseMeterMod(std::string_view text, MeterCommand command);
// "meter=1 kbps bands=\ntype=drop rate=10": as dump-meters prints it.
std::string FormatMeter(const MeterConfig& meter);

}  // namespace sluice
