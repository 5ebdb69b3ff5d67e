#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

std::string_view RoleName(OfRole role) {
  constexpr std::string_view kNames[] = {"nochange", "equal", "primary", "secondary"};
  return kNames[static_cast<size_t>(role)];
}

void AddRole(OfRole role, uint64_t generation, bool has_generation, std::string& out) {
  out += fmt::format(" role={}", RoleName(role));
  if (has_generation) out += fmt::format(" generation_id={}", generation);
}

// -- Asynchronous configuration
// ------------------------------------------------------------------------------------------

std::string_view AsyncReason(size_t type, unsigned reason) {
  constexpr std::string_view kPacketIn[] = {"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"};
  constexpr std::string_view kPort[] = {"add", "delete", "modify"};
  constexpr std::string_view kFlow[] = {"idle", "hard", "delete", "group_delete", "meter_delete", "eviction"};
  constexpr std::string_view kRole[] = {"primary_request", "configuration_changed", "experimenter_data_changed"};
  constexpr std::string_view kTable[] = {"", "", "", "vacancy_down", "vacancy_up"};
  constexpr std::string_view kForward[] = {"group_mod_request", "meter_mod_request"};
  const absl::Span<const std::string_view> names[] = {kPacketIn, kPort, kFlow, kRole, kTable, kForward};
  return reason < names[type].size() ? names[type][reason] : "";
}

void AddMask(size_t type, uint32_t mask, std::string& out) {
  constexpr std::string_view kLabels[] = {"PACKET_IN",   "PORT_STATUS",  "FLOW_REMOVED",
                                          "ROLE_STATUS", "TABLE_STATUS", "REQUESTFORWARD"};
  out += fmt::format("{:>16}:", kLabels[type]);
  if (mask == 0) {
    out += " (off)\n";
    return;
  }
  for (unsigned reason = 0; reason < 32; ++reason) {
    if ((mask >> reason & 1) == 0) continue;
    std::string_view name = AsyncReason(type, reason);
    out += " " + (name.empty() ? std::to_string(reason) : std::string(name));
  }
  out += "\n";
}

// Reasons that are not known are not shown, nor those of packet-ins that came with 1.4 before it.
void FormatAsync(OfAsyncConfig config, OfVersion version, std::string& out) {
  for (size_t secondary = 0; secondary < 2; ++secondary) {
    out += secondary == 0 ? "\n primary:\n" : "\n secondary:\n";
    auto& masks = config.masks[secondary];
    masks[OfAsyncConfig::kPacketIn] &= version < OfVersion::k14 ? 0x07 : 0x3f;
    masks[OfAsyncConfig::kPortStatus] &= 0x07;
    masks[OfAsyncConfig::kFlowRemoved] &= 0x3f;
    for (size_t type = 0; type < OfAsyncConfig::kCount; ++type) AddMask(type, config.masks[secondary][type], out);
  }
}

constexpr BitName kBundleFlags[] = {{1, "atomic"}, {2, "ordered"}};

// -- Monitors
// ------------------------------------------------------------------------------------------------------------

// Nicira's and ONF's sixth flag asks for the connection's own changes, as 1.4's seventh does.
std::string MonitorFlags(uint16_t flags, bool extension) {
  const BitName names[] = {
      {kMonitorInitial, "initial"},      {kMonitorAdd, "add"},
      {kMonitorRemoved, "delete"},       {kMonitorModify, "modify"},
      {kMonitorInstructions, "actions"}, {kMonitorNoAbbrev, extension ? "own" : "no-abbrev"},
      {kMonitorOnlyOwn, "own"},
  };
  return BitNames(flags, names, ",");
}

void FormatUpdate(const OfFlowUpdate& update, const Text& text, std::string& out) {
  constexpr std::string_view kEvents[] = {"INITIAL", "ADDED", "DELETED", "MODIFIED", "ABBREV", "PAUSED", "RESUMED"};
  out += fmt::format("\n event={}", kEvents[static_cast<size_t>(update.event)]);
  if (update.event == OfFlowUpdate::Event::kAbbrev) {
    out += fmt::format(" xid={:#x}", update.xid);
    return;
  }
  if (update.event > OfFlowUpdate::Event::kAbbrev) return;
  if (update.event == OfFlowUpdate::Event::kRemoved) {
    std::string_view reason = ReasonName(update.reason);
    out += " reason=" + (reason.empty() ? std::to_string(static_cast<int>(update.reason)) : std::string(reason));
  }
  out += " table=" + FormatOfTable(update.table, text.names);
  if (update.idle_timeout != 0) out += fmt::format(" idle_timeout={}", update.idle_timeout);
  if (update.hard_timeout != 0) out += fmt::format(" hard_timeout={}", update.hard_timeout);
  out += update.cookie == 0 ? " cookie=0 " : fmt::format(" cookie={:#x} ", update.cookie);
  out += FormatMatch(update.match, 32768, text.names);
  if (update.actions.empty()) return;
  if (out.back() != ' ') out += ' ';
  out += "actions=" + FormatActions(update.actions, text.names);
}

}  // namespace

