// Table features: OpenFlow 1.3.5, 7.3.5.5; 1.4.1 and 1.5.1, 7.3.5.18.
#include "lib/openflow/match.h"
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr size_t kHeaderSize = 64;
constexpr size_t kNameSize = 32;
constexpr uint16_t kExperimenterId = 0xffff;

// The low bit of most types tells hits from the table-miss flow.
enum PropertyType : uint16_t {
  kInstructions = 0,
  kNextTables = 2,
  kWriteActions = 4,
  kApplyActions = 6,
  kMatch = 8,
  kWildcards = 10,
  kWriteSetField = 12,
  kApplySetField = 14,
};

// -- Lists of ids
// ------------------------------------------------------------------------------------------------------

// Ids of instructions or actions: a type and a length of 4 or 8, with an experimenter of 8; as bits.
OfResult<uint32_t> ReadIds(WireReader& in) {
  uint32_t bits = 0;
  while (!in.AtEnd()) {
    uint16_t type = in.U16();
    size_t length = in.U16();
    if (!in.ok() || length < 4 || length - 4 > in.left()) {
      return Fail(OfError::kBpcBadLen, "id of {} bytes in a table's features", length);
    }
    in.Skip(length - 4);
    if (type < 32) bits |= 1u << type;
  }
  return bits;
}

void WriteIds(uint16_t type, uint32_t bits, WireWriter& out) {
  size_t start = BeginProperty(type, out);
  for (uint16_t id = 0; id < 32; ++id) {
    if ((bits >> id & 1) == 0) continue;
    out.U16(id);
    out.U16(4);
  }
  EndProperty(start, out);
}

// Fields that we do not have are passed over. `masked`: those with the mask bit.
OfStatus ReadFields(WireReader& in, std::vector<FieldId>& fields, std::vector<FieldId>* masked) {
  constexpr uint32_t kMaskBit = 0x100;
  while (!in.AtEnd()) {
    uint32_t header = in.U32();
    uint32_t experimenter = header >> 16 == kExperimenterId ? in.U32() : 0;
    if (!in.ok()) return Fail(OfError::kBpcBadLen, "list of fields in a table's features is cut");
    const FieldInfo* field = FindFieldByHeader(header, experimenter);
    if (field == nullptr) continue;
    fields.push_back(field->id);
    if (masked != nullptr && (header & kMaskBit) != 0) masked->push_back(field->id);
  }
  return std::nullopt;
}

// Turns the header written at `at` into that of a masked entry: the bit, and twice the length of the value.
void SetMaskBit(size_t at, WireWriter& out) {
  auto field = static_cast<uint8_t>(out.bytes()[at + 2]);
  auto length = static_cast<uint8_t>(out.bytes()[at + 3]);
  bool experimenter =
      static_cast<uint8_t>(out.bytes()[at]) == 0xff && static_cast<uint8_t>(out.bytes()[at + 1]) == 0xff;
  auto masked = static_cast<uint8_t>(experimenter ? 4 + (length - 4) * 2 : length * 2);
  out.SetU16(at + 2, static_cast<uint16_t>((field | 1) << 8 | masked));
}

void WriteFields(uint16_t type, const std::vector<FieldId>& fields, const std::vector<FieldId>* masked,
                 OfVersion version, WireWriter& out) {
  size_t start = BeginProperty(type, out);
  for (FieldId id : fields) {
    size_t at = out.size();
    EncodeFieldHeader(Field(id), version, out);
    bool has_mask = masked != nullptr && std::find(masked->begin(), masked->end(), id) != masked->end();
    if (has_mask) SetMaskBit(at, out);
  }
  EndProperty(start, out);
}

// -- Properties
// --------------------------------------------------------------------------------------------------------

OfStatus ReadBits(WireReader& in, uint32_t& bits) {
  OfResult<uint32_t> read = ReadIds(in);
  if (!read.ok()) return read.failure();
  bits = *read;
  return std::nullopt;
}

