#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

void AddMaps(const std::vector<NxTlvTableMod::Map>& maps, std::string& out) {
  out += " mapping table:\n  class  type  length  match field\n ------  ----  ------  --------------";
  for (const NxTlvTableMod::Map& map : maps) {
    out += fmt::format("\n {:#6x}  {:#4x}  {:6}  tun_metadata{}", map.option_class, map.option_type, map.option_length,
                       map.index);
  }
}

}  // namespace

void FormatSetFlowFormat(const NxSetFlowFormat& message, const Text&, std::string& out) {
  out += message.format == 2 ? " format=nxm" : " format=openflow10";
}
void FormatSetTableId(const NxSetFlowModTableId& message, const Text&, std::string& out) {
  out += message.on ? " enable" : " disable";
}
void FormatSetPacketInFormat(const NxSetPacketInFormat& message, const Text&, std::string& out) {
  constexpr std::string_view kFormats[] = {"standard", "nxt_packet_in", "nxt_packet_in2"};
  out += fmt::format(" format={}", kFormats[static_cast<size_t>(message.format)]);
}
void FormatSetControllerId(const NxSetControllerId& message, const Text&, std::string& out) {
  out += fmt::format(" id={}", message.id);
}
void FormatTlvTableMod(const NxTlvTableMod& message, const Text&, std::string& out) {
  constexpr std::string_view kCommands[] = {"ADD", "DEL", "CLEAR"};
  out += fmt::format("\n {}", kCommands[message.command]);
  if (message.command != 2) AddMaps(message.maps, out);
}
void FormatTlvTableReply(const NxTlvTableReply& message, const Text&, std::string& out) {
  int allocated = 0;
  for (const NxTlvTableMod::Map& map : message.maps) allocated += map.option_length;
  out += fmt::format("\n max option space={} max fields={}\n allocated option space={}\n\n", message.max_option_space,
                     message.max_fields, allocated);
  AddMaps(message.maps, out);
}
void FormatCtFlushZone(const NxCtFlush& message, const Text&, std::string& out) {
  out += fmt::format(" zone_id={}", message.zone.value_or(0));
}
void FormatCtFlush(const NxCtFlush& message, const Text&, std::string& out) {
  out += fmt::format(" zone={}", message.zone.value_or(0));
}
void FormatIpfixReply(const OfIpfixStatsReply& message, const Text&, std::string& out) {
  if (message.flow) out += fmt::format(" {} ids", message.entries.size());
  for (const OfIpfixStats& stats : message.entries) {
    const auto& v = stats.values;
    std::string label = message.flow ? fmt::format("  id {:3}: ", stats.collector_set) : "  bridge ipfix: ";
    out += fmt::format("\n{}flows={}, current flows={}, sampled pkts={}, ipv4 ok={}, ipv6 ok={}, tx pkts={}\n", label,
                       v[0], v[1], v[2], v[3], v[4], v[8]);
    out += fmt::format("{:{}}pkts errs={}, ipv4 errs={}, ipv6 errs={}, tx errs={}", "", label.size(), v[5], v[6], v[7],
                       v[9]);
  }
}

}  // namespace sluice::messages
