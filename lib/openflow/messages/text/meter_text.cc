#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

std::string MeterName(uint32_t meter) {
  switch (meter) {
    case kMeterSlowpath:
      return "slowpath";
    case kMeterController:
      return "controller";
    case kMeterAll:
      return "all";
    default:
      return std::to_string(meter);
  }
}

constexpr BitName kBandTypes[] = {{1 << 1, "drop"}, {1 << 2, "dscp_remark"}};
constexpr BitName kCapabilities[] = {
    {kMeterKbps, "kbps"}, {kMeterPktps, "pktps"}, {kMeterBurst, "burst"}, {kMeterStats, "stats"}};

}  // namespace

void FormatMeterMod(const MeterMod& message, const Text&, std::string& out) {
  constexpr std::string_view kCommands[] = {"ADD", "MOD", "DEL"};
  out += fmt::format(" {} {}", kCommands[static_cast<size_t>(message.command)], FormatMeter(message.config));
}

void FormatMeterStatsRequest(const OfMeterStatsRequest& message, const Text&, std::string& out) {
  out += " meter=" + MeterName(message.meter);
}
void FormatMeterConfigRequest(const OfMeterConfigRequest& message, const Text&, std::string& out) {
  out += " meter=" + MeterName(message.meter);
}

void FormatMeterStatsReply(const OfMeterStatsReply& message, const Text&, std::string& out) {
  for (const MeterStats& stats : message.entries) {
    out += "\n";
    out += fmt::format("meter:{} flow_count:{} packet_in_count:{} byte_in_count:{} duration:{} bands:\n",
                       MeterName(stats.meter), stats.flow_count, stats.packets_in, stats.bytes_in,
                       DurationText(stats.duration));
    for (size_t i = 0; i < stats.bands.size(); ++i) {
      out += fmt::format("{}: packet_count:{} byte_count:{}\n", i, stats.bands[i].packets, stats.bands[i].bytes);
    }
  }
}

void FormatMeterConfigReply(const OfMeterConfigReply& message, const Text&, std::string& out) {
  for (const MeterConfig& config : message.entries) {
    out += "\n" + FormatMeter(config);
    if (out.back() != '\n') out += '\n';
  }
}

void FormatMeterFeatures(const OfMeterFeaturesReply& message, const Text&, std::string& out) {
  const MeterFeatures& features = message.features;
  out += fmt::format("\nmax_meter:{} max_bands:{} max_color:{}\n", features.max_meters, features.max_bands,
                     features.max_color);
  out += fmt::format("band_types: {}\n", BitNames(features.band_types, kBandTypes, " "));
  out += fmt::format("capabilities: {}\n", BitNames(features.capabilities, kCapabilities, " "));
}

}  // namespace sluice::messages
