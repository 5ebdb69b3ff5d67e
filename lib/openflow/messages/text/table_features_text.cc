#include "lib/openflow/messages/text/ditto.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

using Side = OfTableFeatures::Side;

bool operator==(const Side& a, const Side& b) {
  return a.next_tables == b.next_tables && a.instructions == b.instructions && a.write_actions == b.write_actions &&
         a.apply_actions == b.apply_actions && a.write_set_fields == b.write_set_fields &&
         a.apply_set_fields == b.apply_set_fields;
}

bool IsEmpty(const Side& side) { return side == Side(); }

bool HasMatching(const OfTableFeatures& features) { return !features.match.empty() || !features.wildcard.empty(); }
bool SameMatching(const OfTableFeatures& a, const OfTableFeatures& b) {
  return a.match == b.match && a.mask == b.mask && a.wildcard == b.wildcard;
}
bool SameFeatures(const OfTableFeatures& a, const OfTableFeatures& b) {
  return a.metadata_match == b.metadata_match && a.metadata_write == b.metadata_write && a.config == b.config &&
         a.capabilities == b.capabilities && a.max_entries == b.max_entries && a.sides[0] == b.sides[0] &&
         a.sides[1] == b.sides[1] && SameMatching(a, b);
}

// How many names from `names[0]` on are one word with numbers that count up: reg0, reg1, reg2.
size_t NumberRun(absl::Span<const std::string_view> names) {
  size_t digits = names[0].find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == names[0].size()) return 1;
  int number = std::atoi(std::string(names[0].substr(digits)).c_str());
  size_t run = 1;
  while (run < names.size() &&
         names[run] == fmt::format("{}{}", names[0].substr(0, digits), number + static_cast<int>(run))) {
    ++run;
  }
  return run;
}

// How many begin with the same word and an underscore.
size_t WordRun(absl::Span<const std::string_view> names) {
  size_t underscore = names[0].find('_');
  if (underscore == std::string_view::npos) return 1;
  size_t run = 1;
  while (run < names.size() && names[run].starts_with(names[0].substr(0, underscore + 1))) ++run;
  return run;
}

// Names that follow each other share what they begin with: "eth_{src,dst,type} reg0...reg15".
std::string Compress(absl::Span<const std::string_view> names, char separator) {
  std::string out;
  while (!names.empty()) {
    if (!out.empty()) out += separator;
    size_t run = NumberRun(names);
    if (run > 1) {
      out += fmt::format("{}...{}", names[0], names[run - 1]);
    } else if ((run = WordRun(names)) > 1) {
      size_t prefix = names[0].find('_') + 1;
      std::vector<std::string_view> rest;
      for (std::string_view name : names.subspan(0, run)) rest.push_back(name.substr(prefix));
      out += fmt::format("{}{{{}}}", names[0].substr(0, prefix), Compress(rest, ','));
    } else {
      out += names[0];
    }
    names.remove_prefix(run);
  }
  return out;
}

std::string FieldNames(const std::vector<FieldId>& fields) {
  std::vector<std::string_view> names;
  for (FieldId id : fields) names.push_back(Field(id).name);
  return " " + Compress(names, ' ');
}

std::vector<FieldId> Sorted(std::vector<FieldId> fields) {
  std::sort(fields.begin(), fields.end());
  return fields;
}
bool Contains(const std::vector<FieldId>& fields, FieldId id) {
  return std::find(fields.begin(), fields.end(), id) != fields.end();
}

void AddActions(uint32_t actions, const std::vector<FieldId>& set_fields, OfVersion version, std::string& out) {
  out += "        actions: " + ActionNames(actions, version) + "\n";
  if (!set_fields.empty()) out += "        supported on Set-Field:" + FieldNames(Sorted(set_fields)) + "\n";
}

