// Buckets: OpenFlow 1.3.5, 7.3.4.2; 1.5.1, 7.3.4.3. The selection method: Netronome's experimenter property.
#include <absl/container/flat_hash_set.h>

#include "lib/openflow/messages/groups.h"
#include "lib/openflow/messages/match_bytes.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kWeight = 0;
constexpr uint16_t kWatchPort = 1;
constexpr uint16_t kWatchGroup = 2;
constexpr uint16_t kExperimenterProperty = 0xffff;
constexpr uint32_t kNetronome = 0x0000154d;
constexpr uint32_t kSelectionMethod = 1;
constexpr size_t kMethodSize = 16;

OfStatus ReadActions(Bytes bytes, OfVersion version, GroupBucket& bucket) {
  OfResult<OfActions> actions = DecodeActions(bytes, version);
  if (!actions.ok()) return actions.failure();
  bucket.actions = *std::move(actions);
  return std::nullopt;
}

// -- 1.1 to 1.4
// --------------------------------------------------------------------------------------------------------

OfResult<GroupBucket> ReadBucket11(WireReader& in, GroupType type, OfVersion version) {
  OfResult<WireReader> entry = TakeEntry(in, 16, "bucket");
  if (!entry.ok()) return OfFailure{OfError::kGmfcBadBucket, entry.failure().message};
  GroupBucket bucket;
  entry->Skip(2);
  uint16_t weight = entry->U16();
  OfResult<OfPort> watch_port = ReadPort(*entry, version, OfError::kGmfcBadWatch);
  bucket.watch_group = entry->U32();
  entry->Skip(4);
  if (!watch_port.ok()) return watch_port.failure();
  bucket.watch_port = *watch_port;
  // Only buckets of select groups have a weight.
  if (type == GroupType::kSelect) {
    bucket.weight = weight;
  } else if (weight != 0) {
    return Fail(OfError::kGmfcInvalidGroup, "bucket with weight {} in a group that is not select", weight);
  }
  if (OfStatus status = ReadActions(entry->Rest(), version, bucket)) return *status;
  return bucket;
}

void WriteBucket11(const GroupBucket& bucket, GroupType type, OfVersion version, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U16(type == GroupType::kSelect ? bucket.weight : 0);
  out.U32(PortToWire(bucket.watch_port));
  out.U32(bucket.watch_group);
  out.Zeros(4);
  EncodeActions(bucket.actions, version, out);
  SetLength(out, start);
}

// -- 1.5
// ---------------------------------------------------------------------------------------------------------------

OfStatus ReadProperty(Property& property, GroupType type, GroupBucket& bucket) {
  WireReader& in = property.contents;
  switch (property.type) {
    case kWeight: {
      uint16_t weight = in.U16();
      in.Skip(2);
      if (type == GroupType::kSelect) bucket.weight = weight;
      break;
    }
    case kWatchPort: {
      OfResult<OfPort> port = ReadPort(in, OfVersion::k15, OfError::kGmfcBadWatch);
      if (!port.ok()) return port.failure();
      bucket.watch_port = *port;
      break;
    }
    case kWatchGroup:
      bucket.watch_group = in.U32();
      break;
    default:
      return UnknownProperty(property, false, "bucket");
  }
  if (!in.ok() || !in.AtEnd())
    return Fail(OfError::kBpcBadLen, "bucket property {} does not have 8 bytes", property.type);
  return std::nullopt;
}

OfResult<GroupBucket> ReadBucket15(WireReader& in, GroupType type, OfVersion version) {
  OfResult<WireReader> entry = TakeEntry(in, 8, "bucket");
  if (!entry.ok()) return OfFailure{OfError::kGmfcBadBucket, entry.failure().message};
  GroupBucket bucket;
  entry->Skip(2);
  size_t actions_length = entry->U16();
  bucket.id = entry->U32();
  if (actions_length > entry->left()) {
    return Fail(OfError::kBacBadLen, "bucket's actions of {} bytes, where {} are left", actions_length, entry->left());
  }
  if (OfStatus status = ReadActions(entry->Take(actions_length), version, bucket)) return *status;
  while (!entry->AtEnd()) {
    OfResult<Property> property = TakeProperty(*entry);
    if (!property.ok()) return property.failure();
    if (OfStatus status = ReadProperty(*property, type, bucket)) return *status;
  }
  if (bucket.id > kBucketIdMax) return Fail(OfError::kGmfcBadBucket, "bucket with id {:#x}", bucket.id);
  return bucket;
}

void WriteBucket15(const GroupBucket& bucket, uint32_t id, GroupType type, OfVersion version, WireWriter& out) {
  size_t start = out.size();
  out.Zeros(4);
  out.U32(id);
  size_t actions = out.size();
  EncodeActions(bucket.actions, version, out);
  out.SetU16(start + 2, static_cast<uint16_t>(out.size() - actions));
  if (type == GroupType::kSelect) {
    size_t property = BeginProperty(kWeight, out);
    out.U16(bucket.weight);
    out.U16(0);
    EndProperty(property, out);
  }
  if (bucket.watch_port != kOfpNone) {
    size_t property = BeginProperty(kWatchPort, out);
    out.U32(PortToWire(bucket.watch_port));
    EndProperty(property, out);
  }
  if (bucket.watch_group != kGroupAny) {
    size_t property = BeginProperty(kWatchGroup, out);
    out.U32(bucket.watch_group);
    EndProperty(property, out);
  }
  SetLength(out, start);
}

