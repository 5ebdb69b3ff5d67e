#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr BitName kCapabilities[] = {
    {1 << 0, "FLOW_STATS"},   {1 << 1, "TABLE_STATS"}, {1 << 2, "PORT_STATS"},       {1 << 3, "GROUP_STATS"},
    {kCapabilityStp, "STP"},  {1 << 5, "IP_REASM"},    {1 << 6, "QUEUE_STATS"},      {1 << 7, "ARP_MATCH_IP"},
    {1 << 8, "PORT_BLOCKED"}, {1 << 9, "BUNDLES"},     {1 << 10, "FLOW_MONITORING"},
};

}  // namespace

void FormatFeatures(const OfFeaturesReply& message, const Text& text, std::string& out) {
  out += fmt::format(" dpid:{:016x}\n", message.datapath_id);
  out += fmt::format("n_tables:{}, n_buffers:{}", message.n_tables, message.n_buffers);
  if (message.auxiliary_id != 0) out += fmt::format(", auxiliary_id:{}", message.auxiliary_id);
  out += "\ncapabilities: " + BitNames(message.capabilities, kCapabilities, " ") + "\n";
  if (text.form.version == OfVersion::k10 && message.actions != 0) {
    out += "actions: " + ActionNames(message.actions, text.form.version) + "\n";
  }
  FormatPorts(message.ports, text, out);
}

void FormatConfig(const OfSwitchConfig& message, const Text& text, std::string& out) {
  constexpr std::string_view kFragments[] = {"normal", "drop", "reassemble", "nx-match"};
  out += fmt::format(" frags={}", kFragments[message.flags & 3]);
  if (text.form.version < OfVersion::k13 && (message.flags & 4) != 0) out += " invalid_ttl_to_controller";
  out += fmt::format(" miss_send_len={}\n", message.miss_send_len);
}
void FormatConfigReply(const OfConfigReply& message, const Text& text, std::string& out) {
  FormatConfig(message.config, text, out);
}

void FormatDesc(const OfDescReply& message, const Text&, std::string& out) {
  const OfDesc& desc = message.desc;
  out += fmt::format("\nManufacturer: {}\nHardware: {}\nSoftware: {}\nSerial Num: {}\nDP Description: {}\n",
                     desc.manufacturer, desc.hardware, desc.software, desc.serial, desc.datapath);
}

}  // namespace sluice::messages
