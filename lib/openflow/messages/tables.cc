// Table mods, descriptions, status and statistics: OpenFlow 1.1, A.3.5; 1.3.5, 7.3.3 and 7.3.5.3; 1.4.1, 7.3.3, 7.3.5.3
// and 7.4.5.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr size_t kNameSize = 32;
constexpr uint16_t kEvictionProperty = 2;
constexpr uint16_t kVacancyProperty = 3;
constexpr uint32_t kKnownConfig = kTableEviction | kTableVacancy;
constexpr uint32_t kMissMask = 3;

// -- Properties of mods and descriptions
// -------------------------------------------------------------------------------

struct Vacancy {
  uint8_t down = 0, up = 0, now = 0;
};

OfStatus ReadProperties(WireReader& in, uint32_t& eviction_flags, Vacancy& vacancy) {
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
    WireReader& contents = property->contents;
    if (property->type == kEvictionProperty) {
      eviction_flags = contents.U32();
    } else if (property->type == kVacancyProperty) {
      vacancy.down = contents.U8();
      vacancy.up = contents.U8();
      vacancy.now = contents.U8();
      contents.Skip(1);
    } else {
      return UnknownProperty(*property, false, "table");
    }
    if (!contents.ok() || !contents.AtEnd()) {
      return Fail(OfError::kBpcBadLen, "table property {} does not have 8 bytes", property->type);
    }
  }
  return std::nullopt;
}

void WriteProperties(uint32_t config, uint32_t eviction_flags, const Vacancy& vacancy, WireWriter& out) {
  if (eviction_flags != 0) {
    size_t start = BeginProperty(kEvictionProperty, out);
    out.U32(eviction_flags);
    EndProperty(start, out);
  }
  if ((config & kTableVacancy) != 0) {
    size_t start = BeginProperty(kVacancyProperty, out);
    out.U8(vacancy.down);
    out.U8(vacancy.up);
    out.U8(vacancy.now);
    out.U8(0);
    EndProperty(start, out);
  }
}

// -- Mod
// ---------------------------------------------------------------------------------------------------------------

OfResult<OfTableMod> ReadMod(WireReader& in, const Form& form) {
  OfTableMod mod;
  mod.table = in.U8();
  in.Skip(3);
  uint32_t config = in.U32();
  if (form.version < OfVersion::k13) {
    if ((config & ~kMissMask) != 0 || config == kMissMask) {
      return Fail(OfError::kTmfcBadConfig, "table mod with configuration {:#x}", config);
    }
    mod.miss = static_cast<int>(config);
  }
  if (form.version < OfVersion::k14) return mod;
  mod.config = config & kKnownConfig;
  Vacancy vacancy;
  if (OfStatus status = ReadProperties(in, mod.eviction_flags, vacancy)) return *status;
  if (vacancy.down > vacancy.up || vacancy.up > 100 || vacancy.now != 0) {
    return Fail(OfError::kBpcBadValue, "vacancy thresholds {} and {} are no percentages in order", vacancy.down,
                vacancy.up);
  }
  mod.vacancy_down = vacancy.down;
  mod.vacancy_up = vacancy.up;
  return mod;
}

void WriteMod(const OfTableMod& mod, const Form& form, WireWriter& out) {
  out.U8(mod.table);
  out.Zeros(3);
  if (form.version < OfVersion::k13) {
    out.U32(mod.miss > 0 ? static_cast<uint32_t>(mod.miss) : 0);
    return;
  }
  if (form.version < OfVersion::k14) return out.U32(0);
  out.U32(mod.config & kKnownConfig);
  WriteProperties(mod.config, mod.eviction_flags, {mod.vacancy_down, mod.vacancy_up}, out);
}

// -- Description and status
// --------------------------------------------------------------------------------------------

OfResult<OfTableDesc> ReadDesc(WireReader& in, const Form&) {
  OfResult<WireReader> entry = TakeEntry(in, 8, "table description");
  if (!entry.ok()) return entry.failure();
  OfTableDesc desc;
  entry->Skip(2);
  desc.table = entry->U8();
  entry->Skip(1);
  desc.config = entry->U32() & kKnownConfig;
  Vacancy vacancy;
  if (OfStatus status = ReadProperties(*entry, desc.eviction_flags, vacancy)) return *status;
  desc.vacancy_down = vacancy.down;
  desc.vacancy_up = vacancy.up;
  desc.vacancy = vacancy.now;
  return desc;
}

void WriteDesc(const OfTableDesc& desc, const Form&, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U8(desc.table);
  out.U8(0);
  out.U32(desc.config & kKnownConfig);
  WriteProperties(desc.config, desc.eviction_flags, {desc.vacancy_down, desc.vacancy_up, desc.vacancy}, out);
  SetLength(out, start);
}

constexpr uint8_t kVacancyDown = 3;
constexpr uint8_t kVacancyUp = 4;