void FormatRoleRequest(const OfRoleRequest& message, const Text& text, std::string& out) {
  AddRole(message.role, message.generation_id, message.role != OfRole::kNoChange && !text.form.extension, out);
}
void FormatRoleReply(const OfRoleReply& message, const Text&, std::string& out) {
  AddRole(message.role, message.generation_id, message.generation_id != UINT64_MAX, out);
}
void FormatRoleStatus(const OfRoleStatus& message, const Text&, std::string& out) {
  constexpr std::string_view kReasons[] = {"primary_request", "configuration_changed", "experimenter_data_changed"};
  AddRole(message.role, message.generation_id, message.generation_id != UINT64_MAX, out);
  out += fmt::format(" reason={}", kReasons[message.reason]);
}

void FormatSetAsync(const OfSetAsync& message, const Text& text, std::string& out) {
  FormatAsync(message.config, text.form.version, out);
}
void FormatGetAsync(const OfGetAsyncReply& message, const Text& text, std::string& out) {
  FormatAsync(message.config, text.form.version, out);
}

void FormatBundleControl(const OfBundleControl& message, const Text&, std::string& out) {
  constexpr std::string_view kTypes[] = {"OPEN_REQUEST",   "OPEN_REPLY",   "CLOSE_REQUEST",   "CLOSE_REPLY",
                                         "COMMIT_REQUEST", "COMMIT_REPLY", "DISCARD_REQUEST", "DISCARD_REPLY"};
  out += fmt::format("\n bundle_id={:#x} type=", message.bundle);
  out += message.type < std::size(kTypes) ? std::string(kTypes[message.type]) : std::to_string(message.type);
  out += " flags=" + BitNames(message.flags, kBundleFlags, " ");
}

void FormatBundleAdd(const OfBundleAdd& message, const Text& text, std::string& out) {
  out += fmt::format("\n bundle_id={:#x} flags={}\n", message.bundle, BitNames(message.flags, kBundleFlags, " "));
  Text inner = text;
  ++inner.depth;
  out += FormatNested(AsBytes(message.message), inner);
}

void FormatRequestForward(const OfRequestForward& message, const Text& text, std::string& out) {
  OfResult<OfMessage> inner = DecodeMessage(AsBytes(message.message));
  if (!inner.ok()) {
    out += " ***" + inner.failure().message + "***";
  } else if (const auto* group = std::get_if<GroupMod>(&inner->body)) {
    out += " reason=group_mod";
    FormatGroupMod(*group, text, out);
  } else if (const auto* meter = std::get_if<MeterMod>(&inner->body)) {
    out += " reason=meter_mod";
    FormatMeterMod(*meter, text, out);
  }
}

void FormatFlowMonitorRequest(const OfReply<OfFlowMonitorRequest>& message, const Text& text, std::string& out) {
  for (const OfFlowMonitorRequest& request : message.entries) {
    out += fmt::format("\n id={} flags={}", request.id, MonitorFlags(request.flags, text.form.extension));
    if (request.out_port != kOfpNone) out += " out_port=" + FormatOfPort(request.out_port, text.names);
    if (request.table != kTableAll) out += " table=" + FormatOfTable(request.table, text.names);
    std::string match = FormatMatch(request.match, 32768, text.names);
    if (!match.empty()) out += " " + match;
  }
}

void FormatFlowMonitorReply(const OfFlowMonitorReply& message, const Text& text, std::string& out) {
  for (const OfFlowUpdate& update : message.entries) FormatUpdate(update, text, out);
}

void FormatFlowMonitorCancel(const OfFlowMonitorCancel& message, const Text&, std::string& out) {
  out += fmt::format(" id={}", message.id);
}

}  // namespace sluice::messages
