#include "ofproto/connections/requests/table_features.h"

namespace sluice {
namespace {

// OFPIT_* and OFPAT_* of OpenFlow 1.3+.
constexpr uint32_t kGotoTable = 1 << 1, kOtherInstructions = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6;
constexpr uint32_t kOutput = 1u << 0, kSetMplsTtl = 1u << 15, kDecMplsTtl = 1u << 16, kPushVlan = 1u << 17,
                   kPopVlan = 1u << 18, kPushMpls = 1u << 19, kPopMpls = 1u << 20, kSetQueue = 1u << 21,
                   kGroup = 1u << 22, kSetNwTtl = 1u << 23, kDecNwTtl = 1u << 24, kSetField = 1u << 25,
                   kMeter = 1u << 29;
constexpr uint32_t kActions = kOutput | kSetMplsTtl | kDecMplsTtl | kPushVlan | kPopVlan | kPushMpls | kPopMpls |
                              kSetQueue | kGroup | kSetNwTtl | kDecNwTtl | kSetField;

bool HasHeader(const FieldInfo& field) { return field.oxm_header != 0 || field.nxm_header != 0; }

std::vector<FieldId> FieldsWhere(bool (*wanted)(const FieldInfo&)) {
  std::vector<FieldId> fields;
  for (const FieldInfo& field : AllFields()) {
    if (HasHeader(field) && wanted(field)) fields.push_back(field.id);
  }
  return fields;
}

}  // namespace

std::string TableName(const FlowTables& tables, uint8_t table) {
  const std::string& name = tables.config(table).name;
  return name.empty() ? fmt::format("table{}", table) : name;
}

OfTableFeatures FeaturesOf(const FlowTables& tables, uint8_t table, OfVersion version) {
  static const std::vector<FieldId> all = FieldsWhere([](const FieldInfo&) { return true; });
  static const std::vector<FieldId> maskable =
      FieldsWhere([](const FieldInfo& field) { return field.mask == FieldInfo::Mask::kFull; });
  static const std::vector<FieldId> writable = FieldsWhere([](const FieldInfo& field) { return field.writable; });
  const OfTableDesc desc = tables.table_desc(table);
  OfTableFeatures features{.table = table,
                           .name = TableName(tables, table),
                           .config = desc.config,
                           .max_entries = tables.table_stats(table).max_entries,
                           .match = all,
                           .mask = maskable,
                           .wildcard = all,
                           .has_properties = true};
  const uint32_t actions = kActions | (version == OfVersion::k15 ? kMeter : 0);
  for (OfTableFeatures::Side& side : features.sides) {
    for (unsigned next = table + 1u; next < kShownTables; ++next)
      side.next_tables.push_back(static_cast<uint8_t>(next));
    side.instructions = kOtherInstructions | (side.next_tables.empty() ? 0 : kGotoTable);
    side.write_actions = side.apply_actions = actions;
    side.write_set_fields = side.apply_set_fields = writable;
  }
  return features;
}

}  // namespace sluice
