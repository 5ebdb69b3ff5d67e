#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr BitName kEvictionFlags[] = {{1, "OTHER"}, {2, "IMPORTANCE"}, {4, "LIFETIME"}};

std::string TableText(uint8_t table, const Text& text) {
  return table == kTableAll ? "ALL" : FormatOfTable(table, text.names);
}

void FormatConfigBits(uint32_t config, std::string& out) {
  out += (config & kTableEviction) != 0 ? "  eviction=on" : "  eviction=off";
}

}  // namespace

void FormatTableMod(const OfTableMod& message, const Text& text, std::string& out) {
  out += " table_id=" + TableText(message.table, text);
  if (message.miss >= 0) {
    constexpr std::string_view kMisses[] = {"controller", "continue", "drop"};
    out += fmt::format(", flow_miss_config={}", kMisses[message.miss]);
  }
  if (text.form.version < OfVersion::k14) return;
  FormatConfigBits(message.config, out);
}

void FormatTableDescReply(const OfTableDescReply& message, const Text& text, std::string& out) {
  for (const OfTableDesc& desc : message.entries) {
    out += fmt::format("\n  table {}:\n   eviction={} eviction_flags={}", TableText(desc.table, text),
                       (desc.config & kTableEviction) != 0 ? "on" : "off",
                       BitNames(desc.eviction_flags, kEvictionFlags, "|"));
  }
}

void FormatTableStatus(const OfTableStatus& message, const Text& text, std::string& out) {
  out += fmt::format(" reason={} table={}", message.reason == 3 ? "VACANCY_DOWN" : "VACANCY_UP",
                     TableText(message.desc.table, text));
}

void FormatTableStatsReply(const OfTableStatsReply& message, const Text& text, std::string& out) {
  for (const OfTableStats& stats : message.entries) {
    out += fmt::format("\n  table {}: active={}, lookup={}, matched={}", TableText(stats.table, text), stats.active,
                       stats.lookups, stats.matches);
  }
}

void FormatTableFeaturesRequest(const OfTableFeaturesRequest&, const Text&, std::string&) {}

void FormatTableFeaturesReply(const OfTableFeaturesReply& message, const Text& text, std::string& out) {
  for (const OfTableFeatures& features : message.entries) {
    out += fmt::format("\n  table {}: {}", TableText(features.table, text), features.name);
  }
}

}  // namespace sluice::messages
