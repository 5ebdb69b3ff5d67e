#include "lib/flow/mac_text.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr BitName kConfig[] = {
    {1 << 0, "PORT_DOWN"}, {1 << 1, "NO_STP"}, {1 << 2, "NO_RECV"},      {1 << 3, "NO_RECV_STP"},
    {1 << 4, "NO_FLOOD"},  {1 << 5, "NO_FWD"}, {1 << 6, "NO_PACKET_IN"},
};
constexpr BitName kState[] = {{1 << 0, "LINK_DOWN"}, {1 << 1, "BLOCKED"}, {1 << 2, "LIVE"}};
constexpr BitName kFeatures[] = {
    {1 << 0, "10MB-HD"},  {1 << 1, "10MB-FD"},   {1 << 2, "100MB-HD"},    {1 << 3, "100MB-FD"},
    {1 << 4, "1GB-HD"},   {1 << 5, "1GB-FD"},    {1 << 6, "10GB-FD"},     {1 << 7, "40GB-FD"},
    {1 << 8, "100GB-FD"}, {1 << 9, "1TB-FD"},    {1 << 10, "OTHER"},      {1 << 11, "COPPER"},
    {1 << 12, "FIBER"},   {1 << 13, "AUTO_NEG"}, {1 << 14, "AUTO_PAUSE"}, {1 << 15, "AUTO_PAUSE_ASYM"},
};

void AddFeatures(std::string_view label, uint32_t features, std::string& out) {
  if (features != 0) out += fmt::format("     {:<12}{}\n", label, BitNames(features, kFeatures, " "));
}

std::string PortText(OfPort port, const Text& text) { return FormatOfPort(port, text.names); }

// -- Statistics
// --------------------------------------------------------------------------------------------------------

void AddCounter(std::string_view label, uint64_t value, bool more, std::string& out) {
  out += label;
  out += value == UINT64_MAX ? "?" : std::to_string(value);
  out += more ? ", " : "\n";
}

void FormatPortStats(const OfPortStats& stats, const Text& text, std::string& out) {
  out += fmt::format("  port {:>2}: ", PortText(stats.port, text));
  AddCounter("rx pkts=", stats.rx_packets, true, out);
  AddCounter("bytes=", stats.rx_bytes, true, out);
  AddCounter("drop=", stats.rx_dropped, true, out);
  AddCounter("errs=", stats.rx_errors, true, out);
  AddCounter("frame=", stats.rx_frame_errors, true, out);
  AddCounter("over=", stats.rx_over_errors, true, out);
  AddCounter("crc=", stats.rx_crc_errors, false, out);
  AddCounter("           tx pkts=", stats.tx_packets, true, out);
  AddCounter("bytes=", stats.tx_bytes, true, out);
  AddCounter("drop=", stats.tx_dropped, true, out);
  AddCounter("errs=", stats.tx_errors, true, out);
  AddCounter("coll=", stats.collisions, false, out);
  if (stats.duration >= std::chrono::nanoseconds(0)) {
    out += "           duration=" + DurationText(stats.duration) + "\n";
  }
  if (stats.custom.empty()) return;
  out += "           CUSTOM Statistics";
  size_t column = 0;
  for (const auto& [name, value] : stats.custom) {
    out += column++ % 3 == 0 ? "\n                      " : " ";
    out += fmt::format("{}={},", name, value);
  }
  out += "\n";
}

}  // namespace

void FormatPort(const OfPortDesc& port, const Text&, std::string& out) {
  out += fmt::format(" {}({}): addr:{}\n", FormatOfPort(port.port, OfNames{}), port.name, FormatMac(port.mac));
  out += fmt::format("     config:     {}\n", BitNames(port.config, kConfig, " "));
  out += fmt::format("     state:      {}\n", BitNames(port.state, kState, " "));
  AddFeatures("current:", port.current, out);
  AddFeatures("advertised:", port.advertised, out);
  AddFeatures("supported:", port.supported, out);
  AddFeatures("peer:", port.peer, out);
  out +=
      fmt::format("     speed: {} Mbps now, {} Mbps max\n", port.current_speed_kbps / 1000, port.max_speed_kbps / 1000);
}

void FormatPorts(std::vector<OfPortDesc> ports, const Text& text, std::string& out) {
  std::sort(ports.begin(), ports.end(), [](const OfPortDesc& a, const OfPortDesc& b) { return a.port < b.port; });
  for (const OfPortDesc& port : ports) FormatPort(port, text, out);
}

void FormatPortStatus(const OfPortStatus& message, const Text& text, std::string& out) {
  constexpr std::string_view kReasons[] = {"ADD", "DEL", "MOD"};
  out += fmt::format(" {}:", kReasons[static_cast<size_t>(message.reason)]);
  FormatPort(message.port, text, out);
}

void FormatPortMod(const OfPortMod& message, const Text& text, std::string& out) {
  out += fmt::format(" port: {}: addr:{}\n", PortText(message.port, text), FormatMac(message.mac));
  out += fmt::format("     config: {}\n", BitNames(message.config, kConfig, " "));
  out += fmt::format("     mask:   {}\n", BitNames(message.mask, kConfig, " "));
  out += fmt::format("     advertise: {}\n",
                     message.advertise != 0 ? BitNames(message.advertise, kFeatures, " ") : "UNCHANGED");
}

void FormatPortDescRequest(const OfPortDescRequest& message, const Text& text, std::string& out) {
  out += " port=" + PortText(message.port, text);
}

void FormatPortDescReply(const OfPortDescReply& message, const Text& text, std::string& out) {
  out += "\n";
  FormatPorts(message.entries, text, out);
}

void FormatPortStatsRequest(const OfPortStatsRequest& message, const Text& text, std::string& out) {
  out += " port_no=" + PortText(message.port, text);
}

void FormatPortStatsReply(const OfPortStatsReply& message, const Text& text, std::string& out) {
  out += fmt::format(" {} ports\n", message.entries.size());
  if (text.verbosity < 1) return;
  for (const OfPortStats& stats : message.entries) FormatPortStats(stats, text, out);
}

}  // namespace sluice::messages
