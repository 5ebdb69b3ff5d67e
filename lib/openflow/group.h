// Groups (OpenFlow 1.1+): plain data, their bytes and their text.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/openflow/actions.h"

namespace sluice {

enum class GroupType : uint8_t { kAll = 0, kSelect = 1, kIndirect = 2, kFastFailover = 3 };
enum class GroupCommand : uint16_t {
  kAdd = 0,
  kModify = 1,
  kDelete = 2,
  kInsertBucket = 3,
  kRemoveBucket = 5,
  kAddOrModify = 0x8000,
};
constexpr uint32_t kBucketIdMax = 0xffffff00;
constexpr uint32_t kBucketFirst = 0xfffffffd;
constexpr uint32_t kBucketLast = 0xfffffffe;
constexpr uint32_t kBucketAll = 0xffffffff;

struct GroupBucket {
  uint32_t id = kBucketAll;  // kBucketAll: not given
  uint16_t weight = 1;
  OfPort watch_port = kOfpNone;
  uint32_t watch_group = kGroupAny;
  OfActions actions;

  friend bool operator==(const GroupBucket&, const GroupBucket&) = default;
};

// The NTR selection method property.
struct GroupSelection {
  std::string method;  // "", "hash", "dp_hash"
  uint64_t param = 0;
  OfMatch fields;  // mask: the bits that are hashed

  friend bool operator==(const GroupSelection&, const GroupSelection&) = default;
};

struct GroupMod {
  GroupCommand command = GroupCommand::kAdd;
  GroupType type = GroupType::kAll;
  uint8_t raw_type = 0;  // as it came: above 3 is kGmfcBadType where it matters
  uint32_t group = 0;
  uint32_t command_bucket = kBucketAll;
  std::vector<GroupBucket> buckets;
  GroupSelection selection;
};
void EncodeGroupMod(const GroupMod& mod, OfVersion version, WireWriter& out);
OfResult<GroupMod> DecodeGroupMod(Bytes body, OfVersion version);

struct GroupDesc {
  GroupType type = GroupType::kAll;
  uint32_t group = 0;
  std::vector<GroupBucket> buckets;
  GroupSelection selection;
};
struct GroupStats {
  uint32_t group = 0;
  uint32_t ref_count = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  std::chrono::nanoseconds duration{0};
  struct Bucket {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  std::vector<Bucket> buckets;
};
struct GroupFeatures {
  uint32_t types = 0;
  uint32_t capabilities = 0;
  std::array<uint32_t, 4> max_groups{};
  std::array<uint32_t, 4> actions{};
};

// "group_id=1,type=select,bucket=weight:1,actions=output:1" as add-group takes and dump-groups prints it.
absl::StatusOr<GroupMod> ParseGroupMod(std::string_view text, std::optional<GroupCommand> command,
                                       const OfNames& names);
std::string FormatGroup(const GroupDesc& group, OfVersion version, const OfNames& names);

}  // namespace sluice