OfResult<OfTableStatus> ReadStatus(WireReader& in, const Form& form) {
  OfTableStatus status;
  status.reason = in.U8();
  in.Skip(7);
  if (status.reason != kVacancyDown && status.reason != kVacancyUp) {
    return Fail(OfError::kBpcBadValue, "table status with reason {}", status.reason);
  }
  OfResult<OfTableDesc> desc = ReadDesc(in, form);
  if (!desc.ok()) return desc.failure();
  status.desc = *desc;
  return status;
}
void WriteStatus(const OfTableStatus& status, const Form& form, WireWriter& out) {
  out.U8(status.reason);
  out.Zeros(7);
  WriteDesc(status.desc, form, out);
}

// -- Statistics
// --------------------------------------------------------------------------------------------------------

// What 1.0 to 1.2 tell of a table's abilities in its statistics; all tables can do everything.
constexpr uint32_t kWildcards10 = 0x3fffff;
constexpr uint32_t kFields11 = 0x3ff;
constexpr uint32_t kInstructions11 = 0x3e;
constexpr uint32_t kActions11 = 0x01ffffff;
constexpr uint64_t kFields12 = 0xffffffffd;  // all but in_phy_port
constexpr uint32_t kActions12 = 0x03ff9801;

OfResult<OfTableStats> ReadStats(WireReader& in, const Form& form) {
  OfTableStats stats;
  stats.table = in.U8();
  if (form.version >= OfVersion::k13) {
    in.Skip(3);
    stats.active = in.U32();
  } else {
    in.Skip(form.version == OfVersion::k10 ? 3 : 7);
    stats.name = in.FixedText(kNameSize);
    in.Skip(form.version == OfVersion::k10 ? 4 : form.version == OfVersion::k11 ? 24 : 64);
    stats.max_entries = in.U32();
    stats.active = in.U32();
  }
  stats.lookups = in.U64();
  stats.matches = in.U64();
  return stats;
}

void WriteAbilities(OfVersion version, WireWriter& out) {
  if (version == OfVersion::k10) return out.U32(kWildcards10);
  if (version == OfVersion::k11) {
    out.U32(kFields11);
    out.U32(kFields11);
    out.U32(kInstructions11);
    out.U32(kActions11);
    out.U32(kActions11);
  } else {
    out.U64(kFields12);
    out.U64(kFields12);
    out.U32(kActions12);
    out.U32(kActions12);
    out.U64(kFields12);
    out.U64(kFields12);
    out.U64(UINT64_MAX);
    out.U64(UINT64_MAX);
    out.U32(kInstructions11);
  }
  out.U32(0);  // config
}

void WriteStats(const OfTableStats& stats, const Form& form, WireWriter& out) {
  out.U8(stats.table);
  if (form.version >= OfVersion::k13) {
    out.Zeros(3);
    out.U32(stats.active);
  } else {
    out.Zeros(form.version == OfVersion::k10 ? 3 : 7);
    out.FixedText(stats.name, kNameSize);
    WriteAbilities(form.version, out);
    out.U32(stats.max_entries);
    out.U32(stats.active);
  }
  out.U64(stats.lookups);
  out.U64(stats.matches);
}

constexpr Codec kMod = Single<ReadMod, WriteMod, FormatTableMod>();
constexpr Codec kDesc = List<OfTableDescReply, ReadDesc, WriteDesc, FormatTableDescReply>();
constexpr Codec kStatus = Single<ReadStatus, WriteStatus, FormatTableStatus>();
constexpr Codec kStats = List<OfTableStatsReply, ReadStats, WriteStats, FormatTableStatsReply>();

constexpr Row kRows[] = {
    {"OFPT_TABLE_MOD", Space::kPlain, 17, 2, 4, {8, 0}, kMod},
    {"OFPT_TABLE_MOD", Space::kPlain, 17, 5, 6, {8, 8}, kMod},
    {"OFPT_TABLE_STATUS", Space::kPlain, 31, 5, 6, {8, 8}, kStatus},
    {"OFPST_TABLE request", Space::kRequest, 3, 1, 6, {}, Empty<OfTableStatsRequest>()},
    {"OFPST_TABLE reply", Space::kReply, 3, 1, 1, {0, 64}, kStats},
    {"OFPST_TABLE reply", Space::kReply, 3, 2, 2, {0, 88}, kStats},
    {"OFPST_TABLE reply", Space::kReply, 3, 3, 3, {0, 128}, kStats},
    {"OFPST_TABLE reply", Space::kReply, 3, 4, 6, {0, 24}, kStats},
    {"OFPST_TABLE_DESC request", Space::kRequest, 14, 5, 6, {}, Empty<OfTableDescRequest>()},
    {"OFPST_TABLE_DESC reply", Space::kReply, 14, 5, 6, {0, 8}, kDesc},
};

}  // namespace

absl::Span<const Row> TableRows() { return kRows; }

}  // namespace sluice::messages
