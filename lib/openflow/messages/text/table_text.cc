#include "lib/openflow/messages/text/ditto.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr BitName kEvictionFlags[] = {{1, "OTHER"}, {2, "IMPORTANCE"}, {4, "LIFETIME"}};

std::string TableText(uint8_t table, const Text& text) { return FormatOfTable(table, text.names); }

std::string_view OnOff(bool on) { return on ? "on" : "off"; }

void FormatDesc(const OfTableDesc& desc, const Text& text, std::string& out) {
  bool vacancy = (desc.config & kTableVacancy) != 0;
  out += fmt::format("\n  table {}:\n   eviction={} eviction_flags={}\n   vacancy={}", TableText(desc.table, text),
                     OnOff((desc.config & kTableEviction) != 0),
                     desc.eviction_flags == 0 ? "(default)" : BitNames(desc.eviction_flags, kEvictionFlags, "|"),
                     OnOff(vacancy));
  if (vacancy) {
    out +=
        fmt::format(" vacancy_down={}% vacancy_up={}% vacancy={}%", desc.vacancy_down, desc.vacancy_up, desc.vacancy);
  }
  out += "\n";
}

}  // namespace

void FormatTableMod(const OfTableMod& message, const Text& text, std::string& out) {
  out += message.table == kTableAll ? " table_id: ALL_TABLES" : " table_id=" + TableText(message.table, text);
  if (message.miss >= 0) {
    constexpr std::string_view kMisses[] = {"controller", "continue", "drop"};
    out += fmt::format(", flow_miss_config={}", kMisses[message.miss]);
  }
  if (text.form.version < OfVersion::k14) return;
  bool vacancy = (message.config & kTableVacancy) != 0;
  out += fmt::format(", eviction={}, vacancy={}", OnOff((message.config & kTableEviction) != 0), OnOff(vacancy));
  if (vacancy) out += fmt::format(" vacancy:{},{}", message.vacancy_down, message.vacancy_up);
}

void FormatTableDescReply(const OfTableDescReply& message, const Text& text, std::string& out) {
  for (const OfTableDesc& desc : message.entries) {
    FormatDesc(desc, text, out);
  }
}

void FormatTableStatus(const OfTableStatus& message, const Text& text, std::string& out) {
  out += fmt::format(" reason={}\ntable_desc:-", message.reason == 3 ? "VACANCY_DOWN" : "VACANCY_UP");
  FormatDesc(message.desc, text, out);
}

// A table with the same figures as the one before is only named, those without a name as a range. Only 1.0 tells what
// all tables can match on; nothing of what 1.1 and 1.2 tell of instructions is kept.
void FormatTableStatsReply(const OfTableStatsReply& message, const Text& text, std::string& out) {
  const OfTableStats* previous = nullptr;
  DittoTables dittos;
  for (const OfTableStats& stats : message.entries) {
    bool same_limits = previous != nullptr && stats.max_entries == previous->max_entries;
    bool same = same_limits && stats.active == previous->active && stats.lookups == previous->lookups &&
                stats.matches == previous->matches;
    previous = &stats;
    if (same && stats.name.empty()) {
      dittos.Add(stats.table);
      continue;
    }
    dittos.Finish(out);
    out += fmt::format("\n  table {}", TableText(stats.table, text));
    if (!stats.name.empty()) out += fmt::format(" (\"{}\")", stats.name);
    if (same) {
      out += ": ditto";
      continue;
    }
    out += fmt::format(":\n    active={}, lookup={}, matched={}\n", stats.active, stats.lookups, stats.matches);
    if (stats.max_entries == 0) continue;
    if (same_limits) {
      out += "    (same features)\n";
      continue;
    }
    out += fmt::format("    max_entries={}\n", stats.max_entries);
    if (text.form.version == OfVersion::k10) {
      out +=
          "    matching:\n      exact match or wildcard: in_port eth_{src,dst,type} vlan_{vid,pcp} ip_{src,dst} "
          "nw_{proto,tos} tcp_{src,dst}\n";
    }
  }
  dittos.Finish(out);
}

void DittoTables::Finish(std::string& out) {
  if (first_ < 0) return;
  if (first_ == last_) {
    out += fmt::format("\n  table {}: ditto\n", first_);
  } else {
    out += fmt::format("\n  tables {}...{}: ditto\n", first_, last_);
  }
  first_ = -1;
}

}  // namespace sluice::messages