// -- The selection method
// ----------------------------------------------------------------------------------------------

OfStatus ReadHashFields(WireReader& in, GroupSelection& selection) {
  while (!in.AtEnd()) {
    OfResult<FieldEntry> entry = DecodeFieldEntry(in);
    if (!entry.ok()) return entry.failure();
    if (!in.ok()) return Fail(OfError::kBpcBadLen, "field of a selection method is cut");
    if (entry->masked || IsZero(entry->value)) {
      return Fail(OfError::kBpcBadValue, "field {} of a selection method has no bits", entry->field->name);
    }
    SetField(selection.fields.mask, *entry->field, entry->value);
  }
  return std::nullopt;
}

OfStatus ReadSelection(WireReader& in, GroupType type, GroupSelection& selection) {
  in.Skip(4);
  Bytes name = in.Take(kMethodSize);
  selection.param = in.U64();
  if (!in.ok()) return Fail(OfError::kBpcBadLen, "selection method is shorter than 40 bytes");
  if (type != GroupType::kSelect) {
    return Fail(OfError::kBpcBadValue, "selection method in a group that is not select");
  }
  if (std::find(name.begin(), name.end(), 0) == name.end()) {
    return Fail(OfError::kBpcBadValue, "name of a selection method does not end");
  }
  selection.method = WireReader(name).FixedText(kMethodSize);
  if (selection.method != "hash" && selection.method != "dp_hash") {
    return Fail(OfError::kBpcBadValue, "selection method is neither hash nor dp_hash");
  }
  return ReadHashFields(in, selection);
}

// Some bits have several fields: OpenFlow's own are written first, and each bit once.
void WriteHashFields(const OfMask& mask, OfVersion version, WireWriter& out) {
  constexpr uint32_t kOpenFlowBasic = 0x8000;
  OfMask left = mask;
  for (bool basic : {true, false}) {
    for (const FieldInfo& field : AllFields()) {
      if ((field.oxm_header >> 16 == kOpenFlowBasic) != basic) continue;
      if (field.oxm_header == 0 && field.nxm_header == 0) continue;
      FieldValue bits = GetField(left, field);
      if (IsZero(bits)) continue;
      EncodeFieldEntry(field, bits, nullptr, version, out);
      SetField(left, field, FieldValue());
    }
  }
}

}  // namespace

OfResult<std::vector<GroupBucket>> ReadBuckets(WireReader& in, GroupType type, OfVersion version) {
  std::vector<GroupBucket> buckets;
  absl::flat_hash_set<uint32_t> ids;
  bool is_15 = HasLayout15(version);
  while (!in.AtEnd()) {
    OfResult<GroupBucket> bucket = is_15 ? ReadBucket15(in, type, version) : ReadBucket11(in, type, version);
    if (!bucket.ok()) return bucket.failure();
    if (!is_15) bucket->id = static_cast<uint32_t>(buckets.size());
    if (!ids.insert(bucket->id).second) {
      return Fail(OfError::kGmfcBucketExists, "two buckets with id {}", bucket->id);
    }
    buckets.push_back(*std::move(bucket));
  }
  return buckets;
}

void WriteBuckets(const std::vector<GroupBucket>& buckets, GroupType type, OfVersion version, WireWriter& out) {
  if (!HasLayout15(version)) {
    for (const GroupBucket& bucket : buckets) WriteBucket11(bucket, type, version, out);
    return;
  }
  absl::flat_hash_set<uint32_t> used;
  for (const GroupBucket& bucket : buckets) used.insert(bucket.id);
  uint32_t next = 0;
  for (const GroupBucket& bucket : buckets) {
    uint32_t id = bucket.id;
    if (id == kBucketAll) {
      while (used.contains(next)) ++next;
      id = next++;
    }
    WriteBucket15(bucket, id, type, version, out);
  }
}

OfStatus ReadGroupProperties(WireReader& in, GroupType type, GroupSelection& selection) {
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
    bool is_selection = property->type == kExperimenterProperty && property->experimenter == kNetronome &&
                        property->exp_type == kSelectionMethod;
    if (!is_selection) return UnknownProperty(*property, false, "group");
    if (OfStatus status = ReadSelection(property->contents, type, selection)) return status;
  }
  return std::nullopt;
}

void WriteGroupProperties(const GroupSelection& selection, WireWriter& out) {
  if (selection.method.empty()) return;
  size_t start = BeginProperty(kExperimenterProperty, out);
  out.U32(kNetronome);
  out.U32(kSelectionMethod);
  out.Zeros(4);
  out.FixedText(selection.method, kMethodSize);
  out.U64(selection.param);
  WriteHashFields(selection.fields.mask, OfVersion::k15, out);
  EndProperty(start, out);
}

}  // namespace sluice::messages
