// Group statistics, descriptions and features: OpenFlow 1.3.5, 7.3.5.9-11; 1.5.1, 7.3.5.10-12; Nicira's for 1.0.
#include "lib/openflow/messages/groups.h"

#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

OfResult<GroupMod> ReadMod(WireReader& in, const Form& form) { return DecodeGroupMod(in.Rest(), form.version); }
void WriteMod(const GroupMod& mod, const Form& form, WireWriter& out) { EncodeGroupMod(mod, form.version, out); }

// -- Requests
// ----------------------------------------------------------------------------------------------------------

OfResult<OfGroupStatsRequest> ReadStatsRequest(WireReader& in, const Form&) {
  OfGroupStatsRequest request{in.U32()};
  in.Skip(4);
  return request;
}
void WriteStatsRequest(const OfGroupStatsRequest& request, const Form&, WireWriter& out) {
  out.U32(request.group);
  out.Zeros(4);
}

OfResult<OfGroupDescRequest> ReadDescRequest(WireReader& in, const Form& form) {
  OfGroupDescRequest request;
  if (!HasLayout15(form.version)) return request;  // always all
  request.group = in.U32();
  in.Skip(4);
  return request;
}
void WriteDescRequest(const OfGroupDescRequest& request, const Form& form, WireWriter& out) {
  if (!HasLayout15(form.version)) return;
  out.U32(request.group);
  out.Zeros(4);
}

// -- Statistics
// --------------------------------------------------------------------------------------------------------

bool HasDuration(OfVersion version) { return version >= OfVersion::k13 || version == OfVersion::k10; }

OfResult<GroupStats> ReadStats(WireReader& in, const Form& form) {
  size_t header = HasDuration(form.version) ? 40 : 32;
  OfResult<WireReader> entry = TakeEntry(in, header, "group statistics");
  if (!entry.ok()) return entry.failure();
  if ((entry->left() - header) % 16 != 0) {
    return Fail(OfError::kBrcBadLen, "group statistics of {} bytes do not end with a bucket", entry->left());
  }
  GroupStats stats;
  entry->Skip(4);
  stats.group = entry->U32();
  stats.ref_count = entry->U32();
  entry->Skip(4);
  stats.packets = entry->U64();
  stats.bytes = entry->U64();
  stats.duration = HasDuration(form.version) ? ReadOptionalDuration(*entry) : kNoDuration;
  while (!entry->AtEnd()) {
    uint64_t packets = entry->U64();
    stats.buckets.push_back({packets, entry->U64()});
  }
  return stats;
}

void WriteStats(const GroupStats& stats, const Form& form, WireWriter& out) {
  size_t start = out.size();
  out.Zeros(4);
  out.U32(stats.group);
  out.U32(stats.ref_count);
  out.Zeros(4);
  out.U64(stats.packets);
  out.U64(stats.bytes);
  if (HasDuration(form.version)) WriteOptionalDuration(stats.duration, out);
  for (const GroupStats::Bucket& bucket : stats.buckets) {
    out.U64(bucket.packets);
    out.U64(bucket.bytes);
  }
  SetLength(out, start);
}

// -- Descriptions
// ------------------------------------------------------------------------------------------------------

OfStatus ReadDescBuckets(WireReader& entry, OfVersion version, GroupDesc& desc) {
  WireReader buckets = entry;
  if (HasLayout15(version)) {
    size_t length = entry.U16();
    entry.Skip(6);
    if (!entry.ok() || length > entry.left()) {
      return Fail(OfError::kBrcBadLen, "buckets of {} bytes, where {} are left", length, entry.left());
    }
    buckets = WireReader(entry.Take(length));
  }
  OfResult<std::vector<GroupBucket>> read = ReadBuckets(buckets, desc.type, version);
  if (!read.ok()) return read.failure();
  desc.buckets = *std::move(read);
  if (HasLayout15(version)) return ReadGroupProperties(entry, desc.type, desc.selection);
  return std::nullopt;
}

OfResult<GroupDesc> ReadDesc(WireReader& in, const Form& form) {
  OfResult<WireReader> entry = TakeEntry(in, HasLayout15(form.version) ? 16 : 8, "group description");
  if (!entry.ok()) return entry.failure();
  GroupDesc desc;
  entry->Skip(2);
  uint8_t type = entry->U8();
  entry->Skip(1);
  desc.group = entry->U32();
  if (type > static_cast<uint8_t>(GroupType::kFastFailover)) {
    return Fail(OfError::kGmfcBadType, "group {} has type {}", desc.group, type);
  }
  desc.type = static_cast<GroupType>(type);
  if (OfStatus status = ReadDescBuckets(*entry, form.version, desc)) return *status;
  return desc;
}