OfStatus ReadProperty(Property& property, OfTableFeatures& features) {
  OfTableFeatures::Side& side = features.sides[property.type & 1];
  WireReader& in = property.contents;
  switch (property.type & ~1) {
    case kInstructions:
      return ReadBits(in, side.instructions);
    case kNextTables: {
      Bytes tables = in.Rest();
      side.next_tables.assign(tables.begin(), tables.end());
      return std::nullopt;
    }
    case kWriteActions:
      return ReadBits(in, side.write_actions);
    case kApplyActions:
      return ReadBits(in, side.apply_actions);
    case kWriteSetField:
      return ReadFields(in, side.write_set_fields, nullptr);
    case kApplySetField:
      return ReadFields(in, side.apply_set_fields, nullptr);
    default:
      break;
  }
  if (property.type == kMatch) return ReadFields(in, features.match, &features.mask);
  if (property.type == kWildcards) return ReadFields(in, features.wildcard, nullptr);
  return UnknownProperty(property, true, "table features");
}

OfResult<OfTableFeatures> ReadFeatures(WireReader& in, const Form& form) {
  OfResult<WireReader> entry = TakeEntry(in, kHeaderSize, "table features");
  if (!entry.ok()) return entry.failure();
  OfTableFeatures features;
  entry->Skip(2);
  features.table = entry->U8();
  entry->Skip(5);
  features.name = entry->FixedText(kNameSize);
  features.metadata_match = entry->U64();
  features.metadata_write = entry->U64();
  (form.version >= OfVersion::k14 ? features.capabilities : features.config) = entry->U32();
  features.max_entries = entry->U32();
  features.has_properties = !entry->AtEnd();
  while (!entry->AtEnd()) {
    OfResult<Property> property = TakeProperty(*entry, 0xfffe);
    if (!property.ok()) return property.failure();
    if (OfStatus status = ReadProperty(*property, features)) return *status;
  }
  return features;
}

void WriteProperties(const OfTableFeatures& features, OfVersion version, WireWriter& out) {
  for (uint16_t miss = 0; miss < 2; ++miss) {
    const OfTableFeatures::Side& side = features.sides[miss];
    WriteIds(kInstructions | miss, side.instructions, out);
    size_t tables = BeginProperty(kNextTables | miss, out);
    out.Raw(side.next_tables);
    EndProperty(tables, out);
    WriteIds(kWriteActions | miss, side.write_actions, out);
    WriteFields(kWriteSetField | miss, side.write_set_fields, nullptr, version, out);
    WriteIds(kApplyActions | miss, side.apply_actions, out);
    WriteFields(kApplySetField | miss, side.apply_set_fields, nullptr, version, out);
  }
  WriteFields(kMatch, features.match, &features.mask, version, out);
  WriteFields(kWildcards, features.wildcard, nullptr, version, out);
}

void WriteFeatures(const OfTableFeatures& features, const Form& form, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U8(features.table);
  out.Zeros(5);
  out.FixedText(features.name, kNameSize);
  out.U64(features.metadata_match);
  out.U64(features.metadata_write);
  out.U32(form.version >= OfVersion::k14 ? features.capabilities : features.config);
  out.U32(features.max_entries);
  if (features.has_properties) WriteProperties(features, form.version, out);
  SetLength(out, start);
}

// -- Request
// -----------------------------------------------------------------------------------------------------------

OfResult<OfTableFeaturesRequest> ReadRequest(WireReader& in, const Form& form) {
  OfTableFeaturesRequest request;
  while (!in.AtEnd()) {
    OfResult<OfTableFeatures> features = ReadFeatures(in, form);
    if (!features.ok()) return features.failure();
    request.tables.push_back(*std::move(features));
  }
  return request;
}
void WriteRequest(const OfTableFeaturesRequest& request, const Form& form, WireWriter& out) {
  for (const OfTableFeatures& features : request.tables) WriteFeatures(features, form, out);
}

constexpr Codec kRequest = Single<ReadRequest, WriteRequest, FormatTableFeaturesRequest>();
constexpr Codec kReply = List<OfTableFeaturesReply, ReadFeatures, WriteFeatures, FormatTableFeaturesReply>();

constexpr Row kRows[] = {
    {"OFPST_TABLE_FEATURES request", Space::kRequest, 12, 4, 6, {0, 8}, kRequest},
    {"OFPST_TABLE_FEATURES reply", Space::kReply, 12, 4, 6, {0, 8}, kReply},
};

}  // namespace

absl::Span<const Row> TableFeaturesRows() { return kRows; }

}  // namespace sluice::messages
