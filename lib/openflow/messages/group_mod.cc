// Group mods: OpenFlow 1.3.5, 7.3.4.2; 1.5.1, 7.3.4.3; NXT_GROUP_MOD.
#include "lib/openflow/messages/groups.h"

namespace sluice {
namespace messages {
namespace {

bool MakesGroup(GroupCommand command) {
  return command == GroupCommand::kAdd || command == GroupCommand::kModify || command == GroupCommand::kAddOrModify;
}

OfStatus ReadCommand(uint16_t command, OfVersion version, GroupMod& mod) {
  mod.command = static_cast<GroupCommand>(command);
  switch (mod.command) {
    case GroupCommand::kAdd:
    case GroupCommand::kModify:
    case GroupCommand::kDelete:
    case GroupCommand::kAddOrModify:
      return std::nullopt;
    case GroupCommand::kInsertBucket:
    case GroupCommand::kRemoveBucket:
      if (HasLayout15(version)) return std::nullopt;
      break;
  }
  return Fail(OfError::kGmfcBadCommand, "group mod with command {}", command);
}

OfStatus ReadType(uint8_t type, GroupMod& mod) {
  mod.raw_type = type;
  bool known = type <= static_cast<uint8_t>(GroupType::kFastFailover);
  if (!known && MakesGroup(mod.command)) return Fail(OfError::kGmfcBadType, "group mod with type {}", type);
  if (known) mod.type = static_cast<GroupType>(type);
  return std::nullopt;
}

OfStatus Read15(WireReader& in, OfVersion version, GroupMod& mod) {
  size_t buckets_length = in.U16();
  in.Skip(2);
  mod.command_bucket = in.U32();
  if (buckets_length > in.left()) {
    return Fail(OfError::kGmfcBadBucket, "buckets of {} bytes, where {} are left", buckets_length, in.left());
  }
  WireReader buckets(in.Take(buckets_length));
  OfResult<std::vector<GroupBucket>> read = ReadBuckets(buckets, mod.type, version);
  if (!read.ok()) return read.failure();
  mod.buckets = *std::move(read);
  return ReadGroupProperties(in, mod.type, mod.selection);
}

// What the commands of buckets must name.
OfStatus CheckCommandBucket(const GroupMod& mod) {
  bool in_range = mod.command_bucket <= kBucketIdMax || mod.command_bucket >= kBucketFirst;
  if (mod.command == GroupCommand::kInsertBucket) {
    if (!in_range || mod.command_bucket == kBucketAll || mod.buckets.empty()) {
      return Fail(OfError::kGmfcBadBucket, "insertion of {} buckets beside {:#x}", mod.buckets.size(),
                  mod.command_bucket);
    }
  } else if (mod.command == GroupCommand::kRemoveBucket) {
    if (!in_range || !mod.buckets.empty()) {
      return Fail(OfError::kGmfcBadBucket, "removal of bucket {:#x} with {} buckets", mod.command_bucket,
                  mod.buckets.size());
    }
  }
  return std::nullopt;
}

OfStatus CheckBuckets(const GroupMod& mod) {
  if (mod.command == GroupCommand::kDelete && !mod.buckets.empty()) {
    return Fail(OfError::kGmfcInvalidGroup, "deletion of a group with buckets");
  }
  if (!MakesGroup(mod.command)) return std::nullopt;
  if (mod.type == GroupType::kIndirect && mod.buckets.size() != 1) {
    return Fail(OfError::kGmfcInvalidGroup, "indirect group with {} buckets instead of 1", mod.buckets.size());
  }
  for (const GroupBucket& bucket : mod.buckets) {
    bool watches = bucket.watch_port != kOfpNone || bucket.watch_group != kGroupAny;
    if (mod.type == GroupType::kFastFailover && !watches) {
      return Fail(OfError::kGmfcInvalidGroup, "bucket of a fast failover group that watches nothing");
    }
  }
  return std::nullopt;
}

}  // namespace
}  // namespace messages

void EncodeGroupMod(const GroupMod& mod, OfVersion version, WireWriter& out) {
  out.U16(static_cast<uint16_t>(mod.command));
  out.U8(static_cast<uint8_t>(mod.type));
  out.U8(0);
  out.U32(mod.group);
  if (!messages::HasLayout15(version)) return messages::WriteBuckets(mod.buckets, mod.type, version, out);
  size_t length_at = out.size();
  out.Zeros(4);
  out.U32(mod.command_bucket);
  size_t start = out.size();
  messages::WriteBuckets(mod.buckets, mod.type, version, out);
  out.SetU16(length_at, static_cast<uint16_t>(out.size() - start));
  messages::WriteGroupProperties(mod.selection, out);
}

OfResult<GroupMod> DecodeGroupMod(Bytes body, OfVersion version) {
  WireReader in(body);
  GroupMod mod;
  uint16_t command = in.U16();
  uint8_t type = in.U8();
  in.Skip(1);
  mod.group = in.U32();
  if (!in.ok()) return messages::Fail(OfError::kBrcBadLen, "group mod of {} bytes", body.size());
  if (OfStatus status = messages::ReadCommand(command, version, mod)) return *status;
  if (OfStatus status = messages::ReadType(type, mod)) return *status;
  if (messages::HasLayout15(version)) {
    if (OfStatus status = messages::Read15(in, version, mod)) return *status;
  } else {
    OfResult<std::vector<GroupBucket>> buckets = messages::ReadBuckets(in, mod.type, version);
    if (!buckets.ok()) return buckets.failure();
    mod.buckets = *std::move(buckets);
  }
  if (!in.ok()) return messages::Fail(OfError::kBrcBadLen, "group mod of {} bytes", body.size());
  if (OfStatus status = messages::CheckCommandBucket(mod)) return *status;
  if (OfStatus status = messages::CheckBuckets(mod)) return *status;
  return mod;
}

}  // namespace sluice
