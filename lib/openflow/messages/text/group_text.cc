#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

std::string GroupName(uint32_t group) {
  if (group == kGroupAll) return "ALL";
  return group == kGroupAny ? "ANY" : std::to_string(group);
}

}  // namespace

void FormatGroupMod(const GroupMod& message, const Text& text, std::string& out) {
  std::string_view command = "ADD";
  switch (message.command) {
    case GroupCommand::kAdd:
      break;
    case GroupCommand::kModify:
      command = "MOD";
      break;
    case GroupCommand::kAddOrModify:
      command = "ADD_OR_MOD";
      break;
    case GroupCommand::kDelete:
      command = "DEL";
      break;
    case GroupCommand::kInsertBucket:
      command = "INSERT_BUCKET";
      break;
    case GroupCommand::kRemoveBucket:
      command = "REMOVE_BUCKET";
      break;
  }
  GroupDesc desc{message.type, message.group, message.buckets, message.selection};
  out += fmt::format("\n {} {}", command, FormatGroup(desc, text.form.version, text.names));
}

void FormatGroupStatsRequest(const OfGroupStatsRequest& message, const Text&, std::string& out) {
  out += " group_id=" + GroupName(message.group);
}

void FormatGroupDescRequest(const OfGroupDescRequest& message, const Text&, std::string& out) {
  out += " group_id=" + GroupName(message.group);
}

void FormatGroupStatsReply(const OfGroupStatsReply& message, const Text&, std::string& out) {
  for (const GroupStats& stats : message.entries) {
    out += fmt::format("\n group_id={},", stats.group);
    if (stats.duration >= std::chrono::nanoseconds(0)) out += "duration=" + DurationText(stats.duration) + ",";
    out += fmt::format("ref_count={},packet_count={},byte_count={}", stats.ref_count, stats.packets, stats.bytes);
    for (size_t i = 0; i < stats.buckets.size(); ++i) {
      const GroupStats::Bucket& bucket = stats.buckets[i];
      if (bucket.packets == UINT64_MAX) continue;
      out += fmt::format(",bucket{}:packet_count={},byte_count={}", i, bucket.packets, bucket.bytes);
    }
  }
}

void FormatGroupDescReply(const OfGroupDescReply& message, const Text& text, std::string& out) {
  for (const GroupDesc& desc : message.entries) {
    out += "\n " + FormatGroup(desc, text.form.version, text.names);
  }
}

void FormatGroupFeatures(const OfGroupFeaturesReply& message, const Text& text, std::string& out) {
  constexpr std::string_view kTypes[] = {"all", "select", "indirect", "fast failover"};
  out += fmt::format("\n Group table:\n    Types:  {:#x}\n    Capabilities:  {:#x}\n", message.features.types,
                     message.features.capabilities);
  for (size_t type = 0; type < std::size(kTypes); ++type) {
    if ((message.features.types >> type & 1) == 0) continue;
    out +=
        fmt::format("    {} group:\n       max_groups={:#x}\n       actions: {}\n", kTypes[type],
                    message.features.max_groups[type], ActionNames(message.features.actions[type], text.form.version));
  }
}

}  // namespace sluice::messages