void WriteDesc(const GroupDesc& desc, const Form& form, WireWriter& out) {
  size_t start = out.size();
  out.U16(0);
  out.U8(static_cast<uint8_t>(desc.type));
  out.U8(0);
  out.U32(desc.group);
  size_t length_at = out.size();
  if (HasLayout15(form.version)) out.Zeros(8);
  size_t buckets = out.size();
  WriteBuckets(desc.buckets, desc.type, form.version, out);
  if (HasLayout15(form.version)) {
    out.SetU16(length_at, static_cast<uint16_t>(out.size() - buckets));
    WriteGroupProperties(desc.selection, out);
  }
  SetLength(out, start);
}

// -- Features
// ----------------------------------------------------------------------------------------------------------

OfResult<OfGroupFeaturesReply> ReadFeatures(WireReader& in, const Form&) {
  OfGroupFeaturesReply reply;
  reply.features.types = in.U32();
  reply.features.capabilities = in.U32();
  for (uint32_t& count : reply.features.max_groups) count = in.U32();
  for (uint32_t& actions : reply.features.actions) actions = in.U32();
  return reply;
}
void WriteFeatures(const OfGroupFeaturesReply& reply, const Form&, WireWriter& out) {
  out.U32(reply.features.types);
  out.U32(reply.features.capabilities);
  for (uint32_t count : reply.features.max_groups) out.U32(count);
  for (uint32_t actions : reply.features.actions) out.U32(actions);
}

constexpr Codec kMod = Single<ReadMod, WriteMod, FormatGroupMod>();
constexpr Codec kStatsRequest = Single<ReadStatsRequest, WriteStatsRequest, FormatGroupStatsRequest>();
constexpr Codec kDescRequest = Single<ReadDescRequest, WriteDescRequest, FormatGroupDescRequest>();
constexpr Codec kStats = List<OfGroupStatsReply, ReadStats, WriteStats, FormatGroupStatsReply>();
constexpr Codec kDesc = List<OfGroupDescReply, ReadDesc, WriteDesc, FormatGroupDescReply>();
constexpr Codec kFeatures = Single<ReadFeatures, WriteFeatures, FormatGroupFeatures>();
constexpr Codec kFeaturesRequest = Empty<OfGroupFeaturesRequest>();

constexpr Row kRows[] = {
    {"OFPT_GROUP_MOD", Space::kPlain, 15, 2, 5, {8, 8}, kMod},
    {"OFPT_GROUP_MOD", Space::kPlain, 15, 6, 6, {16, 8}, kMod},
    {"NXT_GROUP_MOD", Space::kExperimenter, 31, 1, 1, {16, 8}, kMod, kNiciraVendor},
    {"OFPST_GROUP request", Space::kRequest, 6, 2, 6, {8, 0}, kStatsRequest},
    {"NXST_GROUP request", Space::kExperimenterReq, 7, 1, 1, {8, 0}, kStatsRequest, kNiciraVendor},
    {"OFPST_GROUP reply", Space::kReply, 6, 2, 6, {0, 8}, kStats},
    {"NXST_GROUP reply", Space::kExperimenterReply, 7, 1, 1, {0, 8}, kStats, kNiciraVendor},
    {"OFPST_GROUP_DESC request", Space::kRequest, 7, 2, 5, {}, kDescRequest},
    {"OFPST_GROUP_DESC request", Space::kRequest, 7, 6, 6, {8, 0}, kDescRequest},
    {"NXST_GROUP_DESC request", Space::kExperimenterReq, 8, 1, 1, {8, 0}, kDescRequest, kNiciraVendor},
    {"OFPST_GROUP_DESC reply", Space::kReply, 7, 2, 6, {0, 8}, kDesc},
    {"NXST_GROUP_DESC reply", Space::kExperimenterReply, 8, 1, 1, {0, 8}, kDesc, kNiciraVendor},
    {"OFPST_GROUP_FEATURES request", Space::kRequest, 8, 3, 6, {}, kFeaturesRequest},
    {"NXST_GROUP_FEATURES request", Space::kExperimenterReq, 9, 1, 2, {}, kFeaturesRequest, kNiciraVendor},
    {"OFPST_GROUP_FEATURES reply", Space::kReply, 8, 3, 6, {40, 0}, kFeatures},
    {"NXST_GROUP_FEATURES reply", Space::kExperimenterReply, 9, 1, 2, {40, 0}, kFeatures, kNiciraVendor},
};

}  // namespace

absl::Span<const Row> GroupRows() { return kRows; }

}  // namespace sluice::messages