std::string TableRanges(const std::vector<uint8_t>& tables) {
  std::string out;
  for (size_t i = 0; i < tables.size();) {
    size_t end = i + 1;
    while (end < tables.size() && tables[end] == tables[end - 1] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", tables[i]);
    if (end > i + 1) out += fmt::format("-{}", tables[end - 1]);
    i = end;
  }
  return out;
}

constexpr BitName kInstructions[] = {{1 << 6, "meter"},         {1 << 4, "apply_actions"},  {1 << 5, "clear_actions"},
                                     {1 << 3, "write_actions"}, {1 << 2, "write_metadata"}, {1 << 1, "goto_table"}};

void AddSide(const Side& side, const Side* previous, OfVersion version, std::string& out) {
  if (previous != nullptr && side.next_tables == previous->next_tables) {
    if (!side.next_tables.empty()) out += "      (same next tables)\n";
  } else {
    out += "      next tables: " + (side.next_tables.empty() ? "none" : TableRanges(side.next_tables)) + "\n";
  }
  if (side.instructions != 0) {
    out += previous != nullptr && side.instructions == previous->instructions
               ? "      (same instructions)\n"
               : "      instructions: " + BitNames(side.instructions & 0x7e, kInstructions, " ") + "\n";
  }
  bool same_actions = previous != nullptr && side.write_actions == previous->write_actions &&
                      side.apply_actions == previous->apply_actions &&
                      side.write_set_fields == previous->write_set_fields &&
                      side.apply_set_fields == previous->apply_set_fields;
  if (same_actions) {
    out += "      (same actions)\n";
  } else if (side.write_actions == side.apply_actions && side.write_set_fields == side.apply_set_fields) {
    out += "      Write-Actions and Apply-Actions features:\n";
    AddActions(side.write_actions, side.write_set_fields, version, out);
  } else {
    out += "      Write-Actions features:\n";
    AddActions(side.write_actions, side.write_set_fields, version, out);
    out += "      Apply-Actions features:\n";
    AddActions(side.apply_actions, side.apply_set_fields, version, out);
  }
}

void AddMatching(const OfTableFeatures& features, const OfTableFeatures* previous, std::string& out) {
  if (!HasMatching(features)) return;
  if (previous != nullptr && SameMatching(features, *previous)) {
    out += "    (same matching)\n";
    return;
  }
  out += "    matching:\n";
  std::vector<FieldId> masked, wild, exact;
  for (FieldId id : Sorted(features.match)) {
    (Contains(features.mask, id) ? masked : Contains(features.wildcard, id) ? wild : exact).push_back(id);
  }
  if (!masked.empty()) out += "      arbitrary mask:" + FieldNames(masked) + "\n";
  if (!wild.empty()) out += "      exact match or wildcard:" + FieldNames(wild) + "\n";
  if (!exact.empty()) out += "      must exact match:" + FieldNames(exact) + "\n";
}

void AddSides(const OfTableFeatures& features, const OfTableFeatures* previous, OfVersion version, std::string& out) {
  const Side& hit = features.sides[0];
  const Side& miss = features.sides[1];
  const Side* previous_hit = previous != nullptr ? &previous->sides[0] : nullptr;
  const Side* previous_miss = previous != nullptr ? &previous->sides[1] : nullptr;
  if (previous != nullptr && hit == *previous_hit && miss == *previous_miss) {
    if (!IsEmpty(hit)) out += "    (same instructions)\n";
  } else if (!(hit == miss)) {
    out += "    instructions (other than table miss):\n";
    AddSide(hit, previous_hit, version, out);
    out += "    instructions (table miss):\n";
    AddSide(miss, previous_miss, version, out);
  } else if (!IsEmpty(hit)) {
    out += "    instructions (table miss and others):\n";
    AddSide(hit, previous_hit, version, out);
  }
}

void AddTable(const OfTableFeatures& features, const OfTableFeatures* previous, const Text& text, std::string& out) {
  out += fmt::format("\n  table {}", FormatOfTable(features.table, text.names));
  if (!features.name.empty()) out += fmt::format(" (\"{}\")", features.name);
  if (previous != nullptr && SameFeatures(features, *previous)) {
    out += ": ditto";
    return;
  }
  out += ":\n";
  if (features.metadata_match != 0 || features.metadata_write != 0) {
    out += fmt::format("    metadata: match={:#x} write={:#x}\n", features.metadata_match, features.metadata_write);
  }
  if (text.form.version >= OfVersion::k14) {
    out += fmt::format("    eviction: {}supported\n", (features.capabilities & kTableEviction) != 0 ? "" : "not ");
    out += fmt::format("    vacancy events: {}supported\n", (features.capabilities & kTableVacancy) != 0 ? "" : "not ");
  }
  if (features.max_entries != 0) out += fmt::format("    max_entries={}\n", features.max_entries);
  AddSides(features, previous, text.form.version, out);
  AddMatching(features, previous, out);
}

void AddTables(const std::vector<OfTableFeatures>& tables, const Text& text, std::string& out) {
  const OfTableFeatures* previous = nullptr;
  DittoTables dittos;
  for (const OfTableFeatures& features : tables) {
    if (previous != nullptr && features.name.empty() && SameFeatures(features, *previous)) {
      dittos.Add(features.table);
    } else {
      dittos.Finish(out);
      AddTable(features, previous, text, out);
    }
    previous = &features;
  }
  dittos.Finish(out);
}

}  // namespace

void FormatTableFeaturesRequest(const OfTableFeaturesRequest& message, const Text& text, std::string& out) {
  AddTables(message.tables, text, out);
}
void FormatTableFeaturesReply(const OfTableFeaturesReply& message, const Text& text, std::string& out) {
  AddTables(message.entries, text, out);
}

}  // namespace sluice::messages
