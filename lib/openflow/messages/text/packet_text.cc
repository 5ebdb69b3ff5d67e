#include "lib/openflow/messages/packets.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

std::string_view ReasonName(OfPacketIn::Reason reason) {
  constexpr std::string_view kNames[] = {"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"};
  auto index = static_cast<size_t>(reason);
  return index < std::size(kNames) ? kNames[index] : "no_match";
}

std::string DottedHex(Bytes bytes) {
  std::string out;
  for (uint8_t byte : bytes) out += fmt::format("{}{:02x}", out.empty() ? "" : ".", byte);
  return out;
}

}  // namespace

void FormatPacketIn(const OfPacketIn& message, const Text& text, std::string& out) {
  if (message.table != 0) out += " table_id=" + FormatOfTable(message.table, text.names);
  if (message.cookie != UINT64_MAX) out += fmt::format(" cookie={:#x}", message.cookie);
  out += fmt::format(" total_len={} ", message.total_length);
  out += FormatMatch(message.metadata, 32768, text.names);
  out += fmt::format(" (via {})", ReasonName(message.reason));
  out += fmt::format(" data_len={}", message.packet.size());
  if (message.buffer_id == kNoBuffer) {
    out += " (unbuffered)";
    if (message.total_length != message.packet.size()) out += " (***total_len != data_len***)";
  } else {
    out += fmt::format(" buffer={:#010x}", message.buffer_id);
    if (message.total_length < message.packet.size()) out += " (***total_len < data_len***)";
  }
  out += "\n";
  if (!message.userdata.empty()) out += " userdata=" + DottedHex(message.userdata) + "\n";
  if (text.verbosity > 0) out += PacketText(message.packet, text);
  if (text.verbosity > 2) out += HexDump(AsBytes(message.packet));
}

void FormatResume(const OfResume& message, const Text& text, std::string& out) {
  FormatPacketIn(message.packet, text, out);
}

void FormatPacketOut(const OfPacketOut& message, const Text& text, std::string& out) {
  out += " " + FormatMatch(message.metadata, 32768, text.names);
  out += " actions=" + FormatActions(message.actions, text.names);
  if (message.buffer_id != kNoBuffer) {
    out += fmt::format(" buffer={:#010x}\n", message.buffer_id);
    return;
  }
  out += fmt::format(" data_len={}\n", message.packet.size());
  if (text.verbosity > 0 && !message.packet.empty()) {
    out += PacketText(message.packet, text);
    if (text.verbosity > 2) out += HexDump(AsBytes(message.packet));
  }
}

}  // namespace sluice::messages
